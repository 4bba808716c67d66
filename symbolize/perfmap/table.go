package perfmap

import (
	"cmp"
	"container/heap"
	"slices"
	"unsafe"

	"github.com/flametel/flametel/symbolize/addr"
)

// entry is a range of generated code.
type entry struct {
	start uint64
	size  uint32
	name  uint32 // place in names
}

func (e *entry) end() uint64 { return e.start + uint64(e.size) }

// table holds the newest name of each address. Ranges in base and in recent
// are sorted and do not overlap within either; recent wins. Batches go to
// recent, which is merged into base when it has grown to a part of it, so that
// a big table is not copied for each few new lines.
type table struct {
	base, recent []entry
	names        names
}

// add takes a batch in the order of its lines.
func (t *table) add(batch []entry) {
	if len(batch) == 0 {
		return
	}
	t.recent = overlay(t.recent, flatten(batch))
	if len(t.recent) > 1024+len(t.base)/8 {
		t.base = overlay(t.base, t.recent)
		t.recent = nil
	}
}

// lookup returns the place of the name of an address.
func (t *table) lookup(a addr.Virtual) (name uint32, ok bool) {
	if name, ok = search(t.recent, uint64(a)); ok {
		return name, true
	}
	return search(t.base, uint64(a))
}

func search(s []entry, a uint64) (name uint32, ok bool) {
	i, found := slices.BinarySearchFunc(s, a, func(e entry, a uint64) int { return cmp.Compare(e.start, a) })
	if !found {
		i--
	}
	if i < 0 || a >= s[i].end() {
		return 0, false
	}
	return s[i].name, true
}

func (t *table) len() int { return len(t.base) + len(t.recent) }

func (t *table) size() int64 {
	return int64(cap(t.base)+cap(t.recent))*int64(unsafe.Sizeof(entry{})) + t.names.size()
}

// flatten cuts entries, of which later ones win, into sorted ranges that do
// not overlap.
func flatten(in []entry) []entry {
	order := make([]int32, len(in))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(in[a].start, in[b].start), cmp.Compare(a, b)) })
	out := make([]entry, 0, len(in))
	if disjoint(in, order) {
		for _, i := range order {
			out = append(out, in[i])
		}
		return out
	}
	var open newest // entries that started and may not have ended
	pos, last := uint64(0), int32(-1)
	advance := func(to uint64) {
		for len(open) > 0 && pos < to {
			top := open[0]
			if end := min(in[top].end(), to); end > pos {
				if n := len(out); top == last && out[n-1].end() == pos {
					out[n-1].size += uint32(end - pos)
				} else {
					out = append(out, entry{start: pos, size: uint32(end - pos), name: in[top].name})
				}
				pos, last = end, top
			}
			if in[top].end() <= pos {
				heap.Pop(&open)
			}
		}
		pos = max(pos, to)
	}
	for _, i := range order {
		advance(in[i].start)
		heap.Push(&open, i)
	}
	advance(1<<64 - 1)
	return out
}

// disjoint tells whether no two entries overlap, which is most often so.
func disjoint(in []entry, order []int32) bool {
	for k := 1; k < len(order); k++ {
		if in[order[k]].start < in[order[k-1]].end() {
			return false
		}
	}
	return true
}

// newest is a heap with the greatest number, which is the latest line, first.
type newest []int32

func (h newest) Len() int           { return len(h) }
func (h newest) Less(i, j int) bool { return h[i] > h[j] }
func (h newest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *newest) Push(x any)        { *h = append(*h, x.(int32)) }
func (h *newest) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// overlay returns base where over has nothing, and over. Both are sorted
// without overlaps, and so is the result.
func overlay(base, over []entry) []entry {
	out := make([]entry, 0, len(base)+len(over))
	j := 0
	for _, b := range base {
		pos, end := b.start, b.end()
		for j < len(over) && over[j].end() <= pos {
			out = append(out, over[j])
			j++
		}
		for pos < end {
			if j == len(over) || over[j].start >= end {
				out = append(out, entry{start: pos, size: uint32(end - pos), name: b.name})
				break
			}
			if over[j].start > pos {
				out = append(out, entry{start: pos, size: uint32(over[j].start - pos), name: b.name})
			}
			pos = over[j].end()
			if pos > end {
				break // it goes on over the next of base
			}
			out = append(out, over[j])
			j++
		}
	}
	return append(out, over[j:]...)
}
