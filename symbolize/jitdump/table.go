package jitdump

import (
	"slices"
	"unsafe"
)

const (
	// maxEntries, maxNames (bytes) and maxLines bound what is held of one
	// process: some 20 MB of a big one, three times that in the worst case.
	maxEntries = 1 << 17
	maxNames   = 16 << 20
	maxLines   = 1 << 20

	// pageBits: code is found by its pages of 16 KiB, which hold some dozens of
	// functions.
	pageBits = 14
	// maxPages is how many pages code may have to be found by them; larger code
	// is rare and found by looking at all of it.
	maxPages = 4
	// maxPerPage and maxLarge bound the search.
	maxPerPage = 1024
	maxLarge   = 1024
)

// entry is code at a place from a time on.
type entry struct {
	start       uint64
	from, until uint64 // until is 0 if it was not moved away
	size        uint32
	name        uint32
	lines       span
}

func (e *entry) covers(a uint64) bool { return a >= e.start && a-e.start < uint64(e.size) }

// span is a part of the lines of a table.
type span struct{ start, count uint32 }

// sourceLine is a debugLine whose file is interned.
type sourceLine struct {
	offset, line, file uint32
}

// table holds code in the order of its records.
type table struct {
	entries []entry
	names   names
	lines   []sourceLine
	pages   map[uint64][]int32 // of entries
	large   []int32
	refs    int
	untimed bool
	cut     bool
}

// full tells whether there is no room for an entry with a name of n bytes.
func (t *table) full(n int) bool {
	return len(t.entries) >= maxEntries || t.names.bytes+n > maxNames
}

func (t *table) add(e entry) {
	i := int32(len(t.entries))
	t.entries = append(t.entries, e)
	first, last := e.start>>pageBits, (e.start+uint64(e.size)-1)>>pageBits
	if last-first >= maxPages {
		t.large = t.addTo(t.large, i, maxLarge)
		return
	}
	if t.pages == nil {
		t.pages = make(map[uint64][]int32)
	}
	for page := first; page <= last; page++ {
		t.pages[page] = t.addTo(t.pages[page], i, maxPerPage)
	}
}

// addTo appends to a list; the older half of a full one goes.
func (t *table) addTo(list []int32, i int32, limit int) []int32 {
	if len(list) >= limit {
		half := len(list) / 2
		list = append(list[:0], list[half:]...)
		t.refs -= half
		t.cut = true
	}
	t.refs++
	return append(list, i)
}

// addLines holds lines; none if there are too many.
func (t *table) addLines(lines []debugLine) span {
	if len(t.lines)+len(lines) > maxLines {
		t.cut = true
		return span{}
	}
	s := span{start: uint32(len(t.lines)), count: uint32(len(lines))}
	for i := range lines {
		l := &lines[i]
		if t.names.bytes+len(l.file) > maxNames {
			t.cut = true
			s.count = uint32(i)
			break
		}
		t.lines = append(t.lines, sourceLine{offset: l.offset, line: l.line, file: t.names.intern(l.file)})
	}
	return s
}

// lookup returns the entry that was at an address at a time.
func (t *table) lookup(a, at uint64) (index int32, ok bool) {
	if at == 0 || t.untimed {
		at = 1<<64 - 1
	}
	best, later := int32(-1), int32(-1)
	for _, list := range [][]int32{t.pages[a>>pageBits], t.large} {
		for _, i := range list {
			e := &t.entries[i]
			switch {
			case !e.covers(a):
			case t.untimed || e.from <= at:
				if best < 0 || !t.before(i, best) {
					best = i
				}
			case later < 0 || t.before(i, later):
				later = i
			}
		}
	}
	if best < 0 {
		return later, later >= 0
	}
	until := t.entries[best].until
	return best, until == 0 || at < until
}

