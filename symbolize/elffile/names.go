package elffile

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

const (
	// maxName is the longest symbol name that is taken. The longest seen are
	// C++ templates of some ten thousand bytes.
	maxName = 32 << 10
	// nameWindow is how much of a string table is in memory at a time.
	nameWindow = 256 << 10
	// nameGuess is room for the names of C++ libraries, 80 to 90 bytes in the mean.
	nameGuess = 96
	// maxNameBytes bounds the names held for one file, so that an offset fits
	// 32 bits with room.
	maxNameBytes = 64 << 20
)

// nameReader copies names out of one string table. Names may share their tails
// (linkers merge suffixes), and a hostile table may let a million names
// overlap: each byte of the table is therefore copied and searched at most
// once, and overlapping names stay overlapping in the copy.
type nameReader struct {
	f     *File
	table *Section

	window []byte // bytes [at, at+len) of the table
	at     uint64

	copied     uint64 // names up to here (in the table) are in the copy,
	shift      uint64 // at their offset in the table plus this
	endless    uint64 // there is no NUL in what was searched up to here
	endlessOff uint64 // from here on
}

// loadNames reads the names of cands from table, appends them to names (each
// ended by a NUL), and sets each candidate's name to its place there. A name
// that is missing or too long becomes 0, which is the empty name.
func (f *File) loadNames(cands []candidate, table *Section, names []byte) ([]byte, error) {
	if !f.holds(uint64(table.Offset), table.Size) {
		return names, fmt.Errorf("%w: names at %#x+%#x in a file of %#x bytes", ErrFormat, table.Offset, table.Size, f.size)
	}
	if uint64(len(names))+table.Size > maxNameBytes {
		return names, fmt.Errorf("%d bytes of names: %w", table.Size, ErrTooBig)
	}
	slices.SortFunc(cands, func(a, b candidate) int { return cmp.Compare(a.name, b.name) })
	// Most names of a table are functions', so this is about what is needed.
	names = slices.Grow(names, int(min(table.Size, nameGuess*uint64(len(cands)))))
	r := nameReader{f: f, table: table}
	for i := range cands {
		off := uint64(cands[i].name)
		cands[i].name = 0
		if off < r.copied {
			cands[i].name = uint32(off + r.shift)
			continue
		}
		name, err := r.next(off)
		if err != nil {
			return names, err
		}
		if name == nil {
			continue
		}
		r.shift = uint64(len(names)) - off // may wrap; the sum with an offset does not
		r.copied = off + uint64(len(name))
		cands[i].name = uint32(len(names))
		names = append(names, name...)
	}
	return names, nil
}

// next returns the name at off with its NUL, valid until the next call, or nil
// if there is none. off never decreases.
func (r *nameReader) next(off uint64) ([]byte, error) {
	if off >= r.table.Size {
		return nil, nil
	}
	need := min(maxName+1, r.table.Size-off)
	if r.window == nil || off < r.at || off+need > r.at+uint64(len(r.window)) {
		if r.window == nil {
			r.window = make([]byte, min(nameWindow, r.table.Size))
		}
		r.window = r.window[:min(uint64(cap(r.window)), r.table.Size-off)]
		r.at = off
		if err := r.f.readAt(r.window, uint64(r.table.Offset)+off); err != nil {
			return nil, fmt.Errorf("read names: %w", err)
		}
	}
	b := r.window[off-r.at:][:need]
	from := uint64(0)
	if off >= r.endlessOff && off < r.endless {
		from = min(r.endless-off, need)
	}
	n := bytes.IndexByte(b[from:], 0)
	if n < 0 {
		if from == 0 {
			r.endlessOff = off
		}
		r.endless = off + need
		return nil, nil
	}
	return b[:from+uint64(n)+1], nil
}

// nameAt returns the bytes of a held name without its NUL.
func nameAt(names []byte, at uint32) []byte {
	b := names[at:]
	if n := bytes.IndexByte(b, 0); n >= 0 {
		return b[:n]
	}
	return b
}

// better orders names of the same address and rank; negative if a comes
// first: fewer leading underscores, then no "__GI_" (glibc's names for calls
// from inside the library), then the shorter, then the first in the alphabet.
func better(a, b []byte) int {
	return cmp.Or(
		cmp.Compare(underscores(a), underscores(b)),
		compareBool(bytes.HasPrefix(a, []byte("__GI_")), bytes.HasPrefix(b, []byte("__GI_"))),
		cmp.Compare(len(a), len(b)),
		bytes.Compare(a, b),
	)
}

func underscores(name []byte) int {
	return len(name) - len(bytes.TrimLeft(name, "_"))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// namesCode reports whether name is one that people gave to code, and not a
// mark of the compiler, assembler or linker.
func namesCode(name []byte, noType bool) bool {
	switch {
	case len(name) == 0, bytes.HasPrefix(name, []byte(".L")), bytes.HasPrefix(name, []byte(".annobin")):
		return false
	case !noType || name[0] != '$':
		return true
	}
	// Mapping symbols of ARM and RISC-V: $x, $d, $a, $t, and with a suffix "$x.12".
	mark, _, _ := bytes.Cut(name, []byte{'.'})
	return len(mark) != 2 || bytes.IndexByte([]byte("xdat"), mark[1]) < 0
}
