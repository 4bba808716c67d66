package gosym

import (
	"bytes"
	"debug/elf"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// findHeader returns the line table of a file, nil if it has none. Sections
// are believed if there are any: the table has its own, unless the linker put
// it with other data that is constant after relocation.
func findHeader(f *elffile.File, m *memory) (*header, error) {
	for _, name := range [...]string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if s, ok := f.Section(name); ok {
			h, err := readHeader(m, s.Address)
			if err == nil {
				err = h.check(m)
			}
			if err != nil {
				return nil, err
			}
			return h, nil
		}
	}
	if named(f) && !marked(f) {
		return nil, nil
	}
	h, err := findByModule(f, m)
	if err != nil {
		return nil, err
	}
	if h != nil && h.check(m) == nil {
		return h, nil
	}
	return findMagic(f, m)
}

// named tells whether the file has sections with names.
func named(f *elffile.File) bool {
	for i := range f.Sections {
		if f.Sections[i].Name != "" {
			return true
		}
	}
	return false
}

// marked tells whether there are sections that the Go linker makes.
func marked(f *elffile.File) bool {
	for _, name := range [...]string{".go.buildinfo", ".note.go.buildid", ".go.module"} {
		if _, ok := f.Section(name); ok {
			return true
		}
	}
	return false
}

// findMagic searches the load segments for the magic number of a table: first
// those of constant data, then data, then code with data among it.
func findMagic(f *elffile.File, m *memory) (*header, error) {
	var found *header
	for _, flags := range [...]elf.ProgFlag{elf.PF_R, elf.PF_R | elf.PF_W, elf.PF_R | elf.PF_X, elf.PF_R | elf.PF_W | elf.PF_X} {
		for i := range f.Progs {
			p := &f.Progs[i]
			if p.Type != elf.PT_LOAD || p.Flags&(elf.PF_R|elf.PF_W|elf.PF_X) != flags {
				continue
			}
			err := m.scan(p.Address, p.Address+addr.File(p.FileSize), 16, func(at addr.File, b []byte) bool {
				found = magicIn(m, at, b)
				return found == nil
			})
			if found != nil || err != nil {
				return found, err
			}
		}
	}
	return nil, nil
}

// magicIn returns the first good table that begins in b, which lies at at.
func magicIn(m *memory, at addr.File, b []byte) *header {
	for i := 0; ; i++ {
		n := bytes.Index(b[i:], []byte(magicTail))
		if n < 0 {
			return nil
		}
		i += n
		if i == 0 || uint64(at+addr.File(i-1))%m.ptrSize != 0 {
			continue
		}
		if _, ok := magic(b[i-1:]); !ok {
			continue
		}
		if !m.try() {
			return nil
		}
		h, err := readHeader(m, at+addr.File(i-1))
		if err == nil && h.check(m) == nil {
			return h
		}
	}
}

// check tells a table from bytes that look like its header: entries are sorted
// and their functions say the same address.
func (h *header) check(m *memory) error {
	t := &Table{m: m, h: h}
	last := addr.File(0)
	for _, i := range [...]uint64{0, h.funcs / 2, h.funcs - 1} {
		f, err := t.readRecord(i)
		if err != nil {
			return err
		}
		if f.entry < last || f.limit < f.entry {
			return errUnsorted(i)
		}
		last = f.entry
	}
	return nil
}
