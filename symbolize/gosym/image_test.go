package gosym

import (
	"debug/elf"
	"encoding/binary"
)

// image is a program made by hand, to have the layouts of Go releases that no
// longer build anything here, and files small enough to be damaged at random.
type image struct {
	version Version
	funcs   []imageFunc
	// position independent: with the words of pointers left zero, and
	// relocations instead.
	relocated bool
	// noModule leaves out the module data.
	noModule bool
	// noTextStart is for headers since Go 1.26.
	noTextStart bool
	// dataWord is where the module data has the data of functions, 0 for where
	// the version has it. If it is elsewhere, the start of text is missing.
	dataWord int
	// buildInfo is the version of the toolchain, "" for none.
	buildInfo string
}

// imageFunc is a function with rows for its tables, and padding behind it.
type imageFunc struct {
	name      string
	size      int // of the code
	padding   int
	startLine int
	rows      []imageRow
	calls     []inlinedCallRow
	flags     byte
}

// imageRow holds for so many bytes of code.
type imageRow struct{ bytes, file, line, inline, stack int }

type inlinedCallRow struct {
	name      string
	parent    int
	startLine int
}

// Addresses and offsets of the segments; they differ by other amounts each.
const (
	imageText, imageTextOffset     = 0x401000, 0x1000
	imageConst, imageConstOffset   = 0x504000, 0x2000
	imageData, imageDataOffset     = 0x607000, 0x4000
	imageConstSize, imageDataSize  = 0x2000, 0x1000
	imageTextSize, imageTableStart = 0x1000, 0x40 // of the segment of constants
	imageModule                    = imageData + 0x100
	imageRelocs                    = imageConst + 0x1000
	imageDynamic                   = imageConst + 0x1f00
)

var imageFiles = []string{"/src/main.go", "/src/lib/lib.go"}

// builder puts an image together.
type builder struct {
	image  image
	file   []byte
	relocs [][2]uint64
	names  []byte
	nameAt map[string]uint32
}

func (b *builder) bytesAt(a uint64) []byte {
	switch {
	case a >= imageData:
		return b.file[a-imageData+imageDataOffset:]
	case a >= imageConst:
		return b.file[a-imageConst+imageConstOffset:]
	}
	return b.file[a-imageText+imageTextOffset:]
}

// pointer writes an address, or a relocation that does.
func (b *builder) pointer(at, value uint64) {
	if b.image.relocated {
		b.relocs = append(b.relocs, [2]uint64{at, value})
		return
	}
	binary.LittleEndian.PutUint64(b.bytesAt(at), value)
}

func (b *builder) word(at, value uint64) { binary.LittleEndian.PutUint64(b.bytesAt(at), value) }

func (b *builder) uint32(at uint64, value uint32) {
	binary.LittleEndian.PutUint32(b.bytesAt(at), value)
}

func (b *builder) name(s string) uint32 {
	if at, ok := b.nameAt[s]; ok {
		return at
	}
	at := uint32(len(b.names))
	b.nameAt[s] = at
	b.names = append(append(b.names, s...), 0)
	return at
}

// encode writes a table of values; column picks one of a row, and false ends
// the table early.
func encode(rows []imageRow, column func(imageRow) int) []byte {
	var out []byte
	value := -1
	for i := 0; i < len(rows); i++ {
		v, n := column(rows[i]), rows[i].bytes
		for i+1 < len(rows) && column(rows[i+1]) == v {
			i++
			n += rows[i].bytes
		}
		delta := int32(v - value)
		out = binary.AppendUvarint(out, uint64(uint32(delta<<1)^uint32(delta>>31)))
		out = binary.AppendUvarint(out, uint64(n))
		value = v
	}
	return append(out, 0)
}

