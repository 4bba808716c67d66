package callgraph

// trie merges stacks by their common roots. Node 0 is the root of all stacks
// and has no frame. Children are found through one open-addressed hash table
// over (parent, frame): it takes 4 to 8 bytes a node, where a Go map would take
// forty.
type trie struct {
	frame  []int32   // index in the frame table, -1 for node 0
	parent []int32   // always smaller than the node's own index
	self   [][]int64 // by weight, then by node
	table  []int32   // node+1, 0 = free; len is a power of two
}

func newTrie(weights int) *trie {
	t := &trie{frame: []int32{-1}, parent: []int32{0}, table: make([]int32, 64)}
	t.self = make([][]int64, weights)
	for w := range t.self {
		t.self[w] = []int64{0}
	}
	return t
}

func (t *trie) len() int { return len(t.frame) }

// nodeBytes is the memory that a node takes: a frame, a parent, its weights and
// its share of the table.
func (t *trie) nodeBytes() int64 { return 16 + 8*int64(len(t.self)) }

// lookup returns the child of parent with the frame, or -1 and the free slot
// of the table where it belongs.
func (t *trie) lookup(parent, frame int32) (node int32, slot uint32) {
	mask := uint32(len(t.table) - 1)
	for slot = hashEdge(parent, frame) & mask; ; slot = (slot + 1) & mask {
		n := t.table[slot] - 1
		if n < 0 {
			return -1, slot
		}
		if t.parent[n] == parent && t.frame[n] == frame {
			return n, slot
		}
	}
}

// child returns the child of parent with the frame, making it if need be.
func (t *trie) child(parent, frame int32) int32 {
	n, slot := t.lookup(parent, frame)
	if n >= 0 {
		return n
	}
	n = int32(len(t.frame))
	t.frame = append(t.frame, frame)
	t.parent = append(t.parent, parent)
	for w := range t.self {
		t.self[w] = append(t.self[w], 0)
	}
	t.table[slot] = n + 1
	// At most three quarters full: probes stay short with linear probing.
	if len(t.frame)*4 > len(t.table)*3 {
		t.grow()
	}
	return n
}

func (t *trie) grow() {
	t.table = make([]int32, 2*len(t.table))
	for n := 1; n < len(t.frame); n++ {
		_, slot := t.lookup(t.parent[n], t.frame[n])
		t.table[slot] = int32(n) + 1
	}
}

// hashEdge mixes both halves of the key (the finaliser of MurmurHash3). It is
// not seeded: node numbers come from us, so an input cannot choose collisions
// at will.
func hashEdge(parent, frame int32) uint32 {
	h := uint64(uint32(parent))<<32 | uint64(uint32(frame))
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return uint32(h)
}
