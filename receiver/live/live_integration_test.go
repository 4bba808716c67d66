//go:build integration && linux

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func open(t *testing.T, o Options) Source {
	t.Helper()
	s, err := Open(&o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestOpensOfChildren(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "there"), []byte("x"), 0o600))
	s := open(t, Options{Family: Opens, PIDs: []int{os.Getpid()}})
	before := time.Now()
	cmd := exec.Command("cat", "there", "missing")
	cmd.Dir = dir
	assert.Error(t, cmd.Run())
	events, lost, err := s.Events()
	require.NoError(t, err)
	assert.Zero(t, lost)
	found := map[string]string{}
	for _, e := range events {
		if e.PID == cmd.Process.Pid {
			assert.WithinRange(t, e.Time, before.Add(-time.Second), time.Now().Add(time.Second))
			found[e.Path] = e.Error
		}
	}
	assert.Equal(t, "", found[filepath.Join(dir, "there")])
	assert.Equal(t, "ENOENT", found[filepath.Join(dir, "missing")])
	assert.Contains(t, found, filepath.Join(dir, "there"))
}

func TestCallsSinceTheLastLook(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "0.3")
	s := open(t, Options{Family: Syscalls, PIDs: []int{os.Getpid()}})
	require.NoError(t, cmd.Run())
	calls, _, err := s.Calls()
	require.NoError(t, err)
	byName := map[string]Call{}
	for _, c := range calls {
		byName[c.Name] = c
	}
	nap := byName["clock_nanosleep"]
	assert.EqualValues(t, 1, nap.Count)
	assert.Equal(t, cmd.Process.Pid, nap.TopPID)
	assert.GreaterOrEqual(t, nap.Time, 300*time.Millisecond)
	assert.InEpsilon(t, nap.Time, nap.P99, 0.2)
	calls, _, err = s.Calls()
	require.NoError(t, err)
	for _, c := range calls {
		assert.NotEqual(t, "clock_nanosleep", c.Name, "it was told already")
	}
}

// A pipe of 256 pages has an array of 256 buffers, too large for a cache.
func TestLargeAllocationsOfAPipe(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = r.Close(), w.Close() }()
	s := open(t, Options{Family: Allocations, PIDs: []int{os.Getpid()}, MinBytes: 8193})
	const times, size = 100, 256
	resize := func(pages int) {
		_, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, pages*os.Getpagesize())
		require.NoError(t, err)
	}
	for range times {
		resize(size)
		resize(1)
	}
	events, lost, err := s.Events()
	require.NoError(t, err)
	assert.Zero(t, lost)
	bySize := map[int64]int{}
	for _, e := range events {
		if e.TID == unix.Gettid() && e.What == "kmalloc" {
			bySize[e.Bytes]++
		}
	}
	assert.Equal(t, map[int64]int{16 << 10: times}, bySize, "256 buffers of 40 bytes, on pages")
}

func TestWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	_, err := Open(&Options{Family: Opens, PIDs: []int{1 << 22}})
	assert.ErrorContains(t, err, "process 4194304 does not exist")
	_, err = Open(&Options{Family: "dreams"})
	assert.ErrorContains(t, err, `"dreams"`)
}

func TestRetransmitsOpenAndClose(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Family: Retransmits, PIDs: []int{os.Getpid()}})
	_, lost, err := s.Events()
	require.NoError(t, err)
	assert.Zero(t, lost)
	require.NoError(t, s.Close())
}

func TestRetransmitsOfAConnection(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "retransmits")
	msg, err := exec.Command("gcc", "-o", program, filepath.Join("..", "..", "bpf", "testdata", "retransmits.c")).CombinedOutput()
	require.NoError(t, err, "%s", msg)
	s := open(t, Options{Family: Retransmits, PIDs: []int{os.Getpid()}})
	cmd := exec.Command(program, "6")
	cmd.Stdin = strings.NewReader("\n")
	require.NoError(t, cmd.Run())
	events, lost, err := s.Events()
	require.NoError(t, err)
	assert.Zero(t, lost)
	found := map[string]int64{}
	for _, e := range events {
		assert.Equal(t, cmd.Process.Pid, e.PID)
		assert.Equal(t, "retransmits", e.Comm)
		assert.Contains(t, e.Local, "[::1]:")
		assert.Contains(t, e.Remote, "[::1]:")
		found[e.What] += e.Count
	}
	for _, what := range []string{"SYN", "SYN-ACK", "data", "loss probe"} {
		assert.Positive(t, found[what], what)
	}
}
