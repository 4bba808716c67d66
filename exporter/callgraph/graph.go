package callgraph

import "math"

// ValueType names what a weight counts, and its unit.
type ValueType struct {
	Type, Unit string
}

// Node is one merged call level. Nodes stand in pre-order: the descendants of
// node i are the nodes from i+1 up to, not including, End.
type Node struct {
	Frame  int32 // index in Graph.Frames, -1 for the root
	Parent int32
	End    int32
}

// Graph is a tree of merged stacks. Node 0 is the root of all stacks; siblings
// are sorted by Frame.Compare. It is immutable and safe for concurrent use.
type Graph struct {
	// Group is what Options.Group returned for the resources in this graph.
	Group string
	// SampleType says what the weights count. PeriodType and Period say how far
	// apart two samples are, as in OTLP; Period is 0 if unknown.
	SampleType ValueType
	PeriodType ValueType
	Period     int64

	Frames []Frame // distinct, sorted by Compare, each used by a node
	Nodes  []Node  // never empty
	// Self is what ended in each node itself, by weight and node. There is one
	// weight; a comparison of two profiles has two.
	Self [][]int64
	Meta Meta
}

// Name is the short name of what was sampled, such as cpu or off_cpu: the
// sample type, but for plain counts of samples it is what the period measures.
func (g *Graph) Name() string { return typeName(g.SampleType, g.PeriodType) }

// Is tells whether a sample type is called like that, by its short name or its own.
func (g *Graph) Is(name string) bool { return isType(name, g.SampleType, g.PeriodType) }

func typeName(sample, period ValueType) string {
	if sample.Type == "samples" && period.Type != "" {
		return period.Type
	}
	if sample.Type == "" {
		return "samples"
	}
	return sample.Type
}

func isType(name string, sample, period ValueType) bool {
	return name == typeName(sample, period) || name == sample.Type
}

// Total is the sum of one weight over all stacks.
func (g *Graph) Total(weight int) int64 {
	var sum int64
	for _, v := range g.Self[weight] {
		sum += v
	}
	return sum
}

// Samples is how many samples the graph stands for: its total if that is a
// count, else how many were added.
func (g *Graph) Samples() int64 {
	if g.SampleType.Unit == "count" {
		return g.Total(0)
	}
	return g.Meta.Records
}

// Totals returns, for each node, its own weight and that of all descendants.
func (g *Graph) Totals(weight int) []int64 { return g.AppendTotals(nil, weight) }

// AppendTotals appends the totals to a list, which saves making one of the size
// of the graph where there is one already.
func (g *Graph) AppendTotals(list []int64, weight int) []int64 {
	list = append(list, g.Self[weight]...)
	totals := list[len(list)-len(g.Nodes):]
	// Parents stand before their children, so backwards every node is complete
	// by the time it is added to its parent.
	for i := len(totals) - 1; i > 0; i-- {
		totals[g.Nodes[i].Parent] += totals[i]
	}
	return list
}

// Depths returns the number of frames above each node; the root has 0.
func (g *Graph) Depths() []int32 {
	depths := make([]int32, len(g.Nodes))
	for i := 1; i < len(depths); i++ {
		depths[i] = depths[g.Nodes[i].Parent] + 1
	}
	return depths
}

// UnknownShare is the part of all code frames, each counted once for every
// sample it stands in, that has no name: 0 to 1, and 0 in an empty graph. Where a
// stack was cut is a frame, but not one without a name.
func (g *Graph) UnknownShare(weight int) float64 {
	var all, unknown float64
	for i, total := range g.Totals(weight) {
		if i == 0 || !g.Frames[g.Nodes[i].Frame].Kind.IsCode() {
			continue
		}
		all += float64(total)
		f := &g.Frames[g.Nodes[i].Frame]
		if f.Kind == Unknown && f.Name != NameTruncated || f.Kind == Kernel && f.Name == NameUnknown {
			unknown += float64(total)
		}
	}
	if all == 0 {
		return 0
	}
	return unknown / all
}

// SelfByKind returns the weight that ended in frames of each kind.
func (g *Graph) SelfByKind(weight int) map[Kind]int64 {
	sums := map[Kind]int64{}
	for i := 1; i < len(g.Nodes); i++ {
		if v := g.Self[weight][i]; v != 0 {
			sums[g.Frames[g.Nodes[i].Frame].Kind] += v
		}
	}
	return sums
}

// addClamped returns v, cut so that sum+v does not exceed the largest int64.
func addClamped(sum, v int64) (clamped int64, cut bool) {
	if room := math.MaxInt64 - sum; v > room {
		return room, true
	}
	return v, false
}
