package unwind

import (
	"bytes"
	"io"
	"sort"

	"github.com/flametel/flametel/symbolize/elffile"
)

const (
	// maxInstallers bounds the functions that are looked at: libgcc has four, and
	// a program that is linked with it statically has those.
	maxInstallers = 64
	// maxInstallerBytes bounds the code of one: those of libgcc have 1 KB.
	maxInstallerBytes = 64 << 10
)

// dataRegisters are the registers in which a landing pad gets the exception, a bit
// for each (EH_RETURN_DATA_REGNO of gcc: rax and rdx, x0 to x3). Only functions
// that install another context save them.
func (m *machine) dataRegisters() uint8 {
	if m.arm64 {
		return 0xf
	}
	return 3
}

// addInstalls marks where the unwinder of libgcc leaves its own stack for the one
// of the handler it has found. First it overwrites its saved registers and its
// return address by those of that frame (uw_install_context_1), then it calls an
// empty function (_Unwind_DebugHook), loads the registers, and at last moves the
// stack pointer there (__builtin_eh_return). In between its description leads to
// the right function with a wrong stack pointer.
func (b *builder) addInstalls(f *elffile.File, r io.ReaderAt) {
	var marks []codeRange
	for _, fn := range b.installers {
		code := readCode(f, r, fn)
		from, limit := b.m.leaves(code)
		if from < 0 {
			continue // it saves these registers for other reasons
		}
		install, hook := b.findInstall(f, r, code, fn.start)
		for _, part := range b.m.betweenContexts(code, install, hook, from, limit) {
			marks = append(marks, codeRange{fn.start + part.start, fn.start + part.limit})
		}
	}
	for _, m := range marks {
		b.replace(m, stop(ReasonInstall))
	}
}

// findInstall returns where code, which is at start, goes on after the calls that
// overwrite its frame and of the empty function; -1 if it does not call them.
func (b *builder) findInstall(f *elffile.File, r io.ReaderAt, code []byte, start uint64) (install, hook int) {
	install, hook = -1, -1
	before := -1
	for i := range code {
		size, target, ok := b.m.call(code[i:], start+uint64(i))
		switch {
		case !ok || !b.describes(target):
		case b.m.empty(readCode(f, r, codeRange{target, target + 8})):
			install, hook = before, i+size
		default:
			before = i + size
		}
	}
	return install, hook
}

// betweenContexts returns the parts of a function that lie between two contexts:
// install and hook are from findInstall, from and limit from leaves. All of it, if
// it is laid out in an unknown way.
func (m *machine) betweenContexts(code []byte, install, hook, from, limit int) []codeRange {
	// Return addresses are looked up at one less.
	part := codeRange{uint64(install) - 1, uint64(limit)}
	switch {
	case install < 0:
	case hook <= from:
		return []codeRange{part}
	case m.arm64: // it shares the last instructions with those that return
		for i := hook; i+4 <= len(code); i += 4 {
			if word := le.Uint32(code[i:]); word>>26 == 5 { // b
				to := i + int(int32(word<<6)>>4)
				if to < 0 || to > from {
					break
				}
				return []codeRange{{part.start, uint64(i + 4)}, {uint64(to), part.limit}}
			}
		}
	}
	return []codeRange{{0, uint64(len(code))}}
}

// leaves returns where code moves the stack pointer to another frame, and where it
// has jumped; -1 if it does not.
func (m *machine) leaves(code []byte) (from, limit int) {
	if m.arm64 { // add sp, sp, xN; ret or br
		for i := len(code)&^3 - 8; i >= 0; i -= 4 {
			if le.Uint32(code[i:])&^0x1f0000 == 0x8b2063ff {
				return i, i + 8
			}
		}
		return -1, 0
	}
	// mov %rcx,%rsp; pop %rcx; jmp *%rcx or, before shadow stacks, mov; ret
	for _, tail := range []string{"\x48\x89\xcc\x59\xff\xe1", "\x48\x89\xcc\xc3"} {
		if i := bytes.LastIndex(code, []byte(tail)); i >= 0 {
			return i, i + len(tail)
		}
	}
	return -1, 0
}

// call tells whether code is a direct call, of size bytes.
func (m *machine) call(code []byte, at uint64) (size int, target uint64, ok bool) {
	switch {
	case m.arm64:
		if at%4 != 0 || len(code) < 4 || le.Uint32(code)>>26 != 0x25 {
			return 0, 0, false
		}
		return 4, at + uint64(int64(int32(le.Uint32(code)<<6)>>4)), true
	case len(code) < 5 || code[0] != 0xe8:
		return 0, 0, false
	}
	return 5, at + 5 + uint64(int64(int32(le.Uint32(code[1:])))), true
}

// empty tells whether a function does nothing, as _Unwind_DebugHook, where
// debuggers stop.
func (m *machine) empty(code []byte) bool {
	landing, ret := "\xf3\x0f\x1e\xfa", "\xc3" // endbr64
	if m.arm64 {
		landing, ret = "\x5f\x24\x03\xd5", "\xc0\x03\x5f\xd6" // bti c
	}
	return bytes.HasPrefix(bytes.TrimPrefix(code, []byte(landing)), []byte(ret))
}

// describes tells whether a description begins at an address.
func (b *builder) describes(at uint64) bool {
	i := sort.Search(len(b.done), func(i int) bool { return uint64(b.done[i].start) >= at-b.base })
	return at >= b.base && i < len(b.done) && uint64(b.done[i].start) == at-b.base
}

// readCode returns the code of a range, less if the file has less.
func readCode(f *elffile.File, r io.ReaderAt, code codeRange) []byte {
	for _, s := range f.Segments() {
		if s.Executable && code.start >= uint64(s.Start) && code.start < uint64(s.Limit) {
			size := min(code.limit, uint64(s.Limit)) - code.start
			buf := make([]byte, min(size, maxInstallerBytes))
			n, _ := r.ReadAt(buf, int64(uint64(s.Offset)+code.start-uint64(s.Start)))
			return buf[:n]
		}
	}
	return nil
}

// replace lays a row over all that was collected.
func (b *builder) replace(code codeRange, r Row) {
	if len(b.rows) >= b.limit {
		b.full = true
		return
	}
	n := uint32(len(b.rows))
	r.PC = uint32(code.start - b.base)
	b.rows = append(b.rows, r)
	top := []span{{start: r.PC, limit: uint32(code.limit - b.base), first: n, last: n + 1}}
	b.done, b.spare = overlay(b.spare[:0], top, b.done), b.done
	b.stats.Unsupported[ReasonInstall]++
}
