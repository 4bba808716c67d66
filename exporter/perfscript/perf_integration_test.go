//go:build integration

package perfscript_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/perfscript"
)

const spinning = `
volatile unsigned long sink;
__attribute__((noinline)) void leaf(void) { for (long i = 0; i < 400000000; i++) sink += i; }
__attribute__((noinline)) void middle(void) { leaf(); sink++; }
int main(void) { middle(); return 0; }
`

// What perf itself recorded and printed has as many samples here as there.
func TestReadsWhatPerfPrints(t *testing.T) {
	dir := t.TempDir()
	source, program, data := filepath.Join(dir, "a.c"), filepath.Join(dir, "my prog"), filepath.Join(dir, "perf.data")
	require.NoError(t, os.WriteFile(source, []byte(spinning), 0o600))
	run := func(name string, args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoError(t, err, "%s", stderr.String())
		return out
	}
	run("gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-o", program, source)
	run("perf", "record", "-q", "-N", "-F", "199", "-e", "cpu-clock", "-g", "-o", data, "--", program)
	samples := int64(bytes.Count(run("perf", "script", "-i", data, "-F", "comm,event"), []byte("cpu-clock")))
	require.Greater(t, samples, int64(5))
	for _, args := range [][]string{
		nil, {"-G"}, {"--header"}, {"--no-inline"}, {"-F", "comm,pid,tid,time,event,ip,sym,dso"}, {"-F", "comm,tid,event,ip,sym,symoff,dso,srcline"},
	} {
		text := string(run("perf", append([]string{"script", "-i", data}, args...)...))
		require.True(t, perfscript.Is(text), "%q", args)
		res := read(t, text)
		assert.Zero(t, res.BadLines, "%q %v", args, res.Bad)
		require.Len(t, res.Graphs, 1)
		g := res.Graphs[0]
		assert.Equal(t, samples, g.Total(0), "%q", args)
		assert.Equal(t, "cpu", g.Name())
		var leaf int64
		for line := range strings.Lines(foldedText(t, g)) {
			if strings.HasPrefix(line, "my prog;") && strings.Contains(line, "leaf") {
				leaf++
				assert.True(t, len(args) == 1 && args[0] == "-G" || strings.Contains(line, "main;"), "%q: %s", args, line)
			}
		}
		assert.Positive(t, leaf, "%q", args)
	}
}
