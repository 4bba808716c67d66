//go:build linux

package process

import (
	"os"
	osexec "os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDescendants(t *testing.T) {
	cmd := osexec.Command("/bin/sh", "-c", "sh -c 'sleep 600 & echo $$ $!; wait' & wait")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line := make([]byte, 64)
	n, err := out.Read(line)
	require.NoError(t, err)
	fields := strings.Fields(string(line[:n]))
	require.Len(t, fields, 2)
	child, err := strconv.Atoi(fields[0])
	require.NoError(t, err)
	grandchild, err := strconv.Atoi(fields[1])
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, pid := range []int{grandchild, child, cmd.Process.Pid} {
			p, _ := os.FindProcess(pid)
			_ = p.Kill()
		}
		_ = cmd.Wait()
	})
	found, err := Descendants("/proc", uint32(cmd.Process.Pid))
	require.NoError(t, err)
	require.ElementsMatch(t, []uint32{uint32(child), uint32(grandchild)}, found)
}

func TestCollectEnds(t *testing.T) {
	require.Equal(t, []uint32{2, 3}, collect(map[uint32][]uint32{1: {2}, 2: {3}, 3: {1, 2}}, 1))
	require.Empty(t, collect(nil, 1))
}
