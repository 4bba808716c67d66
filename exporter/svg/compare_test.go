package svg_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/svg"
)

const (
	beforeText = "app;main;parse 4000\napp;main;sort 3000\napp;main;legacy;old 2000\napp;main;same 1000\n"
	afterText  = "app;main;parse 9000\napp;main;sort 6000\napp;main;cache 3000\napp;main;same 2010\n"
)

func TestComparisonGolden(t *testing.T) {
	c := comparison(t, beforeText, afterText, callgraph.CompareOptions{Labels: [2]string{"v1", "v2"}})
	file := renderComparison(t, c, svg.Options{Layout: svg.Icicle})
	parseXML(t, file)
	path := filepath.Join("testdata", "diff.svg")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(withoutPayload(file)), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), withoutPayload(file))
}

// titleOf returns the title of the frame with a name.
func titleOf(t *testing.T, file, name string) string {
	t.Helper()
	for _, title := range parseXML(t, file) {
		if strings.HasPrefix(title, name+"\n") {
			return title
		}
	}
	t.Fatalf("no frame %q", name)
	return ""
}

// fillOf returns the colour of the frame with a name.
func fillOf(t *testing.T, file, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(file, "><title>"+name+"\n")
	require.True(t, ok, name)
	head := file[:len(file)-len(rest)]
	head = head[strings.LastIndex(head, `fill="`)+6:]
	return head[:7]
}

func TestComparisonSaysWhatChanged(t *testing.T) {
	c := comparison(t, beforeText, afterText, callgraph.CompareOptions{Labels: [2]string{"v1", "v2"}})
	file := renderComparison(t, c, svg.Options{})
	assert.Contains(t, file, "v1: 10,000 samples")
	assert.Contains(t, file, "v2: 20,010 samples")
	assert.Contains(t, file, "by share of each total")
	assert.Contains(t, titleOf(t, file, "parse"), "40.00% → 44.98% (+4.98 points)")
	assert.Contains(t, titleOf(t, file, "cache"), "0.00% → 14.99% (+14.99 points), new")
	assert.Contains(t, titleOf(t, file, "legacy"), "20.00% → 0.00% (-20.00 points), gone")
	assert.Contains(t, titleOf(t, file, "same"), "within noise")
	assert.Contains(t, titleOf(t, file, "sort"), "30.00% → 29.99% (-0.01 points), within noise")
	more, less := []string{"#F0705A", "#F7A090", "#FBD3C9"}, []string{"#5E9FE6", "#98C4EF", "#CDE2F6"}
	assert.Equal(t, more[1], fillOf(t, file, "parse"), "red is more in the second")
	assert.Equal(t, more[0], fillOf(t, file, "cache"))
	assert.Equal(t, less[0], fillOf(t, file, "legacy"))
	assert.Equal(t, "#FBFBF8", fillOf(t, file, "same"))

	swapped := renderComparison(t, c.Swapped(), svg.Options{})
	assert.Contains(t, less, fillOf(t, swapped, "parse"), "never turned round")
	assert.Contains(t, more, fillOf(t, swapped, "legacy"))

	equal := renderComparison(t, comparison(t, beforeText, beforeText, callgraph.CompareOptions{}), svg.Options{})
	for _, color := range append(more, less...) {
		frames := equal[strings.Index(equal, `data-ft="frames"`):strings.Index(equal, `data-ft="foot"`)]
		assert.NotContains(t, frames, color, "equal profiles have no colour")
	}
}

func TestComparisonWithAnEmptySide(t *testing.T) {
	for name, tt := range map[string]struct{ before, after, want string }{
		"before": {"", afterText, "There are no samples in before: everything is new."},
		"after":  {beforeText, "", "There are no samples in after: everything is gone."},
		"both":   {"", "", "No samples"},
	} {
		t.Run(name, func(t *testing.T) {
			file := renderComparison(t, comparison(t, tt.before, tt.after, callgraph.CompareOptions{}), svg.Options{})
			parseXML(t, file)
			assert.Contains(t, file, tt.want)
			static := withoutPayload(file)
			for _, bad := range []string{"NaN", "Inf"} {
				assert.NotContains(t, static, bad)
			}
			read(t, file)
		})
	}
}

func TestComparisonOfRawWeights(t *testing.T) {
	c := comparison(t, beforeText, afterText, callgraph.CompareOptions{Raw: true})
	file := renderComparison(t, c, svg.Options{})
	assert.Contains(t, file, "by amount")
	assert.Contains(t, titleOf(t, file, "sort"), fmt.Sprintf("%.2f%% → %.2f%%", 100*3000.0/20010, 100*6000.0/20010))
}
