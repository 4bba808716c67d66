package elffile

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

const manySource = `
static __attribute__((noinline)) long first(long n) { for (volatile long i = 0; i < n; i++); return n; }
static __attribute__((noinline)) long second(long n) { for (volatile long i = 0; i < n; i++) n ^= i; return n; }
long entry(long n) { return first(n) + second(n); }
`

func TestFunctionsOfStrippedFiles(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{
		"-shared -fPIC", "-shared -fPIC -Wl,--section-start=.text=0x15000", "-no-pie -fno-pie", "-fuse-ld=gold -shared -fPIC",
		"-m32 -nostdlib -shared -fPIC", "-shared -fPIC -Wl,-z,noseparate-code",
		"-shared -fPIC -falign-functions=64",
	} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Build(t, map[string]string{"a.c": manySource + "int main(void) { return entry(3); }\n"},
				"gcc -O1 "+flags+" -o whole a.c", "strip -o stripped whole")
			e, err := elf.Open(filepath.Join(dir, "whole"))
			require.NoError(t, err)
			defer e.Close()
			symbols, err := e.Symbols()
			require.NoError(t, err)
			f := openFile(t, dir, "stripped")
			table := f.Functions()
			require.NotNil(t, table)
			ranges, err := table.Load(f.r)
			require.NoError(t, err)
			seen := 0
			for _, s := range symbols {
				if s.Name != "first" && s.Name != "second" && s.Name != "entry" && s.Name != "main" {
					continue
				}
				seen++
				for at := s.Value; at < s.Value+s.Size; at++ {
					start, limit, ok, err := table.Find(f.r, addr.File(at))
					require.NoError(t, err)
					require.True(t, ok, "%s: %#x", s.Name, at)
					assert.Equal(t, addr.File(s.Value), start, s.Name)
					assert.Equal(t, addr.File(s.Value+s.Size), limit, s.Name)
					start, limit = ranges.Find(addr.File(at))
					assert.Equal(t, [2]addr.File{addr.File(s.Value), addr.File(s.Value + s.Size)}, [2]addr.File{start, limit}, s.Name)
				}
				start, _, _, err := table.Find(f.r, addr.File(s.Value+s.Size))
				require.NoError(t, err)
				assert.NotEqual(t, addr.File(s.Value), start, "the byte after %s", s.Name)
			}
			assert.Equal(t, 4, seen)
		})
	}
}

func TestFilesWithoutTheTable(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.c": manySource},
		"gcc -O1 -shared -fPIC -Wl,--no-eh-frame-hdr -o none a.c", "gcc -c -o object.o a.c")
	assert.Nil(t, openFile(t, dir, "none").Functions())
	assert.Nil(t, openFile(t, dir, "object.o").Functions())
}

// unwound is a file of one segment at 0x1000 with code at 0x1100 to 0x1400 and
// three functions: [0x1100, 0x1140), [0x1140, 0x1180) and [0x1200, 0x1210).
func unwound() []byte {
	b := make([]byte, 0x400)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], uint16(elf.ET_DYN))
	le.PutUint16(b[18:], uint16(elf.EM_X86_64))
	le.PutUint64(b[32:], 64) // e_phoff
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 2)
	program := func(at int, kind elf.ProgType, flags elf.ProgFlag, from, size uint64) {
		le.PutUint32(b[at:], uint32(kind))
		le.PutUint32(b[at+4:], uint32(flags))
		le.PutUint64(b[at+8:], from)
		le.PutUint64(b[at+16:], 0x1000+from)
		le.PutUint64(b[at+32:], size)
		le.PutUint64(b[at+40:], size)
	}
	program(64, elf.PT_LOAD, elf.PF_R|elf.PF_X, 0, 0x400)
	program(120, elf.PT_GNU_EH_FRAME, elf.PF_R, unwoundHeader, 12+3*8)
	copy(b[unwoundHeader:], "\x01\x1b\x03\x3b")
	le.PutUint32(b[unwoundHeader+8:], 3)
	for i, f := range [][2]uint32{{0x100, 0x40}, {0x140, 0x40}, {0x200, 0x10}} {
		pair, entry := unwoundHeader+12+8*i, unwoundEntries+16*i
		le.PutUint32(b[pair:], f[0]-unwoundHeader)
		le.PutUint32(b[pair+4:], uint32(entry)-unwoundHeader)
		le.PutUint32(b[entry:], 12)
		le.PutUint32(b[entry+4:], 4)
		le.PutUint32(b[entry+8:], f[0]-uint32(entry)-8)
		le.PutUint32(b[entry+12:], f[1])
	}
	return b
}

