package gosym

import (
	"strings"

	"github.com/flametel/flametel/symbolize/addr"
)

// Line is a function at an address, with where in its source the address is.
type Line struct {
	// Name is what Go tools print: type arguments are "[...]". RawName is the
	// name in the table if it differs, else "".
	Name    string
	RawName string
	// File and Line are "" and 0 if they are not known.
	File string
	Line int64
	// StartLine is where the function starts, 0 if not known: before Go 1.20.
	StartLine int64
}

const (
	// maxName is the longest name that is taken.
	maxName = 32 << 10
	// maxInlined bounds the inlined calls at an address. Go inlines in some
	// ten levels.
	maxInlined = 128
)

// Lookup appends the functions at pc to dst, the innermost inlined call first
// and the function that holds pc last. For a caller, pc is the return address
// minus one. Addresses in no function, such as the padding between two, append
// nothing. What is damaged is left out: lines first, then inlined calls; the
// error is one of the reader, or wraps ErrFormat if there is not even a name.
func (t *Table) Lookup(pc addr.File, dst []Line) ([]Line, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, ok, err := t.findRecord(pc)
	if !ok || err != nil {
		return dst, err
	}
	l := lookup{t: t, f: &f, steps: maxSteps}
	if covered, err := l.covers(pc); !covered || err != nil {
		return dst, err
	}
	lines, err := l.inlined(pc, dst)
	if err != nil {
		return dst, err
	}
	fn, err := l.line(f.name, f.startLine, l.pc)
	if err != nil || f.line == 0 && isMark(fn.Name) {
		return dst, err
	}
	return append(lines, fn), nil
}

// isMark tells the names that the linker gives to places in the text, behind
// which padding may lie. What else has no line is C code in programs that the
// Go linker linked.
func isMark(name string) bool {
	return strings.HasPrefix(name, "go:") || strings.HasPrefix(name, "go.") ||
		name == "runtime.text" || name == "runtime.etext"
}

// lookup is the state of a Lookup.
type lookup struct {
	t     *Table
	f     *record
	steps int
	pc    addr.File // where in the function at hand the inlined calls were called
	lost  bool      // the position in the function at hand is not known
}

// covers tells whether pc is in the code of the function, and not in the
// padding that follows it. Functions without tables count as covered.
func (l *lookup) covers(pc addr.File) (bool, error) {
	for _, table := range [...]uint32{l.f.line, l.f.stack} {
		if table == 0 {
			continue
		}
		_, ok, err := l.t.valueAt(table, l.f.entry, pc, &l.steps)
		if isFormat(err) {
			continue
		}
		return ok, err
	}
	return true, nil
}

// inlined appends the inlined calls at pc and sets the position in the function.
// If a call is not known, the position is lost: the line is one of the call.
func (l *lookup) inlined(pc addr.File, dst []Line) ([]Line, error) {
	l.pc = pc
	f := l.f
	if f.inline == 0 {
		return dst, nil
	}
	for range maxInlined {
		i, ok, err := l.t.valueAt(f.inline, f.entry, l.pc, &l.steps)
		switch {
		case isFormat(err):
			l.lost = true
			return dst, nil
		case err != nil || !ok || i < 0:
			return dst, err
		case f.calls == 0:
			l.lost = true
			return dst, nil
		}
		call, err := l.t.readCall(f.calls, uint64(i))
		var line Line
		if err == nil {
			line, err = l.line(call.name, call.startLine, l.pc)
		}
		switch {
		case err != nil && !isFormat(err):
			return dst, err
		case err != nil, addr.File(call.parent) >= f.limit-f.entry:
			l.lost = true
			return dst, nil
		}
		dst = append(dst, line)
		l.pc = f.entry + addr.File(call.parent)
	}
	l.lost = true
	return dst, nil
}

// line makes the Line of a function of that name with its position at pc.
func (l *lookup) line(name uint32, startLine int32, pc addr.File) (Line, error) {
	var line Line
	var err error
	if line.Name, line.RawName, err = l.t.name(name); err != nil {
		return line, err
	}
	line.StartLine = int64(max(startLine, 0))
	if l.lost {
		return line, nil
	}
	line.File, line.Line, err = l.position(pc)
	if isFormat(err) {
		return line, nil
	}
	return line, err
}

// position returns the file and the line of an instruction, "" and 0 if there
// is none.
func (l *lookup) position(pc addr.File) (string, int64, error) {
	t, f := l.t, l.f
	number, ok, err := t.valueAt(f.line, f.entry, pc, &l.steps)
	if !ok || err != nil || number <= 0 {
		return "", 0, err
	}
	file, ok, err := t.valueAt(f.file, f.entry, pc, &l.steps)
	if !ok || err != nil || file < 0 || f.unit == ^uint32(0) {
		return "", 0, err
	}
	off, err := t.m.uint32(t.h.units + addr.File((uint64(f.unit)+uint64(file))*4))
	if err != nil || off == ^uint32(0) {
		return "", 0, err
	}
	name, err := t.string(t.h.files, uint64(off))
	if err != nil || name == "" || name == "?" {
		return "", 0, err
	}
	return name, int64(number), nil
}

// isReadable tells the names that readable leaves as they are.
func isReadable(raw string) bool {
	return strings.IndexByte(raw, '[') < 0 && !strings.HasSuffix(raw, abi0)
}

// abi0 is what symbol tables append to the names of assembly functions.
const abi0 = ".abi0"

// readable returns a name as the runtime prints it (runtime/traceback.go,
// funcNamePiecesForPrint), without the suffix of assembly functions.
func readable(raw string) string {
	name := strings.TrimSuffix(raw, abi0)
	first, last := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if first < 0 || last <= first {
		return name
	}
	return name[:first] + "[...]" + name[last+1:]
}
