package perfmap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fakeProc makes a procfs with the process 7, that is 3 in its own PID
// namespace, belongs to uid and started age ago. It returns where procfs is
// and the process's /tmp.
func fakeProc(t *testing.T, uid int, age time.Duration) (proc, tmp string) {
	t.Helper()
	proc, root := t.TempDir(), t.TempDir()
	tmp = filepath.Join(root, "tmp")
	require.NoError(t, os.Mkdir(tmp, 0o755))
	dir := filepath.Join(proc, "7")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.Symlink(root, filepath.Join(dir, "root")))
	require.NoError(t, os.Symlink("/proc/self", filepath.Join(proc, "self")))
	status := fmt.Sprintf("Name:\tx\nUid:\t%d\t%d\t%d\t%d\nNSpid:\t7\t3\n", uid, uid, uid, uid)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "status"), []byte(status), 0o600))
	var boot unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot))
	ticks := uint64(time.Duration(boot.Nano())-age) / tickNanos
	stat := fmt.Sprintf("7 (a ) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0\n", ticks)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600))
	return proc, tmp
}

const mapText = "1000 10 f\n"

func find(t *testing.T, proc string) error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		f, err := Find(proc, 7, 0)
		if err == nil {
			err = f.Close()
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("finding a map hangs")
		return nil
	}
}

func TestFindByInnerThenOuterPID(t *testing.T) {
	t.Parallel()
	proc, tmp := fakeProc(t, os.Getuid(), time.Minute)
	require.ErrorIs(t, find(t, proc), ErrNone)
	outer := filepath.Join(tmp, "perf-7.map")
	require.NoError(t, os.WriteFile(outer, []byte(mapText), 0o600))
	f, err := Find(proc, 7, 0)
	require.NoError(t, err)
	assert.Equal(t, "perf-7.map", f.Name())
	assert.Equal(t, int64(len(mapText)), f.Size)
	require.NoError(t, f.Close())
	require.NoError(t, os.WriteFile(filepath.Join(tmp, "perf-3.map"), []byte(mapText), 0o600))
	f, err = Find(proc, 7, 0)
	require.NoError(t, err)
	assert.Equal(t, "perf-3.map", f.Name())
	require.NoError(t, f.Close())
}

func TestFindRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		uid  int
		age  time.Duration
		make func(t *testing.T, name string)
		want error
	}{
		"FIFO": {os.Getuid(), time.Minute, func(t *testing.T, name string) {
			require.NoError(t, syscall.Mkfifo(name, 0o600))
		}, RefusedNotRegular},
		"directory": {os.Getuid(), time.Minute, func(t *testing.T, name string) {
			require.NoError(t, os.Mkdir(name, 0o700))
		}, RefusedNotRegular},
		"link": {os.Getuid(), time.Minute, func(t *testing.T, name string) {
			target := filepath.Join(filepath.Dir(name), "target")
			require.NoError(t, os.WriteFile(target, []byte(mapText), 0o600))
			require.NoError(t, os.Symlink("target", name))
		}, RefusedNotRegular},
		"older than the process": {os.Getuid(), time.Minute, func(t *testing.T, name string) {
			require.NoError(t, os.WriteFile(name, []byte(mapText), 0o600))
			old := time.Now().Add(-time.Hour)
			require.NoError(t, os.Chtimes(name, old, old))
		}, RefusedOlder},
		"of root": {12345, time.Minute, func(t *testing.T, name string) {
			require.NoError(t, os.WriteFile(name, []byte(mapText), 0o600))
			if os.Getuid() != 0 {
				require.NoError(t, os.Remove(name))
			}
		}, map[bool]error{true: nil, false: ErrNone}[os.Getuid() == 0]},
		"link out of the root": {os.Getuid(), time.Minute, func(t *testing.T, name string) {
			outside := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(outside, filepath.Base(name)), []byte(mapText), 0o600))
			require.NoError(t, os.Remove(filepath.Dir(name)))
			require.NoError(t, os.Symlink(outside, filepath.Dir(name)))
		}, ErrNone},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proc, tmp := fakeProc(t, tt.uid, tt.age)
			tt.make(t, filepath.Join(tmp, "perf-3.map"))
			err := find(t, proc)
			if tt.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestFindKnowsAProcessByItsStart(t *testing.T) {
	t.Parallel()
	proc, tmp := fakeProc(t, os.Getuid(), time.Minute)
	require.NoError(t, os.WriteFile(filepath.Join(tmp, "perf-3.map"), []byte(mapText), 0o600))
	stat, err := os.ReadFile(filepath.Join(proc, "7/stat"))
	require.NoError(t, err)
	ticks, ok := parseStartTicks(stat)
	require.True(t, ok)
	f, err := Find(proc, 7, ticks*tickNanos-tickNanos*9/2)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, err = Find(proc, 7, (ticks+300)*tickNanos)
	require.ErrorIs(t, err, ErrNone)
}

// A map that is written when a process ends is there only afterwards, and
// nobody may get there by a name any more.
func TestPlaceOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	proc, tmp := fakeProc(t, 12345, time.Minute)
	p, err := Locate(proc, 7, 0)
	require.NoError(t, err)
	defer p.Close()
	_, err = p.Open()
	require.ErrorIs(t, err, ErrNone)
	require.NoError(t, os.RemoveAll(filepath.Join(proc, "7")))
	moved := filepath.Join(t.TempDir(), "moved")
	require.NoError(t, os.Rename(tmp, moved))
	_, err = Locate(proc, 7, 0)
	require.ErrorIs(t, err, ErrNone)
	name := filepath.Join(moved, "perf-3.map")
	require.NoError(t, os.Symlink("/etc/passwd", name))
	_, err = p.Open()
	require.ErrorIs(t, err, RefusedNotRegular)
	require.NoError(t, os.Remove(name))
	require.NoError(t, os.WriteFile(name, []byte(mapText), 0o600))
	f, err := p.Open()
	if os.Getuid() != 0 { // the file is then of another user than the process
		require.ErrorIs(t, err, RefusedOwner)
		return
	}
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// TestFindOfThisProcess uses the real procfs.
func TestFindOfThisProcess(t *testing.T) {
	t.Parallel()
	name := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
	require.NoError(t, os.WriteFile(name, []byte(mapText), 0o600))
	t.Cleanup(func() { os.Remove(name) })
	f, err := Find("/proc", os.Getpid(), 0)
	require.NoError(t, err)
	defer f.Close()
	var r Reader
	_, _, err = r.Update(f, f.ID, f.Size)
	require.NoError(t, err)
	assert.Equal(t, "f", nameOf(&r, 0x1000))
	require.True(t, errors.Is(find(t, "/proc/nowhere"), ErrNone))
}
