package dwarfline

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

// symbol returns where a function of a file is.
func symbol(t testing.TB, path, name string) function {
	t.Helper()
	for _, f := range functions(t, path) {
		if f.name == name {
			return f
		}
	}
	t.Fatalf("no function %s in %s", name, path)
	return function{}
}

// shapes returns the answers for all addresses of a function as
// "inner file line < outer file line".
func shapes(t testing.TB, path, name string) map[string]bool {
	t.Helper()
	d := openData(t, path)
	f := symbol(t, path, name)
	all := map[string]bool{}
	for pc := f.start; pc < f.start+f.size; pc++ {
		var parts []string
		for _, l := range lookup(t, d, addr.File(pc)) {
			parts = append(parts, l.Name+" "+filepath.Base(l.File)+" "+strconv.FormatInt(l.Line, 10))
		}
		all[strings.Join(parts, " < ")] = true
	}
	return all
}

func TestInlinedChainAcrossFiles(t *testing.T) {
	t.Parallel()
	const link = " -O2 -nostdlib -static -o a chain.c"
	for name, commands := range map[string][]string{
		"gcc dwarf 5":           {"gcc -gdwarf-5" + link},
		"gcc dwarf 4":           {"gcc -gdwarf-4" + link},
		"gcc dwarf 3":           {"gcc -gdwarf-3" + link},
		"gcc dwarf 2":           {"gcc -gdwarf-2" + link},
		"64-bit format":         {"gcc -gdwarf-5 -gdwarf64" + link},
		"32-bit code":           {"gcc -m32 -gdwarf-5" + link},
		"clang dwarf 5":         {"clang-14 -gdwarf-5" + link},
		"clang dwarf 4":         {"clang-14 -gdwarf-4" + link},
		"clang line tables":     {"clang-14 -gline-tables-only" + link},
		"type units":            {"gcc -g -fdebug-types-section" + link},
		"sections":              {"gcc -g -ffunction-sections -Wl,--gc-sections" + link},
		"gold":                  {"gcc -g -fuse-ld=gold" + link},
		"position independent":  {"gcc -g -O2 -nostdlib -shared -fPIC -o a chain.c"},
		"zlib":                  {"gcc -g -gz=zlib" + link},
		"old zlib":              {"gcc -g" + link, "objcopy --compress-debug-sections=zlib-gnu a b", "mv b a"},
		"zstd":                  {"gcc -g" + link, "objcopy --compress-debug-sections=zstd a b", "mv b a"},
		"32-bit code, zlib":     {"gcc -m32 -g -gz=zlib" + link},
		"32-bit code, zstd":     {"gcc -m32 -g" + link, "objcopy --compress-debug-sections=zstd a b", "mv b a"},
		"separate debug file":   {"gcc -g" + link, "objcopy --only-keep-debug a b", "mv b a"},
		"no ranges of units":    {"gcc -g" + link, "objcopy -R .debug_aranges a b", "mv b a"},
		"clang, garbage dumped": {"clang-14 -gdwarf-5 -ffunction-sections -Wl,--gc-sections" + link},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(fixture.Build(t, chain, commands...), "a")
			got := shapes(t, path, "outer")
			assert.Contains(t, got, "inner inner.h 3 < middle middle.h 4 < outer chain.c 6")
			assert.Contains(t, got, "outer chain.c 7")
			for shape := range got {
				assert.True(t, strings.HasSuffix(shape, "outer chain.c 5") || strings.HasSuffix(shape, "outer chain.c 6") ||
					strings.HasSuffix(shape, "outer chain.c 7") || strings.HasSuffix(shape, "outer chain.c 8"), shape)
			}
		})
	}
}

func TestStartLineAndLanguage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(fixture.Build(t, chain, "gcc -g -O2 -nostdlib -static -o a chain.c"), "a")
	lines := lookup(t, openData(t, path), addr.File(symbol(t, path, "outer").start))
	require.NotEmpty(t, lines)
	outer := lines[len(lines)-1]
	assert.Equal(t, int64(5), outer.StartLine)
	assert.Equal(t, "", outer.LinkageName)
	assert.Equal(t, uint16(0x1d), outer.Language) // DW_LANG_C11
	assert.Equal(t, filepath.Dir(path)+"/chain.c", outer.File)
}

