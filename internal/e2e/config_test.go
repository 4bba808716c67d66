//go:build integration

package e2e

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/workloads"
)

// pipeline is a configuration with the given settings of the receiver (YAML in
// braces) that writes folded stacks to out.folded at shutdown.
func pipeline(receiver string) string {
	return fmt.Sprintf(`
receivers: {ebpf_profiler: %s}
exporters: {flamegraph: {path: out.folded, interval: 0}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [ebpf_profiler], exporters: [flamegraph]}}
`, receiver)
}

func TestWrongSettingsAreRefusedByName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, receiver string
		want           []string
	}{
		{"frequency zero", `{cpu: {frequency: 0}}`, []string{"cpu", "frequency"}},
		{"frequency negative", `{cpu: {frequency: -1}}`, []string{"frequency"}},
		{"frequency too high", `{cpu: {frequency: 100000}}`, []string{"cpu", "frequency", "9999"}},
		{"unknown key", `{cpu: {frequncy: 99}}`, []string{"frequncy"}},
		{"window negative", `{window: -1s}`, []string{"window"}},
		{"drain longer than window", `{window: 1s, drain_interval: 5s}`, []string{"drain_interval", "window"}},
		{"pid negative", `{targets: {pids: [-5]}}`, []string{"targets", "pids"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, code := validate(t, pipeline(test.receiver))
			assert.Equal(t, 1, code, "printed: %s", out)
			for _, want := range test.want {
				assert.Contains(t, out, want)
			}
		})
	}
}

func TestSeveralMistakesAreReportedTogether(t *testing.T) {
	t.Parallel()
	out, code := validate(t, pipeline(`{window: -1s, cpu: {frequency: 100000}}`))
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "window")
	assert.Contains(t, out, "frequency")
}

func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "examples", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			out, code := validateFile(t, file)
			assert.Zero(t, code, "printed: %s", out)
		})
	}
}

func TestUnknownProcessIsNamed(t *testing.T) {
	t.Parallel()
	// Process IDs are below 4194304 (PID_MAX_LIMIT), so this is never one.
	c := launch(t, pipeline(`{targets: {pids: [4194304]}}`))
	c.wait()
	assert.Equal(t, 1, c.cmd.ProcessState.ExitCode())
	assert.Contains(t, c.log(), "process 4194304 does not exist")
}

// Two receivers in one collector are independent of each other.
func TestTwoReceiversProfileSideBySide(t *testing.T) {
	t.Parallel()
	const first, second = "burn-first", "burn-second"
	settings := ""
	for _, name := range []string{first, second} {
		pid := workloads.Start(t, workloads.Burn.Build(t, name), "600")
		settings += fmt.Sprintf("  ebpf_profiler/%s: {window: 1s, targets: {pids: [%d]}}\n", name, pid)
	}
	c := start(t, fmt.Sprintf(`
receivers:
%s
exporters:
  flamegraph/a: {path: a.folded, interval: 0}
  flamegraph/b: {path: b.folded, interval: 0}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles/a: {receivers: [ebpf_profiler/%s], exporters: [flamegraph/a]}
    profiles/b: {receivers: [ebpf_profiler/%s], exporters: [flamegraph/b]}
`, settings, first, second))
	c.waitSamples("a.folded", 50)
	c.waitSamples("b.folded", 50)
	c.interrupt()

	for file, name := range map[string]string{"a.folded": first, "b.folded": second} {
		got := readFolded(t, c.path(file))
		assert.Equal(t, got, got.of(name), "%s has nothing of the other", file)
	}
}
