package elffile

import (
	"debug/elf"
	"fmt"
	"slices"

	"github.com/flametel/flametel/symbolize/addr"
)

const (
	// maxPLT bounds the code of one procedure linkage table; a library with
	// 65,536 imported functions has one of a megabyte.
	maxPLT = 1 << 20
	// relocChunk is how much of the relocations is in memory at a time, and
	// maxRelocs how much is read in all: browsers have some 20 MB.
	relocChunk = 96 << 10
	maxRelocs  = 256 << 20
	// resolverName is the name of the code that all stubs share until they are
	// bound. pltSuffix follows the name of what a stub calls, as binutils and
	// perf print it.
	resolverName = "[plt]"
	pltSuffix    = "@plt"
)

// stub is a piece of a procedure linkage table.
type stub struct {
	start, size uint64
	slot        uint64 // file address of the pointer that it jumps through, 0 if none
	lazy        int64  // number of its relocation in .rela.plt, -1 if not known
	symbol      uint32 // index in .dynsym, 0 if none
	addend      uint64 // of a relocation without a symbol: the resolver of an IFUNC
	bound       bool   // a relocation was found
}

// pltSymbols returns a symbol for each stub of the procedure linkage tables,
// and names with their names appended. A stub is named by the relocation of
// the pointer that it jumps through; stubs of indirect functions of the file
// itself by what all, the symbols of the file, say of their resolver. What
// cannot be read is left out.
func (f *File) pltSymbols(all []candidate, names []byte) ([]candidate, []byte) {
	var stubs []stub
	for i := range f.Sections {
		switch s := &f.Sections[i]; s.Name {
		case ".plt", ".plt.sec", ".plt.got", ".iplt":
			if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_EXECINSTR != 0 {
				stubs = append(stubs, f.stubs(s)...)
			}
		}
	}
	if len(stubs) == 0 || uint64(len(names))+maxPLT > maxNameBytes {
		return nil, names
	}
	f.bindStubs(stubs)
	return f.nameStubs(stubs, all, names)
}

// stubs decodes one table.
func (f *File) stubs(s *Section) []stub {
	b, err := f.Data(s, maxPLT)
	if err != nil {
		return nil
	}
	var stubs []stub
	switch f.Machine {
	case elf.EM_X86_64, elf.EM_386:
		got := uint64(0)
		if f.Machine == elf.EM_386 {
			got = f.dynamic()[elf.DT_PLTGOT]
		}
		stubs = x86Stubs(b, uint64(s.Address), pltStep(b, s), got, f.Is64)
	case elf.EM_AARCH64:
		stubs = arm64Stubs(b, uint64(s.Address))
	}
	return stubs
}

// bindStubs finds the relocation of each stub.
func (f *File) bindStubs(stubs []stub) {
	slots := make(map[uint64][]int, len(stubs))
	lazy := make(map[int64][]int)
	for i := range stubs {
		switch s := &stubs[i]; {
		case s.slot != 0:
			slots[s.slot] = append(slots[s.slot], i)
		case s.lazy >= 0:
			lazy[s.lazy] = append(lazy[s.lazy], i)
		}
	}
	budget := uint64(maxRelocs)
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Type != elf.SHT_RELA && s.Type != elf.SHT_REL || s.Flags&elf.SHF_ALLOC == 0 || s.Size > budget {
			continue
		}
		budget -= s.Size
		plt := s.Name == ".rela.plt" || s.Name == ".rel.plt"
		n := int64(0)
		err := f.relocations(s, func(r reloc) bool {
			for _, i := range slots[r.slot] {
				r.bind(&stubs[i])
			}
			delete(slots, r.slot)
			if plt {
				for _, i := range lazy[n] {
					r.bind(&stubs[i])
				}
			}
			n++
			return plt || len(slots) > 0
		})
		if err != nil {
			return
		}
	}
}

// reloc is a relocation: what belongs into a slot.
type reloc struct {
	slot   uint64
	symbol uint32
	addend uint64
}

func (r *reloc) bind(s *stub) { s.symbol, s.addend, s.bound = r.symbol, r.addend, true }

