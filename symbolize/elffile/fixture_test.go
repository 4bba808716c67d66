package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

const spinSource = `
__attribute__((noinline)) long hot(long n) { for (volatile long i = 0; i < n; i++); return n; }
`

const mainSource = `
long hot(long);
int main(void) { for (;;) hot(1000); }
`

// offsetOf returns where the code of a function lies in the file, by what
// debug/elf says.
func offsetOf(t *testing.T, path, name string) addr.Offset {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	syms, err := f.Symbols()
	require.NoError(t, err)
	for _, s := range syms {
		if s.Name == name {
			sec := f.Sections[s.Section]
			return addr.Offset(s.Value - sec.Addr + sec.Offset)
		}
	}
	t.Fatalf("no symbol %s in %s", name, path)
	return 0
}

// fileAddress returns the value of a symbol, by what debug/elf says.
func fileAddress(t *testing.T, path, name string) addr.File {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	syms, err := f.Symbols()
	require.NoError(t, err)
	for _, s := range syms {
		if s.Name == name {
			return addr.File(s.Value)
		}
	}
	t.Fatalf("no symbol %s in %s", name, path)
	return 0
}

func TestNamesByOffsetWhereverTheLinkerPutTheCode(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		compile string
		differ  bool // code is not at the address that is its offset
	}{
		"shared object":                   {"gcc -O1 -shared -fPIC -o out spin.c", false},
		"shared object, code moved":       {"gcc -O1 -shared -fPIC -Wl,--section-start=.text=0x15000 -o out spin.c", true},
		"position independent executable": {"gcc -O1 -pie -fPIE -o out spin.c main.c", false},
		"fixed address":                   {"gcc -O1 -no-pie -fno-pie -o out spin.c main.c", true},
		"fixed address, code in the first segment": {
			"gcc -O1 -no-pie -fno-pie -static -Wl,-z,noseparate-code -o out spin.c main.c", true},
		"gold": {"gcc -O1 -fuse-ld=gold -no-pie -fno-pie -o out spin.c main.c", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Build(t, map[string]string{"spin.c": spinSource, "main.c": mainSource}, tt.compile)
			off := offsetOf(t, filepath.Join(dir, "out"), "hot")
			f := openFile(t, dir, "out")
			seg, a, ok := FindSegment(f.Segments(), off+4)
			require.True(t, ok)
			assert.True(t, seg.Executable)
			assert.Equal(t, tt.differ, uint64(a) != uint64(off+4))
			assert.Equal(t, "hot", nameOf(symbolsOf(t, f), a))
		})
	}
}

