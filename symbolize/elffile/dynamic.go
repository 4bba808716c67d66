package elffile

import (
	"debug/elf"
	"fmt"

	"github.com/flametel/flametel/symbolize/addr"
)

const (
	// maxDynamic bounds the dynamic section; real ones have some dozens of
	// entries of 16 bytes.
	maxDynamic = 64 << 10
	// maxHash bounds the hash table that tells how many symbols there are.
	maxHash = 64 << 20
)

// dynamicTable finds .dynsym through the dynamic segment, as the loader does,
// for files whose section headers were removed. It makes up the two sections.
func (f *File) dynamicTable() (table, strs *Section, ok bool) {
	d := f.dynamic()
	symtab, strtab := d[elf.DT_SYMTAB], d[elf.DT_STRTAB]
	count, err := f.dynamicCount(d)
	if symtab == 0 || strtab == 0 || err != nil {
		return nil, nil, false
	}
	symOff, ok1 := f.offsetOf(addr.File(symtab))
	strOff, ok2 := f.offsetOf(addr.File(strtab))
	entry := uint64(16)
	if f.Is64 {
		entry = 24
	}
	if !ok1 || !ok2 || count > MaxSymbols {
		return nil, nil, false
	}
	table = &Section{Name: ".dynsym", Type: elf.SHT_DYNSYM, Offset: symOff, Size: count * entry, Entsize: entry}
	strs = &Section{Name: ".dynstr", Type: elf.SHT_STRTAB, Offset: strOff, Size: d[elf.DT_STRSZ]}
	return table, strs, true
}

// dynamic returns the entries of the dynamic segment, the first of each tag.
func (f *File) dynamic() map[elf.DynTag]uint64 {
	entries := map[elf.DynTag]uint64{}
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elf.PT_DYNAMIC {
			continue
		}
		b, err := f.read(uint64(p.Offset), min(p.FileSize, maxDynamic), "dynamic segment")
		if err != nil {
			break
		}
		width := 4
		if f.Is64 {
			width = 8
		}
		for ; len(b) >= 2*width; b = b[2*width:] {
			tag := elf.DynTag(f.word(b))
			if tag == elf.DT_NULL {
				break
			}
			if _, again := entries[tag]; !again {
				entries[tag] = f.word(b[width:])
			}
		}
		break
	}
	return entries
}

// word decodes a number of the file's class.
func (f *File) word(b []byte) uint64 {
	if f.Is64 {
		return le.Uint64(b)
	}
	return uint64(le.Uint32(b))
}

// offsetOf returns where the byte at a file address lies in the file.
func (f *File) offsetOf(a addr.File) (addr.Offset, bool) {
	for _, s := range f.Segments() {
		if s.Contains(a) {
			return s.Offset + addr.Offset(a-s.Start), true
		}
	}
	return 0, false
}

// dynamicCount returns how many dynamic symbols there are, which only the hash
// tables tell: DT_HASH directly (nchain), DT_GNU_HASH by the end of the chain
// that begins last.
func (f *File) dynamicCount(d map[elf.DynTag]uint64) (uint64, error) {
	if at, ok := f.offsetOf(addr.File(d[elf.DT_HASH])); ok && d[elf.DT_HASH] != 0 {
		b, err := f.read(uint64(at), 8, "hash table")
		if err != nil {
			return 0, err
		}
		return uint64(le.Uint32(b[4:])), nil
	}
	at, ok := f.offsetOf(addr.File(d[elf.DT_GNU_HASH]))
	if !ok || d[elf.DT_GNU_HASH] == 0 {
		return 0, fmt.Errorf("%w: no hash table", ErrFormat)
	}
	return f.gnuHashCount(uint64(at))
}

// gnuHashCount walks DT_GNU_HASH: a header of four words (buckets, first
// symbol, bloom words, shift), the bloom filter, the buckets, the chains.
func (f *File) gnuHashCount(at uint64) (uint64, error) {
	h, err := f.read(at, 16, "hash table")
	if err != nil {
		return 0, err
	}
	buckets, first, bloom := uint64(le.Uint32(h)), uint64(le.Uint32(h[4:])), uint64(le.Uint32(h[8:]))
	width := uint64(4)
	if f.Is64 {
		width = 8
	}
	if buckets*4 > maxHash || bloom*width > maxHash {
		return 0, fmt.Errorf("%w: hash table of %d buckets", ErrFormat, buckets)
	}
	at += 16 + bloom*width
	b, err := f.read(at, buckets*4, "hash buckets")
	if err != nil {
		return 0, err
	}
	last := uint64(0)
	for ; len(b) > 0; b = b[4:] {
		last = max(last, uint64(le.Uint32(b)))
	}
	if last < first {
		return first, nil // no hashed symbols
	}
	at += buckets*4 + (last-first)*4
	for end := at + maxHash; at < end; at += symbolChunk {
		n := min(symbolChunk, uint64(max(f.size, 0))-min(at, uint64(max(f.size, 0)))) &^ 3
		chain, err := f.read(at, n, "hash chain")
		if err != nil || n == 0 {
			return 0, fmt.Errorf("%w: hash chain without end", ErrFormat)
		}
		for ; len(chain) > 0; chain = chain[4:] {
			last++
			if le.Uint32(chain)&1 != 0 {
				return last, nil
			}
		}
	}
	return 0, fmt.Errorf("%w: hash chain without end", ErrFormat)
}
