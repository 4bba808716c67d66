package callgraph

import "math"

// Weights of the graph in a Comparison.
const (
	Before = 0
	After  = 1
)

// Comparison is two profiles merged into one tree. It is immutable.
type Comparison struct {
	// Graph has two weights, Before and After, in the units of the profiles as
	// they are: nothing is scaled, so each total is that of its profile. Frames
	// are those that CompareOptions make equal; a frame's kind, module and source
	// are those of the second profile if it stands there. Of functions in several
	// modules of one profile they are those in the module that most is in, and the
	// module is called "libz.so and 1 more".
	Graph *Graph
	Sides [2]Side
	// Normalized: what is compared are shares of each side's own total. Otherwise
	// the weights themselves are, and all shares are of the larger total.
	Normalized bool
}

// Side says where one side of a comparison comes from.
type Side struct {
	// Label is what the reader calls the profile, such as a file name.
	Label string
	// Total is the sum of the weights.
	Total int64
	// Samples is how many samples the total stands for. Whether a change is more
	// than chance depends on it: ten seconds off the CPU may be one sample.
	Samples    int64
	SampleType ValueType
	PeriodType ValueType
	Period     int64
	Meta       Meta
}

// CompareOptions are the settings of Compare. The zero value is useful.
type CompareOptions struct {
	// Labels of both sides; empty ones become "before" and "after".
	Labels [2]string
	// Raw compares weights as they are instead of shares.
	Raw bool
	// ExactNames tells frames apart by their names as they are, addresses and
	// compiler suffixes included. Otherwise by NormalName.
	ExactNames bool
}

// Compare merges two graphs. Frames are matched by name alone, as formats differ
// in what else they carry and a rebuild moves code, changes lines and inlines
// other calls. Threads are left out, and processes too if only one side has any.
// Only the first weight of each graph is used.
func Compare(before, after *Graph, opts CompareOptions) *Comparison {
	sides := [2]*Graph{before, after}
	m := newMatcher(sides, opts.ExactNames)
	merger := NewMerger(2)
	for side, g := range sides {
		m.add(merger, side, g)
	}
	c := &Comparison{Graph: merger.Graph(), Normalized: !opts.Raw}
	c.Graph.SampleType, c.Graph.PeriodType, c.Graph.Period = after.SampleType, after.PeriodType, after.Period
	c.Graph.Group = after.Group
	for side, g := range sides {
		label := opts.Labels[side]
		if label == "" {
			label = [2]string{"before", "after"}[side]
		}
		c.Sides[side] = Side{
			Label: label, Total: g.Total(0), Samples: sampleCount(g),
			SampleType: g.SampleType, PeriodType: g.PeriodType, Period: g.Period, Meta: g.Meta,
		}
	}
	return c
}

// sampleCount is how many samples a graph stands for, as far as it says.
func sampleCount(g *Graph) int64 {
	total := g.Total(0)
	switch {
	case g.SampleType.Unit == "count" || total == 0:
		return total
	case g.Period > 0 && g.SampleType.Unit == g.PeriodType.Unit:
		return max(1, total/g.Period)
	case g.Meta.Records > 0:
		return min(g.Meta.Records, total)
	}
	return total
}

// Swapped returns the comparison the other way round.
func (c *Comparison) Swapped() *Comparison {
	g := *c.Graph
	g.Self = [][]int64{c.Graph.Self[After], c.Graph.Self[Before]}
	g.SampleType, g.PeriodType, g.Period = c.Sides[Before].SampleType, c.Sides[Before].PeriodType, c.Sides[Before].Period
	return &Comparison{Graph: &g, Sides: [2]Side{c.Sides[After], c.Sides[Before]}, Normalized: c.Normalized}
}

// Change is how one part of two profiles differs.
type Change struct {
	Before, After int64 // weights
	// BeforeShare and AfterShare are parts of the totals, 0 to 1.
	BeforeShare, AfterShare float64
	// Z is the difference in standard deviations of what chance alone would
	// make, positive for more. It is 0 if a side is empty.
	Z float64
	// Significant: the difference is more than noise.
	Significant bool
}

// noise is the |z| below which a difference is taken for chance: in 95 of 100
// comparisons of equal programs a given part stays below it.
const noise = 1.96

// Delta is the change as a part of the total, -1 to 1: positive for more.
func (c Change) Delta() float64 { return c.AfterShare - c.BeforeShare }

// New reports whether there was nothing before.
func (c Change) New() bool { return c.Before == 0 && c.After > 0 }

// Gone reports whether there is nothing any more.
func (c Change) Gone() bool { return c.Before > 0 && c.After == 0 }

// Change compares two weights, of a node, a function or anything else. With
// b and a being the samples that these stand for, of B and A in all:
//
//	normalized  z = (a/A - b/B) / sqrt(p (1-p) (1/A + 1/B)),  p = (a+b) / (A+B)
//	raw         z = (a - b) / sqrt(a + b)
//
// The first is the two-proportion test, the second that of two Poisson counts.
// Between a side without samples and one with some everything is significant.
func (c *Comparison) Change(before, after int64) Change {
	ch := Change{Before: before, After: after}
	b, a := &c.Sides[Before], &c.Sides[After]
	if c.Normalized {
		ch.BeforeShare, ch.AfterShare = ratio(before, b.Total), ratio(after, a.Total)
	} else {
		most := max(b.Total, a.Total)
		ch.BeforeShare, ch.AfterShare = ratio(before, most), ratio(after, most)
	}
	if b.Total == 0 || a.Total == 0 {
		ch.Significant = before != after
		return ch
	}
	nb, na := float64(b.Samples), float64(a.Samples)
	xb, xa := ratio(before, b.Total)*nb, ratio(after, a.Total)*na
	if c.Normalized {
		p := (xb + xa) / (nb + na)
		ch.Z = quotient(ratio(after, a.Total)-ratio(before, b.Total), math.Sqrt(p*(1-p)*(1/nb+1/na)))
	} else {
		ch.Z = quotient(xa-xb, math.Sqrt(xa+xb))
	}
	ch.Significant = math.Abs(ch.Z) >= noise
	return ch
}

// ratio is a part of a whole; 0 of nothing.
func ratio(part, whole int64) float64 { return quotient(float64(part), float64(whole)) }

// quotient is a/b, and 0 where that is no number: a p that rounding made larger
// than 1 has no root.
func quotient(a, b float64) float64 {
	if q := a / b; !math.IsNaN(q) && !math.IsInf(q, 0) {
		return q
	}
	return 0
}

// Widths returns how wide the own part of each node is to be drawn, as a share
// of the whole picture without what is gone: what there is after, and with
// elided also what stood in stacks that are gone, as wide as it was before.
// Without anything after, everything is drawn as it was.
func (c *Comparison) Widths(elided bool) []float64 {
	g := c.Graph
	widths := make([]float64, len(g.Nodes))
	afters := g.Totals(After)
	for i := range widths {
		if c.Sides[After].Total > 0 {
			widths[i] = c.Change(0, g.Self[After][i]).AfterShare
		}
		if afters[i] == 0 && (elided || c.Sides[After].Total == 0) {
			widths[i] = c.Change(g.Self[Before][i], 0).BeforeShare
		}
	}
	return widths
}
