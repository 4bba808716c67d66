//go:build integration && linux

package unwindtable

import (
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/bpf"
)

// A program that runs already has complete stacks from its first sample on.
func TestPreloadedProgramsAreNeverCut(t *testing.T) {
	cmd := exec.Command(deep(t, byTable, byTable), strconv.Itoa(20))
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	m, tables := real(t, 1<<18, 1<<10)
	require.NoError(t, tables.FollowExecs())
	var list []bpf.SpaceRequest
	require.Eventually(t, func() bool { // it has to get into its recursion first
		running, err := tables.Running()
		require.NoError(t, err)
		list = nil
		for _, r := range running {
			if r.PID == uint32(cmd.Process.Pid) && r.CPUTime > 20*time.Millisecond {
				list = append(list, r.SpaceRequest)
			}
		}
		return len(list) == 1
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, m.Preload(make(chan struct{}), list))
	s, err := bpf.NewSampler(bpf.Options{Frequency: 999, DrainInterval: time.Second, FilterTargets: true, Tables: tables})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.SetTarget(target(t, cmd.Process.Pid), bpf.Keep))
	ends := endsOf(t, s)
	require.Len(t, ends, 1, "%v", ends)
	require.Contains(t, ends, bpf.EndOutmost)
}
