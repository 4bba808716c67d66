package unwind

// Call frame instructions, DWARF 5 section 7.24, and those of vendors.
const (
	cfaAdvance = 0x40 // with the low six bits; so are the next two
	cfaOffset  = 0x80
	cfaRestore = 0xc0

	cfaNop            = 0x00
	cfaSetLoc         = 0x01
	cfaAdvance1       = 0x02
	cfaAdvance2       = 0x03
	cfaAdvance4       = 0x04
	cfaOffsetExt      = 0x05
	cfaRestoreExt     = 0x06
	cfaUndefined      = 0x07
	cfaSame           = 0x08
	cfaRegister       = 0x09
	cfaRemember       = 0x0a
	cfaRestoreState   = 0x0b
	cfaDef            = 0x0c
	cfaDefRegister    = 0x0d
	cfaDefOffset      = 0x0e
	cfaDefExpression  = 0x0f
	cfaExpression     = 0x10
	cfaOffsetExtSF    = 0x11
	cfaDefSF          = 0x12
	cfaDefOffsetSF    = 0x13
	cfaValOffset      = 0x14
	cfaValOffsetSF    = 0x15
	cfaValExpression  = 0x16
	cfaMIPSAdvance8   = 0x1d
	cfaNegateRAWithPC = 0x2c // AArch64
	cfaNegateRA       = 0x2d // AArch64; on SPARC the number means something else
	cfaArgsSize       = 0x2e // GNU
	cfaNegativeOffset = 0x2f // GNU, obsolete
)

// maxRemembered bounds the states that are remembered at a time. Compilers
// remember one or two; the limit keeps a hostile entry from taking memory.
const maxRemembered = 256

// program runs the call frame instructions of one entry.
type program struct {
	cursor
	cie   *cie
	m     *machine
	at    uint64 // address of the first byte of the cursor
	bases bases
	state
	remembered []state
	pc         uint64
	saved      uint8 // of the registers 0 to 7, those that were saved
	// initial runs the instructions of a common entry: there is no location.
	initial bool
}

// run executes instructions until the location changes and returns that
// location, or until the end.
func (p *program) run() (next uint64, more bool, reason Reason) {
	for p.left() > 0 {
		op := p.u8()
		low := uint64(op & 0x3f)
		switch op & 0xc0 {
		case cfaAdvance:
			return p.advance(low)
		case cfaOffset:
			p.setOffset(low, int64(p.uleb())*p.cie.dataAlign)
		case cfaRestore:
			p.restore(low)
		default:
			if next, more, reason := p.other(op); more || reason != 0 {
				return next, more, reason
			}
		}
		if p.bad {
			return 0, false, ReasonInstruction
		}
	}
	return 0, false, 0
}

func (p *program) advance(delta uint64) (uint64, bool, Reason) {
	next := p.pc + delta*p.cie.codeAlign
	if p.bad || p.initial || next < p.pc {
		return 0, false, ReasonInstruction
	}
	return next, true, 0
}

// other executes the instructions that have no operand in their first byte.
func (p *program) other(op byte) (next uint64, more bool, reason Reason) {
	switch op {
	case cfaNop, cfaNegateRA, cfaNegateRAWithPC:
		// Signed return addresses are stripped by the walker in any case.
		if op != cfaNop && !p.m.arm64 {
			return 0, false, ReasonInstruction
		}
	case cfaSetLoc:
		next, ok := p.pointer(p.cie.encoding, p.at, p.bases)
		if !ok || p.initial || next < p.pc {
			return 0, false, ReasonInstruction
		}
		return next, true, 0
	case cfaAdvance1:
		return p.advance(p.fixed(1))
	case cfaAdvance2:
		return p.advance(p.fixed(2))
	case cfaAdvance4:
		return p.advance(p.fixed(4))
	case cfaMIPSAdvance8:
		return p.advance(p.fixed(8))
	case cfaRemember:
		if len(p.remembered) >= maxRemembered {
			return 0, false, ReasonInstruction
		}
		p.remembered = append(p.remembered, p.state)
	case cfaRestoreState:
		n := len(p.remembered)
		if n == 0 {
			return 0, false, ReasonInstruction
		}
		p.state, p.remembered = p.remembered[n-1], p.remembered[:n-1]
	case cfaArgsSize:
		p.uleb()
	case cfaDef, cfaDefRegister, cfaDefOffset, cfaDefExpression, cfaDefSF, cfaDefOffsetSF:
		return 0, false, p.defineCFA(op)
	default:
		return 0, false, p.register(op)
	}
	return 0, false, 0
}

// defineCFA executes the instructions that define the CFA.
func (p *program) defineCFA(op byte) Reason {
	if p.cfaExpr != nil && (op == cfaDefRegister || op == cfaDefOffset || op == cfaDefOffsetSF) {
		return ReasonInstruction // allowed only if the CFA is a register and an offset
	}
	switch op {
	case cfaDef:
		p.cfaReg, p.cfaOff = p.uleb(), int64(p.uleb())
	case cfaDefSF:
		p.cfaReg, p.cfaOff = p.uleb(), p.sleb()*p.cie.dataAlign
	case cfaDefRegister:
		p.cfaReg = p.uleb()
	case cfaDefOffset:
		p.cfaOff = int64(p.uleb())
	case cfaDefOffsetSF:
		p.cfaOff = p.sleb() * p.cie.dataAlign
	case cfaDefExpression:
		p.cfaExpr = p.take(p.uleb())
		if len(p.cfaExpr) == 0 {
			return ReasonInstruction
		}
		return 0
	}
	p.cfaExpr = nil
	return 0
}

// register executes the instructions that say where a register is.
func (p *program) register(op byte) Reason {
	reg := p.uleb()
	switch op {
	case cfaOffsetExt:
		p.setOffset(reg, int64(p.uleb())*p.cie.dataAlign)
	case cfaOffsetExtSF:
		p.setOffset(reg, p.sleb()*p.cie.dataAlign)
	case cfaNegativeOffset:
		p.setOffset(reg, -int64(p.uleb())*p.cie.dataAlign)
	case cfaRestoreExt:
		p.restore(reg)
	case cfaUndefined:
		p.set(reg, place{how: howUndefined})
	case cfaSame:
		p.set(reg, place{how: howSame})
	case cfaRegister:
		p.set(reg, place{how: howRegister, reg: p.uleb()})
	case cfaExpression:
		p.set(reg, place{how: howExpression, expr: p.take(p.uleb())})
	case cfaValOffset:
		p.uleb()
		p.set(reg, place{how: howValue})
	case cfaValOffsetSF:
		p.sleb()
		p.set(reg, place{how: howValue})
	case cfaValExpression:
		p.take(p.uleb())
		p.set(reg, place{how: howValue})
	default:
		return ReasonInstruction
	}
	return 0
}

func (p *program) setOffset(reg uint64, off int64) {
	p.set(reg, place{how: howOffset, off: off})
}

// set notes the place of a register, if it is one that finding callers needs.
func (p *program) set(reg uint64, where place) {
	if reg < 8 && where.how == howOffset {
		p.saved |= 1 << reg
	}
	switch reg {
	case p.m.fp:
		p.fp = where
	case p.cie.returnAddress:
		p.ra = where
	}
}

// restore gives a register back the place of the common entry.
func (p *program) restore(reg uint64) {
	switch reg {
	case p.m.fp:
		p.fp = p.cie.initial.fp
	case p.cie.returnAddress:
		p.ra = p.cie.initial.ra
	}
}
