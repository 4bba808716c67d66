//go:build integration

package symbolize

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/executable"
	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

// newPython finds a Python that has trampolines for perf: the first of the path,
// or of those that pyenv has, that is of version 3.12 or later.
func newPython(t *testing.T) string {
	t.Helper()
	names := []string{"python3", "python3.12", "python3.13", "python3.14"}
	if root, err := exec.Command("pyenv", "root").Output(); err == nil {
		more, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "versions/3.1[2-9]*/bin/python3"))
		require.NoError(t, err)
		names = append(names, more...)
	}
	for _, name := range names {
		if exec.Command(name, "-c", "import sys; sys.activate_stack_trampoline; sys.exit(sys.version_info < (3, 12))").Run() == nil {
			path, err := exec.LookPath(name)
			require.NoError(t, err)
			return path
		}
	}
	t.Fatal("install Python 3.12 or later")
	return ""
}

// TestLivePython has CPython write a map of its trampolines.
func TestLivePython(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"busy.py": `
import os, sys, time

class Worker:
    def hot(self, n):
        return sum(i * i for i in range(n))

def caller(w):
    return w.hot(100)

for i in range(1000):
    caller(Worker())
print(os.getpid(), 1, flush=True)
time.sleep(600)
`})
	script := filepath.Join(dir, "busy.py")
	l := start(t, exec.Command(newPython(t), "-X", "perf", script))
	file := fmt.Sprintf("/tmp/perf-%d.map", l.pid)
	t.Cleanup(func() { os.Remove(file) })
	s := newLive(t)
	p := opened(t, s, l.pid)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	found := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		require.Len(t, words, 3, line)
		if !strings.HasSuffix(words[2], ":"+script) {
			continue
		}
		at, err := strconv.ParseUint(words[0], 16, 64)
		require.NoError(t, err)
		f := one(s, p, addr.Virtual(at)+1)
		assert.Equal(t, KindCPython, f.Kind)
		assert.Equal(t, script, f.Lines[0].File)
		assert.Equal(t, words[2], f.Lines[0].SystemName)
		found[name(f)] = true
	}
	assert.True(t, found["caller"] && found["<module>"] && (found["Worker.hot"] || found["hot"]), "%v", found)
}

// TestLiveMapOfAnEarlierProcess plants a map for a PID that a process gets
// later.
func TestLiveMapOfAnEarlierProcess(t *testing.T) {
	t.Parallel()
	source := strings.Replace(jitProgram, `FILE *f = fopen(name, "w");`, `FILE *f = fopen(argv[1] ? "/dev/null" : name, "w"); argv[1] = "own name";`, 1)
	dir := fixture.Build(t, map[string]string{"a.c": source, "planted": "1 4000000 evil\n"}, "gcc -O1 -o prog a.c")
	for _, writes := range []bool{false, true} {
		arguments := " without"
		if writes {
			arguments = ""
		}
		// The names of all code that can be; the address of the page is random.
		script := fmt.Sprintf("cd %s && mount -t tmpfs x /tmp && "+
			"for i in $(seq 0 16383); do printf '%%x 4000000 evil\\n' $((0x7f0000000000 + i * 0x4000000)); done > /tmp/perf-100.map && "+
			"touch -d '1 hour ago' /tmp/perf-100.map && echo 99 > /proc/sys/kernel/ns_last_pid && ./prog%s; true", dir, arguments)
		l := start(t, exec.Command("unshare", "-m", "-p", "-f", "--mount-proc", "--kill-child", "bash", "-c", script))
		pid := childOf(t, childOf(t, l.pid))
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		require.NoError(t, err)
		require.Regexp(t, `(?m)^NSpid:.*\s100$`, string(status))
		s := newLive(t)
		f := one(s, opened(t, s, pid), l.at+5)
		if writes {
			assert.Equal(t, "own name", name(f))
			continue
		}
		assert.Equal(t, ReasonNoMap, f.Reason)
		assert.Equal(t, map[string]uint64{"older_than_process": 1}, s.Stats().PerfMapsRefused)
	}
}

// kernelNamesOnly makes this program print what it sees of the kernel.
const kernelNamesOnly = "FLAMETEL_TEST_KERNEL_NAMES"

// TestLiveKernelWithoutRoot asks for kernel names as an ordinary user, with and
// without the capability that shows addresses.
func TestLiveKernelWithoutRoot(t *testing.T) {
	if os.Getenv(kernelNamesOnly) != "" {
		s := New(Options{})
		defer s.Close()
		fmt.Println("functions", len(s.KernelRanges("do_syscall_64")), s.Stats().KernelHidden)
		return
	}
	dir := t.TempDir()
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	program := filepath.Join(dir, "test")
	executable.Write(t, program, self)
	require.NoError(t, os.Chmod(program, 0o755))
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	const nobody, capSyslog = 65534, 34
	for _, capabilities := range [][]uintptr{{capSyslog}, nil} {
		cmd := exec.Command(program, "-test.run=^TestLiveKernelWithoutRoot$", "-test.v")
		cmd.Dir = "/"
		cmd.Env = []string{kernelNamesOnly + "=1"}
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential:  &syscall.Credential{Uid: nobody, Gid: nobody},
			AmbientCaps: capabilities,
		}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		want := "functions 1 false"
		if capabilities == nil && hidesAddresses(t, nobody) {
			want = "functions 0 true"
		}
		assert.Contains(t, string(out), want, "%v", capabilities)
	}
}

// hidesAddresses tells whether a user without capabilities sees only zeros.
func hidesAddresses(t *testing.T, uid uint32) bool {
	t.Helper()
	cmd := exec.Command("head", "-n", "1000", "/proc/kallsyms")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.Output()
	require.NoError(t, err)
	r := bufio.NewReader(bytes.NewReader(out))
	for {
		line, err := r.ReadString('\n')
		if err == io.EOF {
			return true
		}
		if address, kind, _ := strings.Cut(line, " "); strings.HasPrefix(kind, "T ") && strings.Trim(address, "0") != "" {
			return false
		}
	}
}
