package svg

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
)

// frames writes the frames of the static layer, each with its full name in a
// title, and then the marks on them.
func (d *drawing) frames() {
	stroke := ""
	if d.cmp != nil {
		stroke = ` stroke="` + changeStroke + `" stroke-width="0.5"`
	}
	d.printf(`<g data-ft="frames" font-family="%s" font-size="%d" fill="%s">`+"\n", escape(monospace), fontSize, colorText)
	paths := map[string]*strings.Builder{}
	for _, b := range d.pic.boxes {
		d.box(b, stroke, paths)
	}
	for _, m := range marks() {
		if p := paths[m.Name]; p != nil {
			d.printf(`<path d="%s" fill="none" stroke="%s" stroke-width="%g" stroke-dasharray="%s" pointer-events="none"/>`+"\n",
				p.String(), m.Stroke, m.Width, dashes(m))
		}
	}
	d.printf("</g>\n")
}

func dashes(m mark) string {
	if m.Dash == "" {
		return "none"
	}
	return m.Dash
}

// look is how a box is drawn.
type look struct {
	name, fill, title string
	marks             []string
}

func (d *drawing) box(b box, stroke string, paths map[string]*strings.Builder) {
	y := d.top() + int(b.row)*rowStep
	if d.opts.Layout == Flame {
		y = d.top() + (d.pic.rows-1-int(b.row))*rowStep
	}
	l := d.look(b)
	x, w := pad+b.x, boxWidth(b.w)
	d.printf(`<rect x="%.2f" y="%d" width="%.2f" height="%d" rx="2" fill="%s"%s><title>%s</title></rect>`,
		x, y, w, rowSize, l.fill, stroke, escape(l.title))
	if label := fit(l.name, b.w); label != "" {
		d.printf(`<text x="%.2f" y="%d">%s</text>`, x+labelPad, y+12, escape(label))
	}
	d.printf("\n")
	for _, m := range marks() {
		if !slices.Contains(l.marks, m.Name) {
			continue
		}
		if paths[m.Name] == nil {
			paths[m.Name] = &strings.Builder{}
		}
		paths[m.Name].WriteString(m.path(x, float64(y), w))
	}
}

// minMarked is the width from which frames have marks.
const minMarked = 6

// path is where a mark goes on a frame.
func (m *mark) path(x, y, w float64) string {
	return fmt.Sprintf("M%.1f %.1f", x+m.X, y+m.Y) + strings.ReplaceAll(m.Path, "W", fmt.Sprintf("%.1f", w-m.Less))
}

// boxWidth leaves a gap to the next frame, where there is room for one.
func boxWidth(w float64) float64 {
	if w > 2 {
		return w - 0.7
	}
	return w
}

// look returns the label, colour, title and marks of a box.
func (d *drawing) look(b box) look {
	share := fmt.Sprintf("%s (%s)", d.unit.format(b.weight), percent(b.weight, d.totals[0]))
	if b.small > 0 {
		return look{
			name: grouped(int64(b.small)) + " small", fill: colorSmall,
			title: fmt.Sprintf("%s frames too narrow to draw\n%s", grouped(int64(b.small)), share),
		}
	}
	var change, side string
	l := look{name: "all", fill: colorGroup}
	if d.cmp != nil {
		side = " of all in " + display(d.cmp.Sides[1].Label)
		c := d.cmp.Change(d.before[b.node], d.totals[b.node])
		fill, mark := schemes()[defaultScheme].ofChange(c)
		l.fill, change = fill, changeText(c)
		if mark != "" {
			l.marks = append(l.marks, mark)
		}
	}
	if b.node == 0 {
		l.title = strings.Join(nonEmpty([]string{l.name, share + side, change}), "\n")
		return l.narrowed(b.w)
	}
	f := &d.Graph.Frames[d.Nodes[b.node].Frame]
	l.name = display(f.Name)
	share += side
	if self := d.Self[d.opts.Weight][b.node]; self > 0 {
		share += fmt.Sprintf(", self %s (%s)", d.unit.format(self), percent(self, d.totals[0]))
	}
	l.title = strings.Join(nonEmpty([]string{
		l.name,
		kindText(f),
		sourceLine(f),
		share,
		change,
	}), "\n")
	if d.cmp == nil {
		l.fill = shades(f.Kind)[shadeOf(l.name)]
	}
	l.marks = append(l.marks, frameMarks(f)...)
	return l.narrowed(b.w)
}

// narrowed leaves out marks that have no room.
func (l look) narrowed(w float64) look {
	if w < minMarked {
		l.marks = nil
	}
	return l
}

// frameMarks are the marks of a frame by itself.
func frameMarks(f *callgraph.Frame) []string {
	var out []string
	if m := markOf(f.Kind); m != "" {
		out = append(out, m)
	}
	if f.Inlined {
		out = append(out, "inlined")
	}
	if isSpecial(f.Name) {
		out = append(out, "hatched")
	}
	return out
}

// isSpecial reports whether a name stands for stacks that are not whole.
func isSpecial(name string) bool {
	return name == callgraph.NameTruncated || name == callgraph.NameFull
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

func sourceLine(f *callgraph.Frame) string {
	if f.File == "" {
		return ""
	}
	if f.StartLine > 0 {
		return fmt.Sprintf("%s:%d", display(f.File), f.StartLine)
	}
	return display(f.File)
}
