package unwind

import (
	"encoding/binary"
)

var le = binary.LittleEndian

// cursor reads numbers from bytes. After a read beyond the end bad is set and
// all reads give 0.
type cursor struct {
	b   []byte
	pos int
	bad bool
}

func (c *cursor) left() int { return len(c.b) - c.pos }

// take returns the next n bytes, nil if there are not as many.
func (c *cursor) take(n uint64) []byte {
	if c.bad || n > uint64(c.left()) {
		c.bad = true
		c.pos = len(c.b)
		return nil
	}
	b := c.b[c.pos : c.pos+int(n)]
	c.pos += int(n)
	return b
}

func (c *cursor) u8() byte {
	if c.pos >= len(c.b) {
		c.bad = true
		return 0
	}
	c.pos++
	return c.b[c.pos-1]
}

// fixed reads an unsigned number of 1, 2, 4 or 8 bytes.
func (c *cursor) fixed(n uint64) uint64 {
	b := c.take(n)
	if b == nil {
		return 0
	}
	switch n {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(le.Uint16(b))
	case 4:
		return uint64(le.Uint32(b))
	}
	return le.Uint64(b)
}

// uleb reads an unsigned LEB128 number; bits beyond 64 are lost.
func (c *cursor) uleb() uint64 {
	var n uint64
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			n |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return n
		}
	}
}

// sleb reads a signed LEB128 number.
func (c *cursor) sleb() int64 {
	var n int64
	shift := uint(0)
	for {
		b := c.u8()
		if shift < 64 {
			n |= int64(b&0x7f) << shift
		}
		shift += 7
		if b < 0x80 {
			if shift < 64 && b&0x40 != 0 {
				n |= -1 << shift
			}
			return n
		}
	}
}

// cstring reads up to and without a NUL, at most limit bytes.
func (c *cursor) cstring(limit int) string {
	for i := c.pos; i < len(c.b) && i-c.pos <= limit; i++ {
		if c.b[i] == 0 {
			s := string(c.b[c.pos:i])
			c.pos = i + 1
			return s
		}
	}
	c.bad = true
	return ""
}

// Pointer encodings, Linux Standard Base Core 5.0 section 10.5.1.
const (
	encAbs      = 0x00
	encULEB     = 0x01
	encU2       = 0x02
	encU4       = 0x03
	encU8       = 0x04
	encSLEB     = 0x09
	encS2       = 0x0a
	encS4       = 0x0b
	encS8       = 0x0c
	encPCRel    = 0x10
	encTextRel  = 0x20
	encDataRel  = 0x30
	encIndirect = 0x80
	encOmit     = 0xff
)

// value reads a number of the format of an encoding; ok is false if the
// format is unknown.
func (c *cursor) value(enc byte) (v uint64, ok bool) {
	switch enc & 0x0f {
	case encAbs, encU8, encS8:
		v = c.fixed(8)
	case encULEB:
		v = c.uleb()
	case encU2:
		v = c.fixed(2)
	case encU4:
		v = c.fixed(4)
	case encSLEB:
		v = uint64(c.sleb())
	case encS2:
		v = uint64(int16(c.fixed(2)))
	case encS4:
		v = uint64(int32(c.fixed(4)))
	default:
		return 0, false
	}
	return v, !c.bad
}

// pointer reads an encoded address. at is the address of the cursor's first
// byte. ok is false for encodings whose base is not known and for indirect
// ones, which need the memory of a process.
func (c *cursor) pointer(enc byte, at uint64, bases bases) (v uint64, ok bool) {
	if enc == encOmit || enc&encIndirect != 0 {
		return 0, false
	}
	base := uint64(0)
	switch enc & 0x70 {
	case encAbs:
	case encPCRel:
		base = at + uint64(c.pos)
	case encTextRel:
		base, ok = bases.text, bases.text != 0
	case encDataRel:
		base, ok = bases.data, bases.data != 0
	default:
		return 0, false
	}
	if kind := enc & 0x70; (kind == encTextRel || kind == encDataRel) && !ok {
		return 0, false
	}
	v, ok = c.value(enc)
	return v + base, ok
}

// bases are what encodings are relative to, 0 if not known.
type bases struct {
	text, data uint64
}
