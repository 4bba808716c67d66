package unwind

import (
	"io"

	"github.com/flametel/flametel/symbolize/elffile"
)

// maxStarts bounds the places that are compared with symbols.
const maxStarts = 64

// startCalls are the functions to which the starts of programs and threads pass
// the result of main and of the thread's function.
var startCalls = map[string]bool{"exit": true, "pthread_exit": true, "__pthread_exit": true}

// addStarts says that main and the functions of threads have no caller where
// nothing describes who calls them: musl's C library has no unwind information
// and no frame pointers, so that no stack would be complete. A call whose result
// goes to exit or pthread_exit is such a place.
func (b *builder) addStarts(f *elffile.File, r io.ReaderAt) {
	type place struct{ start, limit, target uint64 }
	var places []place
	b.scanGaps(f, r, startBytes, func(code []byte, at uint64) {
		for i := 0; i+startBytes <= len(code) && len(places) < maxStarts; i++ {
			if size, target, ok := b.m.passesResult(code[i:], at+uint64(i)); ok {
				places = append(places, place{at + uint64(i), at + uint64(i+size), target})
			}
		}
	})
	if len(places) == 0 {
		return
	}
	symbols, err := f.Symbols()
	if err != nil {
		return // without names there is no telling
	}
	targets := make(map[uint64]bool)
	for i := range symbols.Len() {
		if startCalls[symbols.Name(i)] {
			start, _ := symbols.Range(i)
			targets[uint64(start)] = true
		}
	}
	for _, p := range places {
		if targets[p.target] {
			b.linkage(p.start, p.limit, Row{Kind: KindEnd})
		}
	}
	b.endSource()
}

// startBytes is how much passesResult looks at.
const startBytes = 11

// passesResult tells whether code is a call by register or memory, of size
// bytes, whose result is the argument of a call of target.
func (m *machine) passesResult(code []byte, at uint64) (size int, target uint64, ok bool) {
	if m.arm64 { // blr; bl
		call, next := le.Uint32(code), le.Uint32(code[4:])
		if at%4 != 0 || call&^0x3e0 != 0xd63f0000 || next>>26 != 0x25 {
			return 0, 0, false
		}
		return 4, at + 4 + uint64(int64(int32(next<<6)>>4)), true
	}
	// call *%reg or *(%reg), with or without a prefix for r8 to r15.
	rest := code
	if rest[0] == 0x41 {
		rest = rest[1:]
	}
	if rest[0] != 0xff || rest[1]&0x38 != 0x10 || rest[1]>>6 != 0 && rest[1]>>6 != 3 {
		return 0, 0, false
	}
	size = len(code) - len(rest) + 2
	rest = rest[2:]
	if rest[0] == 0x48 {
		rest = rest[1:]
	}
	// mov %eax,%edi or %rax,%rdi; call
	if rest[0] != 0x89 || rest[1] != 0xc7 || rest[2] != 0xe8 {
		return 0, 0, false
	}
	after := at + uint64(len(code)-len(rest)) + 7
	return size, after + uint64(int64(int32(le.Uint32(rest[3:])))), true
}
