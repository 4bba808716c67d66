//go:build integration

package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/workloads"
)

// record runs a collector until it has at least n samples of what the targets
// (YAML in braces) say, and returns the folded stacks. It counts samples and
// not seconds, so that a busy machine takes longer and is right all the same.
func record(t *testing.T, targets string, frequency int, n int64) stacks {
	t.Helper()
	c := start(t, pipeline(fmt.Sprintf(`{window: 1s, drain_interval: 200ms, targets: %s, cpu: {frequency: %d}}`, targets, frequency)))
	c.waitSamples("out.folded", n)
	c.interrupt()
	return readFolded(t, c.path("out.folded"))
}

// waitSamples waits until a folded file of the collector has n samples.
func (c *collector) waitSamples(name string, n int64) {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("%d samples", n), func() bool {
		text, err := os.ReadFile(c.path(name))
		return err == nil && parseFolded(c.t, string(text)).total() >= n
	})
}

func pidTarget(pid int) string { return fmt.Sprintf("{pids: [%d]}", pid) }

// One recording, three outputs: the known split, whole stacks, equal totals,
// and messages that hold to the protocol.
func TestKnownSplitInAllOutputs(t *testing.T) {
	t.Parallel()
	pid := workloads.Start(t, workloads.Burn.Build(t, "burn-split"), "600")
	received := newSink(t)
	c := start(t, fmt.Sprintf(`
receivers: {ebpf_profiler: {window: 1s, drain_interval: 200ms, targets: {pids: [%d]}, cpu: {frequency: 499}}}
exporters:
  flamegraph/folded: {path: out.folded, interval: 0}
  flamegraph/svg: {path: out.svg, interval: 0}
  otlp_http: {endpoint: "%s", compression: none}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [ebpf_profiler], exporters: [flamegraph/folded, flamegraph/svg, otlp_http]}
`, pid, received.url))
	c.waitSamples("out.folded", 4000) // the share of heavy is 0.700 ± 0.007 then
	c.interrupt()

	got := readFolded(t, c.path("out.folded"))
	assert.Equal(t, got, got.of("burn-split"), "nothing of any other process")
	heavy := got.through("main", "heavy", "helper").total()
	light := got.through("main", "light", "helper").total()
	share := float64(heavy) / float64(heavy+light)
	assert.True(t, share >= 0.65 && share <= 0.75, "heavy has %d of %d samples, %.3f; 0.7 is right", heavy, heavy+light, share)
	// A round of calls takes milliseconds; reading the clock between two
	// rounds and setting up frames take about a microsecond.
	assert.LessOrEqual(t, got.total()-heavy-light, got.total()/200, "stacks without the whole chain: %v", got)

	require.NoError(t, received.err())
	assert.Equal(t, got.total(), received.total(), "OTLP")
	assert.Equal(t, got.total(), svgTotal(t, c.path("out.svg")), "SVG")
}

var svgSamples = regexp.MustCompile(`([0-9][0-9,]*) samples`)

// svgTotal returns the count of the root frame of a flame graph: the largest.
func svgTotal(t *testing.T, path string) int64 {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var total int64
	for _, match := range svgSamples.FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.ParseInt(strings.ReplaceAll(match[1], ",", ""), 10, 64)
		require.NoError(t, err)
		total = max(total, n)
	}
	return total
}

// Every sample taken on the host is kept, idle, filtered or lost, and what is
// kept is what is sent.
func TestSamplesOfTheWholeHostAddUp(t *testing.T) {
	t.Parallel()
	workloads.Start(t, workloads.Burn.Build(t, "burn-host"), "600")
	received := newSink(t)
	c := start(t, fmt.Sprintf(`
receivers: {ebpf_profiler: {window: 1s, drain_interval: 200ms}}
exporters:
  flamegraph: {path: out.folded, interval: 0}
  otlp_http: {endpoint: "%s", compression: none}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [ebpf_profiler], exporters: [flamegraph, otlp_http]}}
`, received.url))
	c.waitSamples("out.folded", 500)
	c.interrupt()

	require.NoError(t, received.err())
	sums := received.accounting()
	require.NotZero(t, sums["windows"])
	assert.Positive(t, sums["taken"])
	assert.Equal(t, sums["taken"], sums["kept"]+sums["idle"]+sums["filtered"]+sums["lost"], "accounts: %v", sums)
	assert.Equal(t, sums["kept"], received.total(), "accounts: %v", sums)
	assert.Equal(t, sums["kept"], readFolded(t, c.path("out.folded")).total(), "accounts: %v", sums)
	assert.Less(t, received.largest, maxMessageBytes)
}

// With frame pointers the recursion is recovered.
func TestRecursionIsRecovered(t *testing.T) {
	t.Parallel()
	pid := workloads.Start(t, workloads.CPUBound.Build(t, "fib-fp"), "600")
	got := record(t, pidTarget(pid), 499, 500)
	assert.GreaterOrEqual(t, share(got.through("main", "fibonacci"), got), 0.98, "stacks that begin in main: %v", got)
	deep := got.with(func(frames []string) bool { return strings.Count(strings.Join(frames, ";"), ";fibonacci") >= 10 })
	assert.GreaterOrEqual(t, share(deep, got), 0.9, "a call tree of 28 levels is mostly deep: %v", got)
}

// Code without frame pointers is walked to the start of the program, and no name
// is wrong.
func TestStacksWithoutFramePointersAreWhole(t *testing.T) {
	t.Parallel()
	pid := workloads.Start(t, workloads.CPUBoundNoFP.Build(t, "fib-nofp"), "600")
	got := record(t, pidTarget(pid), 499, 500)
	possible := regexp.MustCompile(`^(fib-nofp|fibonacci|main|cpu_seconds(_\[i\])?|_start|__libc_start.*|(__)?clock_gettime.*|__vdso_clock_gettime|\[.*\](\+0x[0-9a-f]+)?|.*_\[k\])$`)
	for stack := range got {
		for frame := range strings.SplitSeq(stack, ";") {
			assert.Regexp(t, possible, frame)
		}
	}
	leaf := got.with(func(frames []string) bool {
		for len(frames) > 0 && strings.HasSuffix(frames[len(frames)-1], "_[k]") {
			frames = frames[:len(frames)-1]
		}
		return len(frames) > 0 && frames[len(frames)-1] == "fibonacci"
	})
	assert.GreaterOrEqual(t, share(leaf, got), 0.98, "%v", got)
	whole := got.with(func(frames []string) bool {
		return len(frames) > 4 && frames[1] == "_start" && slices.Contains(frames, "main")
	})
	assert.GreaterOrEqual(t, share(whole, got), 0.9, "%v", got)
}

// Kernel frames stand above the user's stack, in order.
func TestKernelFramesAboveUserStack(t *testing.T) {
	t.Parallel()
	pid := workloads.Start(t, workloads.ZeroReader.Build(t, "zero-reader"), "600")
	got := record(t, pidTarget(pid), 499, 500)
	reading := got.through("main", "pump", "entry_SYSCALL_64_after_hwframe_[k]", "do_syscall_64_[k]", "ksys_read_[k]", "vfs_read_[k]")
	assert.GreaterOrEqual(t, share(reading, got), 0.9, "%v", got)
	device := reading.with(func(frames []string) bool {
		return strings.Contains(strings.Join(frames, ";"), "vfs_read_[k];read_")
	})
	assert.GreaterOrEqual(t, share(device, got), 0.8, "the zero device is next to vfs_read: %v", got)
}

func share(part, whole stacks) float64 {
	return float64(part.total()) / float64(max(1, whole.total()))
}
