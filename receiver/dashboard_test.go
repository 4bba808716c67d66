package receiver

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/receiver/internal/metadata"
)

// The dashboard asks for metrics and labels that metadata.yaml declares, as
// Prometheus calls them.
func TestDashboardAsksForWhatThereIs(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, m := range metadata.Metrics {
		known[strings.ReplaceAll(m.Name, ".", "_")] = true
	}
	labels := map[string]bool{"le": true, "host_name": true, "process_executable_name": true}
	for a := range declared(t).Attributes {
		labels[strings.ReplaceAll(a, ".", "_")] = true
	}
	text, err := os.ReadFile(filepath.Join("..", "examples", "dashboard.json"))
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	require.NotEmpty(t, dashboard.Panels)
	// What the translation from OTLP appends, by unit and type.
	suffix := regexp.MustCompile(`(_seconds|_bytes)?(_bucket|_sum|_count|_total)$`)
	metric := regexp.MustCompile(`\b(?:flametel|process)_\w+\{`)
	label := regexp.MustCompile(`(\w+)=~?"|by \(([^)]*)\)`)
	for _, panel := range dashboard.Panels {
		require.NotEmpty(t, panel.Targets, panel.Title)
		names := metric.FindAllString(panel.Targets[0].Expr, -1)
		require.NotEmpty(t, names, panel.Title)
		for _, name := range names {
			assert.True(t, known[suffix.ReplaceAllString(strings.TrimSuffix(name, "{"), "")], "%s: %s", panel.Title, name)
		}
		for _, found := range label.FindAllStringSubmatch(panel.Targets[0].Expr, -1) {
			for _, l := range strings.Split(found[1]+found[2], ", ") {
				assert.True(t, labels[l], "%s: label %s", panel.Title, l)
			}
		}
	}
}
