package unwind

import (
	"bytes"
	"io"

	"github.com/flametel/flametel/symbolize/elffile"
)

// maxTrampolineScan bounds the code that is searched: 64 MB take 10 ms. Only
// code without any description is searched, which is little but in files
// without unwind information, such as musl's libc.
const maxTrampolineScan = 64 << 20

// trampolines are the instructions that return from a signal handler, as gdb
// and libgcc know them: mov $15, %rax; syscall, and mov x8, #139; svc #0.
var (
	trampolineAMD64 = []byte{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}
	trampolineARM64 = []byte{0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}
)

// addTrampolines finds signal trampolines in code that nothing describes.
func (b *builder) addTrampolines(f *elffile.File, r io.ReaderAt) {
	want := trampolineAMD64
	if b.m.arm64 {
		want = trampolineARM64
	}
	b.scanGaps(f, r, len(want), func(code []byte, at uint64) {
		for {
			i := bytes.Index(code, want)
			if i < 0 {
				return
			}
			// Handlers return to the first byte, and return addresses are
			// looked up at one less.
			start := at + uint64(i)
			b.linkage(start-1, start+uint64(len(want)), Row{Kind: KindSignal})
			code, at = code[i+len(want):], start+uint64(len(want))
		}
	})
	b.endSource()
}

// scanGaps shows the code that nothing describes in pieces that share size-1
// bytes, so that nothing of this size is cut.
func (b *builder) scanGaps(f *elffile.File, r io.ReaderAt, size int, see func(code []byte, at uint64)) {
	left := uint64(maxTrampolineScan)
	if b.scan == nil {
		b.scan = make([]byte, 64<<10)
	}
	buf := b.scan
	for _, seg := range f.Segments() {
		if !seg.Executable {
			continue
		}
		for _, gap := range b.gaps(codeRange{uint64(seg.Start), uint64(seg.Limit)}) {
			for at := gap.start; at < gap.limit && left > 0; {
				n, _ := r.ReadAt(buf[:min(uint64(len(buf)), gap.limit-at)], int64(uint64(seg.Offset)+at-uint64(seg.Start)))
				see(buf[:n], at)
				if n <= size {
					break
				}
				step := uint64(n - size + 1)
				at += step
				left -= min(left, step)
			}
		}
	}
}

// gaps returns the parts of a range that nothing describes and that are larger
// than padding.
func (b *builder) gaps(r codeRange) []codeRange {
	var out []codeRange
	at := r.start
	add := func(limit uint64) {
		if limit > at && limit-at > maxPadding {
			out = append(out, codeRange{at, limit})
		}
	}
	for _, s := range b.done {
		start, limit := uint64(s.start)+b.base, uint64(s.limit)+b.base
		if limit <= r.start || start >= r.limit {
			continue
		}
		add(start)
		at = max(at, limit)
	}
	add(r.limit)
	return out
}
