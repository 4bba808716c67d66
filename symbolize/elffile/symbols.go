package elffile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
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
//     compilers name nothing. Indirect functions (IFUNC) name their resolver
//     if nothing else does.
//   - The stubs of procedure linkage tables are "name@plt", the code that they
//     share is "[plt]".
//   - _start and main of programs of glibc have their names without symbols.
//
// The symbols of more, files that describe the same program such as its
// separate debug file, are taken in the same way. An address that no symbol
// covers has no name. What can be read is returned even if a table is damaged,
// together with the first error.
func (f *File) Symbols(more ...*File) (*Symbols, error) {
	return f.SymbolsOutside(0, 0, more...)
}

// SymbolsOutside is Symbols without what begins at start or later, but before
// limit: code that something else names better.
func (f *File) SymbolsOutside(start, limit addr.File, more ...*File) (*Symbols, error) {
	r := symbolReader{names: []byte{0}, start: uint64(start), limit: uint64(limit)}
	r.read(f)
	for _, m := range more {
		r.read(m)
	}
	stubs, names := f.pltSymbols(r.all, r.names)
	starts, names := f.startSymbols(r.all, names)
	return newSymbols(append(append(r.all, stubs...), starts...), names), r.err
}

// symbolReader collects what may name code.
type symbolReader struct {
	all          []candidate
	names        []byte
	start, limit uint64 // what begins here is left out
	err          error  // the first
}

// read takes the symbols of both tables of a file.
func (r *symbolReader) read(f *File) {
	c := f.code()
	c.skip = place{r.start, r.limit}
	for _, typ := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		table, strs, ok := f.symbolTable(typ)
		if !ok {
			continue
		}
		cands, err := f.readSymbols(nil, table, &c)
		if errors.Is(err, ErrTooBig) {
			// Those that were read are right. What has no size may end anywhere.
			cands = slices.DeleteFunc(cands, func(c candidate) bool { return c.rank&rankUnsized != 0 })
			r.note(err)
			err = nil
		}
		if err == nil {
			cands = without(cands, r.all)
			r.names, err = f.loadNames(cands, strs, r.names)
		}
		if err != nil {
			r.note(err)
			continue
		}
		r.all = append(r.all, cands...)
	}
}

// note remembers the first error.
func (r *symbolReader) note(err error) {
	if r.err == nil {
		r.err = err
	}
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
	at := strings.IndexByte(name, '@')
	if at <= 0 {
		return name
	}
	if strings.HasSuffix(name, pltSuffix) {
		return name[:at] + pltSuffix
	}
	return name[:at]
}

// Find returns the index of the first symbol of a linker name. It looks at all.
func (s *Symbols) Find(name string) (index int, ok bool) {
	if !bytes.Contains(s.names, append([]byte(name), 0)) {
		return 0, false
	}
	for i := range s.ranges {
		if string(nameAt(s.names, s.ranges[i].name)) == name {
			return i, true
		}
	}
	return 0, false
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
