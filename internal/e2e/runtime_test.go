//go:build integration

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/workloads"
)

// A Node.js program's functions get their names from its perf map and are
// marked as JIT code.
func TestNodeFunctionsAreNamed(t *testing.T) {
	t.Parallel()
	pid := startNode(t, exec.Command("node", nodeArgs...))
	requireBusyLoop(t, record(t, pidTarget(pid), 99, 300))
}

// In a container the map is called by the PID that the process has inside and
// lies in a /tmp that the host does not see.
func TestNodeFunctionsAreNamedInAContainer(t *testing.T) {
	t.Parallel()
	script := "mount -t tmpfs tmpfs /tmp && exec node " + strings.Join(nodeArgs, " ")
	outer := startNode(t, exec.Command("unshare", "-fp", "--kill-child", "--mount-proc", "sh", "-c", script))
	var inner int
	eventually(t, "node in its namespace", func() bool {
		inner = childOf(outer)
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", inner))
		return err == nil && strings.HasPrefix(string(comm), "node")
	})
	requireBusyLoop(t, record(t, pidTarget(inner), 99, 300))
}

// nodeArgs reads the program from standard input: the container of the test may
// not see the folder it is in.
var nodeArgs = []string{"--perf-basic-prof", "-", "600"}

func startNode(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	script, err := os.Open(workloads.Source(workloads.NodeBusyScript))
	require.NoError(t, err)
	defer func() { _ = script.Close() }()
	cmd.Stdin = script
	cmd.Dir = t.TempDir() // where it leaves a log
	require.NoError(t, cmd.Start())
	pid := cmd.Process.Pid
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.Remove(fmt.Sprintf("/tmp/perf-%d.map", pid))
	})
	return pid
}

// childOf returns the first child of a process, 0 if it has none.
func childOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	child, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return child
}

func requireBusyLoop(t *testing.T, got stacks) {
	t.Helper()
	busy := got.with(func(frames []string) bool {
		for _, frame := range frames {
			if strings.Contains(frame, "flametelBusyLoop") && strings.HasSuffix(frame, "_[j]") {
				return true
			}
		}
		return false
	})
	assert.GreaterOrEqual(t, share(busy, got), 0.5, "%v", got)
}

// Processes that live a few milliseconds are gone long before their samples are
// read, and keep their names.
func TestShortProcessesKeepTheirNames(t *testing.T) {
	t.Parallel()
	const processes = 200
	path := workloads.SpinShort.Build(t, "spin-short")
	c := start(t, pipeline(`{window: 1s, drain_interval: 1s, targets: {executables: [spin-short]}, cpu: {frequency: 999}}`))
	for range processes {
		require.NoError(t, exec.Command(path, "10").Run())
	}
	// 200 processes of 10 ms at 999 Hz are some 2,000 samples, most of the program.
	c.waitSamples("out.folded", 500)
	c.interrupt()

	got := readFolded(t, c.path("out.folded")).of("spin-short")
	named := got.through("main", "spin_outer", "spin_inner").total()
	nameless := got.with(func(frames []string) bool {
		return frames[len(frames)-1] == "[unknown]" || strings.Contains(strings.Join(frames, ";"), "[spin-short]+0x")
	}).total()
	assert.GreaterOrEqual(t, named, int64(500), "%v", got)
	assert.LessOrEqual(t, nameless, named/20, "%v", got)
}

// What a process is may change: one that was turned down becomes a target when
// it runs a program that is.
func TestProcessBecomesATargetByExec(t *testing.T) {
	t.Parallel()
	path := workloads.Burn.Build(t, "burn-exec")
	c := start(t, pipeline(`{window: 500ms, drain_interval: 100ms, targets: {executables: [burn-exec]}}`))
	// Busy as a shell for a while, so that it is sampled as one.
	script := `i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; exec "$0" 600`
	cmd := exec.Command("sh", "-c", script, path)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	c.waitSamples("out.folded", 50)
	c.interrupt()
	got := readFolded(t, c.path("out.folded"))
	assert.NotZero(t, got.of("burn-exec").through("main", "heavy", "helper").total(), "%v", got)
}
