package unwind

import (
	"fmt"
)

// section is a section of call frame information.
type section struct {
	window
	at       uint64 // address of the section, for relative pointers
	bases    bases
	isDebug  bool // .debug_frame, which has another layout of IDs
	tillZero bool // the size is an upper bound: an entry of length zero ends it
}

// cie is a common information entry.
type cie struct {
	codeAlign     uint64
	dataAlign     int64
	returnAddress uint64
	encoding      byte
	augmented     bool // entries have a length of augmentation data
	signal        bool
	initial       state
	bad           bool // cannot be used, nor can the entries that refer to it
}

// entry is the part of an entry that both kinds have.
type entry struct {
	pos  uint64 // in the section
	next uint64 // position of the next one
	body uint64 // position after the ID
	id   uint64
	idAt uint64
	wide bool // 64-bit DWARF
}

// readEntry reads the head of the entry at pos. ok is false for an entry of
// length zero; it takes four bytes.
func (s *section) readEntry(pos uint64) (e entry, ok bool, err error) {
	b, err := s.view(pos, 4)
	if err != nil {
		return e, false, err
	}
	length, head := uint64(le.Uint32(b)), uint64(4)
	if length == 0 {
		return entry{pos: pos, next: pos + 4}, false, nil
	}
	if length == 0xffffffff {
		if b, err = s.view(pos+4, 8); err != nil {
			return e, false, err
		}
		e.wide, length, head = true, le.Uint64(b), 12
	}
	e.pos, e.idAt = pos, pos+head
	if length > s.size-e.idAt || length < 4 {
		return e, false, fmt.Errorf("%w: entry of %d bytes at %#x", errEntry, length, pos)
	}
	e.next = e.idAt + length
	// The ID has the width of the length in .debug_frame only.
	width := uint64(4)
	if e.wide && s.isDebug {
		width = 8
	}
	if length < width {
		return e, false, fmt.Errorf("%w: entry of %d bytes at %#x", errEntry, length, pos)
	}
	if b, err = s.view(e.idAt, width); err != nil {
		return e, false, err
	}
	e.body = e.idAt + width
	c := cursor{b: b}
	e.id = c.fixed(width)
	return e, true, nil
}

// isCIE tells common entries from those of functions.
func (s *section) isCIE(e entry) bool {
	switch {
	case !s.isDebug:
		return e.id == 0
	case e.wide:
		return e.id == 1<<64-1
	}
	return e.id == 1<<32-1
}

// ciePos is the position of the common entry of a function's.
func (s *section) ciePos(e entry) (uint64, bool) {
	if s.isDebug {
		return e.id, e.id < s.size
	}
	return e.idAt - e.id, e.id <= e.idAt
}

// bytes returns the body of an entry, valid until the next read.
func (s *section) bytes(e entry) ([]byte, error) {
	if e.next-e.body > maxEntry {
		return nil, fmt.Errorf("%w: entry of %d bytes at %#x", errEntry, e.next-e.body, e.pos)
	}
	return s.view(e.body, e.next-e.body)
}

// parseCIE decodes a common entry. One that is not understood is returned as
// bad, so that the entries of functions that refer to it are counted.
func (s *section) parseCIE(e entry, m *machine) (*cie, error) {
	b, err := s.bytes(e)
	if err != nil {
		return nil, err
	}
	// Kept beyond the window: expressions refer to the bytes.
	c := cursor{b: append([]byte(nil), b...)}
	out := &cie{bad: true}
	version := c.u8()
	if version != 1 && version != 3 && version != 4 {
		return out, nil
	}
	augmentation := c.cstring(32)
	if augmentation == "eh" {
		c.take(8) // the address of exception tables of gcc 2
		augmentation = ""
	}
	if version == 4 && (c.u8() != 8 || c.u8() != 0) {
		return out, nil // other sizes of addresses, or segments
	}
	out.codeAlign, out.dataAlign = c.uleb(), c.sleb()
	if version == 1 {
		out.returnAddress = uint64(c.u8())
	} else {
		out.returnAddress = c.uleb()
	}
	if !out.augment(&c, augmentation, s.at+e.body, s.bases) || c.bad {
		return out, nil
	}
	p := program{cursor: c, cie: out, m: m, at: s.at + e.body, initial: true}
	if _, _, reason := p.run(); reason != 0 {
		return out, nil
	}
	out.initial, out.bad = p.state, false
	return out, nil
}

// augment reads the augmentation data, LSB Core 5.0 section 10.6.1.1.1. It
// returns false if the data has unknown parts.
func (o *cie) augment(c *cursor, augmentation string, at uint64, bases bases) bool {
	end := -1
	for i, a := range []byte(augmentation) {
		switch a {
		case 'z':
			if i != 0 {
				return false
			}
			o.augmented = true
			n := c.uleb()
			if c.bad || n > uint64(c.left()) {
				return false
			}
			end = c.pos + int(n)
		case 'R':
			o.encoding = c.u8()
		case 'L':
			c.u8()
		case 'P':
			// Of the routine only its size matters: it is not called.
			enc := c.u8()
			if enc&0x70 == 0x50 { // aligned to 8 bytes
				c.pos += int(-(at + uint64(c.pos)) & 7)
				enc = encAbs
			}
			if _, ok := c.value(enc); !ok && enc != encOmit {
				return false
			}
		case 'S':
			o.signal = true
		case 'B', 'G': // AArch64: signed with key B, tagged stack
		default:
			return false
		}
	}
	if end >= 0 {
		if c.bad || c.pos > end {
			return false
		}
		c.pos = end
	}
	return !c.bad
}
