package gosym

import (
	"debug/elf"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// relocs is the table of dynamic relocations with addends of a 64-bit
// position-independent file, sorted by address as linkers leave it. GNU ld and
// others leave the words zero that such a relocation fills.
type relocs struct {
	start addr.File
	count uint64
	typ   uint32 // of those that add the load bias
}

const (
	relaBytes = 24 // Elf64_Rela: offset, info, addend
	// maxRelocs bounds how many are looked at: 400 MB of them. Programs of
	// 500 MB have a million.
	maxRelocs = 16 << 20
	// maxDynamic bounds the entries of the dynamic section; some dozens is normal.
	maxDynamic = 1024
)

// relativeType gives the relocation that adds the load bias and nothing else
// (the ELF supplements of the processors).
func relativeType(m elf.Machine) uint32 {
	switch m {
	case elf.EM_X86_64:
		return uint32(elf.R_X86_64_RELATIVE)
	case elf.EM_AARCH64:
		return uint32(elf.R_AARCH64_RELATIVE)
	case elf.EM_RISCV:
		return uint32(elf.R_RISCV_RELATIVE)
	case elf.EM_PPC64:
		return uint32(elf.R_PPC64_RELATIVE)
	case elf.EM_LOONGARCH:
		return uint32(elf.R_LARCH_RELATIVE)
	}
	return 0
}

// findRelocs looks in the dynamic segment for the table. Files of 32 bits have
// the addends in place.
func findRelocs(f *elffile.File, m *memory) relocs {
	typ := relativeType(f.Machine)
	if !f.Is64 || f.Type != elf.ET_DYN || typ == 0 {
		return relocs{}
	}
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elf.PT_DYNAMIC {
			continue
		}
		var table, size, entry uint64
		for n := range min(p.FileSize/16, maxDynamic) {
			var b [16]byte
			if m.read(p.Address+addr.File(n*16), b[:]) != nil {
				break
			}
			value := le.Uint64(b[8:])
			switch elf.DynTag(le.Uint64(b[:])) {
			case elf.DT_RELA:
				table = value
			case elf.DT_RELASZ:
				size = value
			case elf.DT_RELAENT:
				entry = value
			}
		}
		s, ok := m.segment(addr.File(table))
		if table == 0 || entry != relaBytes || !ok || size > uint64(s.Limit)-table || size/relaBytes > maxRelocs {
			return relocs{}
		}
		return relocs{start: addr.File(table), count: size / relaBytes, typ: typ}
	}
	return relocs{}
}

// at returns the address that a relocation puts at a, 0 if there is none. The
// table is taken to be sorted; if it is not, words stay zero and what they
// belong to is not found.
func (r *relocs) at(m *memory, a addr.File) (uint64, error) {
	var b [relaBytes]byte
	lo, hi := uint64(0), r.count
	for lo < hi {
		mid := lo + (hi-lo)/2
		if err := m.read(r.start+addr.File(mid*relaBytes), b[:]); err != nil {
			return 0, err
		}
		// Relative ones come first, the others have an order of their own.
		switch at := addr.File(le.Uint64(b[:])); {
		case le.Uint32(b[8:]) != r.typ || at > a:
			hi = mid
		case at < a:
			lo = mid + 1
		default:
			return le.Uint64(b[16:]), nil
		}
	}
	return 0, nil
}

// pointersTo calls found with each address that a relocation sets to target,
// until it returns false.
func (r *relocs) pointersTo(m *memory, target addr.File, found func(at addr.File) bool) error {
	limit := r.start + addr.File(r.count*relaBytes)
	// Pieces of a scan start at multiples of 16 bytes, entries of 48: take up
	// the next entry where the last piece ended.
	next := r.start
	return m.scan(r.start, limit, relaBytes+16, func(at addr.File, b []byte) bool {
		for next-at+relaBytes <= addr.File(len(b)) {
			e := b[next-at:]
			next += relaBytes
			if le.Uint64(e[16:]) == uint64(target) && le.Uint32(e[8:]) == r.typ && !found(addr.File(le.Uint64(e))) {
				return false
			}
		}
		return true
	})
}
