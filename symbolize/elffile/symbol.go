package elffile

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
)

// candidate is a symbol that may name code, before the best is chosen.
type candidate struct {
	value uint64
	size  uint64 // up to the end of the section if rankUnsized is set
	name  uint32 // in the string table, later in the held names
	rank  rank
}

// rank orders symbols that name the same address; less is better:
//
//   - functions before symbols without a type,
//   - with a size before without one,
//   - global before weak before local.
//
// Names break ties (see better).
type rank uint8

const (
	rankBindWeak  rank = 1
	rankBindLocal rank = 2
	rankUnsized   rank = 4
	rankNoType    rank = 8
	rankIndirect  rank = 16
)

// Types of symbols that debug/elf does not name.
const sttGNUIFunc = 10 // STT_GNU_IFUNC

const (
	// MaxSymbols bounds the symbols read from one table, maxCandidates those of
	// them that may name code, which take 24 bytes each while they are sorted.
	// The largest binaries built (browsers with debug information) have some
	// two million symbols, about half of which are functions. Functions beyond
	// have no names.
	MaxSymbols    = 4 << 20
	maxCandidates = 1 << 20
	// symbolChunk is how much of a symbol table is in memory at a time.
	symbolChunk = 96 << 10
)

// ErrTooBig tells that a symbol table is bigger than what is read.
var ErrTooBig = errors.New("symbol table is too big")

// place is a range of file addresses in which symbols may name code.
type place struct{ start, limit uint64 }

// code tells for each section whether it holds code, and which segments do.
type code struct {
	sections []place // by section index; empty if it has no code
	segments []place
	skip     place // symbols that begin here are not wanted
}

func (f *File) code() code {
	c := code{sections: make([]place, len(f.Sections))}
	for i := range f.Sections {
		s := &f.Sections[i]
		end := uint64(s.Address) + s.Size
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Flags&elf.SHF_ALLOC != 0 && end > uint64(s.Address) {
			c.sections[i] = place{uint64(s.Address), end}
		}
	}
	for _, s := range f.Segments() {
		if s.Executable {
			c.segments = append(c.segments, place{uint64(s.Start), uint64(s.Limit)})
		}
	}
	return c
}

// limit returns where the section of a symbol ends, ok false if the symbol
// does not lie in code. Without sections segments take their place.
func (c *code) limit(value uint64, index uint32) (limit uint64, ok bool) {
	if index < uint32(len(c.sections)) {
		p := c.sections[index]
		return p.limit, value >= p.start && value < p.limit
	}
	if len(c.sections) > 0 {
		return 0, false
	}
	for _, p := range c.segments {
		if value >= p.start && value < p.limit {
			return p.limit, true
		}
	}
	return 0, false
}

// readSymbols appends the symbols of a table that name code.
func (f *File) readSymbols(dst []candidate, table *Section, c *code) ([]candidate, error) {
	entry := uint64(16)
	if f.Is64 {
		entry = 24
	}
	if table.Entsize != entry {
		return dst, fmt.Errorf("%w: symbols of %d bytes", ErrFormat, table.Entsize)
	}
	if table.Size/entry > MaxSymbols {
		return dst, fmt.Errorf("%d symbols: %w", table.Size/entry, ErrTooBig)
	}
	if !f.holds(uint64(table.Offset), table.Size) {
		return dst, fmt.Errorf("%w: symbols at %#x+%#x in a file of %#x bytes", ErrFormat, table.Offset, table.Size, f.size)
	}
	dst = slices.Grow(dst, int(min(table.Size/entry/2, 1<<18)))
	buf := make([]byte, min(table.Size/entry*entry, symbolChunk))
	for off, left := uint64(table.Offset), table.Size/entry*entry; left > 0; {
		b := buf[:min(left, uint64(len(buf)))]
		if err := f.readAt(b, off); err != nil {
			return dst, fmt.Errorf("read symbols: %w", err)
		}
		for ; len(b) > 0; b = b[entry:] {
			if s, ok := f.candidate(b, c); ok {
				dst = append(dst, s)
			}
		}
		if len(dst) > maxCandidates {
			return dst[:maxCandidates], fmt.Errorf("more than %d functions: %w", maxCandidates, ErrTooBig)
		}
		off += uint64(min(left, uint64(len(buf))))
		left -= min(left, uint64(len(buf)))
	}
	return dst, nil
}

// candidate decodes one symbol and tells whether it may name code.
func (f *File) candidate(b []byte, c *code) (candidate, bool) {
	var s candidate
	var info byte
	var index uint16
	s.name = le.Uint32(b)
	if f.Is64 {
		info, index = b[4], le.Uint16(b[6:])
		s.value, s.size = le.Uint64(b[8:]), le.Uint64(b[16:])
	} else {
		s.value, s.size = uint64(le.Uint32(b[4:])), uint64(le.Uint32(b[8:]))
		info, index = b[12], le.Uint16(b[14:])
	}
	if s.name == 0 || elf.SectionIndex(index) == elf.SHN_UNDEF || index >= uint16(elf.SHN_LORESERVE) {
		return s, false
	}
	switch typ := info & 0xf; typ {
	case byte(elf.STT_FUNC):
	case sttGNUIFunc:
		if s.size == 0 { // it covers the resolver's body and nothing else
			return s, false
		}
		s.rank |= rankIndirect // what runs there is the resolver, which may have a name of its own
	case byte(elf.STT_NOTYPE):
		s.rank |= rankNoType
	default:
		return s, false
	}
	switch elf.SymBind(info >> 4) {
	case elf.STB_LOCAL:
		s.rank |= rankBindLocal
	case elf.STB_WEAK:
		s.rank |= rankBindWeak
	}
	limit, ok := c.limit(s.value, uint32(index))
	if !ok || s.value >= c.skip.start && s.value < c.skip.limit {
		return s, false
	}
	if s.size == 0 {
		s.rank |= rankUnsized
		s.size = limit - s.value
	}
	s.size = min(s.size, limit-s.value)
	return s, true
}
