package gosym

import (
	"fmt"

	"github.com/flametel/flametel/symbolize/addr"
)

// Version is a layout of the line table, named by the first Go release that
// wrote it.
type Version uint8

// The layouts that are read.
const (
	Version116 Version = iota + 1 // Go 1.16 and 1.17
	Version118                    // Go 1.18 and 1.19
	Version120                    // Go 1.20 and later
)

// String returns the release, such as "1.20".
func (v Version) String() string {
	switch v {
	case Version116:
		return "1.16"
	case Version118:
		return "1.18"
	case Version120:
		return "1.20"
	}
	return "unknown"
}

const (
	// maxFuncs bounds the functions of a table; the largest programs seen (700
	// MB) have less than a million.
	maxFuncs = 16 << 20
	// magicTail follows the first byte of the magic number, which tells the
	// layout: the rest of the number and two zero bytes.
	magicTail = "\xff\xff\xff\x00\x00"
)

// header is the start of a line table with its parts as addresses.
type header struct {
	at      addr.File
	version Version
	quantum uint32 // of instruction addresses
	ptrSize uint64
	funcs   uint64 // number of functions

	textStart addr.File // 0 if the header does not say
	names     addr.File // of functions, each ended by a NUL
	units     addr.File // for each compilation unit the offsets of its files' names
	files     addr.File // names of files, each ended by a NUL
	tables    addr.File // values by address, encoded
	functab   addr.File // sorted (entry, offset of _func), then the end; then the _funcs
	limit     addr.File // end of the segment, beyond which nothing is the table's
}

// magic tells whether b begins a line table, and of which layout.
func magic(b []byte) (Version, bool) {
	if len(b) < 8 || string(b[1:6]) != magicTail {
		return 0, false
	}
	if q, p := b[6], b[7]; q != 1 && q != 2 && q != 4 || p != 4 && p != 8 {
		return 0, false
	}
	switch b[0] {
	case 0xfa:
		return Version116, true
	case 0xf0:
		return Version118, true
	case 0xf1:
		return Version120, true
	}
	return 0, false
}

// readHeader reads the header at an address and checks what it leads to.
func readHeader(m *memory, at addr.File) (*header, error) {
	var b [8]byte
	if err := m.read(at, b[:]); err != nil {
		return nil, err
	}
	v, ok := magic(b[:])
	if !ok {
		return nil, fmt.Errorf("%w: no table of Go 1.16 or later at %#x: it begins with % x", ErrFormat, uint64(at), b)
	}
	h := &header{at: at, version: v, quantum: uint32(b[6]), ptrSize: uint64(b[7])}
	if h.ptrSize != m.ptrSize {
		return nil, fmt.Errorf("%w: pointers of %d bytes in a file of %d", ErrFormat, h.ptrSize, m.ptrSize)
	}
	s, _ := m.segment(at)
	h.limit = s.Limit
	word := at + 8
	next := func() (v uint64, err error) {
		v, err = m.uint(word, h.ptrSize)
		word += addr.File(h.ptrSize)
		return v, err
	}
	var err error
	if h.funcs, err = next(); err != nil {
		return nil, err
	}
	if _, err = next(); err != nil { // the number of files
		return nil, err
	}
	if v >= Version118 {
		if h.textStart, err = m.pointer(word); err != nil {
			return nil, err
		}
		word += addr.File(h.ptrSize)
	}
	for _, part := range []*addr.File{&h.names, &h.units, &h.files, &h.tables, &h.functab} {
		off, err := next()
		if err != nil {
			return nil, err
		}
		if off == 0 || off >= uint64(h.limit-at) {
			return nil, fmt.Errorf("%w: a part at %#x+%#x is not in the segment", ErrFormat, uint64(at), off)
		}
		*part = at + addr.File(off)
	}
	if h.funcs == 0 || h.funcs > maxFuncs {
		return nil, fmt.Errorf("%w: %d functions, between 1 and %d are read", ErrFormat, h.funcs, maxFuncs)
	}
	if (h.funcs*2+1)*h.entryBytes() > uint64(h.limit-h.functab) {
		return nil, fmt.Errorf("%w: %d functions do not fit", ErrFormat, h.funcs)
	}
	return h, nil
}

// entryBytes is the size of each of the two numbers of an entry of functab.
func (h *header) entryBytes() uint64 {
	if h.version >= Version118 {
		return 4
	}
	return h.ptrSize
}

// entry returns where function i starts: relative to the start of text from
// 1.18 on, an address before. i may be the number of functions: there they end.
func (h *header) entry(m *memory, i uint64) (uint64, error) {
	at := h.functab + addr.File(i*2*h.entryBytes())
	if h.version >= Version118 {
		return m.uint(at, 4)
	}
	a, err := m.pointer(at)
	return uint64(a), err
}

// record returns the address of the _func of function i.
func (h *header) record(m *memory, i uint64) (addr.File, error) {
	off, err := m.uint(h.functab+addr.File((i*2+1)*h.entryBytes()), h.entryBytes())
	if err != nil {
		return 0, err
	}
	if off >= uint64(h.limit-h.functab) {
		return 0, fmt.Errorf("%w: function %d at %#x+%#x", ErrFormat, i, uint64(h.functab), off)
	}
	return h.functab + addr.File(off), nil
}
