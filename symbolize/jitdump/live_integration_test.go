//go:build integration

package jitdump

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/jitdump/jitname"
)

// The lines of inner are 3 to 5 of the file.
const nodeSource = `'use strict';

function inner(n) {
	let s = 0;
	for (let i = 0; i < n; i++) { s += Math.sqrt(i); }
	return s;
}

let x = 0;
for (let i = 0; i < 20000; i++) { x += inner(1000); }
console.log(x > 0 ? 'ready' : '');
require('fs').readSync(0, Buffer.alloc(1));
`

// TestNodeWritesJITDumps checks what node --perf-prof writes. V8 buffers 2 MB
// of it, so it is complete only when the process has ended.
func TestNodeWritesJITDumps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "hot script.js")
	require.NoError(t, os.WriteFile(script, []byte(nodeSource), 0o600))
	began := monotonic(t)
	cmd := exec.Command("node", "--perf-prof", "--no-logfile-per-isolate", "--logfile="+filepath.Join(dir, "v8.log"), script)
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	file := findMapped(t, cmd.Process.Pid)
	assert.Equal(t, fmt.Sprintf("jit-%d.dump", cmd.Process.Pid), filepath.Base(file))
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())

	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	var r Reader
	for more := true; more; {
		_, more, err = r.Update(f, info.Size())
		require.NoError(t, err)
	}
	assert.Zero(t, r.Malformed())
	assert.Equal(t, info.Size(), r.offset, "all of it is read")
	assert.Greater(t, r.Len(), 100)

	tiers := map[string]bool{}
	for i := range r.table.entries {
		e := &r.table.entries[i]
		c, ok := r.Lookup(addr.Virtual(e.start+uint64(e.size)/2), e.from)
		require.True(t, ok)
		require.Greater(t, c.FromNanos, began, "times are of CLOCK_MONOTONIC")
		require.Less(t, c.FromNanos, monotonic(t))
		name := jitname.Parse(c.Name, jitname.V8)
		if name.Name != "inner" {
			continue
		}
		tiers[name.Tier] = true
		assert.Equal(t, script, name.File)
		assert.Equal(t, int64(3), name.StartLine)
		assert.Contains(t, c.File, "hot script.js")
		assert.True(t, c.Line >= 3 && c.Line <= 6, "line %d", c.Line)
	}
	assert.True(t, tiers["turbofan"], "%v", tiers)
}

// findMapped returns the log that a process maps executable.
func findMapped(t *testing.T, pid int) string {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(maps)) {
		if i := strings.IndexByte(line, '/'); i > 0 && strings.Contains(line, "r-xp") {
			if got, ok := ProcessOf(strings.TrimSpace(line[i:])); ok {
				assert.Equal(t, pid, got)
				return strings.TrimSpace(line[i:])
			}
		}
	}
	t.Fatal("node maps no jitdump file")
	return ""
}

func monotonic(t *testing.T) uint64 {
	var ts unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts))
	return uint64(ts.Nano())
}
