package unwind

import (
	"errors"
	"io"
	"strings"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
	"github.com/flametel/flametel/symbolize/gosym"
)

// goReader makes rows of the line table of a Go program.
type goReader struct {
	b      *builder
	t      *gosym.Table
	r      io.ReaderAt
	segs   []elffile.Segment
	frames []gosym.Frame
	lines  []gosym.Line
}

// addGo makes rows of the line table of a Go program; nil if f is none.
func (b *builder) addGo(f *elffile.File, r io.ReaderAt) (*gosym.Table, error) {
	t, err := gosym.Open(f, r)
	switch {
	case errors.Is(err, gosym.ErrNotGo):
		return nil, nil
	case errors.Is(err, gosym.ErrFormat):
		b.broken = true
		return nil, nil
	case err != nil:
		return nil, err
	}
	const rowsPerFunction = 8 // measured: 7 to 10
	b.grow(uint64(t.Len())*rowsPerFunction, uint64(t.Len()))
	g := goReader{b: b, t: t, r: r, segs: f.Segments()}
	for i := 0; i < t.Len() && !b.full; i++ {
		if err := g.function(i); err != nil {
			if !errors.Is(err, gosym.ErrFormat) {
				return nil, err
			}
			b.stats.Damaged++
		}
	}
	b.endSource()
	return t, nil
}

// function makes rows of function i.
func (g *goReader) function(i int) error {
	fn, err := g.t.FuncAt(i)
	if err != nil {
		return err
	}
	if fn.Limit <= fn.Start {
		return nil
	}
	special, ok, err := g.special(fn)
	if err != nil {
		return err
	}
	start := fn.Start
	if special.Kind == KindSignal {
		// The kernel lets handlers return to its first byte, and return
		// addresses are looked up at one less.
		start--
		g.b.cut(uint64(start))
	}
	if g.frames, err = g.t.Frames(fn.Start, g.frames[:0]); err != nil {
		return err
	}
	if !g.b.begin(uint64(start), uint64(fn.Limit)) {
		return nil
	}
	g.b.stats.Functions++
	if ok {
		g.b.add(uint64(start), special)
		return nil
	}
	return g.rows(fn)
}

// rows makes rows of the frame sizes. Functions of the compiler save the frame
// pointer right below the return address (amd64) or below the stack pointer
// (arm64) when they make their frame: cmd/internal/obj, preprocess of x86 and
// arm64. Before Go 1.21 there is one instruction on amd64 between the two, for
// which the row is wrong about the frame pointer.
func (g *goReader) rows(fn gosym.Func) error {
	row := Row{Kind: KindFramePointer}
	if len(g.frames) == 0 || g.frames[0].Start != fn.Start {
		g.b.add(uint64(fn.Start), row)
	}
	saved, largest := !fn.Assembly, int32(0)
	for _, f := range g.frames {
		largest = max(largest, f.Bytes)
	}
	for i, f := range g.frames {
		if f.Bytes > 0 && i > 0 && g.frames[i-1].Bytes == 0 && fn.Assembly && !saved {
			saved = g.savesFP(f.Start)
		}
		row := g.row(fn, f.Bytes, saved)
		if fn.WritesSP && saved && !g.b.m.arm64 && f.Bytes == 8 && f.Bytes < largest {
			// Only PUSHQ BP has run, or only POPQ BP is left: SP is as it was.
			row = Row{Kind: KindSP, CFA: 2, FP: -2}
		}
		g.b.add(uint64(f.Start), row)
	}
	return nil
}

// row makes the row for a frame size. saved tells whether the frame pointer was
// saved when the frame was made.
func (g *goReader) row(fn gosym.Func, bytes int32, saved bool) Row {
	size, ok := words16(int64(bytes))
	switch {
	case bytes < 0 || !ok || size == 1<<15-1:
	case g.b.m.arm64 && size == 0:
		return Row{Kind: KindLR}
	case size == 0:
		return Row{Kind: KindSP, CFA: 1}
	case fn.WritesSP && saved:
		// The stack pointer is anywhere, perhaps on another stack (nanotime1,
		// cgocallback); the frame pointer leads to this frame.
		return Row{Kind: KindSwitch}
	case fn.WritesSP || g.b.m.arm64 && !saved:
	case g.b.m.arm64:
		return Row{Kind: KindSP | RAPairAtSP, CFA: size, FP: -1}
	case saved:
		return Row{Kind: KindSP, CFA: size + 1, FP: -2}
	default: // assembly with a frame of its own making
		return Row{Kind: KindSP, CFA: size + 1}
	}
	return Row{Kind: KindFramePointer}
}

// savesFP tells whether the instruction before pc, which makes the frame of an
// assembly function, belongs to the usual start of a function: PUSHQ BP, or
// MOVD.W R30, -n(RSP).
func (g *goReader) savesFP(pc addr.File) bool {
	var b [4]byte
	code := b[:1]
	if g.b.m.arm64 {
		code = b[:]
	}
	if !g.code(pc-addr.File(len(code)), code) {
		return false
	}
	if g.b.m.arm64 {
		return le.Uint32(code)&0xffe00fff == 0xf8000ffe
	}
	return code[0] == 0x55
}

// code reads instructions.
func (g *goReader) code(at addr.File, dst []byte) bool {
	for i := range g.segs {
		if s := &g.segs[i]; s.Contains(at) && s.Contains(at+addr.File(len(dst)-1)) {
			n, _ := g.r.ReadAt(dst, int64(s.Offset)+int64(at-s.Start))
			return n == len(dst)
		}
	}
	return false
}

// special returns the row of functions that are not like others.
func (g *goReader) special(fn gosym.Func) (Row, bool, error) {
	if !fn.TopFrame && !fn.WritesSP && !fn.Assembly && g.t.Version() != gosym.Version116 {
		return Row{}, false, nil
	}
	var err error
	if g.lines, err = g.t.Lookup(fn.Start, g.lines[:0]); err != nil || len(g.lines) == 0 {
		return Row{}, false, err
	}
	name := g.lines[len(g.lines)-1].Name
	switch name {
	case "runtime.sigreturn", "runtime.sigreturn__sigaction":
		return Row{Kind: KindSignal}, true, nil
	case "runtime.sigtramp", "runtime.cgoSigtramp":
		// The runtime's own stacks end here; the signal trampoline follows.
		return Row{}, false, nil
	case "runtime.goexit", "runtime.mstart", "runtime.rt0_go":
		return Row{Kind: KindEnd}, true, nil
	case "runtime.morestack":
		return Row{Kind: KindGrow}, true, nil
	case "runtime.systemstack", "runtime.mcall", "runtime.asmcgocall", "runtime.gogo":
		// They have no frame of their own: the frame pointer is that of the
		// function that called them, whose caller is the next one found.
		return Row{Kind: KindSwitch}, true, nil
	}
	if fn.TopFrame || strings.HasPrefix(name, "_rt0_") {
		return Row{Kind: KindEnd}, true, nil
	}
	return Row{}, false, nil
}
