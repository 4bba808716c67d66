//go:build integration && linux

package bpf

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/internal/executable"
)

func TestPageFaultsAreExact(t *testing.T) {
	for name, interval := range map[string]time.Duration{"every stack": 0, "some stacks": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			f := startFixture(t, "faults")
			tr := tracer(t, PageFaults(PageFaultOptions{LookInterval: interval}), f.pid())
			f.do(t) // what its first round touches besides
			syscallsOf(t, tr, f.pid())
			want := f.do(t)
			list, _ := syscallsOf(t, tr, f.pid())
			var got, byKernel uint64
			for _, s := range list {
				if s.Flags&Total == 0 {
					require.NotEmpty(t, s.User)
				}
				if s.Flags&Selected != 0 {
					continue
				}
				require.Zero(t, s.Detail&FaultMajor)
				got += s.Count
				if s.Detail&FaultByKernel != 0 {
					byKernel += s.Count
				}
			}
			require.GreaterOrEqual(t, want, uint64(3100))
			require.InDelta(t, want, got, 5, "against getrusage; a fault may lie before or behind")
			require.InDelta(t, 100, byKernel, 2)
		})
	}
}

// A file that is not in memory is read by major faults.
func TestMajorPageFaults(t *testing.T) {
	tr, err := NewTracer(PageFaults(PageFaultOptions{LookInterval: time.Millisecond}), Options{DrainInterval: time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tr.Close()) })
	program := filepath.Join(diskDir(t), "true")
	text, err := os.ReadFile("/bin/true")
	require.NoError(t, err)
	executable.Write(t, program, text)
	require.NoError(t, exec.Command("sync", program).Run())
	require.NoError(t, exec.Command("dd", "of="+program, "oflag=nocache", "conv=notrunc,fdatasync", "count=0").Run())
	cmd := exec.Command(program)
	require.NoError(t, cmd.Run())
	samples, stats, err := tr.Drain()
	require.NoError(t, err)
	require.Zero(t, stats.Lost())
	var minor, major uint64
	for _, s := range samples {
		if int(s.PID) != cmd.Process.Pid || s.Flags&Selected != 0 {
			continue
		}
		if s.Detail&FaultMajor != 0 {
			major += s.Count
		} else {
			minor += s.Count
		}
	}
	require.Positive(t, minor)
	require.Positive(t, major)
	// Those between fork and exec are of the process as well, and not all seen.
	require.InDelta(t, cmd.ProcessState.SysUsage().(*syscall.Rusage).Majflt, major, 1)
}

// diskDir is a new folder of a file system whose files need not be in memory,
// which that of temporary files may be.
func diskDir(t *testing.T) string {
	t.Helper()
	for _, parent := range []string{os.TempDir(), "/var/tmp", "."} {
		var fs unix.Statfs_t
		if err := unix.Statfs(parent, &fs); err != nil || fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC {
			continue
		}
		dir, err := os.MkdirTemp(parent, "major-faults-")
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dir
	}
	t.Fatal("all folders are in memory: set TMPDIR to one on a disk")
	return ""
}
