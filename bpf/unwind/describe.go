package unwind

import (
	"bufio"
	"fmt"
	"io"

	"github.com/flametel/flametel/symbolize/addr"
)

// fpName is the frame pointer in the text of rows, spName the stack pointer.
const (
	spName = "sp"
	fpName = "fp"
)

// String says the rule of a row, such as "cfa=sp+16 fp=[cfa-16]", without its
// address.
func (r Row) String() string {
	p := r.Kind.Param()
	switch r.Kind.Class() {
	case KindNone:
		return "none: follow the frame pointer"
	case KindFramePointer:
		return "frame pointer"
	case KindStop:
		return "stop: " + Reason(r.CFA).String()
	case KindEnd:
		return "end: no caller"
	case KindSignal:
		return "signal frame"
	case KindSwitch:
		return "stack switch: follow the frame pointer"
	case KindGrow:
		return "stack growth: where the goroutine stopped"
	case KindLR:
		return "cfa=" + r.offset(spName) + " ra=x30"
	case KindSP:
		return "cfa=" + r.offset(spName) + r.savedText()
	case KindFP:
		return "cfa=" + r.offset(fpName) + r.savedText()
	case KindPLT:
		return fmt.Sprintf("cfa=%s+((ip&15)>=%d)*8", r.offset(spName), p)
	case KindDerefSP:
		return fmt.Sprintf("cfa=[%s]+%d%s", r.offset(spName), int(p)*8, r.savedText())
	case KindDerefFP:
		return fmt.Sprintf("cfa=[%s]+%d%s", r.offset(fpName), int(p)*8, r.savedText())
	case KindReg:
		return "cfa=" + r.offset(fmt.Sprintf("r%d", p)) + r.savedText()
	case KindIndex:
		return fmt.Sprintf("cfa=[%s+r%d*8]+8%s", r.offset(spName), p, r.savedText())
	case KindRAReg:
		return fmt.Sprintf("cfa=%s ra=r%d%s", r.offset(spName), p, r.savedText())
	}
	return fmt.Sprintf("kind %#x cfa=%d fp=%d", uint8(r.Kind), r.CFA, r.FP)
}

func (r Row) offset(reg string) string { return fmt.Sprintf("%s%+d", reg, int(r.CFA)*8) }

// savedText says where the frame pointer is, and the return address if it is
// not where the other kinds have it.
func (r Row) savedText() string {
	at := fmt.Sprintf("%+d]", int(r.FP)*8)
	plain := r.Kind.Class() == KindSP || r.Kind.Class() == KindFP
	switch {
	case plain && r.Kind.Param() == RAAlone:
		return " ra=[cfa" + at
	case plain && r.Kind.Param() == RAPairAtSP:
		return " fp=[sp" + at + " ra after it"
	case plain && r.Kind.Param() == RAAloneAtSP:
		return " ra=[sp" + at
	case r.FP == 0:
		return ""
	case r.FP == FPAtFP:
		return " fp=[fp]"
	case r.FP == FPLost:
		return " fp=?"
	}
	return " fp=[cfa" + at
}

// Describe writes what was counted and, if rows is true, all rows in lines of
// an address and a rule.
func (t *Table) Describe(w io.Writer, rows bool) error {
	b := bufio.NewWriter(w)
	s := &t.Stats
	fmt.Fprintf(b, "base %#x, %d rows (%d bytes) of %d decoded, %d bytes of code covered\n",
		uint64(t.Base), len(t.Rows), len(t.Rows)*RowBytes, s.Decoded, s.Covered)
	fmt.Fprintf(b, "functions %d, damaged %d, outside %d, complete %t\n", s.Functions, s.Damaged, s.Outside, t.Complete)
	if t.GoLimit > t.GoStart {
		fmt.Fprintf(b, "go code %#x-%#x\n", uint64(t.GoStart), uint64(t.GoLimit))
	}
	for reason, n := range s.Unsupported {
		if n > 0 {
			fmt.Fprintf(b, "not expressed: %d by %s\n", n, Reason(reason))
		}
	}
	t.describeKinds(b)
	if rows {
		for _, r := range t.Rows {
			fmt.Fprintf(b, "%#x %s\n", uint64(t.Base+addr.File(r.PC)), r)
		}
	}
	return b.Flush()
}

// kindNames are in the order they are printed.
var kindNames = []struct {
	kind Kind
	name string
}{
	{KindNone, "none"},
	{KindFramePointer, "frame pointer"},
	{KindStop, "stop"},
	{KindEnd, "end"},
	{KindSignal, "signal"},
	{KindLR, "link register"},
	{KindSwitch, "stack switch"},
	{KindGrow, "stack growth"},
	{KindSP, "stack pointer"},
	{KindFP, "frame pointer base"},
	{KindPLT, "linkage table"},
	{KindDerefSP, "slot by stack pointer"},
	{KindDerefFP, "slot by frame pointer"},
	{KindReg, "register"},
	{KindIndex, "indexed slot"},
	{KindRAReg, "return address in register"},
}

func (t *Table) describeKinds(b *bufio.Writer) {
	count := map[Kind]int{}
	for _, r := range t.Rows {
		count[r.Kind.Class()]++
	}
	for _, k := range kindNames {
		if n := count[k.kind]; n > 0 {
			fmt.Fprintf(b, "rows %d: %s\n", n, k.name)
		}
	}
}
