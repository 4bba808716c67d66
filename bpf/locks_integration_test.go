//go:build integration && linux

package bpf

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLockContention(t *testing.T) {
	f := startFixture(t, "locks")
	tr := tracer(t, LockContention(LockOptions{LookInterval: time.Millisecond}), f.pid())
	syscallsOf(t, tr, f.pid())
	began := time.Now()
	took := f.do(t)
	samples, stats, err := tr.Drain()
	require.NoError(t, err)
	// A lock that the program itself waits for cannot be counted.
	require.Equal(t, stats.LostState+stats.LostRecursion, stats.Lost(), "%+v", stats)
	require.Less(t, stats.Lost(), stats.Taken/100)
	var futexWaits, futexNanos, kernelWaits, kernelNanos uint64
	for _, s := range samples {
		require.EqualValues(t, f.pid(), s.PID)
		if s.Flags&Selected != 0 {
			require.NotEmpty(t, s.Kernel)
			continue
		}
		if s.Detail&LockKernel != 0 {
			kernelWaits += s.Count
			kernelNanos += s.Sums[0]
			continue
		}
		require.NotEmpty(t, s.Kernel)
		// Others wait for the end of a thread in the same call.
		if s.Detail>>LockFutexOpShift&LockFutexOpMask == 0 {
			futexWaits += s.Sums[1]
			futexNanos += s.Sums[0]
		}
	}
	require.InDelta(t, 300, futexWaits, 15)
	require.InEpsilon(t, took, futexNanos, 0.05)
	require.Positive(t, kernelWaits)
	require.Less(t, kernelNanos, uint64(5*time.Since(began)), "at most the time of all threads")
}
