package svg

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
)

//go:embed script.js
var script string

// Write draws one weight of a graph. A graph without samples gives a valid file
// that says so, and why.
func Write(w io.Writer, g *callgraph.Graph, opts Options) error {
	d := newDrawing(w, g, opts)
	if d.totals[0] > 0 {
		d.pic = plan(g, d.totals, width-2*pad)
	}
	payload, err := encodePayload(g, d.header())
	if err != nil {
		return err
	}
	d.open()
	d.printf("<metadata>%s</metadata>\n", payload)
	d.head()
	d.legend()
	if d.pic == nil {
		d.noSamples()
	} else {
		d.frames()
		d.foot()
	}
	d.printf("<script><![CDATA[\n%s]]></script>\n</svg>\n", script)
	return d.out.Flush()
}

// drawing writes the static layer. Errors are kept by out until it is flushed.
type drawing struct {
	*callgraph.Graph
	out      *bufio.Writer
	opts     Options
	unit     unit
	totals   []int64
	warnings []string
	pic      *picture // nil if there is nothing to draw
}

func newDrawing(w io.Writer, g *callgraph.Graph, opts Options) *drawing {
	if opts.Layout == "" {
		opts.Layout = Flame
	}
	if opts.Title == "" {
		opts.Title = titleOf(g)
	}
	opts.Title = display(opts.Title)
	u := unitOf(g.SampleType)
	return &drawing{
		Graph: g, out: bufio.NewWriterSize(w, 1<<16), opts: opts, unit: u,
		totals: g.Totals(opts.Weight), warnings: warnings(g, opts.Weight, u),
	}
}

func (d *drawing) header() header {
	h := header{
		Version: payloadVersion, Title: d.opts.Title, Layout: d.opts.Layout,
		SampleType: d.SampleType, PeriodType: d.PeriodType, Period: d.Period,
		Unit: d.unit, Provenance: provenance(d.Graph, d.opts.Weight, d.unit),
		Geometry: geometry{
			Pad: pad, Top: d.top(), Bottom: bottom,
			Legend: hintStep + framesStep, Hint: framesStep, RowStep: rowStep, RowSize: rowSize,
			CharWidth: charWidth, LabelPad: labelPad, MinWidth: minWidth,
			MaxElements: maxElements, MaxRows: maxRows, ColorSmall: colorSmall,
		},
	}
	for k := callgraph.Unknown; k <= callgraph.Thread; k++ {
		h.Kinds = append(h.Kinds, kind{k.String(), color(k)})
	}
	return h
}

func (d *drawing) printf(format string, args ...any) { _, _ = fmt.Fprintf(d.out, format, args...) }

// Vertical positions in pixels.
const (
	titleLine   = 34
	summaryLine = 56
	originLine  = 73
	warningLine = 92 // of the first warning
	warningStep = 17
	legendStep  = 26 // from the last line of text to the legend
	hintStep    = 24 // from the legend to the hint
	framesStep  = 12 // from the hint to the frames
	bottom      = 34 // below the frames
	emptyHeight = 120
)

func (d *drawing) legendLine() int {
	switch n := len(d.warnings); {
	case n > 0:
		return warningLine + (n-1)*warningStep + legendStep
	case origin(d.Graph) == "":
		return summaryLine + legendStep
	}
	return originLine + legendStep
}

// top is where the frames begin.
func (d *drawing) top() int { return d.legendLine() + hintStep + framesStep }

func (d *drawing) framesHeight() int {
	if d.pic == nil {
		return emptyHeight
	}
	return d.pic.rows * rowStep
}

func (d *drawing) height() int { return d.top() + d.framesHeight() + bottom }

func (d *drawing) open() {
	d.printf(`<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="%s" font-size="%d" fill="#1b1f24">
`, width, d.height(), width, d.height(), escape(sansSerif), fontSize)
	d.printf("<title>%s</title>\n", escape(d.opts.Title))
	d.printf("<desc>%s</desc>\n", escape(strings.Join(provenance(d.Graph, d.opts.Weight, d.unit), "\n")))
}

// head writes the lines of text at the top.
func (d *drawing) head() {
	d.printf(`<rect width="100%%" height="100%%" fill="#fff"/>` + "\n")
	d.printf(`<g data-ft="head"><text x="%d" y="%d" font-size="20" font-weight="600">%s</text>`+"\n",
		pad, titleLine, escape(d.opts.Title))
	d.printf(`<text x="%d" y="%d" font-size="13" fill="#3a424c">%s</text>`+"\n",
		pad, summaryLine, escape(summary(d.Graph, d.opts.Weight, d.unit)))
	d.printf(`<text x="%d" y="%d" fill="#646e7a">%s</text>`+"\n", pad, originLine, escape(origin(d.Graph)))
	for i, text := range d.warnings {
		d.printf(`<text x="%d" y="%d" fill="#a33a00" font-weight="600">%s</text>`+"\n",
			pad, warningLine+i*warningStep, escape(text))
	}
	d.printf("</g>\n")
}

// legend names the colours of the kinds in words, with the share of all that
// ended in frames of each.
func (d *drawing) legend() {
	y := d.legendLine()
	x := float64(pad)
	d.printf(`<g data-ft="legend" fill="#3a424c">`)
	self := d.SelfByKind(d.opts.Weight)
	if d.totals[0] > 0 {
		d.printf(`<text x="%d" y="%d">self:</text>`, pad, y)
		x += 38
	}
	entry := func(fill, text string) {
		d.printf(`<rect x="%.1f" y="%d" width="13" height="13" rx="2" fill="%s" stroke="#00000022"/>`, x, y-11, fill)
		d.printf(`<text x="%.1f" y="%d">%s</text>`, x+19, y, escape(text))
		x += 19 + 6.6*float64(len(text)) + 20
	}
	for _, k := range legendKinds() {
		text := k.String()
		if d.totals[0] > 0 {
			text += " " + percent(self[k], d.totals[0])
		}
		entry(color(k), text)
	}
	entry(color(callgraph.Process), "process")
	if d.pic != nil && d.pic.hiddenFrames > 0 {
		entry(colorSmall, "too narrow to draw")
	}
	d.printf("</g>\n")
	if d.pic != nil {
		d.printf(`<text data-ft="hint" x="%d" y="%d" fill="#646e7a">Open this file in a browser tab to zoom and search.</text>`+"\n",
			pad, y+hintStep)
	}
}

func (d *drawing) noSamples() {
	y := d.top() + emptyHeight/2
	d.printf(`<g text-anchor="middle"><text x="50%%" y="%d" font-size="22" font-weight="600">No samples</text>`, y)
	d.printf(`<text x="50%%" y="%d" font-size="14" fill="#3a424c">%s</text></g>`+"\n", y+26, escape(reason(d.Graph)))
}

// foot says what is not drawn.
func (d *drawing) foot() {
	text := ""
	if n := d.pic.hiddenFrames; n > 0 {
		text = fmt.Sprintf("%s frames narrower than %g px (%s of %s) are not drawn one by one.",
			grouped(int64(n)), d.pic.minWidth, percent(d.pic.hiddenWeight, d.totals[0]), d.unit.format(d.totals[0]))
	}
	if n := d.pic.deeper; n > 0 {
		text += fmt.Sprintf(" %s frames beyond level %d are not drawn.", grouped(int64(n)), maxRows)
	}
	d.printf(`<text data-ft="foot" x="%d" y="%d" fill="#646e7a">%s</text>`+"\n",
		pad, d.top()+d.framesHeight()+22, strings.TrimSpace(text))
}
