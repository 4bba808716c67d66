package callgraph

import "errors"

// MaxDepth bounds the frames of one stack. Readers cut a deeper one at its root
// and put a frame NameTruncated there, as the Builder does.
const MaxDepth = maxDepth

// Sibling returns an empty Merger with one weight that knows the frames of this
// one by the same numbers, as the several types of one profile need it.
func (m *Merger) Sibling() *Merger { return newMerger(m.frames, 1) }

// Mapping returns the one mapping that is equal to another, to be used in frames
// of this Merger and its siblings.
func (m *Merger) Mapping(v Mapping) *Mapping { return m.frames.mapping(v) }

// Single returns one weight of the graph as a graph of its own, without the
// stacks that have nothing of it.
func (g *Graph) Single(weight int) *Graph {
	m := NewMerger(1)
	ids := make([]int32, len(g.Frames))
	for i, f := range g.Frames {
		ids[i] = m.Frame(f)
	}
	totals := g.Totals(weight)
	moved := make([]int32, len(g.Nodes))
	for i := range g.Nodes {
		if i > 0 && totals[i] > 0 {
			moved[i] = m.trie.child(moved[g.Nodes[i].Parent], ids[g.Nodes[i].Frame])
		}
		if v := g.Self[weight][i]; v > 0 {
			m.addAt(moved[i], 0, v)
		}
	}
	out := m.Graph()
	out.Group, out.SampleType, out.PeriodType, out.Period = g.Group, g.SampleType, g.PeriodType, g.Period
	out.Meta = g.Meta
	return out
}

// Side returns one side of a comparison as a profile: Before or After. Its
// frames are those that were compared.
func (c *Comparison) Side(side int) *Graph {
	g := c.Graph.Single(side)
	s := &c.Sides[side]
	g.SampleType, g.PeriodType, g.Period, g.Meta = s.SampleType, s.PeriodType, s.Period, s.Meta
	return g
}

// MaxBytes is how much memory a reader may fill with one profile: a graph of ten
// million distinct stacks.
const MaxBytes = 4 << 30

// ErrTooLarge is the error of readers for a profile beyond MaxBytes.
var ErrTooLarge = errors.New("takes more than 4 GiB of memory; leave some of it out before it is read")

// TooLarge reports whether what was added takes more memory than MaxBytes, by
// estimate. What siblings hold counts for each of them.
func (m *Merger) TooLarge() bool {
	return m.frames.bytes+int64(m.trie.len())*m.trie.nodeBytes() > MaxBytes
}
