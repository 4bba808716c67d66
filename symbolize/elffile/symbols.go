package elffile

import (
	"cmp"
	"debug/elf"
	"slices"
	"strings"
	"unsafe"

	"github.com/flametel/flametel/symbolize/addr"
)

// Symbols is a table of the named code of a file: ranges of file addresses
// that do not overlap, each with the name that was chosen for it. It holds 16
// bytes a range and the names, and is independent of the file afterwards.
// It is immutable and safe for concurrent use.
type Symbols struct {
	ranges []symbolRange
	names  []byte // each ended by a NUL
}

type symbolRange struct {
	start uint64
	size  uint32
	name  uint32
}

// maxRange is the longest range that is held; code of 4 GiB under one name
// does not exist.
const maxRange = 1<<32 - 1

// Symbols reads .symtab and .dynsym, merged, and chooses the name of each
// address:
//
//   - A symbol covers its size, cut at the end of its section. Of several that
//     cover an address, the one that starts last wins.
//   - At the same start: functions before symbols without a type, then with a
//     size before without, global before weak before local, the smaller size,
//     fewer leading underscores, no "__GI_", the shorter name, the alphabet.
//   - A symbol without a size extends to the next symbol, never over an
//     address that one with a size covers, and never out of its section.
//   - Data, sections, files, absolute and undefined symbols and the marks of
//     compilers name nothing. Indirect functions (IFUNC) name their resolver.
//
// An address that no symbol covers has no name. What can be read is returned
// even if a table is damaged, together with the error.
func (f *File) Symbols() (*Symbols, error) {
	c := f.code()
	var all []candidate
	var names = []byte{0}
	var firstErr error
	for _, typ := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		table, strs, ok := f.symbolTable(typ)
		if !ok {
			continue
		}
		cands, err := f.readSymbols(nil, table, &c)
		if err == nil {
			cands = without(cands, all)
			names, err = f.loadNames(cands, strs, names)
		}
		if err != nil {
			if firstErr == nil {
				firstErr = err
			}
			continue
		}
		all = append(all, cands...)
	}
	return newSymbols(all, names), firstErr
}

// without returns cands but for those that stand in have too: .dynsym repeats
// what .symtab has, and only one of the two names need be held. It sorts have.
func without(cands, have []candidate) []candidate {
	if len(have) == 0 {
		return cands
	}
	slices.SortFunc(have, compareRange)
	return slices.DeleteFunc(cands, func(c candidate) bool {
		_, found := slices.BinarySearchFunc(have, c, compareRange)
		return found
	})
}

func compareRange(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.size, b.size), cmp.Compare(a.rank, b.rank))
}

// symbolTable returns the first table of a type with its string table. The
// dynamic one is found without section headers, too.
func (f *File) symbolTable(typ elf.SectionType) (table, strs *Section, ok bool) {
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Type != typ || uint64(s.Link) >= uint64(len(f.Sections)) {
			continue
		}
		if strs := &f.Sections[s.Link]; strs.Type == elf.SHT_STRTAB {
			return s, strs, true
		}
	}
	if typ == elf.SHT_DYNSYM && len(f.Sections) == 0 {
		return f.dynamicTable()
	}
	return nil, nil, false
}

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

// Lookup returns the index of the symbol that covers a.
func (s *Symbols) Lookup(a addr.File) (index int, ok bool) {
	lo, hi := 0, len(s.ranges)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if s.ranges[mid].start <= uint64(a) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || uint64(a)-s.ranges[lo-1].start >= uint64(s.ranges[lo-1].size) {
		return 0, false
	}
	return lo - 1, true
}

// Name returns the linker name of a symbol without its version ("@@GLIBC_2.2").
// The string is a copy.
func (s *Symbols) Name(index int) string {
	name := string(nameAt(s.names, s.ranges[index].name))
	if at := strings.IndexByte(name, '@'); at > 0 {
		return name[:at]
	}
	return name
}

// NameID returns a number that two symbols of this table share if they have
// the same name by the table's own strings.
func (s *Symbols) NameID(index int) uint32 { return s.ranges[index].name }

// Range returns the file addresses that a symbol names.
func (s *Symbols) Range(index int) (start, limit addr.File) {
	r := s.ranges[index]
	return addr.File(r.start), addr.File(r.start + uint64(r.size))
}

// Len is the number of symbols.
func (s *Symbols) Len() int { return len(s.ranges) }

// Bytes is the memory that the table holds.
func (s *Symbols) Bytes() int64 {
	return int64(cap(s.ranges))*int64(unsafe.Sizeof(symbolRange{})) + int64(cap(s.names))
}
