package unwind

import (
	"slices"
	"sort"

	"github.com/flametel/flametel/symbolize/addr"
)

// Table is the rows of a file. It is immutable.
type Table struct {
	// Base is the start of the lowest executable segment, rounded down to a
	// page: rows are relative to it.
	Base addr.File
	// Rows are sorted by PC, the first has PC 0 and the last is of KindNone and
	// begins where the last known code ends. No two neighbours are the same.
	Rows []Row
	// Complete is false if a part of the file was not understood or was left
	// out for its size; rows that are there are right.
	Complete bool
	// GoStart and GoLimit are the range of the code of a Go program, equal if
	// there is none.
	GoStart, GoLimit addr.File
	Stats            Stats
}

// Stats is what a compilation came upon.
type Stats struct {
	// Functions have a description that was used: entries of call frame
	// information, and functions of Go.
	Functions int
	// Damaged descriptions, or such that need what is not supported, were left
	// out.
	Damaged int
	// Outside are descriptions of code that no executable segment holds; linkers
	// leave those of code they removed.
	Outside int
	// Decoded is the number of rows before equal neighbours were joined.
	Decoded int
	// Unsupported counts rules that could not be expressed.
	Unsupported [numReasons]int
	// Covered is how many bytes of code have a row other than KindNone.
	Covered uint64
}

// Lookup returns the row for an address, one of KindNone for addresses outside
// the table.
func (t *Table) Lookup(pc addr.File) Row {
	if pc < t.Base || pc-t.Base > 1<<32-1 {
		return Row{}
	}
	rel := uint32(pc - t.Base)
	i := sort.Search(len(t.Rows), func(i int) bool { return t.Rows[i].PC > rel })
	if i == 0 {
		return Row{}
	}
	return t.Rows[i-1]
}

// span is the code that one description covers: rows first to last of a
// builder.
type span struct {
	start, limit uint32
	first, last  uint32
}

// builder collects descriptions and makes a table of them.
type builder struct {
	m     machine
	base  uint64
	code  []codeRange // executable segments
	limit int         // most rows
	rows  []Row
	// installers are functions that save what only those save that install
	// another context.
	installers []codeRange
	spans      []span // of the source at hand
	done       []span // of the sources before, sorted, without overlaps
	full       bool
	broken     bool
	stats      Stats
	// Memory that is used again: of the done of the source before, of a piece of
	// the table, of a section's window and of code that is searched.
	spare      []span
	joined     []Row
	view, scan []byte
}

// codeRange is a range of file addresses.
type codeRange struct{ start, limit uint64 }

// begin starts the description of [start, limit) and returns false if there is
// no such code, or if it is described already.
func (b *builder) begin(start, limit uint64) bool {
	ok := slices.ContainsFunc(b.code, func(c codeRange) bool { return start >= c.start && start < c.limit && limit <= c.limit })
	if !ok || limit <= start || limit-b.base > 1<<32-1 {
		b.stats.Outside++
		return false
	}
	if b.full || b.known(start, limit) {
		return false
	}
	n := uint32(len(b.rows))
	b.spans = append(b.spans, span{start: uint32(start - b.base), limit: uint32(limit - b.base), first: n, last: n})
	return true
}

// known tells whether a source before describes all of [start, limit).
func (b *builder) known(start, limit uint64) bool {
	i := sort.Search(len(b.done), func(i int) bool { return uint64(b.done[i].limit) > start-b.base })
	return i < len(b.done) && uint64(b.done[i].start) <= start-b.base && uint64(b.done[i].limit) >= limit-b.base
}

// add notes that r is right from pc on, which must not be below that of the
// row before.
func (b *builder) add(pc uint64, r Row) {
	s := &b.spans[len(b.spans)-1]
	r.PC = uint32(pc - b.base)
	b.stats.Decoded++
	if n := len(b.rows); s.last > s.first {
		switch {
		case b.rows[n-1].same(r):
			return
		case b.rows[n-1].PC == r.PC:
			b.rows[n-1] = r
			return
		}
	}
	if len(b.rows) >= b.limit {
		b.full = true
		s.limit = min(s.limit, r.PC) // what follows is not known
		return
	}
	b.rows = append(b.rows, r)
	s.last++
}

