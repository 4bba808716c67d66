package gosym

import (
	"bytes"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// Words of runtime.moduledata. It starts with a pointer to the header and six
// slices; the words up to text have had the same order since Go 1.16.
const (
	wordNames, wordUnits, wordFiles, wordTables = 1, 4, 7, 10
	wordFunctab, wordEntries                    = 13, 16
	// First and last address of code, then runtime.text. They are searched from
	// the word after the slices on, in case that later layouts move them.
	wordMin, wordText, wordMinLast = 20, 22, 32
	// Where the data of functions starts: 38 in Go 1.18 and 1.19, 40 since
	// 1.20. Later layouts may have it elsewhere: it is searched in the words
	// up to the last.
	wordData118, wordData120 = 38, 40
	wordDataFirst            = 32
	wordDataLast             = 60
)

// module is the module data.
type module struct{ at addr.File }

// word reads a word of the module data as an address, 0 if it cannot be read.
func (d module) word(m *memory, n int) addr.File {
	v, err := m.pointer(d.at + addr.File(n)*addr.File(m.ptrSize))
	if err != nil {
		return 0
	}
	return v
}

// text returns runtime.text, given where functions begin and end relative to
// it: the module data has these two as addresses.
func (d module) text(m *memory, first, last uint64) addr.File {
	for n := wordMin - 1; n <= wordMinLast; n++ {
		start, limit := d.word(m, n), d.word(m, n+1)
		if start != 0 && limit-start == addr.File(last-first) {
			return start - addr.File(first)
		}
	}
	return d.word(m, wordText)
}

// checkModule tells whether the module data of a table is at an address: its
// slices must be the parts of the table.
func (h *header) checkModule(m *memory, at addr.File) (module, bool) {
	d := module{at}
	word := func(n int) addr.File { return d.word(m, n) }
	ok := word(0) == h.at && word(wordNames) == h.names && word(wordUnits) == h.units &&
		word(wordFiles) == h.files && word(wordTables) == h.tables && word(wordFunctab) == h.functab &&
		word(wordEntries) == h.functab && uint64(word(wordEntries+1)) == h.funcs+1
	return d, ok
}

// findModule searches initialized data, then the relocations, for a pointer to
// the table that begins the module data.
func (h *header) findModule(f *elffile.File, m *memory) (module, bool, error) {
	var found module
	ok := false
	try := func(at addr.File) bool {
		if !m.try() {
			return false
		}
		if found, ok = h.checkModule(m, at); ok {
			return false
		}
		return true
	}
	if s, has := f.Section(".go.module"); has && !try(s.Address) {
		return found, true, nil
	}
	pattern := le.AppendUint64(nil, uint64(h.at))[:m.ptrSize]
	for _, s := range writable(f) {
		err := m.scan(s.Start, s.Limit, 16, func(at addr.File, b []byte) bool {
			return eachIndex(b, pattern, func(i int) bool {
				a := at + addr.File(i)
				return uint64(a)%m.ptrSize != 0 || try(a)
			})
		})
		if ok || err != nil {
			return found, ok, err
		}
	}
	if m.relocs.count > 0 {
		err := m.relocs.pointersTo(m, h.at, try)
		return found, ok, err
	}
	return found, false, nil
}

// eachIndex calls found with each place of pattern in b, until it returns false.
func eachIndex(b, pattern []byte, found func(i int) bool) bool {
	for i := 0; ; i++ {
		n := bytes.Index(b[i:], pattern)
		if n < 0 {
			return true
		}
		if i += n; !found(i) {
			return false
		}
	}
}

// findByModule searches initialized data for something of the shape of module
// data, without knowing where the table is, and returns the address of the
// table. It finds the table of a file without section headers faster than a
// search for its magic number, because data is small.
func findByModule(f *elffile.File, m *memory) (*header, error) {
	const words = wordEntries + 3
	var h *header
	size := int(m.ptrSize)
	for _, s := range writable(f) {
		err := m.scan(s.Start, s.Limit, words*size, func(_ addr.File, b []byte) bool {
			for ; len(b) >= words*size; b = b[size:] {
				if table, ok := moduleShape(b, size); ok {
					if !m.try() {
						return false
					}
					if h, _ = readHeader(m, table); h != nil {
						return false
					}
				}
			}
			return true
		})
		if h != nil || err != nil {
			return h, err
		}
	}
	return nil, nil
}

// moduleShape tells whether b begins with a pointer and six slices as module
// data does: each slice is as long as its capacity, and they lie in order.
func moduleShape(b []byte, size int) (table addr.File, ok bool) {
	word := func(n int) uint64 {
		if size == 4 {
			return uint64(le.Uint32(b[n*4:]))
		}
		return le.Uint64(b[n*8:])
	}
	last := word(0)
	if last == 0 {
		return 0, false
	}
	for _, n := range [...]int{wordNames, wordUnits, wordFiles, wordTables, wordFunctab} {
		if word(n) <= last || word(n+1) != word(n+2) {
			return 0, false
		}
		last = word(n)
	}
	return addr.File(word(0)), word(wordEntries) == last && word(wordEntries+1) == word(wordEntries+2)
}
