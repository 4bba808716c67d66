package callgraph

import (
	"cmp"
	"math"
	"slices"
)

// ByFrame returns, for each frame, the weight of all stacks that it stands in,
// each counted once however often the function calls itself, and the weight that
// ended in it.
func (g *Graph) ByFrame(weight int) (total, self []int64) {
	total, self = make([]int64, len(g.Frames)), make([]int64, len(g.Frames))
	totals := g.Totals(weight)
	open := make([]int32, len(g.Frames)) // how often a frame stands above the node
	var above []int32                    // nodes whose descendants are not over
	for i := 1; i < len(g.Nodes); i++ {
		for len(above) > 0 && g.Nodes[above[len(above)-1]].End <= int32(i) {
			open[g.Nodes[above[len(above)-1]].Frame]--
			above = above[:len(above)-1]
		}
		f := g.Nodes[i].Frame
		if open[f] == 0 {
			total[f] += totals[i]
		}
		self[f] += g.Self[weight][i]
		open[f]++
		above = append(above, int32(i))
	}
	return total, self
}

// Mover is how much one function changed.
type Mover struct {
	Frame *Frame
	// Total is about all stacks with the function, Self about those that end in it.
	Total, Self Change
}

// Movers returns all functions that changed, those whose own weight changed most
// first: that is where to look, whereas the totals of their callers follow. What
// is within noise, both in total and of its own, comes last.
func (c *Comparison) Movers() []Mover {
	g := c.Graph
	bt, bs := g.ByFrame(Before)
	at, as := g.ByFrame(After)
	var out []Mover
	for i := range g.Frames {
		m := Mover{Frame: &g.Frames[i], Total: c.Change(bt[i], at[i]), Self: c.Change(bs[i], as[i])}
		if m.Frame.Kind.IsCode() && (m.Total.Delta() != 0 || m.Self.Delta() != 0) {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b Mover) int {
		return cmp.Or(
			-compareBool(a.significant(), b.significant()),
			-cmp.Compare(math.Abs(a.Self.Delta()), math.Abs(b.Self.Delta())),
			-cmp.Compare(math.Abs(a.Total.Delta()), math.Abs(b.Total.Delta())),
			a.Frame.Compare(b.Frame),
		)
	})
	return out
}

func (m *Mover) significant() bool { return m.Total.Significant || m.Self.Significant }

// rounding is what subtracting two shares may be off by: 0.4 - 0.1 > 0.3.
const rounding = 1e-9

// Grown returns the functions whose total share grew by more than a share, and
// by more than noise, the largest growth first.
func (c *Comparison) Grown(share float64) []Mover {
	movers := slices.DeleteFunc(c.Movers(), func(m Mover) bool {
		return !m.Total.Significant || m.Total.Delta() <= share+rounding
	})
	slices.SortStableFunc(movers, func(a, b Mover) int { return -cmp.Compare(a.Total.Delta(), b.Total.Delta()) })
	return movers
}
