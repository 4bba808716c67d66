//go:build integration

package e2e

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/workloads"
)

// Names that a process chooses, of its program, its thread and its JIT code,
// break no output: folded text keeps its lines, SVG is well-formed, OTLP holds
// to the protocol, and no sample goes missing.
func TestHostileNamesBreakNoOutput(t *testing.T) {
	t.Parallel()
	pids := []int{
		workloads.Start(t, workloads.Burn.Build(t, "b;<&\"\xff\n\x1b 12"), "600"),
		startHostileJIT(t),
	}
	received := newSink(t)
	c := start(t, fmt.Sprintf(`
receivers: {ebpf_profiler: {window: 1s, drain_interval: 200ms, targets: {pids: %s}}}
exporters:
  flamegraph/folded: {path: out.folded, interval: 0}
  flamegraph/svg: {path: out.svg, interval: 0}
  otlp_http: {endpoint: "%s", compression: none}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [ebpf_profiler], exporters: [flamegraph/folded, flamegraph/svg, otlp_http]}
`, list(pids), received.url))
	c.waitSamples("out.folded", 300)
	c.interrupt()

	require.NoError(t, received.err())
	got := readFolded(t, c.path("out.folded"))
	assert.Equal(t, got.total(), received.total())
	assert.Equal(t, got.total(), svgTotal(t, c.path("out.svg")))
	requireWellFormed(t, c.path("out.svg"))
	for stack := range got {
		assert.True(t, utf8.ValidString(stack), "%q", stack)
		assert.NotContains(t, stack, "\x1b", "%q", stack)
	}
	assert.NotZero(t, got.through("main", "heavy", "helper").total(), "%v", got)
	evil := got.with(func(frames []string) bool {
		leaf := frames[len(frames)-1]
		return strings.HasPrefix(leaf, "evil") && strings.HasSuffix(leaf, "_[j]") && strings.Contains(leaf, "</script>")
	})
	assert.NotZero(t, evil.total(), "the JIT frame is one frame with its name: %v", got)
}

func startHostileJIT(t *testing.T) int {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hostile-jit")
	out, err := exec.Command("gcc", "-O1", "-fno-omit-frame-pointer", "-o", path, filepath.Join("testdata", "hostile_jit.c")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(path)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it removes its map
		_ = cmd.Wait()
	})
	mapPath := fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid)
	eventually(t, mapPath, func() bool {
		info, err := os.Stat(mapPath)
		return err == nil && info.Size() > 0
	})
	return cmd.Process.Pid
}

// requireWellFormed reads a file with a strict XML parser.
func requireWellFormed(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	for decoder := xml.NewDecoder(file); ; {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	out, err := exec.Command("xmllint", "--noout", "--nonet", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