// cut ends the description before at start, if it reaches further.
func (b *builder) cut(start uint64) {
	if n := len(b.spans); n > 0 && start > b.base && start-b.base < uint64(b.spans[n-1].limit) {
		b.spans[n-1].limit = uint32(start - b.base)
	}
}

// endSource lays what was collected since the last call under what was there
// before.
func (b *builder) endSource() {
	spans := b.spans
	b.spans = b.spans[:0]
	byStart := func(x, y span) int {
		switch {
		case x.start < y.start:
			return -1
		case x.start > y.start:
			return 1
		}
		return 0
	}
	if !slices.IsSortedFunc(spans, byStart) {
		slices.SortStableFunc(spans, byStart)
	}
	out := spans[:0]
	pos := uint32(0)
	for _, s := range spans {
		if s.start = max(s.start, pos); s.start < s.limit {
			out = append(out, s)
			pos = s.limit
		}
	}
	switch {
	case len(out) == 0:
	case len(b.done) == 0:
		b.done, b.spans = out, b.done
	default:
		b.done, b.spare = overlay(b.spare[:0], b.done, out), b.done
	}
}

// overlay appends top, and those parts of below that top leaves free, to out.
// Both are sorted and do not overlap in themselves.
func overlay(out, top, below []span) []span {
	out = slices.Grow(out, len(top)+len(below))
	i := 0
	for _, s := range below {
		for s.start < s.limit {
			for i < len(top) && top[i].limit <= s.start {
				out = append(out, top[i])
				i++
			}
			if i == len(top) || top[i].start >= s.limit {
				out = append(out, s)
				break
			}
			if part := s; top[i].start > s.start {
				part.limit = top[i].start
				out = append(out, part)
			}
			s.start = top[i].limit
		}
	}
	return append(out, top[i:]...)
}

// maxPadding is how many bytes between two functions count as padding, which
// never runs: functions are aligned to 16 bytes. It gets no row of its own.
const maxPadding = 15

// table makes the table of all that was collected.
func (b *builder) table() *Table {
	t := b.summary()
	n := 0
	_ = b.join(func(rows []Row) error { n += len(rows); return nil })
	t.Rows = make([]Row, 0, n)
	_ = b.join(func(rows []Row) error { t.Rows = append(t.Rows, rows...); return nil })
	return t
}

// summary is a table without rows.
func (b *builder) summary() *Table {
	for i := range b.done {
		b.stats.Covered += uint64(b.done[i].limit - b.done[i].start)
	}
	return &Table{
		Base: addr.File(b.base), Stats: b.stats,
		Complete: !b.full && !b.broken && b.stats.Damaged == 0,
	}
}

// joinedRows is how many rows are shown at a time: 64 KiB.
const joinedRows = 8 << 10

// join shows the rows of the table in order, in pieces that are valid until emit
// returns. It ends with the first error of emit.
func (b *builder) join(emit func([]Row) error) error {
	if b.joined == nil {
		b.joined = make([]Row, 0, joinedRows)
	}
	out := append(b.joined[:0], Row{}) // of KindNone
	put := func(r Row) error {
		n := len(out) - 1
		if out[n].PC == r.PC {
			out = out[:n]
			n--
		}
		if n >= 0 && out[n].same(r) {
			return nil
		}
		if out = append(out, r); len(out) < joinedRows {
			return nil
		}
		// The last may be replaced, and is compared with the one before.
		last := len(out) - 2
		err := emit(out[:last])
		out = append(out[:0], out[last:]...)
		return err
	}
	pos := uint32(0)
	for i := range b.done {
		s := &b.done[i]
		if i > 0 && s.start-pos > maxPadding {
			if err := put(Row{PC: pos}); err != nil {
				return err
			}
		}
		pos = s.limit
		rows := b.rows[s.first:s.last]
		for j, r := range rows {
			if r.PC >= s.limit || j+1 < len(rows) && rows[j+1].PC <= s.start {
				continue
			}
			r.PC = max(r.PC, s.start)
			if err := put(r); err != nil {
				return err
			}
		}
	}
	if err := put(Row{PC: pos}); err != nil {
		return err
	}
	return emit(out)
}