// The return address of a call at the end of a function is in the next one:
// one byte before it is the call.
func TestCallThatDoesNotReturnAtTheEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(fixture.Build(t, chain, "gcc -g -O2 -fno-align-functions -fno-reorder-functions -fno-toplevel-reorder -nostdlib -static -o a chain.c"), "a")
	last, next := symbol(t, path, "last"), symbol(t, path, "next")
	require.Equal(t, last.start+last.size, next.start)
	d := openData(t, path)
	ends := lookup(t, d, addr.File(next.start-1))
	require.Len(t, ends, 1)
	assert.Equal(t, "last", ends[0].Name)
	assert.Equal(t, int64(11), ends[0].Line)
	begins := lookup(t, d, addr.File(next.start))
	require.Len(t, begins, 1)
	assert.Equal(t, "next", begins[0].Name)
}

func TestNothingWhereNoUnitIs(t *testing.T) {
	t.Parallel()
	sources := map[string]string{"b.c": "void blank(void) { for (volatile int i = 0; i < 9; i++); }"}
	for k, v := range chain {
		sources[k] = v
	}
	path := filepath.Join(fixture.Build(t, sources, "gcc -O2 -c b.c", "gcc -g -O2 -nostdlib -static -o a chain.c b.o"), "a")
	d := openData(t, path)
	blank := symbol(t, path, "blank")
	for _, pc := range []uint64{0, 1, 1 << 40, 1<<64 - 1, blank.start, blank.start + blank.size - 1} {
		assert.Empty(t, lookup(t, d, addr.File(pc)), "%#x", pc)
	}
}

func TestAssemblyLanguageHasPlacesOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(fixture.Build(t, map[string]string{"a.s": "	.globl work\n	.type work, @function\nwork:	nop\n	nop\n	.size work, .-work\n"},
		"gcc -gdwarf-4 -nostdlib -static -o a a.s"), "a")
	lines := lookup(t, openData(t, path), addr.File(symbol(t, path, "work").start+1))
	require.Len(t, lines, 1)
	assert.Equal(t, int64(4), lines[0].Line)
	assert.Equal(t, "a.s", filepath.Base(lines[0].File))
}

func TestSplitDwarfIsReported(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"gcc -gdwarf-5", "gcc -gdwarf-4", "clang-14 -gdwarf-5 -fno-split-dwarf-inlining", "clang-14 -gdwarf-4 -fno-split-dwarf-inlining"} {
		dir := fixture.Build(t, chain, flags+" -gsplit-dwarf -O2 -nostdlib -static -o a chain.c")
		path := filepath.Join(dir, "a")
		d := openData(t, path)
		lines, err := d.Lookup(addr.File(symbol(t, path, "outer").start), nil)
		assert.ErrorIs(t, err, ErrSplit, flags)
		assert.Empty(t, lines)
	}
}

func TestFilesWithoutDebugInformation(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, chain, "gcc -O2 -nostdlib -static -o a chain.c", "gcc -g -O2 -c -o o chain.c")
	f, r := openELF(t, filepath.Join(dir, "a"))
	_, err := Open(f, r, Options{})
	assert.ErrorIs(t, err, ErrNone)
	f, r = openELF(t, filepath.Join(dir, "o"))
	_, err = Open(f, r, Options{})
	assert.ErrorIs(t, err, ErrUnsupported)
}

