//go:build integration

package speedscope_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/folded"
	"github.com/flametel/flametel/exporter/internal/browser"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/pprof"
	"github.com/flametel/flametel/exporter/speedscope"
)

// viewer is the page of the npm package speedscope, which setup.sh installs.
const viewer = "../../.tools/npm/node_modules/speedscope/dist/release/index.html"

// TestViewerOpensOurFiles gives files to speedscope itself, in the way its own
// command does it, and looks at what it shows.
func TestViewerOpensOurFiles(t *testing.T) {
	page, err := filepath.Abs(viewer)
	require.NoError(t, err)
	_, err = os.Stat(page)
	require.NoError(t, err, "make setup-test installs it")
	other := sample()
	other.SampleType = callgraph.ValueType{Type: "samples", Unit: "count"}
	other.PeriodType = callgraph.ValueType{Type: "cpu", Unit: "nanoseconds"}
	// Its page fails somewhere above 3,000 frames.
	deep := callgraph.NewMerger(1)
	var stack []int32
	for i := range 2000 {
		stack = append(stack, deep.Frame(callgraph.Frame{Name: fmt.Sprint("f", i%9), Kind: callgraph.User}))
	}
	deep.Add(stack, 0, 5)
	deepest := deep.Graph()
	deepest.SampleType = callgraph.ValueType{Type: "samples", Unit: "count"}
	ours := func(w io.Writer, graphs ...*callgraph.Graph) error {
		return speedscope.Write(w, graphs, speedscope.Options{Exporter: "flametel"})
	}
	many := stackgen.New(10_000, 1).Graph()
	tests := []struct {
		name, file string
		write      func(w io.Writer) error
		want       string // on the page or in its title
	}{
		{"several types", "p.speedscope.json", func(w io.Writer) error { return ours(w, sample(), other) }, "off_cpu (nanoseconds)"},
		{"many stacks", "p.speedscope.json", func(w io.Writer) error { return ours(w, many) }, "cpu (count)"},
		{"deep stack", "p.speedscope.json", func(w io.Writer) error { return ours(w, deepest) }, "samples (count)"},
		// It reads our other formats, too.
		{"folded", "p.folded", func(w io.Writer) error { return folded.Write(w, many, folded.Options{}) }, "p.folded"},
		{"pprof", "p.pb.gz", func(w io.Writer) error { return pprof.Write(w, []*callgraph.Graph{many}, pprof.Options{}) }, "p.pb.gz"},
	}
	chromium := browser.Start(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, tt.write(&b))
			script := filepath.Join(t.TempDir(), "profile.js")
			require.NoError(t, os.WriteFile(script, []byte(fmt.Sprintf("speedscope.loadFileFromBase64('%s','%s')", tt.file,
				base64.StdEncoding.EncodeToString(b.Bytes()))), 0o600))
			tab, stop := chromedp.NewContext(chromium)
			t.Cleanup(stop)
			tab, stopTimer := context.WithTimeout(tab, 5*time.Minute)
			t.Cleanup(stopTimer)
			_, err := chromedp.Run(tab, chromedp.Navigate("file://"+page+"#localProfilePath="+script))
			require.NoError(t, err)
			text := ""
			for !strings.Contains(text, tt.want) {
				text, err = chromedp.Run(tab, chromedp.Evaluate[string](`document.title + "\n" + document.body.innerText`))
				require.NoError(t, err, "the page shows %q", text)
				require.NotContains(t, strings.ToLower(text), "something went wrong")
				time.Sleep(20 * time.Millisecond)
			}
			assert.Contains(t, text, "Left Heavy")
		})
	}
}
