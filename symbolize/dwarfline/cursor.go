package dwarfline

import (
	"bytes"
	"fmt"
	"math"
)

const (
	// scanWindow is how much is read at once where reading goes on and on.
	scanWindow = 64 << 10
	// pointWindow is for single values and names at scattered places.
	pointWindow = 512
	// maxString is the longest name that is taken; C++ templates reach some
	// ten thousand bytes.
	maxString = 32 << 10
)

// budget is the work that one lookup may still do, in bytes decoded. Honest
// files stay far below; it ends what hostile ones make quadratic.
type budget struct{ left int64 }

// cursor decodes a section. After the first error everything it returns is
// zero and err stays.
type cursor struct {
	sec    *section
	work   *budget
	window int
	buf    []byte // the bytes [base, base+len) of the section
	base   uint64
	pos    uint64
	end    uint64 // nothing is read from here on
	err    error
}

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.buf = nil
	c.base = math.MaxUint64 >> 1
}

// seek goes to pos, and ends reading at end.
func (c *cursor) seek(pos, end uint64) {
	if c.err != nil {
		return
	}
	c.end = min(end, c.sec.size)
	if c.work.left < 0 {
		c.fail(fmt.Errorf("%w: reading it takes too long", ErrTooBig))
		return
	}
	if pos > c.end {
		c.fail(fmt.Errorf("%w: offset %#x of %#x", ErrFormat, pos, c.end))
		return
	}
	c.pos = pos
}

// more tells whether there is something left before the end.
func (c *cursor) more() bool { return c.err == nil && c.pos < c.end }

// take returns the next n bytes, valid until the next call, or nil.
func (c *cursor) take(n int) []byte {
	at := c.pos - c.base // huge if before the window
	if at <= uint64(len(c.buf)) && uint64(n) <= uint64(len(c.buf))-at && uint64(n) <= c.end-c.pos {
		c.pos += uint64(n)
		c.work.left -= int64(n)
		return c.buf[at : at+uint64(n)]
	}
	if !c.fill(n) {
		return nil
	}
	at = c.pos - c.base
	c.pos += uint64(n)
	c.work.left -= int64(n)
	return c.buf[at : at+uint64(n)]
}

// fill moves the window so that it holds the next n bytes.
func (c *cursor) fill(n int) bool {
	if c.err != nil {
		return false
	}
	if uint64(n) > c.end-c.pos {
		c.fail(fmt.Errorf("%w: %d bytes at %#x of %#x", ErrFormat, n, c.pos, c.end))
		return false
	}
	if c.work.left < 0 {
		c.fail(fmt.Errorf("%w: reading it takes too long", ErrTooBig))
		return false
	}
	if c.sec.data != nil {
		c.buf, c.base = c.sec.data, 0
		return true
	}
	if c.sec.packed != packedNot && c.sec.scratch == nil {
		c.fail(fmt.Errorf("%w: compressed section is not at hand", ErrFormat))
		return false
	}
	size := min(uint64(max(n, c.window)), c.sec.size-c.pos)
	if uint64(cap(c.buf)) < size {
		c.buf = make([]byte, size)
	}
	c.buf = c.buf[:size]
	c.base = c.pos
	if err := c.sec.read(c.buf, c.pos); err != nil {
		c.fail(err)
		return false
	}
	return true
}

func (c *cursor) skip(n uint64) {
	if c.err != nil {
		return
	}
	if n > c.end-c.pos {
		c.fail(fmt.Errorf("%w: %#x bytes at %#x of %#x", ErrFormat, n, c.pos, c.end))
		return
	}
	c.work.left--
	if c.work.left < 0 {
		c.fail(fmt.Errorf("%w: reading it takes too long", ErrTooBig))
		return
	}
	c.pos += n
}

func (c *cursor) u8() uint8 {
	if at := c.pos - c.base; at < uint64(len(c.buf)) && c.pos < c.end {
		c.pos++
		c.work.left--
		return c.buf[at]
	}
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if b := c.take(2); b != nil {
		return le.Uint16(b)
	}
	return 0
}

func (c *cursor) u24() uint32 {
	if b := c.take(3); b != nil {
		return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return le.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return le.Uint64(b)
	}
	return 0
}

// uint reads a number of 1, 2, 4 or 8 bytes.
func (c *cursor) uint(size uint8) uint64 {
	switch size {
	case 1:
		return uint64(c.u8())
	case 2:
		return uint64(c.u16())
	case 4:
		return uint64(c.u32())
	case 8:
		return c.u64()
	}
	c.fail(fmt.Errorf("%w: numbers of %d bytes", ErrUnsupported, size))
	return 0
}

// offset reads an offset of the 32-bit or the 64-bit format.
func (c *cursor) offset(dwarf64 bool) uint64 {
	if dwarf64 {
		return c.u64()
	}
	return uint64(c.u32())
}

// initialLength reads the length that units begin with (DWARF 5, 7.4).
func (c *cursor) initialLength() (n uint64, dwarf64 bool) {
	n = uint64(c.u32())
	if n == 0xffffffff {
		return c.u64(), true
	}
	if n >= 0xfffffff0 {
		c.fail(fmt.Errorf("%w: length %#x", ErrFormat, n))
		return 0, false
	}
	return n, false
}

// uleb reads an unsigned LEB128 number; bits above 64 are dropped.
func (c *cursor) uleb() uint64 {
	b := c.u8()
	if b < 0x80 {
		return uint64(b)
	}
	v := uint64(b & 0x7f)
	for shift := uint(7); ; shift += 7 {
		b = c.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return v
		}
		if shift > 128 {
			c.fail(fmt.Errorf("%w: number without end at %#x", ErrFormat, c.pos))
			return 0
		}
	}
}

// sleb reads a signed LEB128 number.
func (c *cursor) sleb() int64 {
	var v int64
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
		if shift > 128 {
			c.fail(fmt.Errorf("%w: number without end at %#x", ErrFormat, c.pos))
			return 0
		}
	}
}

// skipString passes a string and its NUL.
func (c *cursor) skipString() {
	for c.err == nil {
		if at := c.pos - c.base; at < uint64(len(c.buf)) && c.pos < c.end {
			b := c.buf[at:min(uint64(len(c.buf)), at+(c.end-c.pos))]
			if n := bytes.IndexByte(b, 0); n >= 0 {
				c.pos += uint64(n) + 1
				c.work.left -= int64(n) + 1
				return
			}
			c.pos += uint64(len(b))
			c.work.left -= int64(len(b))
			continue
		}
		if !c.fill(1) {
			return
		}
	}
}

// str reads a string up to its NUL.
func (c *cursor) str() string {
	var long []byte
	for c.err == nil {
		at := c.pos - c.base
		if at >= uint64(len(c.buf)) || c.pos >= c.end {
			if !c.fill(1) {
				return ""
			}
			at = c.pos - c.base
		}
		b := c.buf[at:min(uint64(len(c.buf)), at+(c.end-c.pos))]
		n := bytes.IndexByte(b, 0)
		if n < 0 {
			n = len(b)
		}
		if len(long)+n > maxString {
			c.fail(fmt.Errorf("%w: name of more than %d bytes", ErrTooBig, maxString))
			return ""
		}
		c.work.left -= int64(n) + 1
		if n < len(b) {
			c.pos += uint64(n) + 1
			if long == nil {
				return string(b[:n])
			}
			return string(append(long, b[:n]...))
		}
		long = append(long, b...)
		c.pos += uint64(n)
	}
	return ""
}
