package record

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	yaml "go.yaml.in/yaml/v3"

	"github.com/flametel/flametel/cmd/flametel/internal/golden"
	"github.com/flametel/flametel/exporter"
	"github.com/flametel/flametel/receiver"
)

func printed(t *testing.T, o Options) string {
	t.Helper()
	var out bytes.Buffer
	s := newSettings(t)
	s.Stdout = &out
	s.Args = []string{"flametel", "record", "--title", "two\nlines", "--print-config"}
	require.NoError(t, o.Validate())
	require.NoError(t, PrintConfig(s, &o))
	return out.String()
}

func TestPrintConfig(t *testing.T) {
	t.Parallel()
	full := valid()
	full.PIDs, full.Duration, full.Frequency = []int{17, 4}, time.Minute, 997
	full.Outputs = []string{`a "b" $HOME #.svg`, "c.pb.gz"}
	full.Title, full.Layout, full.NoAnnotations = "it's: a \"title\" — ü", "icicle", true
	command := valid()
	command.Command = []string{"/opt/my[app]*", "-x"}
	view := valid()
	view.PIDs, view.Cgroups, view.Containers = []int{1}, []string{"/sys/fs/cgroup/a b.slice/", "x$y"}, []string{"0123456789abcdef"}
	view.Include, view.Exclude, view.UserOnly, view.Idle = `^"a$`, `b\.c`, true, true
	view.Baseline, view.MaxMiB, view.Outputs = "base $1.svg", 2, []string{"-", "a.svg"}
	view.PerThread, view.NoInlines, view.Demangle = true, true, "full"
	stdout := valid()
	stdout.Outputs, stdout.Format = []string{"-"}, "speedscope"
	for name, o := range map[string]Options{"default": valid(), "full": full, "command": command, "stdout": stdout, "view": view} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := printed(t, o)
			golden.Check(t, "config_"+name+".yaml", text)
			// A dollar would begin a variable for the collector.
			assertSameConfig(t, strings.ReplaceAll(text, "$$", "$"), o)
		})
	}
}

// assertSameConfig checks that a collector gets the settings that a recording
// with these options has.
func assertSameConfig(t *testing.T, text string, o Options) {
	t.Helper()
	var raw map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &raw))
	conf := confmap.NewFromStringMap(raw)
	s := newSettings(t)

	got := s.Receiver.CreateDefaultConfig().(*receiver.Config)
	unmarshal(t, conf, "receivers::ebpf_profiler", got)
	require.NoError(t, got.Validate())
	want := o.receiverConfig(s.Receiver, o.PIDs)
	if len(o.Command) > 0 {
		want.Targets.Executables = []string{`my\[app]\*`}
	}
	assert.Equal(t, want, got)

	outputs := o.collectorOutputs()
	names := conf.Get("service::pipelines::profiles::exporters").([]any)
	require.Len(t, names, len(outputs))
	for i := range outputs {
		got := s.Exporter.CreateDefaultConfig().(*exporter.Config)
		unmarshal(t, conf, "exporters::"+names[i].(string), got)
		require.NoError(t, got.Validate())
		want := o.exporterConfig(s.Exporter, &outputs[i])
		want.Interval = 0 // a recording has an end, a collector has none
		assert.Equal(t, want, got)
	}
}

func unmarshal(t *testing.T, conf *confmap.Conf, key string, to any) {
	t.Helper()
	sub, err := conf.Sub(key)
	require.NoError(t, err)
	require.NoError(t, sub.Unmarshal(to))
}
