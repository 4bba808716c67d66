package svg

// Layout is where the root of all stacks is drawn.
type Layout string

// The layouts. Flame is the default. The page can change it.
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
	// Weight is which of the graph's weights to draw. WriteComparison draws both.
	Weight int
	// Facts are further lines of provenance, such as the version of the program
	// and the command that was given. Read returns them.
	Facts []Fact
	// MaxBytes is how large the file may become. To keep to it, the smallest
	// subtrees are merged into frames called "(N small frames)", and the file
	// says so. 0 means DefaultMaxBytes, a negative number no limit. A file never
	// gets below about 100 kB, which is what the script, the style and the frames
	// at the root take.
	MaxBytes int64
}

// DefaultMaxBytes is what mail and issue trackers take, and browsers open at once.
const DefaultMaxBytes = 8 << 20

// Geometry, in pixels. The script gets the same numbers.
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
	// toolbarWidth is what the buttons of the page take beside the title.
	toolbarWidth = 640
	// minWidth is the width below which frames are merged into a bar.
	minWidth = 1
	// maxElements bounds the frames drawn at a time; above it minWidth is
	// doubled until they fit. Each takes two elements, and a third for a label.
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
