package dwarfline

import (
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

type packing uint8

// How the contents of a section are compressed: by the header that its
// contents begin with.
const (
	packedNot packing = iota
	packedELF32
	packedELF64
	packedGNU // "ZLIB" and the size, big-endian: the old .zdebug sections
)

const (
	// maxUnpackRatio bounds what compressed bytes may become. Deflate cannot
	// exceed 1032; debug sections reach about 10.
	maxUnpackRatio = 1032
	// maxSpillRatio is the same where the contents go to a disk, of which a small
	// file shall not take much.
	maxSpillRatio = 256
	elfZlib       = 1 // ELFCOMPRESS_ZLIB
	elfZstd       = 2 // ELFCOMPRESS_ZSTD
)

var (
	le = binary.LittleEndian
	be = binary.BigEndian
)

func (p packing) headerSize() int {
	if p == packedELF64 {
		return 24
	}
	return 12
}

// header reads the size of the contents of a packed section.
func (s *section) header() error {
	var buf [24]byte
	raw := s.size
	s.size = 0
	b := buf[:s.packed.headerSize()]
	if raw < uint64(len(b)) {
		return fmt.Errorf("%w: compressed section of %d bytes", ErrFormat, raw)
	}
	if err := s.read(b, 0); err != nil {
		return err
	}
	var size uint64
	switch s.packed {
	case packedELF64:
		size = le.Uint64(b[8:])
	case packedELF32:
		size = uint64(le.Uint32(b[4:]))
	default:
		if string(b[:4]) != "ZLIB" {
			return fmt.Errorf("%w: section .zdebug without its mark", ErrFormat)
		}
		size = be.Uint64(b[4:])
	}
	if size/maxUnpackRatio > raw {
		return fmt.Errorf("%w: %d bytes cannot become %d", ErrFormat, raw, size)
	}
	s.size = size
	return nil
}

// minSpilled is the size from which contents are worth a place outside of
// memory.
const minSpilled = 256 << 10

// unpack decompresses a section, into scratch or into what is left of the room
// in memory.
func (d *Data) unpack(s *section) error {
	if s.packed == packedNot || s.data != nil || s.scratch != nil || s.bad != nil {
		return s.bad
	}
	start := time.Now()
	defer func() { d.packTime += time.Since(start) }()
	if d.spill && s.size >= minSpilled {
		err := s.unpackTo(d.opts.Scratch)
		if err == nil || s.bad != nil || s.size > d.unpackLeft() {
			return err
		}
		// There is no scratch at the moment, but room in memory.
	}
	if left := d.unpackLeft(); s.size > left {
		return fmt.Errorf("compressed section of %d bytes, %d are left: %w", s.size, left, ErrTooBig)
	}
	r, err := s.unpacker()
	if err == nil {
		data := make([]byte, s.size)
		if _, err = io.ReadFull(r, data); err == nil {
			s.data = data
			d.unpacked += int64(len(data))
			return nil
		}
	}
	s.bad = fmt.Errorf("%w: decompress: %w", ErrFormat, err)
	return s.bad
}

// unpackTo decompresses a section into scratch. That there is none at the
// moment is not remembered.
func (s *section) unpackTo(scratch func(int64) (Scratch, error)) error {
	if s.size/maxSpillRatio > s.raw {
		s.bad = fmt.Errorf("%w: %d bytes become %d", ErrTooBig, s.raw, s.size)
		return s.bad
	}
	r, err := s.unpacker()
	if err != nil {
		s.bad = fmt.Errorf("%w: decompress: %w", ErrFormat, err)
		return s.bad
	}
	to, err := scratch(int64(s.size))
	if err != nil {
		return fmt.Errorf("compressed section of %d bytes: %w", s.size, err)
	}
	// The file behind *os.File would have io.Copy choose a way of its own.
	buf := make([]byte, 128<<10)
	n, err := io.CopyBuffer(struct{ io.Writer }{to}, io.LimitReader(r, int64(s.size)), buf)
	if err == nil && uint64(n) < s.size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		_ = to.Close() // the first error tells more
		s.bad = fmt.Errorf("%w: decompress: %w", ErrFormat, err)
		return s.bad
	}
	s.scratch = to
	return nil
}

func (s *section) unpacker() (io.Reader, error) {
	head := uint64(s.packed.headerSize())
	body := io.NewSectionReader(s.r, int64(s.off+head), int64(s.raw-head))
	if s.packed == packedGNU {
		return zlib.NewReader(body)
	}
	var kind [4]byte
	if err := s.read(kind[:], 0); err != nil {
		return nil, err
	}
	switch k := le.Uint32(kind[:]); k {
	case elfZlib:
		return zlib.NewReader(body)
	case elfZstd:
		return s.zstd()
	default:
		return nil, fmt.Errorf("%w: compression %d", ErrUnsupported, k)
	}
}

// zstd returns a reader of a section that is compressed with Zstandard. The
// standard library's decoder can be had through debug/elf only, so that is
// given an ELF file of our own with nothing in it but this section.
func (s *section) zstd() (io.Reader, error) {
	const headers = 64 + 2*64
	h := make([]byte, headers)
	copy(h, elf.ELFMAG)
	h[elf.EI_CLASS], h[elf.EI_DATA], h[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	le.PutUint16(h[16:], uint16(elf.ET_DYN))
	le.PutUint16(h[18:], uint16(elf.EM_X86_64))
	le.PutUint32(h[20:], uint32(elf.EV_CURRENT))
	le.PutUint64(h[40:], 64)                       // e_shoff
	le.PutUint16(h[52:], 64)                       // e_ehsize
	le.PutUint16(h[58:], 64)                       // e_shentsize
	le.PutUint16(h[60:], 2)                        // e_shnum
	le.PutUint32(h[64+4:], uint32(elf.SHT_STRTAB)) // names: e_shstrndx is 0
	sh := h[128:]
	le.PutUint32(sh[4:], uint32(elf.SHT_PROGBITS))
	le.PutUint64(sh[8:], uint64(elf.SHF_COMPRESSED))
	chdr := make([]byte, 24)
	if err := s.read(chdr[:s.packed.headerSize()], 0); err != nil {
		return nil, err
	}
	if s.packed == packedELF32 {
		le.PutUint64(chdr[16:], uint64(le.Uint32(chdr[8:])))
		le.PutUint64(chdr[8:], uint64(le.Uint32(chdr[4:])))
		le.PutUint32(chdr[4:], 0)
	}
	body := s.raw - uint64(s.packed.headerSize())
	le.PutUint64(sh[24:], headers) // sh_offset
	le.PutUint64(sh[32:], 24+body) // sh_size
	f, err := elf.NewFile(&prefixed{append(h, chdr...), io.NewSectionReader(s.r, int64(s.off+s.raw-body), int64(body))})
	if err != nil {
		return nil, err
	}
	return f.Sections[1].Open(), nil
}

// prefixed reads some bytes of memory, then those of a file.
type prefixed struct {
	head []byte
	rest *io.SectionReader
}

func (p *prefixed) ReadAt(b []byte, off int64) (int, error) {
	n := 0
	if off < int64(len(p.head)) {
		n = copy(b, p.head[off:])
		if n == len(b) {
			return n, nil
		}
	}
	m, err := p.rest.ReadAt(b[n:], off+int64(n)-int64(len(p.head)))
	return n + m, err
}
