package unwind

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/elffile"
)

// check compiles a file and asserts what holds for every table.
func check(t testing.TB, b []byte) {
	table, err := compileBytes(b)
	if err != nil {
		if !errors.Is(err, elffile.ErrFormat) && !errors.Is(err, ErrMachine) && !errors.Is(err, ErrNoCode) {
			t.Fatal(err)
		}
		return
	}
	if len(table.Rows) == 0 || table.Rows[0].PC != 0 || table.Rows[len(table.Rows)-1].Kind != KindNone {
		t.Fatal("the table has no ends")
	}
	for i := 1; i < len(table.Rows); i++ {
		if table.Rows[i].PC <= table.Rows[i-1].PC || table.Rows[i].same(table.Rows[i-1]) {
			t.Fatal("rows are not sorted or not joined")
		}
	}
	if err := table.Describe(&bytes.Buffer{}, true); err != nil {
		t.Fatal(err)
	}
}

func smallFile(t testing.TB) []byte {
	t.Helper()
	dir := build(t, map[string]string{"a.c": callerSource}, gcc("plain", "-nostdlib", "-Wl,-z,noseparate-code"))
	b, err := os.ReadFile(filepath.Join(dir, "plain"))
	require.NoError(t, err)
	return b
}

func TestTruncatedAnywhere(t *testing.T) {
	t.Parallel()
	b := smallFile(t)
	for n := 0; n < len(b); n += 5 {
		check(t, b[:n])
	}
}

func TestDamagedAnywhere(t *testing.T) {
	t.Parallel()
	b := smallFile(t)
	f, err := elffile.New(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	spans := [][2]int{{0, 0x200}}
	for _, name := range []string{".eh_frame", ".eh_frame_hdr"} {
		s, ok := f.Section(name)
		require.True(t, ok)
		spans = append(spans, [2]int{int(s.Offset), int(s.Offset) + int(s.Size)})
	}
	for _, span := range spans {
		for at := span[0]; at < span[1]; at++ {
			for _, v := range []string{"\xff", "\x00", "\x80", "\xff\xff\xff\xff", "\xff\xff\xff\x7f", "\xff\xff\xff\xff\xff\xff\xff\xff"} {
				damaged := bytes.Clone(b)
				copy(damaged[at:], v)
				check(t, damaged)
			}
		}
	}
}

// repeated is a section of n equal entries of one function, in a file without
// end.
type repeated struct{ head, entry []byte }

func (r repeated) ReadAt(b []byte, off int64) (int, error) {
	n := 0
	if off < int64(len(r.head)) {
		n = copy(b, r.head[off:])
	}
	for n < len(b) {
		n += copy(b[n:], r.entry[(int(off)+n-len(r.head))%len(r.entry):])
	}
	return n, nil
}

// TestFarTooLargeSection reads a section of a terabyte: what is read and held
// is bounded.
func TestFarTooLargeSection(t *testing.T) {
	f, _ := newFrames()
	head := bytes.Clone(f.Bytes())
	entry := le.AppendUint32(nil, 12)
	entry = le.AppendUint32(entry, 0) // a common entry, never used
	entry = append(entry, 1, 0, 1, 0x78, 16, 0, 0, 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b := &builder{m: amd64, base: handBase, code: []codeRange{{handBase, handBase + 0x1000}}, limit: 1000}
	s := &section{}
	s.r, s.size = repeated{head, bytes.Repeat(entry, 1000)}, 1<<40
	require.NoError(t, b.addSection(s))
	runtime.ReadMemStats(&after)
	assert.False(t, b.table().Complete)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(12<<20))
}

func TestRememberedStatesAreBounded(t *testing.T) {
	t.Parallel()
	f, cie := newFrames()
	f.function(cie, 0x100, 0x10, bytes.Repeat([]byte{cfaRemember}, maxRemembered+1)...)
	f.function(cie, 0x200, 0x10, bytes.Repeat([]byte{cfaRemember}, maxRemembered)...)
	table, _ := compileFrames(t, f)
	assert.Equal(t, stop(ReasonInstruction).Kind, table.Lookup(handBase+0x100).Kind)
	assert.Equal(t, KindSP, table.Lookup(handBase+0x200).Kind)
}

func TestOtherMachinesAndNoCode(t *testing.T) {
	t.Parallel()
	b := smallFile(t)
	machine := bytes.Clone(b)
	machine[18] = 3 // EM_386
	_, err := compileBytes(machine)
	require.ErrorIs(t, err, ErrMachine)
	f, err := elffile.New(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	for i := range f.Progs {
		f.Progs[i].Flags &^= 1
	}
	_, err = Compile(f, bytes.NewReader(b), Options{})
	require.ErrorIs(t, err, ErrNoCode)
}

func FuzzCompile(f *testing.F) {
	f.Add(smallFile(f))
	dir := build(f, map[string]string{"a.s": "f:\t.cfi_startproc\n\tnop\n\t.cfi_def_cfa_offset 16\n\tnop\n\t.cfi_endproc\n"},
		words("aarch64-linux-gnu-gcc", "-nostdlib", "-shared", "-Wl,-z,noseparate-code,--hash-style=gnu,-z,max-page-size=4096", "-o", "arm", "a.s"),
		words("gcc", "-nostdlib", "-shared", "-Wl,-z,noseparate-code,--hash-style=gnu", "-o", "x86", "a.s"))
	for _, name := range []string{"arm", "x86"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) <= 1<<20 {
			check(t, b)
		}
	})
}

// FuzzFrames fuzzes a section without the file around it.
func FuzzFrames(f *testing.F) {
	small, cie := newFrames()
	small.function(cie, 0x300, 0x10, cfaRemember, cfaAdvance|1, cfaDefOffset, 32, cfaOffset|6, 2, cfaAdvance1, 2, cfaRestoreState)
	small.function(cie, 0x320, 0x10, cfaDefExpression, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22)
	f.Add(small.Bytes(), false, false)
	small.debug = true
	f.Add(small.Bytes(), true, true)
	f.Fuzz(func(t *testing.T, b []byte, debug, arm bool) {
		m := amd64
		if arm {
			m = arm64
		}
		for _, tillZero := range []bool{false, true} {
			bl := &builder{m: m, base: handBase, code: []codeRange{{handBase, handBase + 0x1000}}, limit: 1000}
			s := &section{at: handBase + 0x10000, isDebug: debug, tillZero: tillZero}
			s.r, s.size = bytes.NewReader(b), uint64(len(b))
			if err := bl.addSection(s); err != nil {
				t.Fatal(err)
			}
			table := bl.table()
			for i := 1; i < len(table.Rows); i++ {
				if table.Rows[i].PC <= table.Rows[i-1].PC {
					t.Fatal("rows are not sorted")
				}
			}
		}
	})
}
