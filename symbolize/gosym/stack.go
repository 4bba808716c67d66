package gosym

import (
	"github.com/flametel/flametel/symbolize/addr"
)

// Func is a function as an unwinder sees it.
type Func struct {
	// Start is the first instruction, Limit where the next function starts;
	// padding lies before it.
	Start, Limit addr.File
	// Assembly functions may do without a frame pointer even if they have a
	// frame; those of the compiler save it whenever they have one (amd64,
	// arm64). Known since Go 1.18.
	Assembly bool
	// TopFrame functions have no caller: a stack that reaches one is complete.
	// Known since Go 1.17.
	TopFrame bool
	// WritesSP functions set the stack pointer in a way that the table cannot
	// tell: a stack cannot be followed by it beyond them. Known since Go 1.17.
	WritesSP bool
}

// Func returns the function whose range holds pc.
func (t *Table) Func(pc addr.File) (Func, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, ok, err := t.findRecord(pc)
	return f.public(), ok, err
}

// FuncAt returns function i of Len in the order of addresses.
func (t *Table) FuncAt(i int) (Func, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i < 0 || i >= t.Len() {
		return Func{}, ErrFormat
	}
	f, err := t.readRecord(uint64(i))
	return f.public(), err
}

func (f *record) public() Func {
	return Func{
		Start: f.entry, Limit: f.limit, Assembly: f.flags&flagAssembly != 0,
		TopFrame: f.flags&flagTopFrame != 0, WritesSP: f.flags&flagWritesSP != 0,
	}
}

// FrameSize returns how many bytes the stack pointer has moved since the first
// instruction of the function that holds pc, at the time when the instruction
// at pc begins. On amd64 the return address lies there:
//
//	return address = *(SP + FrameSize); SP of the caller = SP + FrameSize + 8
//
// 0 means that there is no frame (yet, or any more), and that the frame pointer
// is the caller's. ok is false outside functions and where the table has
// nothing to say.
func (t *Table) FrameSize(pc addr.File) (bytes int32, ok bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, ok, err := t.findRecord(pc)
	if !ok || err != nil {
		return 0, false, err
	}
	steps := maxSteps
	bytes, ok, err = t.valueAt(f.stack, f.entry, pc, &steps)
	if !ok || bytes < 0 {
		return 0, false, err
	}
	return bytes, true, nil
}

// Frame is a range of addresses of a function with one FrameSize.
type Frame struct {
	Start, Limit addr.File
	Bytes        int32 // -1 if not known
}

// Frames appends the frame sizes of the function that holds pc to dst, in the
// order of addresses. The last ends with the code, not with the padding.
func (t *Table) Frames(pc addr.File, dst []Frame) ([]Frame, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, ok, err := t.findRecord(pc)
	if !ok || err != nil || f.stack == 0 {
		return dst, err
	}
	steps := maxSteps
	v := t.newValues(f.stack, f.entry)
	for v.start < f.limit {
		ok, err := v.next(&steps)
		if !ok || err != nil {
			return dst, err
		}
		if v.limit > v.start && v.start < f.limit {
			dst = append(dst, Frame{Start: v.start, Limit: min(v.limit, f.limit), Bytes: max(v.value, -1)})
		}
	}
	return dst, nil
}
