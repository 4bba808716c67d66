package dwarfline

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"
)

const (
	// rowsPerMark is how many rows are decoded at most for a lookup.
	rowsPerMark = 64
	// maxRowBytes bounds the rows of one unit, which take 3 to 4 bytes each.
	maxRowBytes = 32 << 20
	// maxMarks bounds the full rows of one unit. Each sequence has one at
	// least, and there is one for each function that has its own section.
	maxMarks = 1 << 20
)

// lineTable says which line each address of a unit is of. Rows are kept as
// differences to the one before, with a full one now and then.
type lineTable struct {
	header    *lineHeader
	sequences []sequence // by start
	marks     []mark
	rows      []byte
}

// sequence is a range of addresses [start, end) without gaps.
type sequence struct {
	start, end uint64
	first      uint32 // of its marks
	count      uint32
}

// mark is a full row; those that follow it begin at byte at of the rows.
type mark struct {
	addr uint64
	file uint32
	line uint32
	at   uint32
}

func (t *lineTable) bytes() int64 {
	return t.header.bytes() + int64(cap(t.sequences))*int64(unsafe.Sizeof(sequence{})) +
		int64(cap(t.marks))*int64(unsafe.Sizeof(mark{})) + int64(cap(t.rows))
}

// find returns file and line of an address.
func (t *lineTable) find(addr uint64) (file, line uint32, ok bool) {
	i, found := slices.BinarySearchFunc(t.sequences, addr, func(s sequence, a uint64) int { return cmp.Compare(s.start, a) })
	if found {
		// The last of those that start here.
		for i+1 < len(t.sequences) && t.sequences[i+1].start == addr {
			i++
		}
	} else {
		i--
	}
	if i < 0 || addr >= t.sequences[i].end {
		return 0, 0, false
	}
	s := t.sequences[i]
	marks := t.marks[s.first : s.first+s.count]
	j, found := slices.BinarySearchFunc(marks, addr, func(m mark, a uint64) int { return cmp.Compare(m.addr, a) })
	if !found {
		j--
	}
	if j < 0 {
		return 0, 0, false
	}
	m := marks[j]
	end := len(t.rows)
	if next := int(s.first) + j + 1; next < len(t.marks) {
		end = int(t.marks[next].at)
	}
	for b := t.rows[m.at:end]; len(b) > 0; {
		next := m
		if b = next.step(b); next.addr > addr {
			break
		}
		m = next
	}
	return m.file, m.line, true
}

// step applies one row to m and returns the rows after it.
func (m *mark) step(b []byte) []byte {
	d, n := binary.Uvarint(b)
	b = b[n:]
	m.addr += d >> 1
	l, n := binary.Varint(b)
	b = b[n:]
	m.line += uint32(l)
	if d&1 != 0 {
		f, n := binary.Varint(b)
		b = b[n:]
		m.file += uint32(f)
	}
	return b
}

// lineBuilder makes a lineTable of rows. Of rows at the same address the last
// counts, as for debuggers.
type lineBuilder struct {
	table   *lineTable
	isCode  func(uint64) bool
	err     error
	open    bool    // a sequence has begun
	current machine // the last row, which is not in the table yet
	written machine // the one before
	count   int     // rows since the last mark
	first   int     // mark of the sequence
}

func (b *lineBuilder) row(m machine) {
	if !b.open {
		b.open = true
		b.current = m
		b.first = len(b.table.marks)
		return
	}
	if m.addr < b.current.addr { // out of order: as if another sequence began
		b.end(b.current.addr)
		b.row(m)
		return
	}
	if m.addr > b.current.addr {
		b.flush()
	}
	b.current = m
}

// flush puts the last row into the table.
func (b *lineBuilder) flush() {
	t, m := b.table, b.current
	switch {
	case len(t.marks) == b.first || b.count >= rowsPerMark || m.addr-b.written.addr >= 1<<62:
		t.marks = append(t.marks, mark{m.addr, m.file, m.line, uint32(len(t.rows))})
		b.count = 0
		if len(t.marks) > maxMarks {
			b.err = fmt.Errorf("%w: more than %d sequences of lines", ErrTooBig, maxMarks)
		}
	case m.file == b.written.file && m.line == b.written.line:
		return
	default:
		d := (m.addr - b.written.addr) << 1
		if m.file != b.written.file {
			d |= 1
		}
		t.rows = binary.AppendUvarint(t.rows, d)
		t.rows = binary.AppendVarint(t.rows, int64(int32(m.line-b.written.line)))
		if d&1 != 0 {
			t.rows = binary.AppendVarint(t.rows, int64(int32(m.file-b.written.file)))
		}
		b.count++
		if len(t.rows) > maxRowBytes {
			b.err = fmt.Errorf("%w: more than %d bytes of lines", ErrTooBig, maxRowBytes)
		}
	}
	b.written = m
}

// end ends the sequence at an address that does not belong to it.
func (b *lineBuilder) end(addr uint64) {
	if !b.open {
		return
	}
	b.open = false
	if addr > b.current.addr {
		b.flush()
	}
	t := b.table
	if len(t.marks) == b.first {
		return
	}
	s := sequence{t.marks[b.first].addr, addr, uint32(b.first), uint32(len(t.marks) - b.first)}
	if s.end <= s.start || !b.isCode(s.start) { // code that was discarded
		t.rows = t.rows[:t.marks[b.first].at]
		t.marks = t.marks[:b.first]
		return
	}
	t.sequences = append(t.sequences, s)
}

// finish puts the sequences into order. One that was not ended is left out.
func (b *lineBuilder) finish() {
	t := b.table
	if b.open && len(t.marks) > b.first {
		t.rows = t.rows[:t.marks[b.first].at]
		t.marks = t.marks[:b.first]
	}
	slices.SortStableFunc(t.sequences, func(x, y sequence) int { return cmp.Compare(x.start, y.start) })
	t.sequences = slices.Clone(t.sequences)
	t.marks = slices.Clone(t.marks)
	t.rows = slices.Clone(t.rows)
}
