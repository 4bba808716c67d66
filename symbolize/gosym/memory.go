package gosym

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// ErrFormat is wrapped by each error that the contents of a file cause.
var ErrFormat = errors.New("not a usable Go line table")

const (
	// pageBytes is how much is read at a time. What belongs to a function lies
	// together in each part of the table, so that larger pages save little.
	pageBytes = 4096
	// maxPages bounds the pages held, to 256 KiB: a lookup needs about ten.
	maxPages = 64
	// maxSegments bounds the load segments; linkers make up to ten.
	maxSegments = 256
	// maxScan bounds what is searched in a file, in all searches together: more
	// than the largest programs have, and less than a second.
	maxScan = 1 << 30
	// maxTries bounds the places that a search leads to. In programs that
	// contain programs there may be some.
	maxTries = 10_000
)

var le = binary.LittleEndian

// memory is the file as its program headers map it, read page by page.
type memory struct {
	r        io.ReaderAt
	segments []elffile.Segment
	ptrSize  uint64
	relocs   relocs

	scanLeft  int64 // bytes that may still be searched,
	triesLeft int   // and places that may be looked at because a search found them

	last  elffile.Segment // where the last address lay
	pages map[addr.Offset]*page
	ring  []*page // all pages; hand points to the next that may go
	hand  int
	hot   *page
}

type page struct {
	offset addr.Offset
	data   []byte // short at the end of the file
	used   bool   // since the hand passed
}

func newMemory(f *elffile.File, r io.ReaderAt) (*memory, error) {
	m := &memory{
		r: r, segments: f.Segments(), ptrSize: 4, pages: make(map[addr.Offset]*page),
		scanLeft: maxScan, triesLeft: maxTries,
	}
	if len(m.segments) > maxSegments {
		return nil, fmt.Errorf("%w: %d load segments, up to %d are read", ErrFormat, len(m.segments), maxSegments)
	}
	if f.Is64 {
		m.ptrSize = 8
	}
	m.relocs = findRelocs(f, m)
	return m, nil
}

// segment returns the load segment that holds a.
func (m *memory) segment(a addr.File) (elffile.Segment, bool) {
	if m.last.Contains(a) {
		return m.last, true
	}
	for i := range m.segments {
		if m.segments[i].Contains(a) {
			m.last = m.segments[i]
			return m.last, true
		}
	}
	return elffile.Segment{}, false
}

// executable tells whether the range lies in an executable segment.
func (m *memory) executable(start, limit addr.File) bool {
	s, ok := m.segment(start)
	return ok && s.Executable && limit >= start && limit <= s.Limit
}

// view returns the bytes from a on to the end of their page or segment, at
// least one. They are valid until the next call.
func (m *memory) view(a addr.File) ([]byte, error) {
	s, ok := m.segment(a)
	if !ok {
		return nil, fmt.Errorf("%w: no file content at address %#x", ErrFormat, uint64(a))
	}
	off := s.Offset + addr.Offset(a-s.Start)
	if off > math.MaxInt64-pageBytes {
		return nil, fmt.Errorf("%w: no file reaches to offset %#x", ErrFormat, uint64(off))
	}
	p, err := m.page(off &^ (pageBytes - 1))
	if err != nil {
		return nil, err
	}
	in := uint64(off % pageBytes)
	if in >= uint64(len(p.data)) {
		return nil, fmt.Errorf("%w: the file ends before address %#x", ErrFormat, uint64(a))
	}
	b := p.data[in:]
	return b[:min(uint64(len(b)), uint64(s.Limit-a))], nil
}

// page returns the page of the file at off, a multiple of its size.
func (m *memory) page(off addr.Offset) (*page, error) {
	if m.hot != nil && m.hot.offset == off {
		return m.hot, nil
	}
	if p := m.pages[off]; p != nil {
		p.used = true
		m.hot = p
		return p, nil
	}
	p := m.free()
	n, err := m.r.ReadAt(p.data[:pageBytes], int64(off))
	if err != nil && err != io.EOF {
		m.hot = nil
		return nil, fmt.Errorf("read line table at offset %#x: %w", uint64(off), err)
	}
	p.offset, p.data, p.used = off, p.data[:n], true
	m.pages[off] = p
	m.hot = p
	return p, nil
}

