//go:build integration && linux

package bpf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// requireBalanced checks that no sample is unaccounted for.
func requireBalanced(t *testing.T, samples []Sample, stats Stats) {
	t.Helper()
	var kept uint64
	for i := range samples {
		kept += samples[i].Count
	}
	require.Equal(t, stats.Kept, kept, "samples drained against samples kept")
	require.Equal(t, stats.Taken, stats.Kept+stats.Idle+stats.Filtered+stats.Lost(), "taken = kept + idle + filtered + lost")
}

// build compiles a program of testdata without optimisation, so that every
// function has a frame.
func build(t testing.TB, name string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), name)
	msg, err := exec.Command("gcc", "-O0", "-o", out, filepath.Join("testdata", name+".c")).CombinedOutput()
	require.NoError(t, err, "%s", msg)
	return out
}

// start runs a program until the test ends.
func start(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// sampler starts sampling with opts; the test's end closes it.
func sampler(t testing.TB, opts Options) *Sampler {
	t.Helper()
	if opts.DrainInterval == 0 {
		opts.DrainInterval = time.Second
	}
	s, err := NewSampler(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// target makes a sampler that sees one process and its children only.
func target(t testing.TB, pid int, opts Options) *Sampler {
	t.Helper()
	opts.FilterTargets = true
	s := sampler(t, opts)
	require.NoError(t, s.SetTarget(processOf(t, pid), Keep))
	return s
}

// processOf names a process that runs.
func processOf(t testing.TB, pid int) Target {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	ticks, err := strconv.ParseUint(fields[22-3], 10, 64)
	require.NoError(t, err)
	return Target{PID: uint32(pid), StartTicks: ticks}
}

// patience is how long a busy machine may take for what takes seconds.
const patience = 5 * time.Minute

// collect drains until the samples kept are at least n, and returns copies.
func collect(t *testing.T, s *Sampler, n uint64) []Sample {
	t.Helper()
	var all []Sample
	var kept uint64
	deadline := time.Now().Add(patience)
	for kept < n {
		require.True(t, time.Now().Before(deadline), "%d samples, want %d", kept, n)
		time.Sleep(100 * time.Millisecond)
		samples, stats, err := s.Drain()
		require.NoError(t, err)
		requireBalanced(t, samples, stats)
		for _, sample := range samples {
			sample.User = append([]uint64(nil), sample.User...)
			sample.Kernel = append([]uint64(nil), sample.Kernel...)
			all = append(all, sample)
			kept += sample.Count
		}
	}
	return all
}
