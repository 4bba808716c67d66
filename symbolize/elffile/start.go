package elffile

import (
	"bytes"
	"debug/elf"

	"github.com/flametel/flametel/symbolize/addr"
)

const (
	// maxStart is more than the code of _start has in any version of glibc.
	maxStart = 96
	// libcStart is what it calls, with main as the first argument.
	libcStart = "__libc_start_main"
)

// startSymbols returns symbols for _start and main of stripped programs of
// glibc, and names with their names appended. Nearly each stack of a program has
// both. _start is the same code in all programs (glibc's
// sysdeps/x86_64/start.S): if the entry point has it, and what it calls is
// __libc_start_main, what it passes is main. How far main goes is in the
// unwind information. Nothing is added where all knows a symbol.
func (f *File) startSymbols(all []candidate, names []byte) ([]candidate, []byte) {
	if f.Machine != elf.EM_X86_64 || !f.Is64 || f.Entry == 0 || uint64(len(names)) > maxNameBytes {
		return nil, names
	}
	code, ok := f.at(f.Entry, maxStart)
	if !ok {
		return nil, names
	}
	s, ok := decodeStart(code, uint64(f.Entry))
	if !ok || covered(all, uint64(f.Entry)) || !f.calls(&s, libcStart) {
		return nil, names
	}
	out := []candidate{{value: uint64(f.Entry), size: s.size, name: uint32(len(names))}}
	names = append(names, "_start\x00"...)
	if size, ok := f.unwindRange(s.main); ok && !covered(all, s.main) {
		out = append(out, candidate{value: s.main, size: size, name: uint32(len(names))})
		names = append(names, "main\x00"...)
	}
	return out, names
}

// covered tells whether a symbol is at an address.
func covered(all []candidate, at uint64) bool {
	for i := range all {
		c := &all[i]
		if c.name != 0 && (c.value == at || c.rank&rankUnsized == 0 && at > c.value && at-c.value < c.size) {
			return true
		}
	}
	return false
}

// at reads up to size bytes at a file address.
func (f *File) at(a addr.File, size uint64) ([]byte, bool) {
	off, ok := f.offsetOf(a)
	if !ok || uint64(off) >= uint64(f.size) {
		return nil, false
	}
	b, err := f.read(uint64(off), min(size, uint64(f.size)-uint64(off)), "code")
	return b, err == nil
}

// start is what the code of _start says.
type start struct {
	size uint64
	main uint64 // file address
	stub stub   // the pointer through which it calls
}

// startPrefix: xor %ebp,%ebp; mov %rdx,%r9; pop %rsi; mov %rsp,%rdx;
// and $-16,%rsp; push %rax; push %rsp.
var startPrefix = []byte{0x31, 0xed, 0x49, 0x89, 0xd1, 0x5e, 0x48, 0x89, 0xe2, 0x48, 0x83, 0xe4, 0xf0, 0x50, 0x54}

// decodeStart decodes the code at an address if it is _start.
func decodeStart(b []byte, at uint64) (s start, ok bool) {
	i := 0
	if bytes.HasPrefix(b, []byte{0xf3, 0x0f, 0x1e, 0xfa}) { // endbr64
		i = 4
	}
	if !bytes.HasPrefix(b[i:], startPrefix) {
		return s, false
	}
	i += len(startPrefix)
	for i+8 <= len(b) {
		operand := at + uint64(i) + 7 + uint64(int64(int32(le.Uint32(b[i+3:]))))
		switch rest := b[i:]; {
		case bytes.HasPrefix(rest, []byte{0x45, 0x31, 0xc0}): // xor %r8d,%r8d
			i += 3
		case bytes.HasPrefix(rest, []byte{0x31, 0xc9}): // xor %ecx,%ecx
			i += 2
		case bytes.HasPrefix(rest, []byte{0x4c, 0x8d, 0x05}), bytes.HasPrefix(rest, []byte{0x49, 0xc7, 0xc0}), // to %r8, before 2.34
			bytes.HasPrefix(rest, []byte{0x48, 0x8d, 0x0d}), bytes.HasPrefix(rest, []byte{0x48, 0xc7, 0xc1}): // to %rcx
			i += 7
		case bytes.HasPrefix(rest, []byte{0x48, 0x8d, 0x3d}): // lea main(%rip),%rdi
			s.main = operand
			i += 7
		case bytes.HasPrefix(rest, []byte{0x48, 0xc7, 0xc7}): // mov $main,%rdi
			s.main = uint64(le.Uint32(rest[3:]))
			i += 7
		case rest[0] == 0xff && rest[1] == 0x15 && rest[6] == 0xf4: // call *slot(%rip); hlt
			s.stub = stub{slot: at + uint64(i) + 6 + uint64(int64(int32(le.Uint32(rest[2:])))), lazy: -1}
			s.size = uint64(i) + 7
			return s, s.main != 0
		default:
			return s, false
		}
	}
	return s, false
}

// calls tells whether the function that is called is the one of a name.
func (f *File) calls(s *start, name string) bool {
	stubs := []stub{s.stub}
	f.bindStubs(stubs)
	if !stubs[0].bound || stubs[0].symbol == 0 {
		return false
	}
	at, text := f.importedNames(stubs)
	return string(nameAt(text, at[stubs[0].symbol])) == name
}

// unwindRange returns how long the function that begins at an address is, by
// the unwind information.
func (f *File) unwindRange(at uint64) (size uint64, ok bool) {
	t := f.Functions()
	if t == nil {
		return 0, false
	}
	start, limit, ok, err := t.Find(f.r, addr.File(at))
	return uint64(limit - start), ok && err == nil && uint64(start) == at
}