// free returns a page that is in no use and not among pages.
func (m *memory) free() *page {
	if len(m.ring) < maxPages {
		p := &page{data: make([]byte, 0, pageBytes)}
		m.ring = append(m.ring, p)
		return p
	}
	for m.ring[m.hand].used {
		m.ring[m.hand].used = false
		m.hand = (m.hand + 1) % len(m.ring)
	}
	p := m.ring[m.hand]
	m.hand = (m.hand + 1) % len(m.ring)
	if m.pages[p.offset] == p {
		delete(m.pages, p.offset)
	}
	return p
}

// read fills b with what is at a.
func (m *memory) read(a addr.File, b []byte) error {
	for len(b) > 0 {
		v, err := m.view(a)
		if err != nil {
			return err
		}
		n := copy(b, v)
		b, a = b[n:], a+addr.File(n)
	}
	return nil
}

// uint reads a number of size 1, 4 or 8 bytes.
func (m *memory) uint(a addr.File, size uint64) (uint64, error) {
	v, err := m.view(a)
	if err != nil {
		return 0, err
	}
	var b [8]byte
	if uint64(len(v)) < size {
		if err := m.read(a, b[:size]); err != nil {
			return 0, err
		}
	} else {
		copy(b[:size], v)
	}
	return le.Uint64(b[:]), nil
}

func (m *memory) uint32(a addr.File) (uint32, error) {
	v, err := m.uint(a, 4)
	return uint32(v), err
}

// pointer reads an address as the dynamic linker would have put it there.
// Linkers write it to the file as well, or leave zero.
func (m *memory) pointer(a addr.File) (addr.File, error) {
	v, err := m.uint(a, m.ptrSize)
	if err == nil && v == 0 && m.relocs.count > 0 {
		v, err = m.relocs.at(m, a)
	}
	return addr.File(v), err
}

// text appends the bytes from a up to a NUL to dst, at most limit.
func (m *memory) text(a addr.File, dst []byte, limit int) ([]byte, error) {
	for n := 0; n <= limit; {
		v, err := m.view(a)
		if err != nil {
			return dst, err
		}
		end := bytes.IndexByte(v, 0)
		if end >= 0 {
			v = v[:end]
		}
		if n += len(v); n > limit {
			break
		}
		dst, a = append(dst, v...), a+addr.File(len(v))
		if end >= 0 {
			return dst, nil
		}
	}
	return dst, fmt.Errorf("%w: a name at %#x has no end", ErrFormat, uint64(a))
}

// scanBytes is how much a scan has in memory at a time.
const scanBytes = 64 << 10

// scan reads the file content of a range of addresses in overlapping pieces and
// hands them to look until that returns false. The overlap is at most overlap
// bytes and only at the start of a piece, which starts at a multiple of 16
// relative to start.
func (m *memory) scan(start, limit addr.File, overlap int, look func(at addr.File, b []byte) bool) error {
	s, ok := m.segment(start)
	if !ok {
		return nil
	}
	if s.Offset+addr.Offset(s.Limit-s.Start) > math.MaxInt64 {
		return nil // no file is that large
	}
	buf := make([]byte, scanBytes)
	step := addr.File(scanBytes-overlap) &^ 15
	for at := start; at < min(limit, s.Limit) && m.scanLeft > 0 && m.triesLeft > 0; at += step {
		m.scanLeft -= int64(step)
		b := buf[:min(uint64(len(buf)), uint64(min(limit, s.Limit)-at))]
		n, err := m.r.ReadAt(b, int64(s.Offset)+int64(at-s.Start))
		if err != nil && err != io.EOF {
			return fmt.Errorf("search line table: %w", err)
		}
		if !look(at, b[:n]) || n < len(b) || len(b) < len(buf) {
			return nil
		}
	}
	return nil
}

// try tells whether one more place may be looked at that a search found.
func (m *memory) try() bool {
	m.triesLeft--
	return m.triesLeft >= 0
}

// writable lists the load segments that may hold initialized data.
func writable(f *elffile.File) []elffile.Segment {
	var segs []elffile.Segment
	for i := range f.Progs {
		p := &f.Progs[i]
		n := addr.File(min(p.FileSize, p.MemSize))
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_W != 0 && n > 0 && p.Address+n > p.Address {
			segs = append(segs, elffile.Segment{Start: p.Address, Limit: p.Address + n, Offset: p.Offset})
		}
	}
	return segs
}
