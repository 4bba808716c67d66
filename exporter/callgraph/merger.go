package callgraph

import "math"

// Merger merges stacks given one by one. It is not safe for concurrent use.
type Merger struct {
	frames *frameTable
	trie   *trie
	totals []int64
	// Saturated is set once a value was cut because the total of its weight
	// would have exceeded the largest int64.
	Saturated bool
}

// NewMerger returns an empty Merger for stacks with so many weights each.
func NewMerger(weights int) *Merger {
	return newMerger(newFrameTable(), weights)
}

func newMerger(frames *frameTable, weights int) *Merger {
	return &Merger{frames: frames, trie: newTrie(weights), totals: make([]int64, weights)}
}

// Frame returns the number of a frame, to be used in Add.
func (m *Merger) Frame(f Frame) int32 { return m.frames.intern(f) }

// Add adds a value to one weight of a stack. Frames are given root first, by
// their numbers. Values that are not positive add nothing.
func (m *Merger) Add(stack []int32, weight int, value int64) {
	if value <= 0 {
		return
	}
	node := int32(0)
	for _, f := range stack {
		node = m.trie.child(node, f)
	}
	m.addAt(node, weight, value)
}

// addAt adds a positive value at a node.
func (m *Merger) addAt(node int32, weight int, value int64) {
	value, cut := addClamped(m.totals[weight], value)
	m.Saturated = m.Saturated || cut
	m.totals[weight] += value
	m.trie.self[weight][node] += value
}

// Graph returns what was added so far. The Merger can go on being used.
func (m *Merger) Graph() *Graph {
	g := m.trie.canonical(m.frames.list)
	g.Meta.Saturated = m.Saturated
	return g
}

// Regroup returns the graph with each frame replaced by what the function makes
// of it, and stacks merged that became equal. Frames for which keep is false
// are left out of their stacks; their own weight goes to the frame above.
func (g *Graph) Regroup(replace func(f *Frame) (h Frame, keep bool)) *Graph {
	m := NewMerger(len(g.Self))
	ids := make([]int32, len(g.Frames))
	for i := range g.Frames {
		ids[i] = -1
		if f, keep := replace(&g.Frames[i]); keep {
			ids[i] = m.Frame(f)
		}
	}
	moved := make([]int32, len(g.Nodes))
	for i := range g.Nodes {
		if i > 0 {
			moved[i] = moved[g.Nodes[i].Parent]
			if id := ids[g.Nodes[i].Frame]; id >= 0 {
				moved[i] = m.trie.child(moved[i], id)
			}
		}
		for w := range g.Self {
			if v := g.Self[w][i]; v > 0 {
				m.addAt(moved[i], w, v)
			}
		}
	}
	out := m.Graph()
	out.Group, out.SampleType, out.PeriodType, out.Period = g.Group, g.SampleType, g.PeriodType, g.Period
	out.Meta = g.Meta
	return out
}

// frameTable numbers distinct frames and mappings.
type frameTable struct {
	list     []Frame
	ids      map[Frame]int32
	mappings map[Mapping]*Mapping
	bytes    int64 // of all strings, an estimate for the memory limit
}

func newFrameTable() *frameTable {
	return &frameTable{ids: map[Frame]int32{}, mappings: map[Mapping]*Mapping{}}
}

func (t *frameTable) intern(f Frame) int32 {
	if id, ok := t.ids[f]; ok {
		return id
	}
	id := int32(len(t.list))
	t.list = append(t.list, f)
	t.ids[f] = id
	// 2 * 160 bytes: the struct stands in the list and in the map.
	t.bytes += 320 + int64(len(f.Name)+len(f.SystemName)+len(f.File)+len(f.Module))
	return id
}

func (t *frameTable) mapping(m Mapping) *Mapping {
	if p := t.mappings[m]; p != nil {
		return p
	}
	p := new(Mapping)
	*p = m
	t.mappings[m] = p
	t.bytes += 200 + int64(len(m.File)+len(m.BuildID))
	return p
}

// Scale multiplies all that was added so far. Totals beyond the largest int64
// are cut, and Saturated set.
func (m *Merger) Scale(factor int64) {
	for w, self := range m.trie.self {
		m.totals[w] = 0
		for n, v := range self {
			if factor > 0 && v > math.MaxInt64/factor {
				v, m.Saturated = math.MaxInt64, true
			} else {
				v *= factor
			}
			v, cut := addClamped(m.totals[w], v)
			m.Saturated = m.Saturated || cut
			m.totals[w] += v
			self[n] = v
		}
	}
}
