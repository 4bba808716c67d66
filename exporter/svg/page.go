package svg

import (
	"fmt"
	"strings"
)

// Vertical positions in pixels.
const (
	titleLine   = 34
	summaryLine = 56
	lineStep    = 17 // from one line of text to the next
	legendStep  = 26 // from the last line of text to the legend
	hintStep    = 24 // from the legend to the hint
	statusStep  = 18 // from the hint to the line for results of a search
	framesStep  = 10 // from there to the frames
	bottom      = 34 // below the frames
	emptyHeight = 120
)

func (d *drawing) legendLine() int {
	return summaryLine + (len(d.text)-1)*lineStep + legendStep
}

// top is where the frames begin.
func (d *drawing) top() int { return d.legendLine() + hintStep + statusStep + framesStep }

func (d *drawing) framesHeight() int {
	if d.pic == nil {
		return emptyHeight
	}
	return d.pic.rows * rowStep
}

func (d *drawing) height() int { return d.top() + d.framesHeight() + bottom }

// line is a line of text at the top.
type line struct {
	text, attributes string
}

// lines are those below the title: what the reader has to know to trust the
// picture, where it comes from, and warnings.
func (d *drawing) lines() []line {
	var out []line
	for _, s := range d.summaries {
		out = append(out, line{s, fmt.Sprintf(`font-size="13" fill="%s"`, inkSoft)})
	}
	if o := origin(d.full); o != "" {
		out = append(out, line{o, fmt.Sprintf(`fill="%s"`, inkFaint)})
	}
	for _, s := range append(d.warnings, d.mergedText()...) {
		out = append(out, line{s, fmt.Sprintf(`fill="%s" font-weight="600"`, inkWarn)})
	}
	return out
}

func (d *drawing) head() {
	d.printf(`<rect data-ft="page" width="100%%" height="100%%" fill="#fff"/>` + "\n")
	d.printf(`<g data-ft="head"><text x="%d" y="%d" font-size="20" font-weight="600">%s</text>`+"\n",
		pad, titleLine, escape(d.opts.Title))
	for i, l := range d.text {
		d.printf(`<text x="%d" y="%d" %s>%s</text>`+"\n", pad, summaryLine+i*lineStep, l.attributes, escape(l.text))
	}
	d.printf("</g>\n")
	if d.pic != nil {
		d.printf(`<text data-ft="hint" x="%d" y="%d" fill="%s">To zoom and search, open this file in a browser tab with scripts allowed.</text>`+"\n",
			pad, d.legendLine()+hintStep, inkFaint)
	}
}

func (d *drawing) noSamples() {
	y := d.top() + emptyHeight/2
	d.printf(`<g text-anchor="middle"><text x="50%%" y="%d" font-size="22" font-weight="600">No samples</text>`, y)
	d.printf(`<text x="50%%" y="%d" font-size="14" fill="%s">%s</text></g>`+"\n", y+26, inkSoft, escape(reason(d.full)))
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
	d.printf(`<text data-ft="foot" x="%d" y="%d" fill="%s">%s</text>`+"\n",
		pad, d.top()+d.framesHeight()+22, inkFaint, escape(strings.TrimSpace(text)))
}
