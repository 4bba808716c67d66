package unwind

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

const (
	// DefaultMaxRows is far above what is seen (libclang has 0.9 million rows,
	// the largest program reported anywhere 2.8 million); it bounds what a
	// hostile file can take to 64 MB.
	DefaultMaxRows = 8 << 20
	// maxSection bounds a section: 2 seconds of decoding. Large browsers have
	// 20 MB.
	maxSection = 256 << 20
	// maxUnpacked bounds a compressed section, which is held as a whole.
	maxUnpacked = 64 << 20
)

// ErrMachine is wrapped by the error for files of other machines than 64-bit
// x86 and Arm.
var ErrMachine = errors.New("no unwind rows for this machine")

// ErrNoCode is wrapped by the error for files without executable segments.
var ErrNoCode = errors.New("no executable segment")

// Options say what is compiled.
type Options struct {
	// MaxRows bounds the rows before equal neighbours are joined; 0 means
	// DefaultMaxRows. Functions that do not fit get no rows.
	MaxRows int
	// Debug is a separate debug file whose .debug_frame fills what the file
	// says nothing of, read by DebugReader. Both may be nil.
	Debug       *elffile.File
	DebugReader io.ReaderAt
}

// Compile makes the table of a file, which r reads. A file without unwind
// information gives a table that knows nothing. Errors wrap ErrMachine or
// ErrNoCode, or are those of the reader.
func Compile(f *elffile.File, r io.ReaderAt, o Options) (*Table, error) {
	var c Compiler
	t, err := c.Compile(f, r, o)
	if err == nil {
		t.Rows = c.b.table().Rows
	}
	return t, err
}

// Compiler makes tables of one file after the other and uses its memory, that of
// the rows of the largest, again. The zero value is ready. It is for one
// goroutine.
type Compiler struct{ b builder }

// Rows shows the rows of the file that was compiled last, in order and in pieces
// that are valid until emit returns. It ends with the first error of emit. It may
// be called more than once.
func (c *Compiler) Rows(emit func([]Row) error) error { return c.b.join(emit) }

// Compile is like the function, but the table has no rows: see Rows.
func (c *Compiler) Compile(f *elffile.File, r io.ReaderAt, o Options) (*Table, error) {
	b := &c.b
	if err := b.reset(f, o); err != nil {
		return nil, err
	}
	r = positive{r}
	goTable, err := b.addGo(f, r)
	if err != nil {
		return nil, err
	}
	if s, ok := ehFrame(f, r); ok {
		if err := b.addSection(s); err != nil {
			return nil, err
		}
	}
	if err := b.addDebugFrame(f, r); err != nil {
		return nil, err
	}
	if o.Debug != nil && o.DebugReader != nil {
		if err := b.addDebugFrame(o.Debug, positive{o.DebugReader}); err != nil {
			return nil, err
		}
	}
	b.addLinkage(f)
	b.addTrampolines(f, r)
	b.addStarts(f, r)
	b.addInstalls(f, r)
	t := b.summary()
	if goTable != nil {
		t.GoStart, t.GoLimit = goTable.Text()
	}
	return t, nil
}

// positive reads a file whose headers may name offsets that no file has: they
// lie beyond its end, which is not an error of the reader.
type positive struct{ io.ReaderAt }

func (p positive) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, io.EOF
	}
	return p.ReaderAt.ReadAt(b, off)
}

// reset begins a new file and keeps the memory of the one before.
func (b *builder) reset(f *elffile.File, o Options) error {
	*b = builder{
		limit: o.MaxRows, base: 1<<64 - 1,
		rows: b.rows[:0], spans: b.spans[:0], done: b.done[:0], spare: b.spare, joined: b.joined,
		code: b.code[:0], installers: b.installers[:0], view: b.view, scan: b.scan,
	}
	if b.limit <= 0 {
		b.limit = DefaultMaxRows
	}
	switch {
	case f.Machine == elf.EM_X86_64 && f.Is64:
		b.m = amd64
	case f.Machine == elf.EM_AARCH64 && f.Is64:
		b.m = arm64
	default:
		return fmt.Errorf("%w: %v", ErrMachine, f.Machine)
	}
	for _, s := range f.Segments() {
		if s.Executable {
			b.code = append(b.code, codeRange{uint64(s.Start), uint64(s.Limit)})
			b.base = min(b.base, uint64(s.Start)&^0xfff)
		}
	}
	if len(b.code) == 0 {
		return ErrNoCode
	}
	return nil
}

