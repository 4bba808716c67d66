package unwind

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/symbolize/addr"
)

// stackBase is where the stacks of these tests lie.
const stackBase = 0x7000_0000

// words8At is a stack of 64-bit words.
func stackOf(words map[uint64]uint64) stackMemory {
	m := stackMemory{low: stackBase, bytes: make([]byte, 4096)}
	for off, v := range words {
		le.PutUint64(m.bytes[off:], v)
	}
	return m
}

func TestSteps(t *testing.T) {
	t.Parallel()
	const (
		leaf   = 0x40_1000
		caller = 0x40_2000
	)
	end := map[addr.Virtual]Row{caller - 1: {Kind: KindEnd}}
	at := func(off uint64) uint64 { return stackBase + off }
	regs := func(edit func(*Registers)) Registers {
		r := Registers{IP: leaf, SP: at(0x100), FP: at(0x200)}
		r.Others[5], r.Others[9], r.Others[11], r.Others[30] = caller, 3, at(0x180), caller
		if edit != nil {
			edit(&r)
		}
		return r
	}
	tests := map[string]struct {
		row   Row
		stack map[uint64]uint64
		regs  func(*Registers)
		arm64 bool
		want  []addr.Virtual
		end   End
	}{
		"stack pointer": {row: Row{Kind: KindSP, CFA: 2}, stack: map[uint64]uint64{0x108: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"frame pointer": {row: Row{Kind: KindFP, CFA: 2}, stack: map[uint64]uint64{0x208: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"no row":        {row: Row{}, stack: map[uint64]uint64{0x208: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"known frame pointer": {
			row: Row{Kind: KindFramePointer}, stack: map[uint64]uint64{0x208: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost,
		},
		"frame pointer below": {row: Row{}, regs: func(r *Registers) { r.FP = at(0x80) }, stack: map[uint64]uint64{0x88: caller}, want: []addr.Virtual{leaf}, end: EndFrame},
		"other stack below": {
			row: Row{Kind: KindSwitch}, regs: func(r *Registers) { r.FP = at(0x80) }, stack: map[uint64]uint64{0x88: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost,
		},
		"frame pointer odd":     {row: Row{}, regs: func(r *Registers) { r.FP = at(0x201) }, want: []addr.Virtual{leaf}, end: EndFrame},
		"record of zeros":       {row: Row{}, want: []addr.Virtual{leaf}, end: EndFrame},
		"known record of zeros": {row: Row{Kind: KindFramePointer}, want: []addr.Virtual{leaf}, end: EndFrame},
		"frame pointer of 0":    {row: Row{}, regs: func(r *Registers) { r.FP = 0 }, want: []addr.Virtual{leaf}, end: EndFrame},
		"linkage, start":        {row: Row{Kind: KindPLT | 11, CFA: 1}, regs: func(r *Registers) { r.IP += 6 }, stack: map[uint64]uint64{0x100: caller}, want: []addr.Virtual{leaf + 6, caller}, end: EndOutmost},
		"linkage, pushed":       {row: Row{Kind: KindPLT | 11, CFA: 1}, regs: func(r *Registers) { r.IP += 11 }, stack: map[uint64]uint64{0x108: caller}, want: []addr.Virtual{leaf + 11, caller}, end: EndOutmost},
		"slot by SP":            {row: Row{Kind: KindDerefSP | 1, CFA: 3}, stack: map[uint64]uint64{0x118: at(0x300), 0x300: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"slot by FP":            {row: Row{Kind: KindDerefFP, CFA: -5, FP: FPAtFP}, stack: map[uint64]uint64{0x1d8: at(0x300), 0x2f8: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"register":              {row: Row{Kind: KindReg | 11, CFA: 1}, stack: map[uint64]uint64{0x180: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"indexed":               {row: Row{Kind: KindIndex | 9, CFA: 1}, stack: map[uint64]uint64{0x120: at(0x300), 0x300: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"return in register":    {row: Row{Kind: KindRAReg | 5, CFA: 1}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"taken off the stack":   {row: Row{Kind: KindRAReg | 5}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"stop":                  {row: Row{Kind: KindStop, CFA: 1}, want: []addr.Virtual{leaf}, end: EndStop},
		"not upwards":           {row: Row{Kind: KindSP, CFA: 0}, stack: map[uint64]uint64{0xf8: caller}, want: []addr.Virtual{leaf}, end: EndFrame},
		"return address of 0":   {row: Row{Kind: KindSP, CFA: 1}, want: []addr.Virtual{leaf}, end: EndZero},
		"kernel address":        {row: Row{Kind: KindSP, CFA: 1}, stack: map[uint64]uint64{0x100: 1 << 63}, want: []addr.Virtual{leaf}, end: EndAddress},
		"unreadable":            {row: Row{Kind: KindSP, CFA: 4000}, want: []addr.Virtual{leaf}, end: EndFault},
		"limit":                 {row: Row{Kind: KindSP, CFA: 1}, stack: map[uint64]uint64{0x100: leaf + 1, 0x108: leaf + 1, 0x110: leaf + 1}, want: []addr.Virtual{leaf, leaf + 1, leaf + 1}, end: EndLimit},
		"signal": {
			row:   Row{Kind: KindSignal},
			stack: map[uint64]uint64{0x100 + 168: caller - 1, 0x100 + 160: at(0x400), 0x100 + 120: at(0x500)},
			want:  []addr.Virtual{leaf, caller - 1}, end: EndOutmost,
		},
		"signal of arm64": {
			row: Row{Kind: KindSignal}, arm64: true,
			stack: map[uint64]uint64{0x100 + 568: caller - 1, 0x100 + 560: at(0x600), 0x100 + 544: at(0x700)},
			want:  []addr.Virtual{leaf, caller - 1}, end: EndOutmost,
		},
		"link register":      {row: Row{Kind: KindLR}, arm64: true, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"signed":             {row: Row{Kind: KindLR}, arm64: true, regs: func(r *Registers) { r.Others[30] |= 0x7f << 56 }, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"pair":               {row: Row{Kind: KindSP, CFA: 8, FP: -8}, arm64: true, stack: map[uint64]uint64{0x108: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"pair at FP":         {row: Row{Kind: KindFP, CFA: 8, FP: FPAtFP}, arm64: true, stack: map[uint64]uint64{0x208: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"return alone":       {row: Row{Kind: KindSP | RAAlone, CFA: 2, FP: -2}, arm64: true, stack: map[uint64]uint64{0x100: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"pair by SP":         {row: Row{Kind: KindSP | RAPairAtSP, CFA: 300, FP: 12}, arm64: true, stack: map[uint64]uint64{0x168: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"pair at SP":         {row: Row{Kind: KindSP | RAPairAtSP, CFA: 300}, arm64: true, stack: map[uint64]uint64{0x108: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"return alone by SP": {row: Row{Kind: KindSP | RAAloneAtSP, CFA: 300, FP: 12}, arm64: true, stack: map[uint64]uint64{0x160: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
		"frame record of Go": {row: Row{Kind: KindSP | RAPairAtSP, CFA: 4, FP: -1}, arm64: true, stack: map[uint64]uint64{0x100: caller}, want: []addr.Virtual{leaf, caller}, end: EndOutmost},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := func(pc addr.Virtual) Row {
				if pc >= leaf && pc < leaf+16 {
					return tt.row
				}
				return end[pc]
			}
			w := Walker{Memory: stackOf(tt.stack), Rows: rows, ARM64: tt.arm64, Limit: 3}
			r := regs(tt.regs)
			got, ended := w.Walk(&r)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.end, ended)
		})
	}
}

// TestFramePointerOfCaller follows a frame pointer that each rule has found.
func TestFramePointerOfCaller(t *testing.T) {
	t.Parallel()
	const leaf, middle, root = 0x40_1000, 0x40_2000, 0x40_3000
	tests := map[string]struct {
		fp    int8
		stack map[uint64]uint64
		end   End
	}{
		"unchanged": {0, map[uint64]uint64{0x108: middle, 0x208: root}, EndOutmost},
		"saved":     {-2, map[uint64]uint64{0x100: stackBase + 0x300, 0x108: middle, 0x308: root}, EndOutmost},
		"at itself": {FPAtFP, map[uint64]uint64{0x200: stackBase + 0x300, 0x108: middle, 0x308: root}, EndOutmost},
		"lost":      {FPLost, map[uint64]uint64{0x108: middle, 0x208: root}, EndFrame},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Walker{Memory: stackOf(tt.stack), Limit: 10, Rows: func(pc addr.Virtual) Row {
				switch pc {
				case leaf:
					return Row{Kind: KindSP, CFA: 2, FP: tt.fp}
				case root - 1:
					return Row{Kind: KindEnd}
				}
				return Row{}
			}}
			_, end := w.Walk(&Registers{IP: leaf, SP: stackBase + 0x100, FP: stackBase + 0x200})
			assert.Equal(t, tt.end, end)
		})
	}
}

// TestFramePointerOfZero takes it for the root of the stack only behind a frame
// record, or in code that keeps them.
func TestFramePointerOfZero(t *testing.T) {
	t.Parallel()
	const leaf, root = 0x40_1000, 0x40_2000
	byRow := Row{Kind: KindSP, CFA: 2, FP: -2}
	for name, tt := range map[string]struct {
		leaf, root Row
		fp         uint64
		end        End
	}{
		"behind a record":       {leaf: Row{}, fp: stackBase + 0x100, end: EndZero},
		"saved by other code":   {leaf: byRow, fp: 5, end: EndFrame},
		"kept by other code":    {leaf: Row{Kind: KindSP, CFA: 2}, end: EndFrame},
		"in code with records":  {leaf: byRow, root: Row{Kind: KindFramePointer}, fp: 5, end: EndZero},
		"where stacks switch":   {leaf: byRow, root: Row{Kind: KindSwitch}, fp: 5, end: EndZero},
		"in code with its rows": {leaf: byRow, root: Row{Kind: KindSP, CFA: 1}, fp: 5, end: EndZero}, // a return address of 0
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Walker{Memory: stackOf(map[uint64]uint64{0x108: root}), Limit: 10, Rows: func(pc addr.Virtual) Row {
				if pc == leaf {
					return tt.leaf
				}
				return tt.root
			}}
			got, end := w.Walk(&Registers{IP: leaf, SP: stackBase + 0x100, FP: tt.fp})
			assert.Len(t, got, 2)
			assert.Equal(t, tt.end, end)
		})
	}
}

// TestGrowingStack finds the goroutine by the structures of Go's runtime, of two
// layouts, unless the thread has left it.
func TestGrowingStack(t *testing.T) {
	t.Parallel()
	const morestack, f, root = 0x40_1000, 0x40_2000, 0x40_3000
	const g0, m, g, stack = stackBase, stackBase + 0x100, stackBase + 0x300, stackBase + 0x800
	for name, tt := range map[string]struct {
		words map[uint64]uint64
		want  []addr.Virtual
		end   End
	}{
		"since Go 1.25":  {map[uint64]uint64{0x30: m, 0x100: g0, 0x1b8: g, 0x330: m, 0x338: stack, 0x340: f, 0x360: 7}, []addr.Virtual{morestack, f, root}, EndOutmost},
		"before":         {map[uint64]uint64{0x30: m, 0x100: g0, 0x1c0: g, 0x330: m, 0x338: stack, 0x340: f, 0x368: 7}, []addr.Virtual{morestack, f, root}, EndOutmost},
		"left":           {map[uint64]uint64{0x30: m, 0x100: g0}, []addr.Virtual{morestack}, EndZero},
		"owned by other": {map[uint64]uint64{0x30: m, 0x100: g0, 0x1b8: g, 0x330: 5}, []addr.Virtual{morestack}, EndZero},
		"no g0":          {map[uint64]uint64{0x30: m, 0x100: g}, []addr.Virtual{morestack}, EndStop},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.words[0x800] = root
			w := Walker{Memory: stackOf(tt.words), Limit: 10, Rows: func(pc addr.Virtual) Row {
				switch pc {
				case morestack:
					return Row{Kind: KindGrow}
				case f - 1:
					return Row{Kind: KindSP, CFA: 1}
				}
				return Row{Kind: KindEnd}
			}}
			regs := Registers{IP: morestack}
			regs.Others[14] = g0
			got, end := w.Walk(&regs)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.end, end)
		})
	}
}

// TestRegistersOnlyInLeaf refuses rules that need registers of a caller.
func TestRegistersOnlyInLeaf(t *testing.T) {
	t.Parallel()
	for _, row := range []Row{{Kind: KindReg | 12, CFA: 2}, {Kind: KindIndex | 9}, {Kind: KindRAReg | 5, CFA: 1}} {
		w := Walker{Memory: stackOf(map[uint64]uint64{0x108: 0x40_2000}), Limit: 10, Rows: func(pc addr.Virtual) Row {
			if pc == 0x40_1000 {
				return Row{Kind: KindSP, CFA: 2}
			}
			return row
		}}
		_, end := w.Walk(&Registers{IP: 0x40_1000, SP: stackBase + 0x100})
		assert.Equal(t, EndRow, end, row)
	}
}

// TestScratchRegisterInCaller trusts a register that calls need not keep in the
// caller of the leaf, but not in the callers of that.
func TestScratchRegisterInCaller(t *testing.T) {
	t.Parallel()
	const leaf, caller, root = 0x40_1000, 0x40_2000, 0x40_3000
	w := Walker{Memory: stackOf(map[uint64]uint64{0x108: caller, 0x188: caller, 0x190: root}), Limit: 10, Rows: func(pc addr.Virtual) Row {
		if pc == leaf {
			return Row{Kind: KindSP, CFA: 2}
		}
		return Row{Kind: KindReg | 11, CFA: 2}
	}}
	regs := Registers{IP: leaf, SP: stackBase + 0x100}
	regs.Others[11] = stackBase + 0x180
	got, end := w.Walk(&regs)
	assert.Equal(t, []addr.Virtual{leaf, caller, caller}, got)
	assert.Equal(t, EndRow, end)
}