func TestFunctionsWithoutSize(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.s": `
	.text
	.globl sized
	.type sized, @function
sized:	nop
	nop
	.size sized, .-sized
	nop
asm_spin:
	jmp asm_spin
	nop
	.globl after
	.type after, @function
after:	ret
	.size after, .-after
	.section .text.other,"ax",@progbits
other:	ret
`}, "gcc -shared -nostdlib -o out a.s")
	f := openFile(t, dir, "out")
	s := symbolsOf(t, f)
	start, _ := s.Range(named(s)["sized"])
	for i, want := range []string{"sized", "sized", "", "asm_spin", "asm_spin", "asm_spin", "after"} {
		assert.Equal(t, want, nameOf(s, start+addr.File(i)), "byte %d", i)
	}
	text, ok := f.Section(".text")
	require.True(t, ok)
	_, limit := s.Range(named(s)["other"])
	assert.LessOrEqual(t, limit, text.Address+addr.File(text.Size))
}

func TestAliasesInAnyOrderOfObjects(t *testing.T) {
	t.Parallel()
	sources := map[string]string{
		"foo.c": `
int foo(void) { return 1; }
int foo_weak(void) __attribute__((weak, alias("foo")));
static int __GI_foo(void) __attribute__((alias("foo"), used));
int twin_b(void) { return 2; }
int twin_a(void) __attribute__((alias("twin_b")));
int _twin(void) __attribute__((alias("twin_b")));
`,
		"x.c": "int x(void) { return 3; }",
		"y.c": "int y(void) { return 4; }",
		"data.s": `
	.globl table
	.type table, @object
	.text
table:	.quad 0
	.size table, 8
	.globl absolute
absolute = 0x1010
	.section .tbss,"awT",@nobits
tls:	.zero 8
`,
	}
	for _, order := range []string{"foo.c x.c y.c data.s", "y.c data.s foo.c x.c", "data.s x.c y.c foo.c"} {
		dir := fixture.Build(t, sources, "gcc -O1 -shared -fPIC -o out "+order)
		s := symbolsOf(t, openFile(t, dir, "out"))
		names := named(s)
		for _, want := range []string{"foo", "twin_a", "x", "y"} {
			assert.Contains(t, names, want, order)
		}
		for _, loser := range []string{"foo_weak", "__GI_foo", "twin_b", "_twin", "table", "absolute", "tls"} {
			assert.NotContains(t, names, loser, order)
		}
	}
}

func TestIndirectFunctionNamesItsResolverOnly(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"i.c": `
static int fast(void) { return 1; }
static void *pick(void) { return fast; }
int work(void) __attribute__((ifunc("pick")));
`}, "gcc -O1 -shared -fPIC -o out i.c")
	path := filepath.Join(dir, "out")
	s := symbolsOf(t, openFile(t, path))
	f := openFile(t, path)
	_, a, ok := FindSegment(f.Segments(), offsetOf(t, path, "fast"))
	require.True(t, ok)
	assert.Equal(t, "fast", nameOf(s, a))
	_, a, ok = FindSegment(f.Segments(), offsetOf(t, path, "pick"))
	require.True(t, ok)
	assert.Equal(t, "pick", nameOf(s, a), "what runs there is the resolver")
}

func TestStrippedFilesHaveTheirDynamicSymbols(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"spin.c": spinSource + "static int hidden(void) { return 1; } int (*p)(void) = hidden;"},
		"gcc -O1 -shared -fPIC -o out spin.c", "strip -o stripped out")
	assert.Contains(t, named(symbolsOf(t, openFile(t, dir, "out"))), "hidden")
	names := named(symbolsOf(t, openFile(t, dir, "stripped")))
	assert.Contains(t, names, "hot")
	assert.NotContains(t, names, "hidden")
}

func TestFilesWithoutSectionHeaders(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"-Wl,--hash-style=gnu", "-Wl,--hash-style=sysv", "-m32 -nostdlib -Wl,--hash-style=gnu"} {
		dir := fixture.Build(t, map[string]string{"spin.c": spinSource + "int second(void) { return 2; }"},
			"gcc -O1 -shared -fPIC "+flags+" -Wl,--build-id=0x07 -o out spin.c")
		b, err := os.ReadFile(filepath.Join(dir, "out"))
		require.NoError(t, err)
		whole, err := New(bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		want, _ := symbolsOf(t, whole).Lookup(fileAddress(t, filepath.Join(dir, "out"), "hot"))
		for _, field := range []int{32, 46, 48, 40, 58, 60} { // e_shoff, e_shentsize, e_shnum of both classes
			if whole.Is64 == (field == 40 || field >= 58) {
				b[field], b[field+1] = 0, 0
			}
		}
		f, err := New(bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		require.Empty(t, f.Sections)
		assert.Equal(t, []byte{7}, f.BuildIDs().GNU)
		s := symbolsOf(t, f)
		i, ok := s.Lookup(fileAddress(t, filepath.Join(dir, "out"), "hot"))
		require.True(t, ok, flags)
		assert.Equal(t, "hot", s.Name(i))
		start, _ := s.Range(i)
		wantStart, _ := symbolsOf(t, whole).Range(want)
		assert.Equal(t, wantStart, start)
		assert.Contains(t, named(s), "second")
	}
}

func TestBuildIDs(t *testing.T) {
	t.Parallel()
	src := map[string]string{"spin.c": spinSource, "main.c": mainSource, "m.go": "package main\n\nfunc main() {}\n"}
	dir := fixture.Build(t, src,
		"gcc -shared -fPIC -Wl,--build-id=0x0123456789abcdef -o with spin.c",
		"gcc -shared -fPIC -Wl,--build-id=none -o without spin.c",
		"gcc -m32 -nostdlib -shared -fPIC -Wl,--build-id=0xaa -o narrow spin.c",
		"go build -ldflags=-buildid=our/go/id -o gofile m.go",
	)
	ids := openFile(t, dir, "with").BuildIDs()
	assert.Equal(t, "0123456789abcdef", hex.EncodeToString(ids.GNU))
	assert.Empty(t, ids.Go)
	assert.Nil(t, openFile(t, dir, "without").BuildIDs().GNU)
	assert.Equal(t, "our/go/id", openFile(t, dir, "gofile").BuildIDs().Go)
	narrow := openFile(t, dir, "narrow")
	assert.False(t, narrow.Is64)
	assert.Equal(t, []byte{0xaa}, narrow.BuildIDs().GNU)
	assert.Contains(t, named(symbolsOf(t, narrow)), "hot")
}

func TestBadNotesDoNotLoseTheSymbols(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"spin.c": spinSource}, "gcc -shared -fPIC -Wl,--build-id=0x0123456789abcdef -o out spin.c")
	b, err := os.ReadFile(filepath.Join(dir, "out"))
	require.NoError(t, err)
	at := bytes.Index(b, []byte("\x04\x00\x00\x00\x08\x00\x00\x00\x03\x00\x00\x00GNU\x00"))
	require.Positive(t, at)
	for _, size := range []string{"\xff\xff\xff\xff", "\xff\xff\xff\x7f", "\x00\x00\x00\x00", "\x00\x10\x00\x00"} {
		for _, field := range []int{0, 4} {
			bad := bytes.Clone(b)
			copy(bad[at+field:], size)
			f, err := New(bytes.NewReader(bad), int64(len(bad)))
			require.NoError(t, err)
			assert.Nil(t, f.BuildIDs().GNU)
			assert.Contains(t, named(symbolsOf(t, f)), "hot")
		}
	}
}

// TestAgreesWithNM looks up each function of this host's C library that nm
// prints, at its first and last byte.
func TestAgreesWithNM(t *testing.T) {
	t.Parallel()
	const libc = "/lib/x86_64-linux-gnu/libc.so.6"
	out, err := exec.Command("nm", "-D", "--defined-only", "-S", "--without-symbol-versions", libc).Output()
	require.NoError(t, err)
	type at struct{ addr, size uint64 }
	names := map[at]map[string]bool{}
	for line := range strings.Lines(string(out)) {
		w := strings.Fields(line)
		if len(w) != 4 || !strings.Contains("TtWwi", w[2]) {
			continue
		}
		a, err1 := strconv.ParseUint(w[0], 16, 64)
		n, err2 := strconv.ParseUint(w[1], 16, 64)
		require.NoError(t, err1)
		require.NoError(t, err2)
		if names[at{a, n}] == nil {
			names[at{a, n}] = map[string]bool{}
		}
		names[at{a, n}][w[3]] = true
	}
	require.Greater(t, len(names), 1000)
	s := symbolsOf(t, openFile(t, libc))
	bad := 0
	for k, set := range names {
		if !set[nameOf(s, addr.File(k.addr))] || !set[nameOf(s, addr.File(k.addr+k.size-1))] {
			bad++
			t.Logf("%#x+%#x is %q and %q, not one of %v", k.addr, k.size, nameOf(s, addr.File(k.addr)), nameOf(s, addr.File(k.addr+k.size-1)), set)
		}
	}
	assert.LessOrEqual(t, bad, len(names)/200)
}
