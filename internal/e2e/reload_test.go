//go:build integration

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/workloads"
)

// On SIGHUP a collector reads its configuration again and starts anew within
// the same process, so whatever the old receiver keeps is kept for good.
func TestReloadLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	pid := workloads.Start(t, workloads.Burn.Build(t, "burn-reload"), "600")
	settings := `{window: 500ms, drain_interval: 100ms, targets: {pids: [%d]}, cpu: {frequency: %d}}`
	c := start(t, pipeline(fmt.Sprintf(settings, pid, 99)))
	flows := func() bool {
		text, err := os.ReadFile(c.path("out.folded"))
		return err == nil && parseFolded(t, string(text)).of("burn-reload").total() > 0
	}
	eventually(t, "the first profile", flows)
	before := c.kernelObjects()
	require.NotZero(t, before["bpf-prog"], "descriptors: %v", before)
	require.NotZero(t, before["bpf-map"], "descriptors: %v", before)
	require.NotZero(t, before["perf_event"], "descriptors: %v", before)

	const reloads = 3
	for i := range reloads {
		require.NoError(t, os.WriteFile(c.config, []byte(pipeline(fmt.Sprintf(settings, pid, 200+i))), 0o600))
		c.signal(syscall.SIGHUP)
		c.waitLog(readyLine, i+2)
		require.NoError(t, os.Remove(c.path("out.folded")), "the old exporter writes its last file")
		eventually(t, "a profile after reload", flows)
	}
	assert.Equal(t, before, c.kernelObjects(), "descriptors of kernel objects after %d reloads", reloads)

	programs := c.programs()
	require.NotEmpty(t, programs)
	c.interrupt()
	for _, id := range programs {
		eventually(t, "the kernel to free program "+id, func() bool {
			return exec.Command("bpftool", "prog", "show", "id", id).Run() != nil
		})
	}
}

// kernelObjects counts the descriptors of the collector that stand for BPF
// programs, maps and links and for perf events.
func (c *collector) kernelObjects() map[string]int {
	c.t.Helper()
	kinds := map[string]int{}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.cmd.Process.Pid))
	require.NoError(c.t, err)
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil {
			continue // closed meanwhile
		}
		kind := strings.Trim(strings.TrimPrefix(target, "anon_inode:"), "[]")
		if kind == "perf_event" || strings.HasPrefix(kind, "bpf") {
			kinds[kind]++
		}
	}
	return kinds
}

var programID = regexp.MustCompile(`(?m)^prog_id:\s*(\d+)$`)

// programs returns the IDs of the BPF programs that the collector holds.
func (c *collector) programs() []string {
	c.t.Helper()
	infos, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", c.cmd.Process.Pid))
	require.NoError(c.t, err)
	var ids []string
	for _, info := range infos {
		text, err := os.ReadFile(info)
		if err != nil {
			continue // closed meanwhile
		}
		if id := programID.FindSubmatch(text); id != nil {
			ids = append(ids, string(id[1]))
		}
	}
	return ids
}
