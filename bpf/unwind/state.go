package unwind

// place is where the value of a register of the caller is, DWARF 5 section
// 6.4.1.
type place struct {
	how  how
	reg  uint64
	off  int64  // from the CFA
	expr []byte // of an expression that gives the address
}

type how uint8

const (
	howUnspecified how = iota // what the ABI says: unchanged for registers that are preserved
	howSame
	howUndefined
	howOffset
	howRegister
	howExpression // address of the value
	howValue      // the value itself, by offset or expression: never used for what we track
)

// state is a row of the table that call frame instructions describe, as far as
// finding the caller needs it.
type state struct {
	cfaReg  uint64
	cfaOff  int64
	cfaExpr []byte // nil if the CFA is register and offset
	fp, ra  place
}

// machine is what differs between architectures: register numbers.
type machine struct {
	sp, fp uint64
	arm64  bool
}

var (
	// System V ABI, AMD64 supplement, figure 3.36.
	amd64 = machine{sp: 7, fp: 6}
	// DWARF for the Arm 64-bit Architecture, section 4.1.
	arm64 = machine{sp: 31, fp: 29, arm64: true}
)

// row makes the row of a state. reason is not 0 if something cannot be
// expressed: in a Stop row all, else the place of the frame pointer.
func (m *machine) row(s *state) (r Row, reason Reason) {
	if s.ra.how == howUndefined {
		return Row{Kind: KindEnd}, 0
	}
	r, reason = m.cfa(s)
	if reason != 0 {
		return stop(reason), reason
	}
	if m.arm64 {
		return m.savedARM64(s, r)
	}
	return m.savedAMD64(s, r)
}

// cfa makes a row that has the CFA only.
func (m *machine) cfa(s *state) (Row, Reason) {
	if s.cfaExpr != nil {
		return m.cfaExpression(s.cfaExpr)
	}
	off, ok := words16(s.cfaOff)
	if !ok {
		return Row{}, ReasonOffset
	}
	switch {
	case s.cfaReg == m.sp:
		return Row{Kind: KindSP, CFA: off}, 0
	case s.cfaReg == m.fp:
		return Row{Kind: KindFP, CFA: off}, 0
	case s.cfaReg < 16:
		return Row{Kind: KindReg | Kind(s.cfaReg), CFA: off}, 0
	}
	return Row{}, ReasonRegister
}

// savedAMD64 adds where the frame pointer and the return address are.
func (m *machine) savedAMD64(s *state, r Row) (Row, Reason) {
	switch {
	case s.ra.how == howOffset && s.ra.off == -8:
	case s.ra.how == howRegister && s.ra.reg < 16 && r.Kind == KindSP:
		r.Kind = KindRAReg | Kind(s.ra.reg)
	default:
		return stop(ReasonReturnAddress), ReasonReturnAddress
	}
	var ok bool
	if r.FP, ok = m.savedFP(&s.fp); !ok {
		r.FP = FPLost
		return r, ReasonFramePointer
	}
	return r, 0
}

// savedFP is the FP of a row.
func (m *machine) savedFP(p *place) (int8, bool) {
	switch p.how {
	case howUnspecified, howSame:
		return 0, true
	case howOffset:
		return words8(p.off)
	case howExpression:
		if e, ok := base(p.expr); ok && e.reg == m.fp && e.off == 0 && len(e.rest) == 0 {
			return FPAtFP, true
		}
	}
	return 0, false
}

// savedARM64 adds where x29 and x30 are. x30 is like any other register: it
// holds the return address until it is saved.
func (m *machine) savedARM64(s *state, r Row) (Row, Reason) {
	fpKept := s.fp.how == howUnspecified || s.fp.how == howSame
	raKept := s.ra.how == howUnspecified || s.ra.how == howSame
	switch {
	case raKept && fpKept && r.Kind == KindSP:
		return Row{Kind: KindLR, CFA: r.CFA}, 0
	case s.ra.how != howOffset || r.Kind != KindSP && r.Kind != KindFP:
	case fpKept:
		if at, ok := words8(s.ra.off); ok {
			return Row{Kind: r.Kind | RAAlone, CFA: r.CFA, FP: at}, 0
		}
		if at, ok := fromSP(s, s.ra.off); ok && r.Kind == KindSP {
			return Row{Kind: KindSP | RAAloneAtSP, CFA: r.CFA, FP: at}, 0
		}
	case s.fp.how == howOffset && s.ra.off == s.fp.off+8:
		if r.Kind == KindFP && s.cfaOff == -s.fp.off {
			r.FP = FPAtFP
			return r, 0
		}
		if at, ok := words8(s.fp.off); ok {
			r.FP = at
			return r, 0
		}
		if at, ok := fromSP(s, s.fp.off); ok && r.Kind == KindSP {
			return Row{Kind: KindSP | RAPairAtSP, CFA: r.CFA, FP: at}, 0
		}
	}
	return stop(ReasonReturnAddress), ReasonReturnAddress
}

// fromSP is the place of a register by the stack pointer, if that is what the
// CFA hangs on. Other than in places by the CFA, 0 means right at SP.
func fromSP(s *state, off int64) (int8, bool) {
	if s.cfaOff+off == 0 {
		return 0, true
	}
	return words8(s.cfaOff + off)
}

// words16 is a number of bytes in units of 8.
func words16(bytes int64) (int16, bool) {
	if bytes%8 != 0 || bytes/8 != int64(int16(bytes/8)) {
		return 0, false
	}
	return int16(bytes / 8), true
}

// words8 is a number of bytes in units of 8, as far as it is no special value
// of Row.FP.
func words8(bytes int64) (int8, bool) {
	n := bytes / 8
	if bytes%8 != 0 || n == 0 || n <= FPAtFP || n >= FPLost {
		return 0, false
	}
	return int8(n), true
}