// build returns the file.
func (i image) build() []byte {
	b := &builder{image: i, file: make([]byte, imageDataOffset+imageDataSize), nameAt: map[string]uint32{}}
	b.name("first.name")
	for _, f := range i.funcs {
		b.name(f.name)
		for _, c := range f.calls {
			b.name(c.name)
		}
	}
	table := uint64(imageConst + imageTableStart)
	names := table + 0x60
	units := (names + uint64(len(b.names)) + 3) &^ 3
	files := units + 4*uint64(len(imageFiles))
	copy(b.bytesAt(names), b.names)
	at := files
	for n, f := range imageFiles {
		b.uint32(units+4*uint64(n), uint32(at-files))
		at += uint64(copy(b.bytesAt(at), f+"\x00"))
	}

	tables := at
	at++ // offset 0 is no table
	offsets := make([][4]uint32, len(i.funcs))
	for n, f := range i.funcs {
		if f.rows == nil {
			continue
		}
		for k, column := range []func(imageRow) int{
			func(r imageRow) int { return r.stack }, func(r imageRow) int { return r.file },
			func(r imageRow) int { return r.line }, func(r imageRow) int { return r.inline },
		} {
			offsets[n][k] = uint32(at - tables)
			at += uint64(copy(b.bytesAt(at), encode(f.rows, column)))
		}
	}
	functab := (at + 7) &^ 7
	end, data := b.functions(functab, offsets)
	b.header(table, []uint64{names, units, files, tables, functab})
	if !i.noModule {
		b.module(table, []uint64{names, units, files, tables, functab}, end, data)
	}
	b.info()
	b.headers()
	return b.file
}

// functions writes functab, the functions and their inlined calls; it returns
// the end of the code and the address of the data of functions.
func (b *builder) functions(functab uint64, offsets [][4]uint32) (end, data uint64) {
	old := b.image.version == Version116
	entrySize := uint64(4)
	if old {
		entrySize = 8
	}
	data = uint64(imageConst + 0xc00)
	calls := data + 16
	pc := uint64(imageText)
	at := functab + uint64(2*len(b.image.funcs)+1)*entrySize
	number := func(at, v uint64) {
		if old {
			b.word(at, v)
		} else {
			b.uint32(at, uint32(v))
		}
	}
	entry := func(at, v uint64) {
		if old {
			b.pointer(at, v)
		} else {
			b.uint32(at, uint32(v-imageText))
		}
	}
	for n, f := range b.image.funcs {
		at = (at + 7) &^ 7
		entry(functab+uint64(2*n)*entrySize, pc)
		number(functab+uint64(2*n+1)*entrySize, at-functab)
		entry(at, pc)
		at += entrySize
		for _, v := range []uint32{b.nameAt[f.name], 0, 0, offsets[n][0], offsets[n][1], offsets[n][2], 3, 0} {
			b.uint32(at, v)
			at += 4
		}
		if b.image.version == Version120 {
			b.uint32(at, uint32(f.startLine))
			at += 4
		}
		copy(b.bytesAt(at), []byte{0, f.flags, 0, 4})
		at += 4
		b.uint32(at+8, offsets[n][3])
		at += 12
		for k := range uint64(4) {
			switch {
			case old:
				at = (at + 7) &^ 7
				if k == funcdataInlineTree && len(f.calls) > 0 {
					b.pointer(at, calls)
				}
				at += 8
			default:
				v := ^uint32(0)
				if k == funcdataInlineTree && len(f.calls) > 0 {
					v = uint32(calls - data)
				}
				b.uint32(at, v)
				at += 4
			}
		}
		for _, c := range f.calls {
			if b.image.version == Version120 {
				b.uint32(calls+4, b.nameAt[c.name])
				b.uint32(calls+8, uint32(c.parent))
				b.uint32(calls+12, uint32(c.startLine))
				calls += 16
				continue
			}
			b.uint32(calls+12, b.nameAt[c.name])
			b.uint32(calls+16, uint32(c.parent))
			calls += 20
		}
		pc += uint64(f.size + f.padding)
	}
	entry(functab+uint64(2*len(b.image.funcs))*entrySize, pc)
	return pc, data
}

func (b *builder) header(table uint64, parts []uint64) {
	first := map[Version]byte{Version116: 0xfa, Version118: 0xf0, Version120: 0xf1}[b.image.version]
	copy(b.bytesAt(table), []byte{first, 0xff, 0xff, 0xff, 0, 0, 1, 8})
	at := table + 8
	b.word(at, uint64(len(b.image.funcs)))
	b.word(at+8, uint64(len(imageFiles)))
	at += 16
	if b.image.version >= Version118 {
		if !b.image.noTextStart {
			b.pointer(at, imageText)
		}
		at += 8
	}
	for _, p := range parts {
		b.word(at, p-table)
		at += 8
	}
}

