package dwarfline

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unsafe"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// Options bound what a Data holds; the zero value is good.
type Options struct {
	// MaxBytes bounds what is held of units between lookups; 0 means 16 MiB.
	MaxBytes int64
	// MaxUnpacked bounds the contents of compressed sections, which are held in
	// addition until Drop; 0 means 48 MiB.
	MaxUnpacked int64
	// Scratch gives room for size bytes outside of memory, to the large sections
	// of files that need more than SpillFrom; 0 means MaxUnpacked. Without it they
	// are held in memory, or refused if they are more than MaxUnpacked.
	Scratch   func(size int64) (Scratch, error)
	SpillFrom int64
	// Supplement is the file that SupplementName tells, if it was found.
	Supplement       *elffile.File
	SupplementReader io.ReaderAt
}

// Scratch is room for the contents of a section: they are written once, from
// the start, and then read at any place. Close gives it back.
type Scratch interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

const (
	defaultMaxBytes    = 16 << 20
	defaultMaxUnpacked = 48 << 20
	// indexWork and unitWork are bytes decoded, at some 100 MB/s.
	indexWork = 256 << 20
	unitWork  = 512 << 20
)

// Line is one function at an address.
type Line struct {
	// Name is the function's name in the source, LinkageName the one that the
	// linker knows it by, to be demangled. Either may be "": C rarely has
	// linkage names, compilers leave out those of some C++ functions (for one
	// that is not inlined the symbol table has it), and code written in
	// assembly language has neither, only a place. In C a linkage name is an
	// alias (__GI_abort), not what people call the function.
	Name        string
	LinkageName string
	// Scope is the namespaces and classes that a C++ function is in, as in
	// "a::b<int>", if it has no LinkageName.
	Scope string
	// File and Line are where the address is, or where the function that
	// precedes this one was called. "" and 0 if unknown.
	File string
	Line int64
	// StartLine is where the function starts, 0 if unknown.
	StartLine int64
	// Language is the DW_LANG code of the unit, 0 if unknown.
	Language uint16
}

// Data is the debug information of a file. It is not safe for concurrent use.
type Data struct {
	opts       Options
	main       *image
	supplement *image // nil if there is none

	code     [][2]uint64 // where the file has code
	indexed  bool
	index    []cut // units by address, ids are indexes of main.units
	indexErr error
	damaged  error
	unpacked int64 // bytes in memory
	spill    bool  // large compressed sections go to Scratch
	packTime time.Duration

	work   int64 // what one lookup may do
	loaded map[*unitHead]*unit
	held   int64
	tick   uint64
}

// Open finds the debug sections of f, whose bytes r reads, and reads nothing
// of them yet. r must be open as long as the Data is used; an error of r makes
// a lookup fail, and the next one tries again. The error wraps ErrNone if there
// is nothing to look up, ErrTooBig if compressed sections are above the limit.
func Open(f *elffile.File, r io.ReaderAt, opts Options) (*Data, error) {
	if opts.MaxBytes == 0 {
		opts.MaxBytes = defaultMaxBytes
	}
	if opts.MaxUnpacked == 0 {
		opts.MaxUnpacked = defaultMaxUnpacked
	}
	if opts.SpillFrom == 0 {
		opts.SpillFrom = opts.MaxUnpacked
	}
	if f.Type == elf.ET_REL {
		return nil, fmt.Errorf("%w: the file is not linked", ErrUnsupported)
	}
	d := &Data{opts: opts, main: newImage(f, r), work: unitWork, loaded: make(map[*unitHead]*unit)}
	for _, id := range []sectionID{secInfo, secAbbrev} {
		if sec := &d.main.sec[id]; sec.bad != nil {
			return nil, sec.bad
		} else if sec.size == 0 {
			return nil, fmt.Errorf("%w: no section .debug_%s", ErrNone, sectionNames[id])
		}
	}
	d.code = codeOf(f)
	if opts.Supplement != nil {
		_, want, ok := SupplementName(f)
		if !ok || !bytes.Equal(want, opts.Supplement.BuildIDs().GNU) {
			return nil, fmt.Errorf("%w: the supplementary file is another one", ErrSupplement)
		}
		d.supplement = newImage(opts.Supplement, opts.SupplementReader)
	}
	if err := d.checkUnpacked(); err != nil {
		return nil, err
	}
	return d, nil
}

