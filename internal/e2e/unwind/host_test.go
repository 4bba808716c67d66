//go:build integration && linux

package unwind

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/workloads"
	"github.com/flametel/flametel/receiver"
)

// accounted adds up what the accounts of all windows from the first warm one on
// say of user stacks.
func (r *recorder) accounted() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	sums := make(map[string]int64)
	for i, account := range r.accounts {
		if i < warmWindows {
			continue
		}
		for key, v := range account {
			if name, ok := strings.CutPrefix(key, "flametel.stacks."); ok {
				sums[name] += v.(int64)
			}
		}
	}
	return sums
}

// What keeps a host busy, compilers, interpreters and generated code among it:
// nearly all stacks are complete, once there are tables. Programs of others,
// which may do anything, are left out.
func TestBusyHost(t *testing.T) {
	dir := t.TempDir()
	unit := "for i in 1 2 3 4 5 6 7 8 9; do echo \"int f$i(int *v, int n) { int s = 0; for (int i = 0; i < n; i++) s += v[i] * $i; return s; }\"; done >unit.c;"
	var pids []int
	for _, command := range [][]string{
		{"/bin/sh", "-c", unit + "while :; do gcc -O3 -c -o unit.o unit.c; done"},
		{"/usr/bin/python3", workloads.Source(workloads.PythonScript), "300"},
		{"node", "--perf-basic-prof", "--interpreted-frames-native-stack", workloads.Source(workloads.NodeBusyScript), "300"},
		{"openssl", "speed", "-seconds", "300", "rsa2048"},
		{"/bin/sh", "-c", "while :; do apt-cache search --names-only lib >apt.txt; done"},
	} {
		pids = append(pids, start(t, dir, command[0], command[1:]...))
	}
	r := run(t, func(c *receiver.Config) {
		c.CPU.Frequency = 499
		c.Targets.PIDs = pids
	})
	r.wait("5,000 stacks", func() bool { return r.accounted()["user"] >= 5000 })
	sums := r.accounted()
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if sums[name] > 0 {
			t.Logf("%s: %d (%.2f %%)", name, sums[name], 100*float64(sums[name])/float64(sums["user"]))
		}
	}
	require.Positive(t, sums["user"])
	// How soon there are tables depends on how busy the host is.
	walked := sums["user"] - sums["incomplete.no_table"] - sums["incomplete.exiting"]
	share := float64(sums["complete"]) / float64(walked)
	assert.GreaterOrEqual(t, share, 0.98, fmt.Sprintf("%d of %d stacks are complete", sums["complete"], walked))
	r.showCut(t)
}

// showCut logs which stacks are cut most often.
func (r *recorder) showCut(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	show := make(map[string]int64)
	for _, list := range r.byPID {
		for _, s := range list {
			if !s.complete && s.window >= warmWindows && len(s.frames) > 0 {
				show[s.process+": "+strings.Join(s.frames[:min(len(s.frames), 3)], ";")] += s.count
			}
		}
	}
	showMost(t, show)
}
