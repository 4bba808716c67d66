package svg

import (
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/flametel/flametel/exporter/callgraph"
)

// noise is the |z| below which a difference is taken for chance, as in the
// two-proportion test of callgraph.Comparison.
const noise = 1.96

// WriteComparison draws two profiles as one differential flame graph: what takes
// more in the second is red, what takes less is blue, and what may be chance is
// white. Widths are those of the second profile; what is gone stands in its
// place as wide as it was, hatched. The page has a table of what changed most,
// and can hide what is gone and swap the profiles.
func WriteComparison(w io.Writer, c *callgraph.Comparison, opts Options) error {
	opts.Weight = callgraph.After
	return write(w, c.Graph, c, opts)
}

// colorScheme is how a comparison is coloured. More and Less are for changes of
// half the larger side and more, of a tenth and more, and of less.
type colorScheme struct {
	More [3]string `json:"more"`
	Less [3]string `json:"less"`
	Same string    `json:"same"`
}

// schemes are red and blue, and orange and blue. Readers with any deficiency of
// colour vision tell more from less in both.
var schemes = sync.OnceValue(func() map[string]colorScheme {
	less := [3]string{"#5E9FE6", "#98C4EF", "#CDE2F6"}
	return map[string]colorScheme{
		"change":        {[3]string{"#F0705A", "#F7A090", "#FBD3C9"}, less, colorSame},
		"change-orange": {[3]string{"#F59A2E", "#F9BE75", "#FCE0BC"}, less, colorSame},
	}
})

const (
	defaultScheme = "change"
	colorSame     = "#FBFBF8" // of what may be chance
	changeStroke  = "#8A94A0" // around all frames of a comparison
)

// ofChange returns the colour of a change, and its mark.
func (s colorScheme) ofChange(c callgraph.Change) (fill, mark string) {
	switch {
	case c.Gone():
		mark = "hatched"
	case c.New():
		mark = "new"
	}
	if !c.Significant {
		return s.Same, mark
	}
	shades := s.More
	if c.Delta() < 0 {
		shades = s.Less
	}
	relative := math.Abs(c.Delta()) / max(c.BeforeShare, c.AfterShare)
	switch {
	case relative >= 0.5:
		return shades[0], mark
	case relative >= 0.1:
		return shades[1], mark
	}
	return shades[2], mark
}

// changeText is a change in words.
func changeText(c callgraph.Change) string {
	text := fmt.Sprintf("%.2f%% → %.2f%% (%+.2f points)", 100*c.BeforeShare, 100*c.AfterShare, 100*c.Delta())
	switch {
	case c.Gone():
		text += ", gone"
	case c.New():
		text += ", new"
	}
	if !c.Significant {
		text += ", within noise"
	}
	return text
}

// steps are the colours of a scheme in words, short enough to stand in one line
// with changeEntries. Parts are of the larger side.
func (s colorScheme) steps() []colorStep {
	return []colorStep{
		{Color: s.More[0], Text: "more: ≥ half of the larger side"}, {Color: s.More[1], Text: "≥ a tenth"}, {Color: s.More[2], Text: "< a tenth"},
		{Color: s.Less[0], Text: "less: ≥ half"}, {Color: s.Less[1], Text: "≥ a tenth"}, {Color: s.Less[2], Text: "< a tenth"},
		{Color: s.Same, Text: "within noise"},
	}
}

// changeEntries are the legend of a comparison.
func changeEntries() []legendEntry {
	s := schemes()[defaultScheme]
	var out []legendEntry
	for _, step := range s.steps() {
		out = append(out, legendEntry{fill: step.Color, text: step.Text})
	}
	return append(out, legendEntry{s.More[0], "new", "outlined: new"}, legendEntry{s.Less[0], "hatched", "striped: gone"})
}
