//go:build integration && linux

package bpf

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is listed of a process is what its programs ask with.
func TestRunning(t *testing.T) {
	tables, err := NewTables(1<<15, 1<<10)
	require.NoError(t, err)
	defer func() { require.NoError(t, tables.Close()) }()
	_, err = tables.Running()
	require.Error(t, err)
	require.NoError(t, tables.FollowExecs())
	asked := make(chan TableRequest, 1024)
	go func() { _ = tables.Requests(func(r TableRequest) { asked <- r }) }()
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var request TableRequest
	for request.PID != uint32(cmd.Process.Pid) {
		request = <-asked
	}
	list, err := tables.Running()
	require.NoError(t, err)
	find := func(pid int) int {
		return slices.IndexFunc(list, func(r Running) bool { return r.PID == uint32(pid) })
	}
	require.NotEqual(t, -1, find(cmd.Process.Pid))
	assert.Equal(t, request.SpaceRequest, list[find(cmd.Process.Pid)].SpaceRequest)
	assert.NotEqual(t, -1, find(os.Getpid()))
	assert.Positive(t, list[find(os.Getpid())].CPUTime)
	assert.True(t, slices.IsSortedFunc(list, func(a, b Running) int { return int(b.CPUTime - a.CPUTime) }))
	seen := map[uint32]bool{}
	for _, r := range list {
		assert.False(t, seen[r.PID], "%d is there twice", r.PID)
		seen[r.PID] = true
	}
}
