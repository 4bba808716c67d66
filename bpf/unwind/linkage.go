package unwind

import "github.com/flametel/flametel/symbolize/elffile"

// addLinkage adds the procedure linkage tables that the linker did not
// describe (lld never does, and nobody does on arm64), and the entry point.
func (b *builder) addLinkage(f *elffile.File) {
	for i := range f.Sections {
		s := &f.Sections[i]
		start := uint64(s.Address)
		switch s.Name {
		case ".plt":
			if b.m.arm64 {
				b.linkageARM64(start, start+s.Size)
			} else {
				// Jump, push a number (6 + 5 bytes), jump.
				b.linkage(start, start+s.Size, Row{Kind: KindPLT | 11, CFA: 1})
			}
		case ".plt.sec", ".plt.got", ".iplt":
			if b.m.arm64 {
				b.linkage(start, start+s.Size, Row{Kind: KindLR})
			} else {
				b.linkage(start, start+s.Size, Row{Kind: KindSP, CFA: 1})
			}
		}
	}
	b.addEntry(uint64(f.Entry))
	b.endSource()
}

// entryBytes is how much of the code at the entry point counts as the start of
// the program: that of ld.so calls initialisers up to byte 48 and jumps away
// some bytes later; that of musl ends after 21 bytes with a call that never
// returns, and what follows runs once, below it.
const entryBytes = 64

// addEntry says that the start of the program has no caller, which the start
// of ld.so and of musl do not say themselves.
func (b *builder) addEntry(entry uint64) {
	for _, c := range b.code {
		if entry != 0 && entry >= c.start && entry < c.limit {
			b.linkage(entry, min(entry+entryBytes, c.limit), Row{Kind: KindEnd})
			return
		}
	}
}

// linkageARM64 describes entries, which leave all but x16 and x17 alone, and
// the first one, which pushes x16 and x30 (AArch64 ELF supplement, appendix).
func (b *builder) linkageARM64(start, limit uint64) {
	const firstBytes = 32
	if limit-start <= firstBytes {
		return
	}
	b.linkage(start, start+firstBytes, Row{Kind: KindSP | RAAlone, CFA: 2, FP: -1})
	b.linkage(start+firstBytes, limit, Row{Kind: KindLR})
}

func (b *builder) linkage(start, limit uint64, r Row) {
	if limit <= start || !b.begin(start, limit) {
		return
	}
	b.add(start, r)
}