// addSection decodes a section of call frame information.
func (b *builder) addSection(s *section) error {
	if s.size > maxSection {
		s.size = maxSection
		b.broken = true
	}
	b.expect(s.size)
	s.buf = b.view[:0]
	r := reader{s: s, b: b}
	err := r.read()
	b.view = s.buf
	b.endSource()
	if errors.Is(err, elffile.ErrFormat) { // the file has become shorter
		b.broken = true
		return nil
	}
	return err
}

// expect makes room for what a section of this size has as a rule, at most 12
// MB: it saves growing step by step.
func (b *builder) expect(size uint64) {
	const rowBytes, entryBytes = 7, 40 // measured: 7 to 9, 35 to 60
	b.grow(size/rowBytes, size/entryBytes)
}

func (b *builder) grow(rows, spans uint64) {
	const most = 1 << 20
	b.rows = slices.Grow(b.rows, int(min(rows, most, uint64(b.limit-len(b.rows)))))
	b.spans = slices.Grow(b.spans, int(min(spans, most/4)))
}

// ehFrame finds .eh_frame by its section, else by the header that a program
// header leads to.
func ehFrame(f *elffile.File, r io.ReaderAt) (*section, bool) {
	s := &section{}
	s.r = r
	for i := range f.Sections {
		switch h := &f.Sections[i]; {
		case h.Type == elf.SHT_NOBITS || h.Size == 0:
		case h.Name == ".eh_frame":
			s.off, s.size, s.at = uint64(h.Offset), h.Size, uint64(h.Address)
		case h.Name == ".text":
			s.bases.text = uint64(h.Address)
		case h.Name == ".got.plt", h.Name == ".got" && s.bases.data == 0:
			s.bases.data = uint64(h.Address)
		}
	}
	if s.size != 0 {
		return s, true
	}
	at, ok := ehFrameByHeader(f, r)
	if !ok {
		return nil, false
	}
	for _, seg := range f.Segments() {
		if a := addr.File(at); seg.Contains(a) {
			s.off, s.size, s.at = uint64(seg.Offset)+uint64(a-seg.Start), uint64(seg.Limit-a), at
			s.tillZero = true
			return s, true
		}
	}
	return nil, false
}

// ehFrameByHeader returns the address of .eh_frame that .eh_frame_hdr has (LSB
// Core 5.0 section 10.6.2). Its search table is not needed.
func ehFrameByHeader(f *elffile.File, r io.ReaderAt) (uint64, bool) {
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elf.PT_GNU_EH_FRAME || p.FileSize < 8 {
			continue
		}
		var b [12]byte
		n, _ := r.ReadAt(b[:min(p.FileSize, 12)], int64(p.Offset))
		c := cursor{b: b[:n], pos: min(4, n)}
		if n < 8 || b[0] != 1 {
			continue
		}
		return c.pointer(b[1], uint64(p.Address), bases{data: uint64(p.Address)})
	}
	return 0, false
}

// addDebugFrame decodes .debug_frame, if there is one.
func (b *builder) addDebugFrame(f *elffile.File, r io.ReaderAt) error {
	for i := range f.Sections {
		h := &f.Sections[i]
		old := h.Name == ".zdebug_frame"
		if h.Type == elf.SHT_NOBITS || h.Size == 0 || !old && h.Name != ".debug_frame" {
			continue
		}
		s := &section{isDebug: true}
		s.r, s.off, s.size = r, uint64(h.Offset), h.Size
		if old || h.Flags&elf.SHF_COMPRESSED != 0 {
			data, err := unpack(io.NewSectionReader(r, int64(h.Offset), int64(min(h.Size, maxUnpacked))), old)
			if err != nil {
				b.broken = true
				return nil
			}
			s.r, s.off, s.size = bytes.NewReader(data), 0, uint64(len(data))
		}
		if err := b.addSection(s); err != nil {
			return err
		}
	}
	return nil
}

// unpack reads a section compressed by zlib: with a header of the gABI, or
// with "ZLIB" and a size. Zstandard, which is not in the standard library, is
// an error.
func unpack(r io.Reader, old bool) ([]byte, error) {
	var head [24]byte
	n := 24
	if old {
		n = 12
	}
	if _, err := io.ReadFull(r, head[:n]); err != nil {
		return nil, err
	}
	if old && string(head[:4]) != "ZLIB" || !old && elf.CompressionType(le.Uint32(head[:])) != elf.COMPRESS_ZLIB {
		return nil, fmt.Errorf("%w: unknown compression", errEntry)
	}
	z, err := zlib.NewReader(r)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(z, maxUnpacked+1))
	if err == nil && len(data) > maxUnpacked {
		err = fmt.Errorf("%w: more than %d bytes unpacked", errEntry, maxUnpacked)
	}
	return data, err
}
