//go:build integration && linux

package bpf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// textsOf takes the texts out of a record.
func textsOf(record []uint64) string {
	var raw []byte
	for _, w := range record {
		raw = binary.NativeEndian.AppendUint64(raw, w)
	}
	var texts []string
	for _, t := range bytes.Split(raw, []byte{0}) {
		if len(t) > 0 {
			texts = append(texts, string(t))
		}
	}
	return strings.Join(texts, " in ")
}

func TestFileOpensAreExact(t *testing.T) {
	for name, interval := range map[string]time.Duration{"every stack": 0, "some stacks": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600))
			f := startFixture(t, "opens", dir)
			tr := tracer(t, FileOpens(FileOpenOptions{LookInterval: interval}), f.pid())
			syscallsOf(t, tr, f.pid())
			f.do(t)
			samples, stats, err := tr.Drain()
			require.NoError(t, err)
			require.Zero(t, stats.Lost(), "%+v", stats)
			require.Equal(t, stats.Taken, stats.Kept+stats.Filtered)
			got := make(map[string]uint64)
			for _, s := range samples {
				require.EqualValues(t, f.pid(), s.PID)
				if s.Flags&Total == 0 {
					require.NotEmpty(t, s.User)
				}
				if s.Flags&Selected == 0 {
					errno := unix.Errno(s.Detail >> SyscallErrnoShift & SyscallErrnoMask)
					got[fmt.Sprintf("%d %s %s", uint32(s.Detail), unix.ErrnoName(errno), textsOf(s.Record))] += s.Count
				}
			}
			long := strings.Repeat("x", 4095)
			require.Equal(t, map[string]uint64{
				"257  /etc/passwd":                        1429,
				"257  /dev/null":                          1429,
				"257  /":                                  1429,
				"257  file in " + dir:                     1429,
				"257 ENOENT /missing/one":                 1428,
				"257 ENOENT /missing/two":                 1428,
				"257 ENOENT missing in " + dir:            1428,
				"2  /dev/zero":                            1,
				"85  made in " + dir:                      1,
				"437  /dev/full":                          1,
				"257  /etc":                               1,
				"257  hostname in /etc":                   1,
				"257 ENOENT no;such\nname in /etc":        1,
				"257 ENAMETOOLONG " + long + " in " + dir: 1,
				"257 ENOENT /" + long[1:255]:              1,
				"257  /dev/zero":                          1,
				"257 EFAULT ":                             1,
			}, got)
		})
	}
}

func TestFileOpensThatFailed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600))
	f := startFixture(t, "opens", dir)
	tr := tracer(t, FileOpens(FileOpenOptions{FailedOnly: true}), f.pid())
	f.do(t)
	list, stats := drainOf(t, tr, f.pid())
	n, _ := total(list)
	require.EqualValues(t, 3*1428+4, n)
	require.EqualValues(t, 4*1429+6, stats.Filtered)
}

func TestFileReadsAreExact(t *testing.T) {
	for name, interval := range map[string]time.Duration{"every stack": 0, "some stacks": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a file")
			require.NoError(t, os.WriteFile(path, make([]byte, 1<<20), 0o600))
			f := startFixture(t, "reads", path)
			tr := tracer(t, FileReads(FileReadOptions{LookInterval: interval}), f.pid())
			syscallsOf(t, tr, f.pid())
			took := f.do(t)
			list, _ := syscallsOf(t, tr, f.pid())
			type reads struct{ count, bytes uint64 }
			got := make(map[string]reads)
			var nanos uint64
			for _, s := range list {
				if s.Flags&Total == 0 {
					require.NotEmpty(t, s.User)
				}
				if s.Flags&Selected != 0 {
					continue
				}
				errno := unix.Errno(s.Detail >> SyscallErrnoShift & SyscallErrnoMask)
				key := fmt.Sprintf("%d %s %s", uint32(s.Detail), unix.ErrnoName(errno), textsOf(s.Record))
				sum := got[key]
				sum.count += s.Count
				sum.bytes += s.Sums[1]
				got[key] = sum
				nanos += s.Sums[0]
			}
			require.Equal(t, map[string]reads{
				fmt.Sprintf("%d  %s", unix.SYS_READ, path):          {5000, 5000},
				fmt.Sprintf("%d  %s", unix.SYS_PREAD64, path):       {301, 300 * 4096},
				fmt.Sprintf("%d EFAULT %s", unix.SYS_PREAD64, path): {1, 0},
				fmt.Sprintf("%d  %s", unix.SYS_PREADV, path):        {200, 200 * 4000},
				fmt.Sprintf("%d  %s", unix.SYS_READV, path):         {100, 100 * 4000},
				fmt.Sprintf("%d  %s", unix.SYS_PREADV2, path):       {50, 50 * 4000},
				fmt.Sprintf("%d  %s", unix.SYS_SENDFILE, path):      {10, 10 * 4096},
			}, got)
			require.Less(t, nanos, took)
			require.Positive(t, nanos)
		})
	}
}

func TestFileReadsThatAreShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, make([]byte, 1<<20), 0o600))
	f := startFixture(t, "reads", path)
	tr := tracer(t, FileReads(FileReadOptions{MinDuration: time.Minute}), f.pid())
	f.do(t)
	list, stats := drainOf(t, tr, f.pid())
	require.Empty(t, list)
	require.EqualValues(t, 5662, stats.Filtered)
}
