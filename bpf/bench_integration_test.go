//go:build integration && linux

package bpf

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// BenchmarkSample measures what one sample of a busy program costs in the
// kernel, by the depth of its stack. The kernel's run-time statistics, which
// give the figure, add some 50 ns to it.
func BenchmarkSample(b *testing.B) {
	program := build(b, "deep")
	for _, depth := range []int{5, 30, 60, 120, 1000} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			stats, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
			require.NoError(b, err)
			defer stats.Close()
			// One CPU is sampled, and the program has it to itself but for the
			// few percent that the kernel leaves to others: samples of those
			// are turned away early and would spoil the mean.
			cmd := start(b, "chrt", "-f", "10", "taskset", "-c", "1", program, strconv.Itoa(depth))
			time.Sleep(200 * time.Millisecond) // on its way down
			s := target(b, cmd.Process.Pid, Options{Frequency: 999, OnlineCPUs: func() ([]int, error) { return []int{1}, nil }})
			var kept, taken uint64
			for kept < uint64(max(b.N, 500)) {
				time.Sleep(100 * time.Millisecond)
				_, st, err := s.Drain()
				require.NoError(b, err)
				kept += st.Kept
				taken += st.Taken
			}
			after := runStats(b, s.objects.program)
			b.ReportMetric(float64(after.Runtime)/float64(after.RunCount), "ns/sample")
			b.ReportMetric(100*float64(kept)/float64(taken), "%kept")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func runStats(b *testing.B, p *ebpf.Program) *ebpf.ProgramStats {
	b.Helper()
	st, err := p.Stats()
	require.NoError(b, err)
	return st
}

// BenchmarkDrain empties a map of counts and one of stacks, each entry a
// sample of its own with one chunk.
func BenchmarkDrain(b *testing.B) {
	for _, entries := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("entries=%d", entries), func(b *testing.B) {
			s := sampler(b, Options{Frequency: 1, MapEntries: 1 << 17})
			keys, values := make([]profileFtCountKey, entries), make([]profileFtCount, entries)
			ids, chunks := make([]uint64, entries), make([]profileFtChunk, entries)
			for i := range entries {
				ids[i] = uint64(i) + 1
				chunks[i].Len = 30
				keys[i].UserStack, keys[i].Pid = ids[i], uint32(i)
				values[i].Count = 1
			}
			for b.Loop() {
				b.StopTimer()
				current := s.drainer.epoch & 1
				_, err := s.objects.counts[current].BatchUpdate(keys, values, nil)
				require.NoError(b, err)
				_, err = s.objects.chunks[current].BatchUpdate(ids, chunks, nil)
				require.NoError(b, err)
				b.StartTimer()
				samples, _, err := s.Drain()
				require.NoError(b, err)
				require.GreaterOrEqual(b, len(samples), entries)
			}
		})
	}
}

// BenchmarkStart loads and attaches everything.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := NewSampler(Options{Frequency: 99, DrainInterval: time.Second})
		require.NoError(b, err)
		require.NoError(b, s.Close())
	}
}