const unwoundHeader, unwoundEntries = 0x300, 0x330

// edited is unwound with a number at an offset replaced.
func edited(at int, with uint32) []byte {
	b := unwound()
	le.PutUint32(b[at:], with)
	return b
}

func find(t testing.TB, b []byte, at addr.File) (start, limit addr.File, ok bool) {
	t.Helper()
	f, err := New(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	table := f.Functions()
	if table == nil {
		return 0, 0, false
	}
	start, limit, ok, err = table.Find(bytes.NewReader(b), at)
	require.NoError(t, err)
	ranges, err := table.Load(bytes.NewReader(b))
	require.NoError(t, err)
	loadedStart, loadedLimit := ranges.Find(at)
	assert.Equal(t, [2]addr.File{start, limit}, [2]addr.File{loadedStart, loadedLimit})
	assert.LessOrEqual(t, ranges.Bytes(), int64(table.Len()*RangeBytes))
	return start, limit, ok
}

func TestAddressesOutsideEveryEntry(t *testing.T) {
	t.Parallel()
	for at, want := range map[addr.File][2]addr.File{
		0x10ff: {}, 0x1100: {0x1100, 0x1140}, 0x113f: {0x1100, 0x1140}, 0x1140: {0x1140, 0x1180}, 0x117f: {0x1140, 0x1180},
		0x1180: {}, 0x11ff: {}, 0x1200: {0x1200, 0x1210}, 0x1210: {}, 0x13ff: {}, 0x1400: {}, 0: {}, 1<<64 - 1: {},
	} {
		start, limit, ok := find(t, unwound(), at)
		assert.Equal(t, want, [2]addr.File{start, limit}, "%#x", uint64(at))
		assert.Equal(t, want[1] != 0, ok, "%#x", uint64(at))
	}
}

func TestUnwindTablesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	const firstEntry = unwoundEntries
	for name, b := range map[string][]byte{
		"other version":               edited(unwoundHeader, 0x3b031b02),
		"other encoding":              edited(unwoundHeader, 0x3c031b01),
		"more pairs than the header":  edited(unwoundHeader+8, 4),
		"no pairs":                    edited(unwoundHeader+8, 0),
		"all pairs":                   edited(unwoundHeader+8, 1<<32-1),
		"header of no bytes":          edited(120+32, 0),
		"header beyond the file":      edited(120+8, 0x10000),
		"entry outside":               edited(unwoundHeader+16, 0x7fffffff),
		"entry at the end":            edited(unwoundHeader+16, 0x400-8-unwoundHeader),
		"entry of another function":   edited(unwoundHeader+16, firstEntry+16-unwoundHeader),
		"entry of length zero":        edited(firstEntry, 0),
		"entry of 64 bits":            edited(firstEntry, 1<<32-1),
		"common entry":                edited(firstEntry+4, 0),
		"begins elsewhere":            edited(firstEntry+8, 0),
		"range beyond the segment":    edited(firstEntry+12, 1<<32-1),
		"no range":                    edited(firstEntry+12, 0),
		"table does not begin before": edited(unwoundHeader+12, 0x7fffffff),
	} {
		_, _, ok := find(t, b, 0x1110)
		assert.False(t, ok, name)
	}
	_, _, ok := find(t, edited(unwoundEntries+12, 0x20), 0x1110)
	assert.True(t, ok, "what the others differ from")
}

// broken is a file that cannot be read any more.
type broken struct{ err error }

func (b broken) ReadAt([]byte, int64) (int, error) { return 0, b.err }

func TestUnwindTablesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := unwound()
	f, err := New(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	failed := errors.New("input/output error")
	_, _, ok, err := f.Functions().Find(broken{failed}, 0x1100)
	require.ErrorIs(t, err, failed)
	assert.False(t, ok)
	_, err = f.Functions().Load(broken{failed})
	require.ErrorIs(t, err, failed)
	_, _, ok, err = f.Functions().Find(broken{io.EOF}, 0x1100)
	require.NoError(t, err, "it has become shorter")
	assert.False(t, ok)
	ranges, err := f.Functions().Load(broken{io.EOF})
	require.NoError(t, err)
	start, _ := ranges.Find(0x1100)
	assert.Zero(t, start)
}

// Entries in the order of their functions are read in large pieces, others one
// by one, and what is held is bounded by the table.
func TestLoadReadsEachPieceOnce(t *testing.T) {
	t.Parallel()
	libc, err := filepath.Glob("/lib/*/libc.so.6")
	require.NoError(t, err)
	require.NotEmpty(t, libc)
	f := openFile(t, libc[0])
	table := f.Functions()
	require.NotNil(t, table)
	section, ok := f.Section(".eh_frame")
	require.True(t, ok)
	r := &counted{ReaderAt: f.r}
	ranges, err := table.Load(r)
	require.NoError(t, err)
	assert.Greater(t, len(ranges.starts), table.Len()*9/10)
	assert.Less(t, r.bytes, 2*int(section.Size)+table.Len()*pairBytes+aheadBytes)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		i := rng.IntN(len(ranges.starts))
		at := addr.File(ranges.start(i) + rng.Uint64N(uint64(ranges.sizes[i])+8))
		start, limit, _, err := table.Find(f.r, at)
		require.NoError(t, err)
		loadedStart, loadedLimit := ranges.Find(at)
		require.Equal(t, [2]addr.File{start, limit}, [2]addr.File{loadedStart, loadedLimit})
	}
}

// counted counts how often a file is read.
type counted struct {
	io.ReaderAt
	reads, bytes int
}

func (c *counted) ReadAt(b []byte, off int64) (int, error) {
	c.reads++
	c.bytes += len(b)
	return c.ReaderAt.ReadAt(b, off)
}

// Whatever a file says, an answer is a range that holds the address, lies in
// code and takes few reads.
func FuzzFunctions(f *testing.F) {
	f.Add(unwound(), uint64(0x1110))
	f.Add(unwound(), uint64(0x1180))
	f.Add(edited(unwoundHeader+8, 1<<32-1), uint64(0x1110))
	f.Add(edited(unwoundHeader+12, 0x7fffffff), uint64(0x1210))
	f.Add(edited(unwoundEntries+12, 1<<32-1), uint64(0x1110))
	f.Add(edited(64+32, 0x7fffffff), uint64(1<<63))
	f.Fuzz(func(t *testing.T, b []byte, at uint64) {
		file, err := New(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		table := file.Functions()
		if table == nil {
			return
		}
		r := &counted{ReaderAt: bytes.NewReader(b)}
		start, limit, ok, err := table.Find(r, addr.File(at))
		if err == nil && ok && (uint64(start) > at || uint64(limit) <= at) {
			t.Fatalf("%#x is not in %#x-%#x", at, uint64(start), uint64(limit))
		}
		if !ok && (start != 0 || limit != 0) {
			t.Fatalf("a range that is none: %#x-%#x", uint64(start), uint64(limit))
		}
		if ok {
			in := false
			for _, s := range file.Segments() {
				in = in || s.Executable && s.Contains(start) && limit <= s.Limit
			}
			if !in {
				t.Fatalf("%#x-%#x is in no code", uint64(start), uint64(limit))
			}
		}
		if r.reads > 34 || r.bytes > 2048 {
			t.Fatalf("%d reads of %d bytes", r.reads, r.bytes)
		}
		ranges, err := table.Load(r)
		if err != nil {
			return
		}
		if ranges.Bytes() > int64(len(b)) {
			t.Fatalf("%d bytes of a file of %d", ranges.Bytes(), len(b))
		}
		if start, limit := ranges.Find(addr.File(at)); limit != 0 && (uint64(start) > at || uint64(limit) <= at) {
			t.Fatalf("%#x is not in %#x-%#x", at, uint64(start), uint64(limit))
		}
	})
}
