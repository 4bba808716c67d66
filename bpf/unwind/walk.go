package unwind

import (
	"io"

	"github.com/flametel/flametel/symbolize/addr"
)

// Registers are those of the leaf, or of code that a signal interrupted.
type Registers struct {
	IP, SP, FP uint64
	// Others are all registers by their DWARF numbers; only in the leaf and
	// after a signal frame.
	Others [32]uint64
}

// End is why a walk ended.
type End uint8

// The ends.
const (
	EndNone    End = iota
	EndOutmost     // a row said that there is no caller: complete
	EndZero        // a frame pointer or return address of 0, by convention where threads begin: complete
	EndStop        // a Stop row
	EndRow         // a row needs a register that is not known here
	EndFrame       // a frame does not lie above the one before, or is not aligned
	EndFault       // memory could not be read
	EndAddress     // a return address that cannot be code
	EndLimit       // too many frames
)

// Complete tells whether the walk saw the start of the thread.
func (e End) Complete() bool { return e == EndOutmost || e == EndZero }

// Walker walks stacks as bpf/src/include/walk.h does.
type Walker struct {
	// Memory is that of the process by virtual address.
	Memory io.ReaderAt
	// Rows returns the row for a virtual address, one of KindNone if there is
	// no table for it.
	Rows  func(addr.Virtual) Row
	ARM64 bool
	Limit int // of frames

	regs    Registers
	exact   bool // IP is that of an instruction, and all registers are known
	chained bool // the last step followed a frame pointer
	near    bool // the last step left the leaf, by a row
}

const (
	userTop = 1 << 47 // of x86-64 with 4 levels of page tables; arm64 has one bit more
	// pacMask keeps the address bits of a signed return address of arm64 with
	// 48-bit addresses.
	pacMask = 1<<48 - 1
)

// noFP is a frame pointer that is not known: no frame record is at an odd
// address, so a walk that needs it ends there.
const noFP = 1

// Walk returns the addresses of the stack, the leaf first: that of its next
// instruction, then return addresses.
func (w *Walker) Walk(regs *Registers) ([]addr.Virtual, End) {
	w.regs, w.exact, w.chained, w.near = *regs, true, false, false
	var out []addr.Virtual
	for {
		if len(out) >= w.Limit {
			return out, EndLimit
		}
		out = append(out, addr.Virtual(w.regs.IP))
		if end := w.step(); end != EndNone {
			return out, end
		}
	}
}

// step moves from a frame to its caller.
func (w *Walker) step() End {
	pc := w.regs.IP
	if !w.exact {
		pc-- // a return address may lie behind the end of its function
	}
	row := w.Rows(addr.Virtual(pc))
	switch row.Kind {
	case KindNone, KindFramePointer, KindSwitch:
		return w.framePointer(row.Kind)
	}
	w.chained = false
	switch row.Kind {
	case KindEnd:
		return EndOutmost
	case KindStop:
		return EndStop
	case KindSignal:
		return w.signal()
	case KindGrow:
		return w.grow()
	}
	cfa, end := w.cfa(row)
	if end != EndNone {
		return end
	}
	ip, fp, end := w.saved(row, cfa)
	if end != EndNone {
		return end
	}
	// On x86-64 a caller's CFA is above SP by at least the return address, unless
	// code has taken that off the stack (vfork). On arm64 a leaf may have no frame.
	frameless := w.ARM64 && w.exact || row.Kind.Class() == KindRAReg
	if cfa < w.regs.SP || cfa == w.regs.SP && !frameless || cfa%8 != 0 {
		return EndFrame
	}
	w.near = w.exact
	return w.enter(ip, cfa, fp)
}

// enter makes the caller the current frame.
func (w *Walker) enter(ip, sp, fp uint64) End {
	if w.ARM64 {
		ip &= pacMask
	}
	if ip == 0 {
		return EndZero
	}
	if !w.code(ip) {
		return EndAddress
	}
	w.regs.IP, w.regs.SP, w.regs.FP = ip, sp, fp
	w.exact = false
	return EndNone
}

func (w *Walker) code(ip uint64) bool {
	top := uint64(userTop)
	if w.ARM64 {
		top <<= 1
	}
	return ip >= 4096 && ip < top
}

// cfa computes the CFA of a row.
func (w *Walker) cfa(row Row) (uint64, End) {
	off := uint64(int64(row.CFA) * 8)
	param := uint64(row.Kind.Param())
	switch row.Kind.Class() {
	case KindSP, KindRAReg, KindLR:
		return w.regs.SP + off, EndNone
	case KindFP:
		return w.regs.FP + off, EndNone
	case KindPLT:
		if w.regs.IP&15 >= param {
			off += 8
		}
		return w.regs.SP + off, EndNone
	case KindDerefSP:
		v, end := w.word(w.regs.SP + off)
		return v + param*8, end
	case KindDerefFP:
		v, end := w.word(w.regs.FP + off)
		return v + param*8, end
	case KindReg:
		// If code says of a call that its frame hangs on a register which calls
		// need not keep, then it knows that the function leaves it alone.
		if w.exact || w.near && w.scratch(param) {
			return w.regs.Others[param] + off, EndNone
		}
	case KindIndex:
		if w.exact {
			v, end := w.word(w.regs.SP + off + w.regs.Others[param]*8)
			return v + 8, end
		}
	}
	return 0, EndRow
}

// scratch tells whether a register, of those that rows name, need not be kept
// by a function that is called.
func (w *Walker) scratch(reg uint64) bool {
	const amd64Scratch = 0xf37 // rax, rdx, rcx, rsi, rdi, r8 to r11
	return w.ARM64 || amd64Scratch>>reg&1 != 0
}

