package dwarfline

import (
	"fmt"
	"math"
)

// Opcodes of line programs (DWARF 5, tables 7.25 and 7.26).
const (
	lnsCopy           = 1
	lnsAdvancePC      = 2
	lnsAdvanceLine    = 3
	lnsSetFile        = 4
	lnsSetColumn      = 5
	lnsNegateStmt     = 6
	lnsSetBasicBlock  = 7
	lnsConstAddPC     = 8
	lnsFixedAdvancePC = 9
	lnsPrologueEnd    = 10
	lnsEpilogueBegin  = 11
	lnsSetISA         = 12

	lneEndSequence = 1
	lneSetAddress  = 2
)

// machine has the registers of a line program that matter here.
type machine struct {
	addr uint64
	file uint32
	line uint32
}

// readLines runs the line program at off.
func (s *session) readLines(off uint64) (*lineTable, error) {
	c := s.cursor(s.d.main, secLine)
	c.window = scanWindow
	defer func() { c.window = pointWindow }()
	h, err := readLineHeader(c, off)
	if err != nil {
		return nil, err
	}
	t := &lineTable{header: h}
	b := lineBuilder{table: t, isCode: s.d.isCode}
	m := machine{file: 1, line: 1}
	for c.more() && b.err == nil {
		op := c.u8()
		if op >= h.opcodeBase {
			adj := op - h.opcodeBase
			m.addr += uint64(adj/h.lineRange) * uint64(h.minLength)
			m.line += uint32(int32(h.lineBase) + int32(adj%h.lineRange))
			b.row(m)
			continue
		}
		if op == 0 {
			h.extended(c, &m, &b)
			continue
		}
		h.standard(c, op, &m, &b)
	}
	if err = c.err; err == nil {
		err = b.err
	}
	if err != nil {
		return nil, fmt.Errorf("line table at %#x: %w", off, err)
	}
	b.finish()
	return t, nil
}

func (h *lineHeader) standard(c *cursor, op uint8, m *machine, b *lineBuilder) {
	switch op {
	case lnsCopy:
		b.row(*m)
	case lnsAdvancePC:
		m.addr += c.uleb() * uint64(h.minLength)
	case lnsAdvanceLine:
		m.line += uint32(c.sleb())
	case lnsSetFile:
		m.file = uint32(min(c.uleb(), math.MaxUint32))
	case lnsConstAddPC:
		m.addr += uint64((255-h.opcodeBase)/h.lineRange) * uint64(h.minLength)
	case lnsFixedAdvancePC:
		m.addr += uint64(c.u16())
	case lnsSetColumn, lnsSetISA:
		c.uleb()
	case lnsNegateStmt, lnsSetBasicBlock, lnsPrologueEnd, lnsEpilogueBegin:
	default:
		for range h.lengths[op] {
			c.uleb()
		}
	}
}

func (h *lineHeader) extended(c *cursor, m *machine, b *lineBuilder) {
	n := c.uleb()
	if c.err != nil {
		return
	}
	if n == 0 || n > c.end-c.pos {
		c.fail(fmt.Errorf("%w: instruction of %d bytes", ErrFormat, n))
		return
	}
	next := c.pos + n
	switch c.u8() {
	case lneEndSequence:
		b.end(m.addr)
		*m = machine{file: 1, line: 1}
	case lneSetAddress:
		if n-1 == 4 || n-1 == 8 {
			m.addr = c.uint(uint8(n - 1))
		}
	}
	if c.err == nil {
		c.pos = next
	}
}
