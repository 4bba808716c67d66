package elffile

import (
	"bytes"
	"debug/elf"
	"io"

	"github.com/flametel/flametel/symbolize/addr"
)

// Functions tells where functions without a symbol begin and end, by the search
// table that the unwind information of nearly each program has (.eh_frame_hdr,
// Linux Standard Base Core 5.0, 10.6.2). It holds nothing of the table: Find
// reads some pieces for one address, Load makes a short form for many.
type Functions struct {
	table    uint64 // offset of the pairs: where a function begins, where its entry is
	base     uint64 // file address of the header, to which pairs are relative
	count    uint64
	segments []Segment
}

const (
	headBytes = 12 // of the header, up to the pairs
	pairBytes = 8
	// maxFunctions bounds the functions; the largest browsers have as many.
	maxFunctions = 1 << 20
	// pairsAtOnce is how many pairs are read in one go at the end of a search.
	pairsAtOnce = 64
)

// Functions opens the search table in the one form that linkers write. It
// returns nil if there is none, or none that fits the file.
func (f *File) Functions() *Functions {
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elf.PT_GNU_EH_FRAME {
			continue
		}
		head, err := f.read(uint64(p.Offset), headBytes, "unwind header")
		// Version 1; pointers relative to themselves and to the header, of 4 bytes.
		if err != nil || !bytes.Equal(head[:4], []byte{1, 0x1b, 0x03, 0x3b}) {
			return nil
		}
		t := &Functions{
			table: uint64(p.Offset) + headBytes, base: uint64(p.Address),
			count: uint64(le.Uint32(head[8:])), segments: f.Segments(),
		}
		if p.FileSize < headBytes || t.count > maxFunctions || t.count > (p.FileSize-headBytes)/pairBytes || !f.holds(t.table, t.count*pairBytes) {
			return nil
		}
		return t
	}
	return nil
}

// Len is the number of functions that the table has.
func (t *Functions) Len() int { return int(t.count) }

// Find returns the range [start, limit) of the function that holds an address.
// r reads the file that the table is of. ok is false if no entry covers the
// address, or if the entry makes no sense. The error is one of the reader.
func (t *Functions) Find(r io.ReaderAt, at addr.File) (start, limit addr.File, ok bool, err error) {
	begin, entry, ok, err := t.search(r, uint64(at))
	if !ok || err != nil {
		return 0, 0, false, err
	}
	size, err := t.entryRange(r, make([]byte, entryBytes), entry, begin)
	if err != nil || uint64(at)-begin >= uint64(size) {
		return 0, 0, false, err
	}
	return addr.File(begin), addr.File(begin + uint64(size)), true, nil
}

// search returns the last pair that begins at or before an address.
func (t *Functions) search(r io.ReaderAt, at uint64) (begin, entry uint64, ok bool, err error) {
	buf := make([]byte, pairsAtOnce*pairBytes)
	lo, hi := uint64(0), t.count // pairs before lo begin at or before at, those from hi on after
	for hi-lo > pairsAtOnce {
		mid := lo + (hi-lo)/2
		if err := readFull(r, buf[:pairBytes], t.table+mid*pairBytes); err != nil {
			return 0, 0, false, err
		}
		if t.relative(buf) <= at {
			lo = mid
		} else {
			hi = mid
		}
	}
	buf = buf[:(hi-lo)*pairBytes]
	if err := readFull(r, buf, t.table+lo*pairBytes); err != nil {
		return 0, 0, false, err
	}
	for ; len(buf) > 0; buf = buf[pairBytes:] {
		next := t.relative(buf)
		if next > at {
			break
		}
		begin, entry, ok = next, t.relative(buf[4:]), true
	}
	return begin, entry, ok, nil
}

func (t *Functions) relative(b []byte) uint64 { return t.base + signed(b) }

// entryBytes is how much is read of an entry.
const entryBytes = 16

// entryRange reads with b the range of an entry of .eh_frame, which must be of
// the function that begins at an address: length, offset of the common part,
// begin relative to itself, range. It returns 0 if the entry makes no sense.
func (t *Functions) entryRange(r io.ReaderAt, b []byte, entry, begin uint64) (size uint32, err error) {
	for i := range t.segments {
		s := &t.segments[i]
		if !s.Contains(addr.File(entry)) || uint64(s.Limit)-entry < entryBytes {
			continue
		}
		if err := readFull(r, b, uint64(s.Offset)+entry-uint64(s.Start)); err != nil {
			return 0, err
		}
		length, common := le.Uint32(b), le.Uint32(b[4:])
		size = le.Uint32(b[12:])
		// Else it is of the common part itself, or in a form that linkers do not write.
		if length >= 12 && length < 1<<32-1 && common != 0 && entry+8+signed(b[8:]) == begin && t.isCode(begin, uint64(size)) {
			return size, nil
		}
		return 0, nil
	}
	return 0, nil
}

// isCode tells whether an executable segment holds size bytes from start on.
func (t *Functions) isCode(start, size uint64) bool {
	for i := range t.segments {
		if s := &t.segments[i]; s.Executable && s.Contains(addr.File(start)) && size <= uint64(s.Limit)-start {
			return true
		}
	}
	return false
}

// signed reads a signed number of four bytes.
func signed(b []byte) uint64 { return uint64(int64(int32(le.Uint32(b)))) }

// readFull fills b; a file that has become shorter gives zeros, as it does
// where it is mapped.
func readFull(r io.ReaderAt, b []byte, off uint64) error {
	n, err := r.ReadAt(b, int64(off))
	if n == len(b) {
		return nil
	}
	if err == io.EOF {
		clear(b[n:])
		return nil
	}
	return err
}
