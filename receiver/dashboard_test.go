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
)

// The dashboard asks for metrics and labels that README.md has, as Prometheus
// calls them.
func TestDashboardAsksForWhatThereIs(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	known := map[string]bool{"le": true}
	for _, name := range regexp.MustCompile("`([a-z0-9_.]+)`").FindAllStringSubmatch(string(readme), -1) {
		known[strings.ReplaceAll(name[1], ".", "_")] = true
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
	metric := regexp.MustCompile(`\b(flametel|process)_\w+`)
	for _, panel := range dashboard.Panels {
		require.NotEmpty(t, panel.Targets, panel.Title)
		for _, name := range metric.FindAllString(panel.Targets[0].Expr, -1) {
			assert.True(t, known[suffix.ReplaceAllString(name, "")], "%s: %s", panel.Title, name)
		}
	}
}