// saved returns the return address and the frame pointer of the caller.
func (w *Walker) saved(row Row, cfa uint64) (ip, fp uint64, end End) {
	if w.ARM64 {
		return w.savedARM64(row, cfa)
	}
	if row.Kind.Class() == KindRAReg {
		if !w.exact {
			return 0, 0, EndRow
		}
		ip = w.regs.Others[row.Kind.Param()]
	} else if ip, end = w.word(cfa - 8); end != EndNone {
		return 0, 0, end
	}
	switch row.FP {
	case 0:
		fp = w.regs.FP
	case FPLost:
		fp = noFP
	case FPAtFP:
		fp, end = w.word(w.regs.FP)
	default:
		fp, end = w.word(cfa + uint64(int64(row.FP)*8))
	}
	return ip, fp, end
}

func (w *Walker) savedARM64(row Row, cfa uint64) (ip, fp uint64, end End) {
	at := cfa + uint64(int64(row.FP)*8)
	switch {
	case row.Kind == KindLR:
		if !w.exact {
			return 0, 0, EndRow
		}
		return w.regs.Others[30], w.regs.FP, EndNone
	case row.Kind.Param() == RAAlone:
		ip, end = w.word(at)
		return ip, w.regs.FP, end
	case row.Kind.Param() == RAAloneAtSP:
		ip, end = w.word(w.regs.SP + uint64(int64(row.FP)*8))
		return ip, w.regs.FP, end
	case row.Kind.Param() == RAPairAtSP:
		at = w.regs.SP + uint64(int64(row.FP)*8)
	case row.FP == FPAtFP:
		at = w.regs.FP
	}
	if fp, end = w.word(at); end == EndNone {
		ip, end = w.word(at + 8)
	}
	return ip, fp, end
}

// framePointer follows the frame pointer. The record must lie at or above SP
// unless the code switches stacks. The outermost one holds 0, which is but a
// number in a register that is not known to lead to records.
func (w *Walker) framePointer(kind Kind) End {
	at := w.regs.FP
	known := !w.exact && (kind != KindNone || w.chained)
	switch {
	case at == 0 && known:
		return EndZero
	case at == 0 || at%8 != 0 || kind != KindSwitch && at < w.regs.SP:
		return EndFrame
	}
	w.chained, w.near = true, false
	fp, end := w.word(at)
	if end != EndNone {
		return end
	}
	ip, end := w.word(at + 8)
	if end != EndNone {
		return end
	}
	if ip == 0 && !known {
		return EndFrame
	}
	return w.enter(ip, at+16, fp)
}

// signal goes on with the registers that the kernel saved for a signal handler:
// struct rt_sigframe, ucontext and sigcontext in arch/x86/include/uapi/asm and
// arch/arm64/include/uapi/asm.
func (w *Walker) signal() End {
	const (
		gregs = 40        // of a ucontext of x86-64: r8 to r15, di, si, bp, bx, dx, ax, cx, sp, ip
		regs  = 128 + 184 // of a signal frame of arm64: x0 to x30, sp, pc
	)
	order := []int{8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, regIP}
	from := w.regs.SP + gregs
	if w.ARM64 {
		order = nil
		from = w.regs.SP + regs
		for i := range 31 {
			order = append(order, i)
		}
	}
	var r Registers
	for i, reg := range order {
		v, end := w.word(from + uint64(i)*8)
		if end != EndNone {
			return end
		}
		r.Others[reg] = v
	}
	if w.ARM64 {
		r.FP = r.Others[arm64.fp]
		var end End
		if r.SP, end = w.word(from + 31*8); end != EndNone {
			return end
		}
		if r.IP, end = w.word(from + 32*8); end != EndNone {
			return end
		}
	} else {
		r.IP, r.SP, r.FP = r.Others[regIP], r.Others[amd64.sp], r.Others[amd64.fp]
	}
	if !w.code(r.IP) {
		return EndAddress
	}
	w.regs, w.exact = r, true
	return EndNone
}

// grow goes on where the goroutine stopped whose stack grows. The offsets are
// those of runtime2.go from Go 1.17 on, when the current g got a register: of m in
// g, of the rest of gobuf in g, and of curg in m, before and since gobuf lost a
// field. What is found has to refer to what it was found by.
func (w *Walker) grow() End {
	const gM, gSched, gobufBP = 48, 56, 40
	reg := 14
	if w.ARM64 {
		reg = 28
	}
	g0 := w.regs.Others[reg]
	m, _ := w.word(g0 + gM)
	if g, end := w.word(m); end != EndNone || g != g0 {
		return EndStop
	}
	for i, curg := range []uint64{184, 192} {
		g, _ := w.word(m + curg)
		if owner, end := w.word(g + gM); g == 0 || end != EndNone || owner != m {
			continue
		}
		sp, _ := w.word(g + gSched)
		pc, _ := w.word(g + gSched + 8)
		fp, end := w.word(g + gSched + gobufBP + 8*uint64(i))
		if end != EndNone {
			return end
		}
		return w.enter(pc, sp, fp)
	}
	return EndZero // the thread has left the goroutine and looks for another one
}

func (w *Walker) word(at uint64) (uint64, End) {
	var b [8]byte
	if at > 1<<63-9 {
		return 0, EndFault
	}
	if n, _ := w.Memory.ReadAt(b[:], int64(at)); n < len(b) {
		return 0, EndFault
	}
	return le.Uint64(b[:]), EndNone
}
