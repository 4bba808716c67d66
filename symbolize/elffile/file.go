package elffile

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/flametel/flametel/symbolize/addr"
)

// ErrFormat is wrapped by each error that the contents of a file cause.
var ErrFormat = errors.New("not a usable ELF file")

// ErrMagic is wrapped, beside ErrFormat, if a file does not begin as ELF files
// do.
var ErrMagic = errors.New("no ELF magic")

const (
	// maxProgs is how many program headers the kernel loads: no more than fit
	// 64 KiB (fs/binfmt_elf.c, load_elf_phdrs). Real files have about a dozen.
	maxProgs = 64 << 10 / 56
	// maxSections bounds the section headers to 16 MB. Linked files have some
	// dozens; only unlinked objects with a section for each function have many.
	maxSections = 1 << 18
	// maxNames bounds the section names that are held.
	maxNames = 4 << 20
)

// File is an opened ELF file. It is immutable and safe for concurrent use if
// its reader is.
type File struct {
	r    io.ReaderAt
	size int64

	// Is64 tells ELFCLASS64 from ELFCLASS32.
	Is64    bool
	Type    elf.Type
	Machine elf.Machine
	Entry   addr.File

	// Progs are all program headers in the order of the file.
	Progs []Prog
	// Sections are all section headers in the order of the file, so that the
	// index is the one that symbols use. Empty if the file has none or if they
	// cannot be read.
	Sections []Section
}

// Prog is a program header.
type Prog struct {
	Type     elf.ProgType
	Flags    elf.ProgFlag
	Offset   addr.Offset
	Address  addr.File
	FileSize uint64
	MemSize  uint64
	Align    uint64
}

// Section is a section header.
type Section struct {
	Name    string
	Type    elf.SectionType
	Flags   elf.SectionFlag
	Address addr.File
	Offset  addr.Offset
	Size    uint64 // in the file, or in memory if Type is SHT_NOBITS
	Link    uint32
	Info    uint32
	Entsize uint64
}

// New reads the headers of the ELF file of size bytes behind r. r must stay
// open as long as the File is used.
func New(r io.ReaderAt, size int64) (*File, error) {
	f := &File{r: r, size: size}
	h, err := f.header()
	if err != nil {
		return nil, err
	}
	if f.Progs, err = f.programs(h); err != nil {
		return nil, err
	}
	// A file without usable section headers still has its segments.
	f.Sections, _ = f.sections(h)
	if len(f.Progs) == 0 && len(f.Sections) == 0 {
		return nil, fmt.Errorf("%w: neither program nor section headers", ErrFormat)
	}
	return f, nil
}

// header is the part of the file header that leads to other parts.
type header struct {
	phoff, shoff             uint64
	phentsize, phnum         uint16
	shentsize, shnum, strndx uint16
}

func (f *File) header() (header, error) {
	var h header
	var b [64]byte
	n := min(int64(len(b)), f.size)
	if err := f.readAt(b[:max(n, 0)], 0); err != nil {
		return h, fmt.Errorf("read ELF header: %w", err)
	}
	if string(b[:4]) != elf.ELFMAG {
		return h, fmt.Errorf("%w: %w", ErrFormat, ErrMagic)
	}
	if n < 52 { // the size of a 32-bit header
		return h, fmt.Errorf("%w: %d bytes are too few", ErrFormat, f.size)
	}
	if elf.Data(b[elf.EI_DATA]) != elf.ELFDATA2LSB {
		return h, fmt.Errorf("%w: only little-endian files are read, this one is not", ErrFormat)
	}
	f.Type = elf.Type(le.Uint16(b[16:]))
	f.Machine = elf.Machine(le.Uint16(b[18:]))
	switch elf.Class(b[elf.EI_CLASS]) {
	case elf.ELFCLASS64:
		if n < 64 {
			return h, fmt.Errorf("%w: %d bytes are too few", ErrFormat, f.size)
		}
		f.Is64 = true
		f.Entry = addr.File(le.Uint64(b[24:]))
		h.phoff, h.shoff = le.Uint64(b[32:]), le.Uint64(b[40:])
		h.phentsize, h.phnum = le.Uint16(b[54:]), le.Uint16(b[56:])
		h.shentsize, h.shnum, h.strndx = le.Uint16(b[58:]), le.Uint16(b[60:]), le.Uint16(b[62:])
	case elf.ELFCLASS32:
		f.Entry = addr.File(le.Uint32(b[24:]))
		h.phoff, h.shoff = uint64(le.Uint32(b[28:])), uint64(le.Uint32(b[32:]))
		h.phentsize, h.phnum = le.Uint16(b[42:]), le.Uint16(b[44:])
		h.shentsize, h.shnum, h.strndx = le.Uint16(b[46:]), le.Uint16(b[48:]), le.Uint16(b[50:])
	default:
		return h, fmt.Errorf("%w: class %d is neither 32 nor 64 bits", ErrFormat, b[elf.EI_CLASS])
	}
	return h, nil
}

var le = binary.LittleEndian

func (f *File) programs(h header) ([]Prog, error) {
	if h.phoff == 0 || h.phnum == 0 {
		return nil, nil
	}
	entry := 32
	if f.Is64 {
		entry = 56
	}
	if int(h.phentsize) != entry || h.phnum > maxProgs {
		return nil, fmt.Errorf("%w: %d program headers of %d bytes", ErrFormat, h.phnum, h.phentsize)
	}
	b, err := f.read(h.phoff, uint64(h.phnum)*uint64(entry), "program headers")
	if err != nil {
		return nil, err
	}
	progs := make([]Prog, h.phnum)
	for i := range progs {
		progs[i] = f.program(b[i*entry:])
	}
	return progs, nil
}

func (f *File) program(b []byte) Prog {
	if f.Is64 {
		return Prog{
			Type: elf.ProgType(le.Uint32(b)), Flags: elf.ProgFlag(le.Uint32(b[4:])),
			Offset: addr.Offset(le.Uint64(b[8:])), Address: addr.File(le.Uint64(b[16:])),
			FileSize: le.Uint64(b[32:]), MemSize: le.Uint64(b[40:]), Align: le.Uint64(b[48:]),
		}
	}
	return Prog{
		Type: elf.ProgType(le.Uint32(b)), Flags: elf.ProgFlag(le.Uint32(b[24:])),
		Offset: addr.Offset(le.Uint32(b[4:])), Address: addr.File(le.Uint32(b[8:])),
		FileSize: uint64(le.Uint32(b[16:])), MemSize: uint64(le.Uint32(b[20:])), Align: uint64(le.Uint32(b[28:])),
	}
}

// read returns n bytes at off, which what describes, if the file has them.
func (f *File) read(off, n uint64, what string) ([]byte, error) {
	if !f.holds(off, n) {
		return nil, fmt.Errorf("%w: %s at %#x+%#x in a file of %#x bytes", ErrFormat, what, off, n, f.size)
	}
	b := make([]byte, n)
	if err := f.readAt(b, off); err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return b, nil
}

// holds tells whether the file has n bytes at off.
func (f *File) holds(off, n uint64) bool {
	return f.size >= 0 && off <= uint64(f.size) && n <= uint64(f.size)-off
}

// readAt fills b; a file that has become shorter is a malformed one.
func (f *File) readAt(b []byte, off uint64) error {
	n, err := f.r.ReadAt(b, int64(off))
	if n == len(b) {
		return nil
	}
	if err == io.EOF {
		return fmt.Errorf("%w: it ends at %#x", ErrFormat, off+uint64(n))
	}
	return err
}