// contested tells whether entries of different names cover an address.
func (t *table) contested(a uint64) bool {
	var first *entry
	for _, list := range [][]int32{t.pages[a>>pageBits], t.large} {
		for _, i := range list {
			switch e := &t.entries[i]; {
			case !e.covers(a):
			case first == nil:
				first = e
			case e.name != first.name:
				return true
			}
		}
	}
	return false
}

// before tells whether the code of entry i was there before that of j.
func (t *table) before(i, j int32) bool {
	a, b := t.entries[i].from, t.entries[j].from
	if t.untimed || a == b {
		return i < j
	}
	return a < b
}

// newest returns the latest entry that begins at start and is there still.
func (t *table) newest(start uint64) (index int32, ok bool) {
	for _, list := range [][]int32{t.pages[start>>pageBits], t.large} {
		for _, i := range slices.Backward(list) {
			if e := &t.entries[i]; e.start == start && e.until == 0 && (!ok || i > index) {
				index, ok = i, true
				break
			}
		}
	}
	return index, ok
}

// line returns the source line of an address in an entry.
func (t *table) line(e *entry, a uint64) (sourceLine, bool) {
	lines := t.lines[e.lines.start:][:e.lines.count]
	offset := uint32(a - e.start)
	i, found := slices.BinarySearchFunc(lines, offset, func(l sourceLine, o uint32) int { return int(l.offset) - int(o) })
	if !found {
		i--
	} else {
		// Of several lines at an offset the last is that of the code.
		for i+1 < len(lines) && lines[i+1].offset == offset {
			i++
		}
	}
	if i < 0 {
		return sourceLine{}, false
	}
	return lines[i], true
}

// shrink keeps the newest half of what is there still and forgets the rest.
func (t *table) shrink() {
	old := *t
	*t = table{untimed: old.untimed, cut: true}
	seen := make(map[uint64]bool)
	var keep []int32
	nameBytes, lines := 0, 0
	for i := int32(len(old.entries)) - 1; i >= 0; i-- {
		e := &old.entries[i]
		if e.until != 0 || seen[e.start] {
			continue
		}
		seen[e.start] = true
		nameBytes += len(old.names.text[e.name])
		if len(keep) == maxEntries/2 || nameBytes > maxNames/2 {
			break
		}
		if lines += int(e.lines.count); lines > maxLines/2 {
			e.lines = span{}
		}
		keep = append(keep, i)
	}
	for _, i := range slices.Backward(keep) {
		e := old.entries[i]
		e.name = t.names.intern([]byte(old.names.text[e.name]))
		e.lines = t.copyLines(&old, e.lines)
		t.add(e)
	}
}

// copyLines takes over lines of another table.
func (t *table) copyLines(from *table, s span) span {
	start := uint32(len(t.lines))
	for _, l := range from.lines[s.start:][:s.count] {
		file := from.names.text[l.file]
		if t.names.bytes+len(file) > maxNames/4*3 {
			break
		}
		l.file = t.names.intern([]byte(file))
		t.lines = append(t.lines, l)
	}
	return span{start: start, count: uint32(len(t.lines)) - start}
}

func (t *table) bytes() int64 {
	const pageBytes = 64 // of the map and the slice
	return int64(cap(t.entries))*int64(unsafe.Sizeof(entry{})) +
		int64(cap(t.lines))*int64(unsafe.Sizeof(sourceLine{})) +
		int64(t.refs)*6 + int64(len(t.pages))*pageBytes + t.names.size()
}

// names holds each distinct name once.
type names struct {
	index map[string]uint32
	text  []string
	bytes int
}

func (n *names) intern(name []byte) uint32 {
	if i, ok := n.index[string(name)]; ok {
		return i
	}
	if n.index == nil {
		n.index = make(map[string]uint32)
	}
	s := string(name)
	i := uint32(len(n.text))
	n.index[s] = i
	n.text = append(n.text, s)
	n.bytes += len(s)
	return i
}

func (n *names) size() int64 {
	const each = 64 // of the map and the slice
	return int64(n.bytes) + int64(len(n.text))*each
}