// relocations calls each with the relocations of a section until it returns
// false.
func (f *File) relocations(s *Section, each func(reloc) bool) error {
	entry, wide := uint64(8), uint64(4)
	if f.Is64 {
		entry, wide = 16, 8
	}
	if s.Type == elf.SHT_RELA {
		entry += wide
	}
	if s.Entsize != entry || !f.holds(uint64(s.Offset), s.Size) {
		return fmt.Errorf("%w: relocations of %d bytes at %#x+%#x", ErrFormat, s.Entsize, s.Offset, s.Size)
	}
	left := s.Size / entry * entry
	buf := make([]byte, min(left, relocChunk/entry*entry))
	for off := uint64(s.Offset); left > 0; {
		b := buf[:min(left, uint64(len(buf)))]
		if err := f.readAt(b, off); err != nil {
			return fmt.Errorf("read relocations: %w", err)
		}
		off, left = off+uint64(len(b)), left-uint64(len(b))
		for ; len(b) > 0; b = b[entry:] {
			if !each(f.reloc(b[:entry])) {
				return nil
			}
		}
	}
	return nil
}

func (f *File) reloc(b []byte) reloc {
	if f.Is64 {
		r := reloc{slot: le.Uint64(b), symbol: uint32(le.Uint64(b[8:]) >> 32)}
		if len(b) == 24 {
			r.addend = le.Uint64(b[16:])
		}
		return r
	}
	r := reloc{slot: uint64(le.Uint32(b)), symbol: le.Uint32(b[4:]) >> 8}
	if len(b) == 12 {
		r.addend = uint64(le.Uint32(b[8:]))
	} else if off, ok := f.offsetOf(addr.File(r.slot)); ok && r.symbol == 0 {
		// Without a field of its own the addend stands in the slot.
		if v, err := f.read(uint64(off), 4, "slot"); err == nil {
			r.addend = uint64(le.Uint32(v))
		}
	}
	return r
}

// nameStubs makes symbols of stubs.
func (f *File) nameStubs(stubs []stub, all []candidate, names []byte) ([]candidate, []byte) {
	imported, text := f.importedNames(stubs)
	own := resolverNames(stubs, all, names)
	out := make([]candidate, 0, len(stubs))
	for i := range stubs {
		s := &stubs[i]
		c := candidate{value: s.start, size: s.size, name: uint32(len(names))}
		switch {
		case !s.bound:
			names = append(names, resolverName...)
		case s.symbol != 0:
			name := nameAt(text, imported[s.symbol])
			if len(name) == 0 {
				continue
			}
			names = append(append(names, name...), pltSuffix...)
		case own[s.addend] != 0:
			names = append(append(names, nameAt(names, own[s.addend])...), pltSuffix...)
		default:
			names = fmt.Appendf(names, "*ABS*+%#x%s", s.addend, pltSuffix)
		}
		names = append(names, 0)
		out = append(out, c)
		if len(names) > maxNameBytes {
			break
		}
	}
	return out, names
}

// importedNames reads the names of the dynamic symbols of stubs: where each
// begins in text.
func (f *File) importedNames(stubs []stub) (at map[uint32]uint32, text []byte) {
	at = make(map[uint32]uint32)
	text = []byte{0}
	table, strs, ok := f.symbolTable(elf.SHT_DYNSYM)
	if !ok {
		return at, text
	}
	entry := uint64(16)
	if f.Is64 {
		entry = 24
	}
	var wanted []uint32
	for i := range stubs {
		if n := stubs[i].symbol; n != 0 && (uint64(n)+1)*entry <= table.Size {
			wanted = append(wanted, n)
		}
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	cands := make([]candidate, 0, len(wanted))
	var window []byte
	from := uint64(0)
	for _, n := range wanted {
		off := uint64(n) * entry
		if off+entry > from+uint64(len(window)) {
			from = off
			var err error
			if window, err = f.read(uint64(table.Offset)+off, min(symbolChunk, table.Size-off), "symbols"); err != nil {
				break
			}
		}
		// The value carries the index, because loading names sorts by name.
		cands = append(cands, candidate{value: uint64(n), name: le.Uint32(window[off-from:])})
	}
	text, err := f.loadNames(cands, strs, text)
	if err != nil {
		return at, text
	}
	for _, c := range cands {
		at[uint32(c.value)] = c.name
	}
	return at, text
}

// resolverNames returns the names of the symbols at which the resolvers of
// stubs without a symbol begin.
func resolverNames(stubs []stub, all []candidate, names []byte) map[uint64]uint32 {
	own := make(map[uint64]uint32)
	for i := range stubs {
		if s := &stubs[i]; s.bound && s.symbol == 0 {
			own[s.addend] = 0
		}
	}
	if len(own) == 0 {
		return own
	}
	best := make(map[uint64]*candidate)
	for i := range all {
		c := &all[i]
		if _, wanted := own[c.value]; !wanted || c.name == 0 {
			continue
		}
		if b := best[c.value]; b == nil || c.rank < b.rank || c.rank == b.rank && better(nameAt(names, c.name), nameAt(names, b.name)) < 0 {
			best[c.value] = c
			own[c.value] = c.name
		}
	}
	return own
}
