package svg

import (
	"fmt"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
)

// frames writes the frames of the static layer, each with its full name in a
// title.
func (d *drawing) frames() {
	d.printf(`<g data-ft="frames" font-family="%s" font-size="%d" fill="#101418">`+"\n", escape(monospace), fontSize)
	for _, b := range d.pic.boxes {
		d.box(b)
	}
	d.printf("</g>\n")
}

func (d *drawing) box(b box) {
	y := d.top() + int(b.row)*rowStep
	if d.opts.Layout == Flame {
		y = d.top() + (d.pic.rows-1-int(b.row))*rowStep
	}
	name, fill, title := d.describe(b)
	d.printf(`<g><title>%s</title><rect x="%s" y="%d" width="%s" height="%d" rx="2" fill="%s"/>`,
		escape(title), pixels(pad+b.x), y, pixels(boxWidth(b.w)), rowSize, fill)
	if label := fit(name, b.w); label != "" {
		d.printf(`<text x="%s" y="%d">%s</text>`, pixels(pad+b.x+labelPad), y+12, escape(label))
	}
	d.printf("</g>\n")
}

// boxWidth leaves a gap to the next frame, where there is room for one.
func boxWidth(w float64) float64 {
	if w > 2 {
		return w - 0.7
	}
	return w
}

// pixels writes a length with two decimals, as the script does.
func pixels(v float64) string { return fmt.Sprintf("%.2f", v) }

// describe returns the label, colour and title of a box.
func (d *drawing) describe(b box) (name, fill, title string) {
	share := fmt.Sprintf("%s (%s)", d.unit.format(b.weight), percent(b.weight, d.totals[0]))
	if b.small > 0 {
		name = fmt.Sprintf("%s small", grouped(int64(b.small)))
		return name, colorSmall, fmt.Sprintf("%s frames too narrow to draw\n%s", grouped(int64(b.small)), share)
	}
	if b.node == 0 {
		return "all", color(callgraph.Process), "all\n" + share
	}
	f := &d.Graph.Frames[d.Nodes[b.node].Frame]
	name = display(f.Name)
	self := d.Self[d.opts.Weight][b.node]
	lines := nonEmpty([]string{
		name,
		kindText(f),
		source(f),
		fmt.Sprintf("%s, self %s (%s)", share, d.unit.format(self), percent(self, d.totals[0])),
	})
	return name, color(f.Kind), strings.Join(lines, "\n")
}

// kindText is the kind in words, with the module.
func kindText(f *callgraph.Frame) string {
	text := f.Kind.String()
	if f.Inlined {
		text += ", inlined"
	}
	if f.Module != "" {
		text += " · " + display(f.Module)
	}
	return text
}

func source(f *callgraph.Frame) string {
	if f.File == "" {
		return ""
	}
	if f.StartLine > 0 {
		return fmt.Sprintf("%s:%d", display(f.File), f.StartLine)
	}
	return display(f.File)
}
