//go:build integration && linux

package bpf

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// drainAll sums the samples of a drain and checks that the books balance.
func requireBalanced(t *testing.T, samples []Sample, stats Stats) {
	t.Helper()
	var kept uint64
	for i := range samples {
		kept += samples[i].Count
	}
	require.Equal(t, stats.Kept, kept, "samples drained against samples kept")
	require.Equal(t, stats.Taken, stats.Kept+stats.Idle+stats.Filtered+stats.Lost(), "taken = kept + idle + filtered + lost")
}

// startSpinner runs a process that keeps a CPU busy until the test ends.
func startSpinner(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func TestSamplerBooksBalance(t *testing.T) {
	cmd := startSpinner(t)
	s, err := NewSampler(Options{Frequency: 999, DrainInterval: time.Second})
	require.NoError(t, err)
	defer s.Close()
	var ofSpinner uint64
	for range 5 {
		time.Sleep(200 * time.Millisecond)
		samples, stats, err := s.Drain()
		require.NoError(t, err)
		requireBalanced(t, samples, stats)
		require.Zero(t, stats.Lost())
		for i := range samples {
			if samples[i].PID == uint32(cmd.Process.Pid) {
				ofSpinner += samples[i].Count
				require.NotEmpty(t, samples[i].User)
			}
		}
		t.Logf("%d samples %+v", len(samples), stats)
	}
	require.NotZero(t, ofSpinner)
}

func TestMain(m *testing.M) {
	os.Exit(m.Run())
}