// checkUnpacked decides where the contents of compressed sections go, and
// refuses files whose contents would not fit.
func (d *Data) checkUnpacked() error {
	total, small := uint64(0), uint64(0)
	for _, im := range []*image{d.main, d.supplement} {
		for i := range numSections {
			if im == nil || im.sec[i].packed == packedNot {
				continue
			}
			total += im.sec[i].size // each at most 1032 times the file
			if im.sec[i].size < minSpilled {
				small += im.sec[i].size
			}
		}
	}
	d.spill = d.opts.Scratch != nil && total > uint64(d.opts.SpillFrom)
	if total <= uint64(d.opts.MaxUnpacked) {
		return nil
	}
	if !d.spill || small > uint64(d.opts.MaxUnpacked) {
		return fmt.Errorf("compressed sections of %d bytes, %d are held at most: %w", total, d.opts.MaxUnpacked, ErrTooBig)
	}
	return nil
}

// codeOf returns where a file has code, by its sections or else its segments.
func codeOf(f *elffile.File) (code [][2]uint64) {
	add := func(start addr.File, size uint64) {
		if end := uint64(start) + size; end > uint64(start) {
			code = append(code, [2]uint64{uint64(start), end})
		}
	}
	defer func() { code = merge(code) }()
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Flags&(elf.SHF_ALLOC|elf.SHF_EXECINSTR) == elf.SHF_ALLOC|elf.SHF_EXECINSTR {
			add(s.Address, s.Size)
		}
	}
	if len(code) > 0 {
		return code
	}
	for i := range f.Progs {
		if p := &f.Progs[i]; p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			add(p.Address, p.MemSize)
		}
	}
	return code
}

// maxSupplementName bounds the path of a supplementary file.
const maxSupplementName = 4096 + 64

// SupplementName returns the path of the file that dwz moved shared debug
// information of f to, as it was noted, and its GNU build ID.
func SupplementName(f *elffile.File) (path string, buildID []byte, ok bool) {
	s, ok := f.Section(".gnu_debugaltlink")
	if !ok {
		return "", nil, false
	}
	b, err := f.Data(s, maxSupplementName)
	if err != nil {
		return "", nil, false
	}
	n := bytes.IndexByte(b, 0)
	if n <= 0 || n+1 == len(b) {
		return "", nil, false
	}
	return string(b[:n]), b[n+1:], true
}

// merge sorts ranges and joins those that touch.
func merge(ranges [][2]uint64) [][2]uint64 {
	slices.SortFunc(ranges, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	out := ranges[:0]
	for _, r := range ranges {
		if n := len(out); n > 0 && r[0] <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], r[1])
			continue
		}
		out = append(out, r)
	}
	return slices.Clip(out)
}

func (d *Data) isCode(a uint64) bool {
	i, found := slices.BinarySearchFunc(d.code, a, func(r [2]uint64, a uint64) int { return cmp.Compare(r[0], a) })
	return found || i > 0 && a < d.code[i-1][1]
}

func (d *Data) unpackLeft() uint64 { return uint64(max(0, d.opts.MaxUnpacked-d.unpacked)) }

// UnpackTime is how long decompressing took in all.
func (d *Data) UnpackTime() time.Duration { return d.packTime }

// Bytes is the memory held.
func (d *Data) Bytes() int64 {
	n := d.held + d.unpacked + int64(len(d.index))*int64(unsafe.Sizeof(cut{})) + int64(unsafe.Sizeof(*d)) +
		2*int64(unsafe.Sizeof(image{})) + int64(len(d.main.units))*int64(unsafe.Sizeof(unitHead{}))
	if d.supplement != nil {
		n += int64(len(d.supplement.units)) * int64(unsafe.Sizeof(unitHead{}))
	}
	return n
}

// Damage returns why units were left out of the index, nil if all are in it.
func (d *Data) Damage() error { return d.damaged }

// Drop forgets all that was read of units and compressed sections, and gives
// Scratch back; it is read again when it is needed. The index stays.
func (d *Data) Drop() {
	clear(d.loaded)
	d.held = 0
	d.dropUnpacked()
}

func (d *Data) dropUnpacked() {
	for _, im := range []*image{d.main, d.supplement} {
		for i := range numSections {
			if im == nil {
				continue
			}
			im.sec[i].data = nil
			if im.sec[i].scratch != nil {
				_ = im.sec[i].scratch.Close() // nothing in it is needed any more
				im.sec[i].scratch = nil
			}
		}
	}
	d.unpacked = 0
}

// passing tells errors that say nothing about the contents of the file.
func passing(err error) bool {
	for _, e := range []error{ErrFormat, ErrTooBig, ErrSplit, ErrSupplement, ErrUnsupported} {
		if errors.Is(err, e) {
			return false
		}
	}
	return err != nil
}
