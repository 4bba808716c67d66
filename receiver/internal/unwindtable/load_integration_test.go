//go:build integration && linux

package unwindtable

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/process"
	"github.com/flametel/flametel/symbolize"
)

func monotonic() uint64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return uint64(t.Nano())
}

// real is a Manager of the kernel's tables and this host's processes.
func real(tb testing.TB, rows, mappings int) (*Manager, *bpf.Tables) {
	tb.Helper()
	tables, err := bpf.NewTables(rows, mappings)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, tables.Close()) })
	symbols := symbolize.New(symbolize.Options{})
	tb.Cleanup(symbols.Close)
	return New(Options{
		Kernel: tables, Processes: process.New(symbols, process.Options{}), Files: symbols, ColdAfter: time.Second, Now: monotonic,
	}), tables
}

func run(tb testing.TB, m *Manager) {
	tb.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		m.Run(stop, func(err error) { tb.Error(err) })
	}()
	tb.Cleanup(func() {
		close(stop)
		<-done
	})
}

// settled waits until a Manager has nothing more to do and returns how long it
// took it.
func settled(m *Manager, began time.Time) time.Duration {
	var last Stats
	changed := began
	for time.Since(changed) < 300*time.Millisecond {
		time.Sleep(time.Millisecond)
		m.state.Lock()
		waiting := len(m.small.files) + len(m.large.files)
		for _, f := range m.files {
			if f.state == fileWaiting {
				waiting++
			}
		}
		m.state.Unlock()
		if now := m.Stats(); now != last || waiting > 0 {
			last, changed = now, time.Now()
		}
	}
	return changed.Sub(began)
}

// libraries returns different shared libraries of this host, by inode.
func libraries(tb testing.TB, count int) (names []string) {
	tb.Helper()
	all, err := filepath.Glob("/usr/lib/x86_64-linux-gnu/*.so.*")
	require.NoError(tb, err)
	seen := map[uint64]bool{}
	for _, name := range all {
		var st unix.Stat_t
		if unix.Stat(name, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || seen[st.Ino] || len(names) == count {
			continue
		}
		seen[st.Ino] = true
		names = append(names, name)
	}
	require.Len(tb, names, count)
	return names
}

// mappers starts processes that map some libraries each, all of them together
// every library.
func mappers(b *testing.B, count int, libraries []string) (pids []uint32) {
	b.Helper()
	program := filepath.Join(b.TempDir(), "mapper")
	msg, err := exec.Command("gcc", "-O2", "-o", program, "testdata/mapper.c").CombinedOutput()
	require.NoError(b, err, "%s", msg)
	const each = 40
	for i := range count {
		var args []string
		for j := range each {
			args = append(args, libraries[(i*7+j)%len(libraries)])
		}
		cmd := exec.Command(program, args...)
		out, err := cmd.StdoutPipe()
		require.NoError(b, err)
		require.NoError(b, cmd.Start())
		b.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		_, err = out.Read(make([]byte, 1))
		require.NoError(b, err)
		pids = append(pids, uint32(cmd.Process.Pid))
	}
	return pids
}

// BenchmarkLoad loads the tables of 300 processes that map 150 libraries, 40
// each.
func BenchmarkLoad(b *testing.B) {
	pids := mappers(b, 300, libraries(b, 150))
	var stats Stats
	var took, used time.Duration
	for b.Loop() {
		b.StopTimer()
		m, _ := real(b, 1<<22, 1<<17)
		run(b, m)
		before := cpuTime(b)
		b.StartTimer()
		began := time.Now()
		for _, pid := range pids {
			m.ask(bpf.TableRequest{SpaceRequest: bpf.SpaceRequest{PID: pid}})
		}
		took = settled(m, began)
		used = cpuTime(b) - before
		stats = m.Stats()
	}
	require.Equal(b, len(pids), stats.Processes)
	b.ReportMetric(float64(took.Milliseconds()), "ms/all")
	b.ReportMetric(float64(used.Milliseconds()), "cpu-ms/all")
	b.ReportMetric(float64(stats.Files), "files")
	b.ReportMetric(float64(stats.Refused), "refused")
	b.ReportMetric(float64(stats.Rows*8)/(1<<20), "MiB-rows")
	b.ReportMetric(float64(stats.Mappings*32)/(1<<20), "MiB-mappings")
	b.ReportMetric(0, "ns/op")
}

func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
