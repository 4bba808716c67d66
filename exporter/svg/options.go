package svg

import "github.com/flametel/flametel/exporter/callgraph"

// Layout is where the root of all stacks is drawn.
type Layout string

// The layouts. Flame is the default.
const (
	Flame  Layout = "flame"  // root at the bottom
	Icicle Layout = "icicle" // root at the top
)

// Options are the settings of Write. The zero value is useful.
type Options struct {
	// Title stands at the top. Empty: made from what was sampled.
	Title string
	// Layout is Flame if empty.
	Layout Layout
	// Weight is which of the graph's weights to draw.
	Weight int
}

// Geometry, in pixels. The script gets the same numbers in the payload.
const (
	width   = 1200 // of the static layer; the script fills the window
	pad     = 16   // left and right of the frames
	rowStep = 17   // from one row of frames to the next
	rowSize = 16   // of a frame
	// charWidth is the width of a character at fontSize in the monospace
	// fonts that systems come with (0.602 em in Menlo and DejaVu Sans Mono,
	// less in others), so that text fits without being measured.
	charWidth = 7.23
	fontSize  = 12
	// labelPad is the space left and right of a label.
	labelPad = 4
	// minWidth is the width below which frames are merged into a bar.
	minWidth = 1
	// maxElements bounds the frames drawn at a time; above it minWidth is
	// doubled until they fit.
	maxElements = 6000
	// maxRows bounds the height: browsers draw nothing beyond about 32,767
	// pixels, and nobody scrolls that far. Deeper frames are reached by zoom.
	maxRows = 500
)

// Fonts that exist on every system; the last of each is generic.
const (
	monospace = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
	sansSerif = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans','Liberation Sans',sans-serif"
)

// Colours of kinds. Any two of the four kinds of code stay apart for readers
// with protanopia, deuteranopia and tritanopia (CIE76 distance of 25 and more by
// the matrices of Machado et al. 2009), and black text on each has a contrast
// above 4.5:1. Groupings are nearly white: colour means code.
func color(k callgraph.Kind) string {
	switch k {
	case callgraph.Kernel:
		return "#F5A142"
	case callgraph.User:
		return "#8BBDEE"
	case callgraph.JIT:
		return "#B65EE8"
	case callgraph.Process, callgraph.Thread:
		return "#E4E9F0"
	}
	return "#C9C9C9"
}

// colorSmall is the colour of a bar of frames too narrow to draw.
const colorSmall = "#F1F3F5"

// legendKinds are the kinds in the order of the legend.
func legendKinds() []callgraph.Kind {
	return []callgraph.Kind{callgraph.User, callgraph.Kernel, callgraph.JIT, callgraph.Unknown}
}