func (b *builder) module(table uint64, parts []uint64, end, data uint64) {
	b.pointer(imageModule, table)
	at := uint64(imageModule + 8)
	for _, p := range append(parts, parts[4]) {
		b.pointer(at, p)
		b.word(at+8, 100)
		b.word(at+16, 100)
		at += 24
	}
	for k := range uint64(2) {
		b.word(imageModule+8*(wordEntries+1+k), uint64(len(b.image.funcs)+1))
	}
	b.pointer(imageModule+8*20, imageText)
	b.pointer(imageModule+8*21, end)
	if b.image.dataWord == 0 {
		b.pointer(imageModule+8*wordText, imageText)
	}
	word := b.image.dataWord
	switch {
	case word != 0:
	case b.image.version == Version118:
		word = wordData118
	case b.image.version == Version120:
		word = wordData120
	default:
		return
	}
	b.pointer(imageModule+8*uint64(word), data)
}

// info writes the build information with the version as the release had it.
func (b *builder) info() {
	if b.image.buildInfo == "" {
		return
	}
	at := uint64(imageData + 0x40)
	copy(b.bytesAt(at), buildInfoMagic)
	if b.image.version >= Version118 {
		copy(b.bytesAt(at+14), []byte{8, 2})
		copy(b.bytesAt(at+32), append([]byte{byte(len(b.image.buildInfo))}, b.image.buildInfo...))
		return
	}
	copy(b.bytesAt(at+14), []byte{8, 0})
	b.pointer(at+16, at+48)
	b.pointer(at+48, at+64)
	b.word(at+56, uint64(len(b.image.buildInfo)))
	copy(b.bytesAt(at+64), b.image.buildInfo)
}

// headers writes the ELF header, the program headers and the relocations.
func (b *builder) headers() {
	le := binary.LittleEndian
	f := b.file
	copy(f, "\x7fELF\x02\x01\x01")
	typ := elf.ET_EXEC
	if b.image.relocated {
		typ = elf.ET_DYN
	}
	le.PutUint16(f[16:], uint16(typ))
	le.PutUint16(f[18:], uint16(elf.EM_X86_64))
	le.PutUint64(f[32:], 64)
	le.PutUint16(f[54:], 56)
	n := uint16(0)
	segment := func(typ elf.ProgType, flags elf.ProgFlag, off, a, size uint64) {
		p := f[64+56*int(n):]
		le.PutUint32(p, uint32(typ))
		le.PutUint32(p[4:], uint32(flags))
		le.PutUint64(p[8:], off)
		le.PutUint64(p[16:], a)
		le.PutUint64(p[32:], size)
		le.PutUint64(p[40:], size)
		n++
		le.PutUint16(f[56:], n)
	}
	segment(elf.PT_LOAD, elf.PF_R|elf.PF_X, imageTextOffset, imageText, imageTextSize)
	segment(elf.PT_LOAD, elf.PF_R, imageConstOffset, imageConst, imageConstSize)
	segment(elf.PT_LOAD, elf.PF_R|elf.PF_W, imageDataOffset, imageData, imageDataSize)
	if !b.image.relocated {
		return
	}
	segment(elf.PT_DYNAMIC, elf.PF_R, imageDynamic-imageConst+imageConstOffset, imageDynamic, 64)
	sortRelocs(b.relocs)
	for k, r := range b.relocs {
		at := uint64(imageRelocs + relaBytes*k)
		b.word(at, r[0])
		b.word(at+8, uint64(elf.R_X86_64_RELATIVE))
		b.word(at+16, r[1])
	}
	for k, d := range [][2]uint64{
		{uint64(elf.DT_RELA), imageRelocs}, {uint64(elf.DT_RELASZ), uint64(len(b.relocs)) * relaBytes},
		{uint64(elf.DT_RELAENT), relaBytes}, {},
	} {
		b.word(imageDynamic+16*uint64(k), d[0])
		b.word(imageDynamic+16*uint64(k)+8, d[1])
	}
}
