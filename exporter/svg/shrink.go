package svg

import (
	"fmt"
	"math"
	"slices"

	"github.com/flametel/flametel/exporter/callgraph"
)

// shrinker makes graphs with fewer nodes of one graph. What it made is
// overwritten by what it makes next.
type shrinker struct {
	*callgraph.Graph
	ranks []int64
	// Nodes below limit go, and of those at limit the first so many.
	limit int64
	ties  int

	out    *callgraph.Graph
	ids    []int32         // new number of each frame + 1
	small  map[int64]int32 // new number of the frame for so many small frames
	open   []openNode
	merged merged
}

// openNode is a node whose descendants are being walked.
type openNode struct {
	end, to int32 // of the old node; the new node
	frames  int64
	only    int32 // the frame that is merged, if it is one
	self    [2]int64
}

func newShrinker(g *callgraph.Graph) *shrinker {
	return &shrinker{
		Graph: g,
		ranks: ranks(g),
		out:   &callgraph.Graph{Self: make([][]int64, len(g.Self))},
		ids:   make([]int32, len(g.Frames)),
		small: map[int64]int32{},
	}
}

// shrink returns the graph with its smallest subtrees merged, so that about so
// many nodes are left, and what was merged. The subtrees below a node that go
// become one frame that says how many frames they had and has all their weight,
// so widths, totals and shares stay as they are. The node stands behind its
// siblings.
func (s *shrinker) shrink(target int) (*callgraph.Graph, merged) {
	s.limit, s.ties = nth(s.ranks, max(0, len(s.ranks)-max(1, target))) // the first that stays
	s.merged = merged{}
	clear(s.ids)
	clear(s.small)
	s.out.Frames = s.out.Frames[:0]
	// The frames that stand for what goes are 5 to 23 in 100 of those that stay.
	room := target + target/4
	s.out.Nodes = slices.Grow(s.out.Nodes[:0], room)
	for w := range s.out.Self {
		s.out.Self[w] = slices.Grow(s.out.Self[w][:0], room)
	}
	s.run()
	for i := len(s.out.Nodes) - 1; i > 0; i-- {
		p := &s.out.Nodes[s.out.Nodes[i].Parent]
		p.End = max(p.End, s.out.Nodes[i].End)
	}
	return s.out, s.merged
}

// ranks are the totals by which subtrees are small, of all weights together.
func ranks(g *callgraph.Graph) []int64 {
	out := g.Totals(0)
	for w := 1; w < len(g.Self); w++ {
		for i, v := range g.Totals(w) {
			out[i] += min(v, math.MaxInt64-out[i])
		}
	}
	return out
}

// nth returns what would be at index n if the list were sorted, and how many
// equal values would stand before it. It fixes 16 bits after the other by
// counting, which for millions of values takes a tenth of sorting a copy.
func nth(list []int64, n int) (value int64, before int) {
	const signBit = 1 << 63 // turned, so that negative values come first
	var fixed, mask uint64
	counts := make([]int, 1<<16)
	for shift := 48; shift >= 0; shift -= 16 {
		clear(counts)
		for _, v := range list {
			if key := uint64(v) ^ signBit; key&mask == fixed {
				counts[key>>shift&0xffff]++
			}
		}
		digit := 0
		for ; n >= counts[digit]; digit++ {
			n -= counts[digit]
		}
		fixed |= uint64(digit) << shift
		mask |= 0xffff << shift
	}
	return int64(fixed ^ signBit), n
}

func (s *shrinker) goes(i int32) bool {
	if i == 0 || s.ranks[i] > s.limit {
		return false
	}
	if s.ranks[i] < s.limit {
		return true
	}
	if s.ties <= 0 {
		return false
	}
	s.ties -= int(s.Nodes[i].End - i)
	return true
}

func (s *shrinker) run() {
	for i := int32(0); int(i) < len(s.Nodes); {
		for len(s.open) > 0 && s.open[len(s.open)-1].end <= i {
			s.leave()
		}
		node := s.Nodes[i]
		if !s.goes(i) {
			self := [2]int64{}
			for w := range s.Self {
				self[w] = s.Self[w][i]
			}
			frame := int32(-1)
			if i > 0 {
				frame = s.frame(node.Frame)
			}
			s.open = append(s.open, openNode{end: node.End, to: s.add(frame, self)})
			i++
			continue
		}
		top := &s.open[len(s.open)-1]
		top.frames += int64(node.End - i)
		top.only = node.Frame
		for ; i < node.End; i++ {
			for w := range s.Self {
				top.self[w] += s.Self[w][i]
			}
		}
	}
	for len(s.open) > 0 {
		s.leave()
	}
}

// leave adds the frame that stands for the merged children of a node.
func (s *shrinker) leave() {
	top := s.open[len(s.open)-1]
	switch {
	case top.frames == 1: // nothing would be won
		s.add(s.frame(top.only), top.self)
	case top.frames > 1:
		s.add(s.smallFrame(top.frames), top.self)
		s.merged.Frames += top.frames
		s.merged.Weight += top.self[len(s.Self)-1]
	}
	s.open = s.open[:len(s.open)-1]
}

// add appends a child of the node that is open.
func (s *shrinker) add(frame int32, self [2]int64) int32 {
	to := int32(len(s.out.Nodes))
	parent := int32(0)
	if len(s.open) > 0 {
		parent = s.open[len(s.open)-1].to
	}
	s.out.Nodes = append(s.out.Nodes, callgraph.Node{Frame: frame, Parent: parent, End: to + 1})
	for w := range s.Self {
		s.out.Self[w] = append(s.out.Self[w], self[w])
	}
	return to
}

func (s *shrinker) frame(f int32) int32 {
	if s.ids[f] == 0 {
		s.out.Frames = append(s.out.Frames, s.Frames[f])
		s.ids[f] = int32(len(s.out.Frames))
	}
	return s.ids[f] - 1
}

func (s *shrinker) smallFrame(n int64) int32 {
	id, ok := s.small[n]
	if !ok {
		id = int32(len(s.out.Frames))
		s.out.Frames = append(s.out.Frames, callgraph.Frame{Name: fmt.Sprintf("(%d small frames)", n)})
		s.small[n] = id
	}
	return id
}
