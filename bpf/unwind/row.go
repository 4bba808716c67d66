package unwind

import (
	"fmt"
	"unsafe"
)

// Row says how to find the caller from all addresses from PC up to that of the
// next row. It is struct ft_row of the BPF side: little-endian, no padding.
//
// CFA is the canonical frame address: the stack pointer of the caller before
// it pushed the return address (x86-64), or at the call (arm64).
type Row struct {
	// PC is the file address minus Table.Base.
	PC uint32
	// CFA is an offset in units of 8 bytes; what it is added to is the kind's
	// business. In a Stop row it is the Reason.
	CFA  int16
	Kind Kind
	// FP is where the frame pointer of the caller is saved: CFA + FP*8 (see
	// the kinds of arm64 for others). 0 means that the frame pointer is still
	// the caller's; see FPAtFP and FPLost.
	FP int8
}

const (
	// FPAtFP says that the caller's frame pointer is saved where the frame
	// pointer points to; on arm64 the return address is in the word after it.
	FPAtFP = -128
	// FPLost says that the caller's frame pointer is not known: the walk goes
	// on without one, as long as rows do not need it.
	FPLost = 127
)

// Kind says how to compute the CFA. Numbers below 0x10 stand for themselves;
// from there on the upper half is the kind and the lower half its parameter.
type Kind uint8

// Kinds without a parameter.
const (
	// KindNone: nothing is known here. The walker follows the frame pointer
	// and checks what it finds.
	KindNone Kind = 0x00
	// KindFramePointer: the code keeps frame pointers and has no other
	// description. The walker follows the frame pointer.
	KindFramePointer Kind = 0x01
	// KindStop: the rule is known and cannot be expressed in a row. The walk
	// ends; the stack is not complete.
	KindStop Kind = 0x02
	// KindEnd: there is no caller. The stack is complete.
	KindEnd Kind = 0x03
	// KindSignal: the kernel called a signal handler that returns here. The
	// registers of the interrupted code are in the ucontext that SP (x86-64)
	// or SP + 128 (arm64) points to; its address is looked up exactly.
	KindSignal Kind = 0x04
	// KindLR (arm64): the return address is in x30, CFA = SP + CFA*8. Right
	// only while the value of x30 is known: in the leaf.
	KindLR Kind = 0x05
	// KindSwitch: a function of the Go runtime that runs other code on another
	// stack. The frame pointer leads back to the stack it came from, which may
	// lie above or below: no order of the two is to be checked.
	KindSwitch Kind = 0x06
	// KindGrow: runtime.morestack of Go, which goes on on the stack of the thread
	// and leaves no way back there. The caller is where the goroutine whose stack
	// grows was stopped, which the runtime's structures say; they are found by
	// the register that holds the current g, which has to be that of the leaf.
	KindGrow Kind = 0x07
)

// Kinds with a parameter P, the lower half of the number. The return address
// of x86-64 is at CFA - 8. Registers have their DWARF numbers; those other than
// SP and FP are known only in the leaf and after a signal frame, elsewhere such
// rows stop the walk. KindReg of a register that calls need not keep is used in
// the leaf's caller too.
const (
	// KindSP: CFA = SP + CFA*8. On arm64 P is one of the RA constants.
	KindSP Kind = 0x10
	// KindFP: CFA = FP + CFA*8, P as for KindSP.
	KindFP Kind = 0x20
	// KindPLT: CFA = SP + CFA*8 + ((IP & 15) >= P ? 8 : 0). Entries of lazy
	// procedure linkage tables push a number half-way.
	KindPLT Kind = 0x30
	// KindDerefSP: CFA = *(SP + CFA*8) + P*8. Code that aligns its stack and
	// keeps the old stack pointer in a slot.
	KindDerefSP Kind = 0x40
	// KindDerefFP: CFA = *(FP + CFA*8) + P*8, as gcc writes for functions with
	// aligned variables and alloca.
	KindDerefFP Kind = 0x50
	// KindReg: CFA = register P + CFA*8.
	KindReg Kind = 0x60
	// KindIndex: CFA = *(SP + register P * 8 + CFA*8) + 8. Montgomery
	// multiplication of OpenSSL, whose frame has a variable size.
	KindIndex Kind = 0x70
	// KindRAReg: CFA = SP + CFA*8; the return address is in register P.
	KindRAReg Kind = 0x80

	kindMask Kind = 0xf0
)

// Parameters of KindSP and KindFP on arm64: where x29 and the return address
// are saved. On x86-64 it is 0.
const (
	// RAPair: x29 at CFA + FP*8, the return address in the word after it.
	RAPair = 0
	// RAAlone: x29 is unchanged, the return address is at CFA + FP*8.
	RAAlone = 1
	// RAPairAtSP: x29 at SP + FP*8, the return address in the word after it.
	RAPairAtSP = 2
	// RAAloneAtSP: x29 is unchanged, the return address is at SP + FP*8.
	RAAloneAtSP = 3
)

// Reason is why there is no row for a rule.
type Reason uint8

// The reasons. Damage and limits of a whole file are no reasons, see Stats.
const (
	// ReasonRegister: the CFA is relative to a register that rows do not know.
	ReasonRegister Reason = iota + 1
	// ReasonOffset: the offset of the CFA is odd or too large.
	ReasonOffset
	// ReasonExpression: the CFA is an expression of an unknown shape.
	ReasonExpression
	// ReasonReturnAddress: the return address is in an unusual place.
	ReasonReturnAddress
	// ReasonInstruction: an instruction is unknown or cut off.
	ReasonInstruction
	// ReasonFramePointer: the frame pointer is saved in a place that rows do
	// not know; counted, but the row is used (FPLost).
	ReasonFramePointer
	// ReasonInstall: the code makes another frame the current one, and is between
	// the two.
	ReasonInstall

	numReasons
)

var reasonNames = [numReasons]string{
	"none", "register", "offset", "expression", "return address", "instruction", "frame pointer", "context installed",
}

// String names the reason in one or two words.
func (r Reason) String() string {
	if r < numReasons {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Class is the kind without its parameter.
func (k Kind) Class() Kind {
	if k < KindSP {
		return k
	}
	return k & kindMask
}

// Param is the parameter of the kind.
func (k Kind) Param() uint8 {
	if k < KindSP {
		return 0
	}
	return uint8(k &^ kindMask)
}

// same tells whether two rows say the same of different addresses.
func (r Row) same(o Row) bool {
	return r.CFA == o.CFA && r.Kind == o.Kind && r.FP == o.FP
}

func stop(r Reason) Row { return Row{Kind: KindStop, CFA: int16(r)} }

// RowBytes is the size of a row.
const RowBytes = 8

// Bytes are rows as the kernel takes them. They share memory.
func Bytes(rows []Row) []byte {
	if len(rows) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&rows[0])), len(rows)*RowBytes)
}
