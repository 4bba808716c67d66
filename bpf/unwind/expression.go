package unwind

import "bytes"

// Operations of expressions, DWARF 5 section 7.7.1, that occur in the shapes
// known here.
const (
	opDeref      = 0x06
	opAnd        = 0x1a
	opPlus       = 0x22
	opPlusUconst = 0x23
	opMul        = 0x1e
	opShl        = 0x24
	opGe         = 0x2a
	opLit0       = 0x30
	opBreg0      = 0x70
	regIP        = 16 // the return address column of x86-64
)

// based is an expression that begins with register + offset.
type based struct {
	reg  uint64
	off  int64
	rest []byte
}

// base takes the register and the offsets that an expression begins with.
func base(expr []byte) (based, bool) {
	c := cursor{b: expr}
	op := c.u8()
	if op < opBreg0 || op > opBreg0+31 {
		return based{}, false
	}
	e := based{reg: uint64(op - opBreg0), off: c.sleb()}
	if c.left() > 0 && c.b[c.pos] == opPlusUconst {
		c.pos++
		e.off += int64(c.uleb())
	}
	e.rest = expr[c.pos:]
	return e, !c.bad
}

// cfaExpression makes a row of the shapes of expressions that compilers,
// linkers and writers of assembly use for the CFA. The shapes are documented
// at the kinds.
func (m *machine) cfaExpression(expr []byte) (Row, Reason) {
	e, ok := base(expr)
	if !ok {
		return Row{}, ReasonExpression
	}
	off, ok := words16(e.off)
	if !ok || e.reg != m.sp && e.reg != m.fp {
		return Row{}, ReasonExpression
	}
	if len(e.rest) == 0 {
		if e.reg == m.sp {
			return Row{Kind: KindSP, CFA: off}, 0
		}
		return Row{Kind: KindFP, CFA: off}, 0
	}
	if m.arm64 {
		return Row{}, ReasonExpression
	}
	if e.rest[0] == opDeref {
		return m.deref(e, off)
	}
	if e.reg != m.sp {
		return Row{}, ReasonExpression
	}
	if n, ok := lazyPLT(e.rest); ok {
		return Row{Kind: KindPLT | Kind(n), CFA: off}, 0
	}
	if reg, ok := indexed(e.rest); ok {
		return Row{Kind: KindIndex | Kind(reg), CFA: off}, 0
	}
	return Row{}, ReasonExpression
}

// deref knows *(register + offset) [+ constant].
func (m *machine) deref(e based, off int16) (Row, Reason) {
	kind := KindDerefSP
	if e.reg == m.fp {
		kind = KindDerefFP
	}
	c := cursor{b: e.rest, pos: 1}
	add := uint64(0)
	if c.left() > 0 && c.u8() == opPlusUconst {
		add = c.uleb()
	} else if len(e.rest) > 1 {
		c.bad = true
	}
	if c.bad || c.left() != 0 || add%8 != 0 || add/8 > 15 {
		return Row{}, ReasonExpression
	}
	return Row{Kind: kind | Kind(add/8), CFA: off}, 0
}

// lazyPLT knows ((IP & 15) >= n) << 3 + what was before (binutils,
// elf_x86_64_eh_frame_lazy_plt and its variants).
func lazyPLT(rest []byte) (n byte, ok bool) {
	c := cursor{b: rest}
	ok = c.u8() == opBreg0+regIP && c.sleb() == 0 && c.u8() == opLit0+15 && c.u8() == opAnd
	n = c.u8() - opLit0
	return n, ok && n < 16 && bytes.Equal(rest[c.pos:], []byte{opGe, opLit0 + 3, opShl, opPlus})
}

// indexed knows *(what was before + register * 8) + 8 (OpenSSL,
// x86_64-mont.pl).
func indexed(rest []byte) (reg byte, ok bool) {
	c := cursor{b: rest}
	reg = c.u8() - opBreg0
	ok = reg < 16 && c.sleb() == 0
	return reg, ok && bytes.Equal(rest[c.pos:], []byte{opLit0 + 8, opMul, opPlus, opDeref, opPlusUconst, 8})
}
