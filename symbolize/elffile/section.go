package elffile

import (
	"bytes"
	"debug/elf"
	"fmt"

	"github.com/flametel/flametel/symbolize/addr"
)

// sections reads the section headers and their names.
func (f *File) sections(h header) ([]Section, error) {
	if h.shoff == 0 {
		return nil, nil
	}
	entry := uint64(40)
	if f.Is64 {
		entry = 64
	}
	if uint64(h.shentsize) != entry {
		return nil, fmt.Errorf("%w: section headers of %d bytes", ErrFormat, h.shentsize)
	}
	count, names := uint64(h.shnum), uint64(h.strndx)
	if count == 0 || names == uint64(elf.SHN_XINDEX) {
		// Counts that need more than 16 bits stand in the first header (gABI,
		// "ELF Header", e_shnum and e_shstrndx).
		b, err := f.read(h.shoff, entry, "first section header")
		if err != nil {
			return nil, err
		}
		first, _ := f.section(b)
		if count == 0 {
			count = first.Size
		}
		if names == uint64(elf.SHN_XINDEX) {
			names = uint64(first.Link)
		}
	}
	if count > maxSections {
		return nil, fmt.Errorf("%w: %d section headers", ErrFormat, count)
	}
	b, err := f.read(h.shoff, count*entry, "section headers")
	if err != nil {
		return nil, err
	}
	sections := make([]Section, count)
	nameAt := make([]uint32, count)
	for i := range sections {
		sections[i], nameAt[i] = f.section(b[uint64(i)*entry:])
	}
	if names < count {
		f.nameSections(sections, nameAt, &sections[names])
	}
	return sections, nil
}

// nameSections sets the names; sections whose name cannot be read have none.
func (f *File) nameSections(sections []Section, nameAt []uint32, table *Section) {
	if table.Type != elf.SHT_STRTAB || table.Size > maxNames {
		return
	}
	b, err := f.read(uint64(table.Offset), table.Size, "section names")
	if err != nil {
		return
	}
	for i := range sections {
		if at := uint64(nameAt[i]); at < uint64(len(b)) {
			if n := bytes.IndexByte(b[at:], 0); n >= 0 && n < 256 {
				sections[i].Name = string(b[at : at+uint64(n)])
			}
		}
	}
}

func (f *File) section(b []byte) (s Section, name uint32) {
	if f.Is64 {
		return Section{
			Type: elf.SectionType(le.Uint32(b[4:])), Flags: elf.SectionFlag(le.Uint64(b[8:])),
			Address: addr.File(le.Uint64(b[16:])), Offset: addr.Offset(le.Uint64(b[24:])),
			Size: le.Uint64(b[32:]), Link: le.Uint32(b[40:]), Info: le.Uint32(b[44:]), Entsize: le.Uint64(b[56:]),
		}, le.Uint32(b)
	}
	return Section{
		Type: elf.SectionType(le.Uint32(b[4:])), Flags: elf.SectionFlag(le.Uint32(b[8:])),
		Address: addr.File(le.Uint32(b[12:])), Offset: addr.Offset(le.Uint32(b[16:])),
		Size: uint64(le.Uint32(b[20:])), Link: le.Uint32(b[24:]), Info: le.Uint32(b[28:]), Entsize: uint64(le.Uint32(b[36:])),
	}, le.Uint32(b)
}

// Section returns the first section of this name that is not empty in the file.
func (f *File) Section(name string) (*Section, bool) {
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Name == name && s.Type != elf.SHT_NOBITS && s.Type != elf.SHT_NULL {
			return s, true
		}
	}
	return nil, false
}

// Data returns the bytes of a section as they lie in the file; compressed
// sections are returned compressed. It refuses more than limit bytes.
func (f *File) Data(s *Section, limit uint64) ([]byte, error) {
	if s.Type == elf.SHT_NOBITS {
		return nil, fmt.Errorf("%w: section %q is not in the file", ErrFormat, s.Name)
	}
	if s.Size > limit {
		return nil, fmt.Errorf("section %q has %d bytes, more than the %d that are read", s.Name, s.Size, limit)
	}
	return f.read(uint64(s.Offset), s.Size, "section "+s.Name)
}

// ReadRange returns n bytes of the file at off, if it has them and n is not
// above limit.
func (f *File) ReadRange(off addr.Offset, n, limit uint64) ([]byte, error) {
	if n > limit {
		return nil, fmt.Errorf("%d bytes at %#x are more than the %d that are read", n, off, limit)
	}
	return f.read(uint64(off), n, "bytes")
}
