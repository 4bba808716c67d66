package svg

import "github.com/flametel/flametel/exporter/callgraph"

// box is something drawn at a row: a frame, or a bar that stands for several
// frames too narrow to draw.
type box struct {
	node   int32 // of a frame; of a bar, the frame that they are children of
	row    int32
	x, w   float64 // pixels from the left edge of the frames
	weight int64
	small  int // number of frames, with all above them, in a bar; 0 for a frame
}

// picture is what the static layer shows.
type picture struct {
	boxes []box
	rows  int
	// Frames not drawn as such, and the weight in them.
	hiddenFrames int
	hiddenWeight int64
	minWidth     float64
	// deeper is the number of frames beyond maxRows.
	deeper int
}

// plan decides what to draw into so many pixels: frames of minWidth and more,
// unless they are more than most, when the width doubles. Widths are in proportion
// to the first list of totals; the second are what the figures are about.
func plan(g *callgraph.Graph, widths []float64, totals []int64, pixels float64, most int) *picture {
	p := &planner{
		Graph: g, widths: widths, totals: totals, depths: g.Depths(),
		scale: pixels / widths[0],
		left:  make([]float64, len(g.Nodes)),
	}
	for limit := float64(minWidth); ; limit *= 2 {
		p.pic = picture{minWidth: limit}
		p.left[0] = 0
		p.run()
		if len(p.pic.boxes) <= most || limit > pixels {
			pic := p.pic // without the planner, which is as large as the graph
			return &pic
		}
	}
}

type planner struct {
	*callgraph.Graph
	widths []float64
	totals []int64
	depths []int32
	scale  float64 // pixels per unit of width
	pic    picture
	// left is where the next child of a node begins, once the node is drawn.
	left []float64
	bar  bar
}

// bar is a run of narrow siblings.
type bar struct {
	parent      int32
	from, width float64
	weight      int64
	frames      int
}

// run walks the nodes in pre-order and steps over the descendants of what is
// not drawn.
func (p *planner) run() {
	p.bar.parent = -1
	for i := int32(0); int(i) < len(p.Nodes); {
		node := p.Nodes[i]
		if i > 0 && p.widths[i] == 0 {
			i = node.End
			continue
		}
		start := p.left[node.Parent] // node 0 is its own parent, at 0
		if i > 0 {
			p.left[node.Parent] += p.widths[i]
		}
		w := p.widths[i] * p.scale
		switch {
		case p.depths[i] >= maxRows:
			p.pic.deeper += int(node.End - i)
			i = node.End
		case w < p.pic.minWidth && i > 0:
			p.narrow(i, start)
			i = node.End
		default:
			p.flush()
			p.left[i] = start
			p.add(box{node: i, row: p.depths[i], x: start * p.scale, w: w, weight: p.totals[i]})
			i++
		}
	}
	p.flush()
}

// narrow adds a frame to the bar that its siblings to the left have begun.
func (p *planner) narrow(i int32, start float64) {
	parent := p.Nodes[i].Parent
	if p.bar.parent != parent {
		p.flush()
		p.bar = bar{parent: parent, from: start}
	}
	frames := int(p.Nodes[i].End - i)
	p.bar.width += p.widths[i]
	p.bar.weight += p.totals[i]
	p.bar.frames += frames
	p.pic.hiddenFrames += frames
	p.pic.hiddenWeight += p.totals[i]
}

// flush draws the bar, if it is wide enough by now.
func (p *planner) flush() {
	b := p.bar
	p.bar = bar{parent: -1}
	if w := b.width * p.scale; b.parent >= 0 && w >= p.pic.minWidth {
		p.add(box{
			node: b.parent, row: p.depths[b.parent] + 1,
			x: b.from * p.scale, w: w, weight: b.weight, small: b.frames,
		})
	}
}

func (p *planner) add(b box) {
	p.pic.boxes = append(p.pic.boxes, b)
	p.pic.rows = max(p.pic.rows, int(b.row)+1)
}

// sums returns for each node the sum of what it and its descendants have.
func sums(g *callgraph.Graph, own []float64) []float64 {
	out := append([]float64(nil), own...)
	for i := len(out) - 1; i > 0; i-- {
		out[g.Nodes[i].Parent] += out[i]
	}
	return out
}
