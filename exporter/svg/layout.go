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
// unless they are too many.
func plan(g *callgraph.Graph, totals []int64, pixels float64) *picture {
	depths := g.Depths()
	for limit := float64(minWidth); ; limit *= 2 {
		p := &planner{
			Graph: g, totals: totals, depths: depths,
			scale: pixels / float64(max(1, totals[0])),
			pic:   picture{minWidth: limit},
			left:  make([]int64, len(g.Nodes)),
		}
		p.run()
		if len(p.pic.boxes) <= maxElements || limit > pixels {
			return &p.pic
		}
	}
}

type planner struct {
	*callgraph.Graph
	totals []int64
	depths []int32
	scale  float64 // pixels per unit of weight
	pic    picture
	// left is where the next child of a node begins, once the node is drawn.
	left []int64
	bar  bar
}

// bar is a run of narrow siblings.
type bar struct {
	parent       int32
	from, weight int64
	frames       int
}

// run walks the nodes in pre-order and steps over the descendants of what is
// not drawn.
func (p *planner) run() {
	p.bar.parent = -1
	for i := int32(0); int(i) < len(p.Nodes); {
		node := p.Nodes[i]
		start := p.left[node.Parent] // node 0 is its own parent, at 0
		if i > 0 {
			p.left[node.Parent] += p.totals[i]
		}
		w := float64(p.totals[i]) * p.scale
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
			p.add(box{node: i, row: p.depths[i], x: float64(start) * p.scale, w: w, weight: p.totals[i]})
			i++
		}
	}
	p.flush()
}

// narrow adds a frame to the bar that its siblings to the left have begun.
func (p *planner) narrow(i int32, start int64) {
	parent := p.Nodes[i].Parent
	if p.bar.parent != parent {
		p.flush()
		p.bar = bar{parent: parent, from: start}
	}
	frames := int(p.Nodes[i].End - i)
	p.bar.weight += p.totals[i]
	p.bar.frames += frames
	p.pic.hiddenFrames += frames
	p.pic.hiddenWeight += p.totals[i]
}

// flush draws the bar, if it is wide enough by now.
func (p *planner) flush() {
	b := p.bar
	p.bar = bar{parent: -1}
	if w := float64(b.weight) * p.scale; b.parent >= 0 && w >= p.pic.minWidth {
		p.add(box{
			node: b.parent, row: p.depths[b.parent] + 1,
			x: float64(b.from) * p.scale, w: w, weight: b.weight, small: b.frames,
		})
	}
}

func (p *planner) add(b box) {
	p.pic.boxes = append(p.pic.boxes, b)
	p.pic.rows = max(p.pic.rows, int(b.row)+1)
}
