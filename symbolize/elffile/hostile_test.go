package elffile

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

func fixtureBytes(t testing.TB) []byte {
	t.Helper()
	dir := fixture.Build(t, map[string]string{"spin.c": spinSource}, "gcc -O1 -shared -fPIC -Wl,--build-id=0x01 -o out spin.c")
	b, err := os.ReadFile(filepath.Join(dir, "out"))
	require.NoError(t, err)
	return b
}

// readAll does all that a user of the package does with a file.
func readAll(b []byte) error {
	f, err := New(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	f.BuildIDs()
	FindSegment(f.Segments(), 0x1000)
	s, err := f.Symbols()
	for i := range s.Len() {
		start, limit := s.Range(i)
		if limit <= start || i > 0 && start < prevLimit(s, i) {
			panic("ranges out of order")
		}
		if s.Name(i) == "" {
			panic("a symbol without a name")
		}
		if got, ok := s.Lookup(limit - 1); !ok || got != i {
			panic("lookup misses a range")
		}
	}
	return err
}

func prevLimit(s *Symbols, i int) (limit addr.File) {
	_, limit = s.Range(i - 1)
	return limit
}

func TestFilesThatAreNone(t *testing.T) {
	t.Parallel()
	good := fixtureBytes(t)
	edit := func(at int, with string) []byte {
		b := bytes.Clone(good)
		copy(b[at:], with)
		return b
	}
	tests := map[string]struct {
		b    []byte
		want string
	}{
		"empty":       {nil, "no ELF magic"},
		"short":       {good[:40], "40 bytes are too few"},
		"short of 64": {good[:60], "60 bytes are too few"},
		"text":        {bytes.Repeat([]byte("#!/bin/sh\n"), 20), "no ELF magic"},
		"big-endian":  {edit(elf.EI_DATA, "\x02"), "only little-endian files are read"},
		"class":       {edit(elf.EI_CLASS, "\x07"), "class 7"},
		"programs":    {edit(56, "\xff\xff"), "program headers"},
		"nothing":     {edit(32, string(make([]byte, 32))), "neither program nor section headers"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(bytes.NewReader(tt.b), int64(len(tt.b)))
			require.ErrorIs(t, err, ErrFormat)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestTruncatedAnywhere(t *testing.T) {
	t.Parallel()
	good := fixtureBytes(t)
	require.NoError(t, readAll(good))
	for n := 0; n < len(good); n += 7 {
		_ = readAll(good[:n]) // must not panic
	}
}

func TestDamagedAnywhere(t *testing.T) {
	t.Parallel()
	good := fixtureBytes(t)
	f, err := New(bytes.NewReader(good), int64(len(good)))
	require.NoError(t, err)
	spots := []int{0, 64} // headers, and each kind of table
	for _, s := range f.Sections {
		switch s.Type {
		case elf.SHT_SYMTAB, elf.SHT_STRTAB, elf.SHT_DYNSYM, elf.SHT_NOTE:
			spots = append(spots, int(s.Offset))
		}
	}
	sections := le.Uint64(good[40:])
	for at := int(sections); at < len(good); at += 64 {
		spots = append(spots, at)
	}
	for _, from := range spots {
		for at := from; at < min(from+64, len(good)-8); at++ {
			for _, v := range []string{"\xff", "\xff\xff\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\x00\x00\x00\x00\x00\x00\x80", "\x00"} {
				b := bytes.Clone(good)
				copy(b[at:], v)
				_ = readAll(b)
			}
		}
	}
}

func TestAbsurdSizesCostNoMemory(t *testing.T) {
	good := fixtureBytes(t)
	f, err := New(bytes.NewReader(good), int64(len(good)))
	require.NoError(t, err)
	sections := int(le.Uint64(good[40:]))
	for i, s := range f.Sections {
		if s.Type != elf.SHT_SYMTAB && s.Type != elf.SHT_STRTAB && s.Type != elf.SHT_DYNSYM {
			continue
		}
		b := bytes.Clone(good)
		le.PutUint64(b[sections+i*64+32:], 1<<40)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = readAll(b)
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), s.Name)
	}
}

// shrunk is a file that has lost its end since its size was taken.
type shrunk struct{ *bytes.Reader }

func (s shrunk) ReadAt(b []byte, off int64) (int, error) {
	if off > 0x800 {
		return 0, io.EOF
	}
	return s.Reader.ReadAt(b, off)
}

// TestMoreFunctionsThanAreRead has two functions more than are taken; those
// that are keep their names.
func TestMoreFunctionsThanAreRead(t *testing.T) {
	const symbols, text, entry = maxCandidates + 2, 0x1000, 24
	b := make([]byte, 64+56+4*64+16+symbols*entry)
	copy(b, elf.ELFMAG)
	b[elf.EI_CLASS], b[elf.EI_DATA], b[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	for at, v := range map[int]uint16{16: uint16(elf.ET_DYN), 18: uint16(elf.EM_X86_64), 54: 56, 56: 1, 58: 64, 60: 4} {
		le.PutUint16(b[at:], v)
	}
	le.PutUint64(b[32:], 64)    // e_phoff
	le.PutUint64(b[40:], 64+56) // e_shoff
	put := func(at int, fields ...uint64) {
		for i, f := range fields {
			le.PutUint64(b[at+8*i:], f)
		}
	}
	put(64, uint64(elf.PT_LOAD)|uint64(elf.PF_X|elf.PF_R)<<32, 0, text, text, uint64(len(b)), uint64(len(b)), 0x1000)
	strs, table := 64+56+4*64, 64+56+4*64+16
	copy(b[strs:], "\x00first\x00other\x00")
	section := func(i int, typ elf.SectionType, flags elf.SectionFlag, at, off, size, link, entsize uint64) {
		put(64+56+64*i, uint64(typ)<<32, uint64(flags), at, off, size, link, 1, entsize)
	}
	section(1, elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_EXECINSTR, text, 0, uint64(len(b)), 0, 0)
	section(2, elf.SHT_SYMTAB, 0, 0, uint64(table), symbols*entry, 3, entry)
	section(3, elf.SHT_STRTAB, 0, 0, uint64(strs), 16, 0, 0)
	for i := range symbols {
		name := uint64(7)
		if i == 0 {
			name = 1
		}
		size := uint64(2)
		if i == 5 {
			size = 0
		}
		put(table+i*entry, name|uint64(elf.STT_FUNC)<<32|1<<48, uint64(text+2*i), size)
	}
	f, err := New(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	s, err := f.Symbols()
	require.ErrorIs(t, err, ErrTooBig)
	for i, want := range map[int]string{0: "first", 4: "other", 5: "", 6: "other", maxCandidates - 1: "other", maxCandidates: "", maxCandidates + 1: ""} {
		assert.Equal(t, want, nameOf(s, addr.File(text+2*i)), "%d", i)
	}
}

func TestFileThatShrinksWhileItIsRead(t *testing.T) {
	t.Parallel()
	good := fixtureBytes(t)
	f, err := New(shrunk{bytes.NewReader(good)}, int64(len(good)))
	require.NoError(t, err)
	assert.Empty(t, f.Sections)
	assert.NotEmpty(t, f.Segments())
}

// TestOverlappingNames reads a table in which a hundred thousand names start
// in one long string: time and memory must not multiply.
func TestOverlappingNames(t *testing.T) {
	t.Parallel()
	const n = 100_000
	strs := append(bytes.Repeat([]byte("x"), n), 0)
	f := &File{r: bytes.NewReader(strs), size: int64(len(strs))}
	table := &Section{Type: elf.SHT_STRTAB, Size: uint64(len(strs))}
	cands := make([]candidate, n)
	for i := range cands {
		cands[i] = candidate{value: uint64(n - i), size: 1, name: uint32(i + 1)}
	}
	names, err := f.loadNames(cands, table, []byte{0})
	require.NoError(t, err)
	assert.LessOrEqual(t, len(names), maxName+2)
	s := newSymbols(cands, names)
	require.Equal(t, maxName, s.Len()) // longer ones are no names
	assert.Equal(t, "x", s.Name(0))
	assert.Equal(t, "xx", s.Name(1))
}

func FuzzFile(f *testing.F) {
	dir := fixture.Build(f, map[string]string{"a.s": "\t.globl f\n\t.type f,@function\nf:\tnop\n\t.size f,.-f\ng:\tret\n"},
		"gcc -nostdlib -shared -Wl,--build-id=0x01,-z,noseparate-code,--hash-style=gnu -o out a.s",
		"gcc -m32 -nostdlib -shared -Wl,--build-id=none,-z,noseparate-code -o narrow a.s")
	for _, name := range []string{"out", "narrow"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<20 {
			return
		}
		if err := readAll(b); err != nil && !errors.Is(err, ErrFormat) && !errors.Is(err, ErrTooBig) {
			t.Fatal(err)
		}
	})
}
