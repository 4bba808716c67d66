package dwarfline

import (
	"debug/elf"
	"fmt"
	"io"

	"github.com/flametel/flametel/symbolize/elffile"
)

type sectionID uint8

const (
	secInfo sectionID = iota
	secAbbrev
	secLine
	secStr
	secLineStr
	secStrOffsets
	secAddr
	secRanges
	secRnglists
	secAranges
	numSections
)

// sectionNames are the names after ".debug_" or ".zdebug_".
var sectionNames = [numSections]string{
	secInfo: "info", secAbbrev: "abbrev", secLine: "line", secStr: "str", secLineStr: "line_str",
	secStrOffsets: "str_offsets", secAddr: "addr", secRanges: "ranges", secRnglists: "rnglists",
	secAranges: "aranges",
}

// section is one debug section of a file; size is that of its contents, not
// compressed.
type section struct {
	r    io.ReaderAt
	off  uint64
	size uint64

	packed  packing
	raw     uint64  // size in the file if packed
	data    []byte  // the contents of a packed one, once they were needed
	scratch Scratch // has them instead if they are large
	bad     error   // why a packed one has no contents
}

// image is a file that sections are read from.
type image struct {
	sec   [numSections]section
	units []unitHead // by offset; nil before they were needed
	bad   error      // why there are no units
}

// newImage finds the debug sections of a file of size bytes.
func newImage(f *elffile.File, r io.ReaderAt) *image {
	im := &image{}
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Type == elf.SHT_NOBITS || s.Type == elf.SHT_NULL || len(s.Name) < 7 {
			continue
		}
		for id, name := range sectionNames {
			if im.sec[id].r != nil {
				continue
			}
			switch s.Name {
			case ".debug_" + name:
				im.sec[id] = newSection(f, r, s, false)
			case ".zdebug_" + name:
				im.sec[id] = newSection(f, r, s, true)
			}
		}
	}
	return im
}

func newSection(f *elffile.File, r io.ReaderAt, s *elffile.Section, gnu bool) section {
	sec := section{r: r, off: uint64(s.Offset), size: s.Size, raw: s.Size}
	switch {
	case int64(s.Offset) < 0 || int64(s.Size) < 0 || int64(uint64(s.Offset)+s.Size) < 0:
		sec.size, sec.bad = 0, fmt.Errorf("%w: section %s at %#x+%#x", ErrFormat, s.Name, s.Offset, s.Size)
	case s.Flags&elf.SHF_COMPRESSED != 0:
		sec.packed = packedELF32
		if f.Is64 {
			sec.packed = packedELF64
		}
	case gnu:
		sec.packed = packedGNU
	}
	if sec.packed != packedNot && sec.bad == nil {
		sec.bad = sec.header()
	}
	return sec
}

// read fills b with the bytes at off, which must be within size.
func (s *section) read(b []byte, off uint64) error {
	if s.data != nil {
		copy(b, s.data[off:])
		return nil
	}
	r, at := s.r, int64(s.off+off)
	if s.scratch != nil {
		r, at = s.scratch, int64(off)
	}
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == io.EOF {
		return fmt.Errorf("%w: the file ends at %#x", ErrFormat, s.off+off+uint64(n))
	}
	return err
}
