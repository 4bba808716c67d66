package svg

import (
	"github.com/flametel/flametel/exporter/callgraph"
)

// legendEntry is a sample of a colour and mark with what it means in words.
type legendEntry struct {
	fill, mark, text string
}

// legend says what colours and marks mean, with the share of all that ended in
// frames of each kind. The script makes the same for other ways of colouring.
func (d *drawing) legend() {
	d.printf(`<g data-ft="legend" fill="%s">`, inkSoft)
	x, y := float64(pad), d.legendLine()
	if d.cmp == nil && d.totals[0] > 0 {
		const text = "Share ending in:" // as opposed to that of all frames, above
		d.printf(`<text x="%.1f" y="%d">%s</text>`, x, y, text)
		x += 6.9*float64(len(text)) + 2
	}
	for _, e := range d.legendEntries() {
		d.printf(`<g><rect x="%.1f" y="%d" width="14" height="%d" rx="2" fill="%s" stroke="#8A94A0" stroke-width="0.5"/>`,
			x, y-12, rowSize-2, e.fill)
		for _, m := range marks() {
			if m.Name == e.mark {
				d.printf(`<path d="%s" fill="none" stroke="%s" stroke-width="%g" stroke-dasharray="%s"/>`,
					m.path(x, float64(y-13), 14), m.Stroke, min(m.Width, rowSize-2), dashes(m))
			}
		}
		d.printf(`<text x="%.1f" y="%d">%s</text></g>`, x+19, y, escape(e.text))
		x += 19 + 6.9*float64(len([]rune(e.text))) + 14
	}
	d.printf("</g>\n")
}

func (d *drawing) legendEntries() []legendEntry {
	if d.cmp != nil {
		return changeEntries()
	}
	var out []legendEntry
	self := d.SelfByKind(d.opts.Weight)
	has := d.specials()
	for _, k := range legendKinds() {
		text := letter(k) + " " + k.String()
		if d.totals[0] > 0 {
			text += " " + percent(self[k], d.totals[0])
		}
		out = append(out, legendEntry{color(k), markOf(k), text})
	}
	out = append(out, legendEntry{colorGroup, "", "process, thread"})
	if has.inlined {
		out = append(out, legendEntry{color(callgraph.User), "inlined", "dotted: inlined"})
	}
	if has.cut {
		out = append(out, legendEntry{color(callgraph.Unknown), "hatched", "striped: cut off"})
	}
	if d.pic != nil && d.pic.hiddenFrames > 0 {
		out = append(out, legendEntry{colorSmall, "", "too narrow"})
	}
	return out
}

// special tells which frames of a look of their own a graph has.
type special struct {
	inlined, cut bool
}

func (d *drawing) specials() special {
	var s special
	for i := range d.Graph.Frames {
		s.inlined = s.inlined || d.Graph.Frames[i].Inlined
		s.cut = s.cut || isSpecial(d.Graph.Frames[i].Name)
	}
	return s
}
