package elffile

import (
	"cmp"
	"slices"
)

// newSymbols chooses the name of each address among the symbols that cover it.
// names holds their names and is not kept.
func newSymbols(cands []candidate, names []byte) *Symbols {
	cands = slices.DeleteFunc(cands, func(c candidate) bool {
		return c.name == 0 || !namesCode(nameAt(names, c.name), c.rank&rankNoType != 0)
	})
	// By start, the best of each start last: it is on top when the sweep comes by.
	slices.SortFunc(cands, func(a, b candidate) int {
		if o := cmp.Compare(a.value, b.value); o != 0 {
			return o
		}
		if o := cmp.Compare(b.rank, a.rank); o != 0 {
			return o
		}
		if o := cmp.Compare(b.size, a.size); o != 0 || a.name == b.name {
			return o
		}
		return better(nameAt(names, b.name), nameAt(names, a.name))
	})
	sized := sweep(cands)
	s := &Symbols{ranges: fillGaps(sized, cands)}
	s.keepNames(names)
	return s
}

// sweep cuts the symbols that have a size, sorted by start with the best of
// each start last, into ranges that do not overlap.
func sweep(cands []candidate) []symbolRange {
	out := make([]symbolRange, 0, len(cands))
	var open []int32 // candidates that started and may not have ended, the last on top
	pos := uint64(0)
	advance := func(to uint64) {
		for len(open) > 0 && pos < to {
			c := &cands[open[len(open)-1]]
			end := c.value + c.size
			if end > pos {
				n := min(end, to) - pos
				out = append(out, symbolRange{start: pos, size: uint32(min(n, maxRange)), name: c.name})
				pos += n
			}
			if end <= pos {
				open = open[:len(open)-1]
			}
		}
		pos = max(pos, to)
	}
	for i := range cands {
		if cands[i].rank&rankUnsized != 0 {
			continue
		}
		advance(cands[i].value)
		open = append(open, int32(i))
	}
	advance(1<<64 - 1)
	return out
}

// fillGaps adds the symbols without a size where no range is. Their size is
// the distance to the end of their section.
func fillGaps(sized []symbolRange, cands []candidate) []symbolRange {
	out := make([]symbolRange, 0, len(sized))
	next := 0 // the first of sized that is not in out
	for i := range cands {
		c := &cands[i]
		if c.rank&rankUnsized == 0 || i+1 < len(cands) && cands[i+1].value == c.value {
			continue // sized, or a better one at the same start follows
		}
		for next < len(sized) && sized[next].start <= c.value {
			out = append(out, sized[next])
			next++
		}
		if n := len(out); n > 0 && c.value-out[n-1].start < uint64(out[n-1].size) {
			continue
		}
		end := c.value + c.size
		if next < len(sized) {
			end = min(end, sized[next].start)
		}
		if i+1 < len(cands) {
			end = min(end, cands[i+1].value)
		}
		out = append(out, symbolRange{start: c.value, size: uint32(min(end-c.value, maxRange)), name: c.name})
	}
	// Copied once more: the table stays long, so it takes no more than it needs.
	return slices.Concat(out, sized[next:])
}

// keepNames copies the names that are used out of those that were read.
func (s *Symbols) keepNames(names []byte) {
	order := make([]int32, len(s.ranges))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(s.ranges[a].name, s.ranges[b].name) })
	var kept []byte
	var copied, shift uint64 // as in nameReader
	// Twice: to count, then to copy into exactly as much memory.
	for pass := range 2 {
		total := uint64(0)
		copied = 0
		for _, i := range order {
			at := uint64(s.ranges[i].name)
			if at >= copied {
				n := uint64(len(nameAt(names, uint32(at)))) + 1
				shift = total - at
				copied = at + n
				if pass == 1 {
					kept = append(kept, names[at:copied]...)
				}
				total += n
			}
			if pass == 1 {
				s.ranges[i].name = uint32(at + shift)
			}
		}
		if pass == 0 {
			kept = make([]byte, 0, total)
		}
	}
	s.names = kept
}
