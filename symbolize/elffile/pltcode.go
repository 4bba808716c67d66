package elffile

import "bytes"

// pltStep returns how long the stubs of an x86 table are. Linkers say it, but
// not all: 16, or 8 for those that need no room to be bound lazily.
func pltStep(b []byte, s *Section) int {
	if s.Name == ".plt.got" && (s.Entsize == 8 || len(b) >= 10 && b[0] == 0xff && b[8] == 0xff) {
		return 8
	}
	return 16
}

// x86Stubs decodes a table of x86 in entries of step bytes, at the address at.
// got is what %ebx holds in position independent 32-bit code.
func x86Stubs(b []byte, at uint64, step int, got uint64, is64 bool) []stub {
	var out []stub
	for i := 0; i+8 <= len(b); i += step {
		s := stub{start: at + uint64(i), size: uint64(min(step, len(b)-i)), lazy: -1}
		x86Stub(b[i:min(i+step, len(b))], &s, got, is64)
		out = append(out, s)
	}
	return out
}

// x86Stub decodes one stub. All that linkers write is of the form
//
//	[endbr] [mov $number, %r11d] [bnd] jmp *slot ...
//	[endbr] push $number; [bnd] jmp resolver
//
// and the first entry, which calls the dynamic linker, pushes a slot first.
func x86Stub(b []byte, s *stub, got uint64, is64 bool) {
	pos := s.start
	skip := func(n int) { b, pos = b[n:], pos+uint64(n) }
	if bytes.HasPrefix(b, []byte{0xf3, 0x0f, 0x1e}) && len(b) > 4 {
		skip(4)
	}
	if len(b) > 6 && b[0] == 0x41 && b[1] == 0xbb {
		skip(6)
	}
	if len(b) > 5 && b[0] == 0x68 {
		s.lazy = int64(le.Uint32(b[1:]))
		if !is64 {
			s.lazy /= 8 // it is an offset into .rel.plt there
		}
		return
	}
	if len(b) > 1 && b[0] == 0xf2 {
		skip(1)
	}
	if len(b) < 6 || b[0] != 0xff {
		return
	}
	operand := le.Uint32(b[2:])
	switch {
	case b[1] == 0x25 && is64:
		s.slot = pos + 6 + uint64(int64(int32(operand)))
	case b[1] == 0x25:
		s.slot = uint64(operand)
	case b[1] == 0xa3 && !is64:
		s.slot = uint64(uint32(got) + operand)
	}
}

// arm64Stubs decodes a table of AArch64 at the address at:
//
//	[bti c] adrp x16, page of slot; ldr x17, [x16, #rest]; add ...; br x17
//
// What comes before the first stub is the code that they share.
func arm64Stubs(b []byte, at uint64) []stub {
	const (
		bti  = 0xd503245f
		push = 0xa9bf7bf0 // stp x16, x30, [sp, #-16]!, which begins the shared code
	)
	out := []stub{{start: at, lazy: -1}}
	for i := 0; i+8 <= len(b); i += 4 {
		adrp, ldr := le.Uint32(b[i:]), le.Uint32(b[i+4:])
		if adrp&0x9f00001f != 0x90000010 || ldr&0xffc003ff != 0xf9400211 {
			continue
		}
		start := i
		if i >= 4 {
			switch le.Uint32(b[i-4:]) {
			case push:
				continue
			case bti:
				start = i - 4
			}
		}
		page := int64(int32(adrp<<8)>>13)<<2 | int64(adrp>>29&3) // 21 bits, signed
		pc := at + uint64(i)
		slot := pc&^0xfff + uint64(page<<12) + uint64(ldr>>10&0xfff)*8
		out = append(out, stub{start: at + uint64(start), slot: slot, lazy: -1})
	}
	for i := range out {
		end := at + uint64(len(b))
		if i+1 < len(out) {
			end = out[i+1].start
		}
		out[i].size = end - out[i].start
	}
	return out
}
