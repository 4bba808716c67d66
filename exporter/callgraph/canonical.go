package callgraph

import "slices"

// canonical returns the trie as a graph whose frames and nodes are in an order
// that depends on their content alone. It takes time linear in the nodes, plus
// sorting the distinct frames.
func (t *trie) canonical(frames []Frame) *Graph {
	used, rank := rankFrames(t.frame, frames)
	first, next := t.sortedChildren(rank, len(used))
	g := &Graph{
		Frames: used,
		Nodes:  make([]Node, 0, t.len()),
		Self:   make([][]int64, len(t.self)),
	}
	for w := range g.Self {
		g.Self[w] = make([]int64, 0, t.len())
	}
	t.emit(g, rank, first, next)
	for i := len(g.Nodes) - 1; i > 0; i-- {
		p := &g.Nodes[g.Nodes[i].Parent]
		p.End = max(p.End, g.Nodes[i].End)
	}
	return g
}

// rankFrames returns the frames that nodes refer to in order, and for each
// index of the full table the place in that order.
func rankFrames(nodes []int32, frames []Frame) (used []Frame, rank []int32) {
	rank = make([]int32, len(frames))
	var ids []int32
	for _, f := range nodes[1:] {
		if rank[f] == 0 {
			rank[f] = 1
			ids = append(ids, f)
		}
	}
	slices.SortFunc(ids, func(a, b int32) int { return frames[a].Compare(&frames[b]) })
	used = make([]Frame, len(ids))
	for i, id := range ids {
		used[i] = frames[id]
		rank[id] = int32(i)
	}
	return used, rank
}

// sortedChildren returns for each node its first child and its next sibling, 0
// for none. Nodes are bucketed by the rank of their frame and pushed to the
// front of their parent's list from the highest rank to the lowest, which
// leaves each list in ascending order without sorting any.
func (t *trie) sortedChildren(rank []int32, ranks int) (first, next []int32) {
	start := make([]int32, ranks+1)
	for _, f := range t.frame[1:] {
		start[rank[f]+1]++
	}
	for i := 1; i <= ranks; i++ {
		start[i] += start[i-1]
	}
	byRank := make([]int32, t.len()-1)
	for n := 1; n < t.len(); n++ {
		r := rank[t.frame[n]]
		byRank[start[r]] = int32(n)
		start[r]++
	}
	first = make([]int32, t.len())
	next = make([]int32, t.len())
	for i := len(byRank) - 1; i >= 0; i-- {
		n := byRank[i]
		next[n] = first[t.parent[n]]
		first[t.parent[n]] = n
	}
	return first, next
}

// emit appends all nodes to the graph in pre-order.
func (t *trie) emit(g *Graph, rank, first, next []int32) {
	newIndex := make([]int32, t.len())
	for n := int32(0); ; {
		i := int32(len(g.Nodes))
		newIndex[n] = i
		node := Node{Frame: -1, Parent: newIndex[t.parent[n]], End: i + 1}
		if n != 0 {
			node.Frame = rank[t.frame[n]]
		}
		g.Nodes = append(g.Nodes, node)
		for w := range g.Self {
			g.Self[w] = append(g.Self[w], t.self[w][n])
		}
		if first[n] != 0 {
			n = first[n]
			continue
		}
		for n != 0 && next[n] == 0 {
			n = t.parent[n]
		}
		if n == 0 {
			return
		}
		n = next[n]
	}
}