func TestInlinedAcrossUnits(t *testing.T) {
	t.Parallel()
	// Link-time optimization inlines what is in another unit: the origin is
	// found by its offset in the section.
	dir := fixture.Build(t, map[string]string{
		"a.c": "long far(long);\nvolatile long sink;\n__attribute__((noinline)) void near(void) {\n	sink = far(sink);\n}\nvoid _start(void) { near(); }\n",
		"b.c": "\n\nextern volatile long sink;\nlong far(long x) {\n	sink = x;\n	return x + sink;\n}\n",
	}, "gcc -g -O2 -flto -c a.c", "gcc -g -O2 -flto -c b.c", "gcc -g -O2 -flto -nostdlib -static -o a a.o b.o")
	path := filepath.Join(dir, "a")
	got := shapes(t, path, "near")
	assert.Contains(t, got, "far b.c 5 < near a.c 4")
}

func TestHeldMemoryIsBoundedAndCounted(t *testing.T) {
	t.Parallel()
	sources := map[string]string{}
	link := "gcc -g -O2 -nostdlib -static -o a"
	for _, c := range "abcdefghij" {
		name := string(c)
		sources[name+".c"] = "volatile int s" + name + ";\nvoid " + name + "(void) {\n	for (s" + name + " = 0; s" + name + " < 9; s" + name + "++);\n}\n"
		link += " " + name + ".c"
	}
	path := filepath.Join(fixture.Build(t, sources, link+" -Wl,-e,a"), "a")
	f, r := openELF(t, path)
	d, err := Open(f, r, Options{})
	require.NoError(t, err)
	visit := func() {
		for _, c := range "abcdefghij" {
			lines := lookup(t, d, addr.File(symbol(t, path, string(c)).start))
			require.Len(t, lines, 1)
			assert.Equal(t, string(c), lines[0].Name)
		}
	}
	visit()
	all := d.held
	assert.Len(t, d.loaded, 10)
	d.Drop()
	assert.Less(t, d.Bytes(), all)
	d.opts.MaxBytes = all / 2
	for range 3 {
		visit()
		assert.LessOrEqual(t, d.held, d.opts.MaxBytes)
	}
	sum := int64(0)
	for _, u := range d.loaded {
		sum += u.held
	}
	assert.Equal(t, sum, d.held)
	d.opts.MaxBytes = 1 // less than a single unit
	visit()
	assert.Zero(t, d.held)
}

func TestCompressedSectionsAreBoundedAndCounted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(fixture.Build(t, chain, "gcc -g3 -gz=zlib -O2 -nostdlib -static -o a chain.c"), "a")
	f, r := openELF(t, path)
	_, err := Open(f, r, Options{MaxUnpacked: 200})
	assert.ErrorIs(t, err, ErrTooBig)
	d, err := Open(f, r, Options{})
	require.NoError(t, err)
	before := d.Bytes()
	pc := addr.File(symbol(t, path, "outer").start)
	want := lookup(t, d, pc)
	assert.NotEmpty(t, want)
	assert.Greater(t, d.Bytes()-before, d.unpacked)
	assert.Greater(t, d.unpacked, int64(1000))
	d.Drop()
	assert.Zero(t, d.unpacked)
	assert.Equal(t, want, lookup(t, d, pc))
}

// failing is a file that cannot be read for a while.
type failing struct {
	*os.File
	broken bool
}

func (f *failing) ReadAt(b []byte, off int64) (int, error) {
	if f.broken {
		return 0, os.ErrPermission
	}
	return f.File.ReadAt(b, off)
}

func TestErrorsOfReadingAreNotRemembered(t *testing.T) {
	t.Parallel()
	path := filepath.Join(fixture.Build(t, chain, "gcc -g -O2 -nostdlib -static -o a chain.c"), "a")
	pc := addr.File(symbol(t, path, "outer").start)
	f, r := openELF(t, path)
	source := &failing{File: r}
	d, err := Open(f, source, Options{})
	require.NoError(t, err)
	for range 2 {
		for _, id := range []bool{true, false} {
			source.broken = id
			lines, err := d.Lookup(pc, nil)
			if id {
				require.ErrorIs(t, err, os.ErrPermission)
				require.Empty(t, lines)
			} else {
				require.NoError(t, err)
				require.NotEmpty(t, lines)
			}
		}
		d.Drop()
	}
}
