package receiver

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"

	"github.com/flametel/flametel/receiver/internal/metadata"
)

// declarations is what metadata.yaml says of metrics.
type declarations struct {
	Attributes map[string]struct {
		Type string
		Enum []string
	}
	Metrics map[string]struct {
		Unit, Description string
		Attributes        []string
		Histogram, Sum    *struct {
			ValueType   string `yaml:"value_type"`
			Temporality string `yaml:"aggregation_temporality"`
			Monotonic   bool
		}
	}
}

func declared(t *testing.T) (d declarations) {
	t.Helper()
	text, err := os.ReadFile("metadata.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &d))
	require.NotEmpty(t, d.Metrics)
	return d
}

// What is compiled in, and what users read, is what metadata.yaml declares.
func TestMetricsAreThoseOfMetadata(t *testing.T) {
	t.Parallel()
	d := declared(t)
	documentation, err := os.ReadFile("documentation.md")
	require.NoError(t, err)
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	assert.Len(t, metadata.Metrics, len(d.Metrics))
	for _, m := range metadata.Metrics {
		want, ok := d.Metrics[m.Name]
		require.True(t, ok, m.Name)
		assert.Equal(t, want.Unit, m.Unit, m.Name)
		assert.Equal(t, want.Description, m.Description, m.Name)
		assert.Equal(t, want.Attributes, m.Attributes, m.Name)
		if m.Histogram {
			require.NotNil(t, want.Histogram, m.Name)
			assert.Equal(t, "cumulative", want.Histogram.Temporality, m.Name)
			assert.Equal(t, "s", m.Unit, m.Name)
		} else {
			require.NotNil(t, want.Sum, m.Name)
			assert.Equal(t, "cumulative", want.Sum.Temporality, m.Name)
			assert.True(t, want.Sum.Monotonic, m.Name)
			assert.Equal(t, want.Sum.ValueType == "double", m.Double, m.Name)
			assert.Equal(t, m.Unit == "s", m.Double, "%s: nanoseconds are told in seconds", m.Name)
		}
		section := regexp.MustCompile(`(?s)\n### ` + regexp.QuoteMeta(m.Name) + "\n(.*?)(\n### |\n## |$)").FindStringSubmatch(string(documentation))
		require.NotEmpty(t, section, "documentation.md says nothing of %s", m.Name)
		assert.Contains(t, section[1], m.Description)
		for _, a := range m.Attributes {
			assert.Contains(t, section[1], "\n| "+a+" | ", m.Name)
		}
		assert.Contains(t, string(readme), "`"+m.Name+"`")
	}
}

// The defaults and the switches that mdatagen makes are those of the component.
func TestEachMetricHasASwitch(t *testing.T) {
	t.Parallel()
	for _, m := range metadata.Metrics {
		cfg := parse(t, "metrics:\n  "+m.Name+":\n    enabled: false\n")
		for _, other := range metadata.Metrics {
			assert.Equal(t, other != m, cfg.Metrics.Each.Has(other), "%s with %s off", other.Name, m.Name)
		}
		assert.Equal(t, 100, cfg.Metrics.MaxProcesses)
	}
	assert.NoError(t, parse(t, "metrics:\n  max_processes: 7\n").Validate())
	assert.False(t, new(metadata.MetricsConfig).Has(&metadata.Metric{Name: "flametel.unknown"}))
}

// parse reads the configuration of a receiver.
func parse(t *testing.T, text string) *Config {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	require.NoError(t, retrieve(t, text).Unmarshal(cfg))
	return cfg
}

func retrieve(t *testing.T, text string) *confmap.Conf {
	t.Helper()
	read, err := confmap.NewRetrievedFromYAML([]byte(text))
	require.NoError(t, err)
	conf, err := read.AsConf()
	require.NoError(t, err)
	return conf
}

func TestUnknownMetricsAreErrors(t *testing.T) {
	t.Parallel()
	conf := retrieve(t, "metrics:\n  flametel.syscall.count:\n    enabled: true\n")
	assert.ErrorContains(t, conf.Unmarshal(createDefaultConfig().(*Config)), "flametel.syscall.count")
}
