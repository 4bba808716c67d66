//go:build integration && linux

package unwindtable

import (
	"os"
	"strconv"
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
		Kernel: tables, Processes: process.New(symbols, process.Options{}), Files: symbols, Now: monotonic,
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

func pids(tb testing.TB) (list []uint32) {
	tb.Helper()
	names, err := os.ReadDir("/proc")
	require.NoError(tb, err)
	for _, n := range names {
		if pid, err := strconv.ParseUint(n.Name(), 10, 32); err == nil {
			list = append(list, uint32(pid))
		}
	}
	return list
}

// BenchmarkLoad loads the tables of all processes of this host.
func BenchmarkLoad(b *testing.B) {
	var stats Stats
	var published time.Duration
	for b.Loop() {
		b.StopTimer()
		m, _ := real(b, 1<<22, 1<<17)
		run(b, m)
		b.StartTimer()
		began := time.Now()
		for _, pid := range pids(b) {
			m.ask(bpf.SpaceRequest{PID: pid})
		}
		published = settled(m, began)
		stats = m.Stats()
	}
	b.ReportMetric(float64(published.Milliseconds()), "ms/all")
	b.ReportMetric(float64(stats.Processes), "processes")
	b.ReportMetric(float64(stats.Files), "files")
	b.ReportMetric(float64(stats.Rows*8)/(1<<20), "MiB-rows")
	b.ReportMetric(float64(stats.Mappings*32)/(1<<20), "MiB-mappings")
}
