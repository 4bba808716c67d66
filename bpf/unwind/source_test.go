package unwind

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// callerSource has a function with a frame and saved registers, and one after
// it that ends with a call of a function that does not return.
const callerSource = `
extern void other(void *);
__attribute__((noinline)) int caller(int n)
{
	volatile char pad[200];
	pad[n & 63] = n;
	other((void *)pad);
	return pad[3] + n;
}
__attribute__((noinline, noreturn)) void spin(void)
{
	for (;;)
		;
}
__attribute__((noinline)) int ends(int n)
{
	other(&n);
	spin();
}
__attribute__((noinline)) int next(int n)
{
	volatile char pad[1000];
	pad[n] = 1;
	other((void *)pad);
	return pad[1];
}
void other(void *p) { __asm__ volatile("" ::"r"(p)); }
`

func gcc(out string, flags ...string) []string {
	return append(append(words("gcc", "-O2", "-fomit-frame-pointer", "-shared", "-fPIC", "-o", out), flags...), "a.c")
}

func TestSources(t *testing.T) {
	t.Parallel()
	debugOnly := words("-fno-asynchronous-unwind-tables", "-fno-exceptions", "-g")
	dir := build(t, map[string]string{"a.c": callerSource},
		gcc("plain"), gcc("nohdr", "-Wl,--no-eh-frame-hdr"), gcc("debug", debugOnly...),
		gcc("packed", append(debugOnly, "-gz=zlib")...), gcc("old", append(debugOnly, "-gz=zlib-gnu")...),
		gcc("gold", "-fuse-ld=gold"))
	want := rulesOf(t, filepath.Join(dir, "plain"), "caller")
	require.Len(t, want, 5) // before, while and after there is a frame
	for _, name := range []string{"nohdr", "debug", "packed", "old", "gold"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, want, rulesOf(t, filepath.Join(dir, name), "caller"))
		})
	}
}

func TestSectionHeadersAreNotNeeded(t *testing.T) {
	t.Parallel()
	dir := build(t, map[string]string{"a.c": callerSource}, gcc("plain"))
	want, _ := compileFile(t, filepath.Join(dir, "plain"))
	b, err := os.ReadFile(filepath.Join(dir, "plain"))
	require.NoError(t, err)
	hdr, _ := openFile(t, filepath.Join(dir, "plain"))
	s, ok := hdr.Section(".eh_frame_hdr")
	require.True(t, ok)
	copy(b[40:], make([]byte, 8))             // e_shoff
	copy(b[60:], make([]byte, 4))             // e_shnum, e_shstrndx
	b[s.Offset+2], b[s.Offset+3] = 0xff, 0xff // no search table
	got, err := compileBytes(b)
	require.NoError(t, err)
	assert.Equal(t, want.Stats.Functions, got.Stats.Functions)
	pc := symbolAt(t, hdr, "caller")
	for ; want.Lookup(pc).Kind != KindNone; pc++ {
		require.Equal(t, want.Lookup(pc), got.Lookup(pc))
	}
}

func TestSeparateDebugFile(t *testing.T) {
	t.Parallel()
	dir := build(t, map[string]string{"a.c": callerSource},
		gcc("full", "-fno-asynchronous-unwind-tables", "-fno-exceptions", "-g"),
		words("objcopy", "--only-keep-debug", "full", "full.debug"),
		words("objcopy", "--strip-debug", "full", "stripped"))
	f, r := openFile(t, filepath.Join(dir, "stripped"))
	debug, debugReader := openFile(t, filepath.Join(dir, "full.debug"))
	pc := symbolAt(t, f, "caller")
	alone, err := Compile(f, r, Options{})
	require.NoError(t, err)
	assert.Equal(t, KindNone, alone.Lookup(pc).Kind)
	both, err := Compile(f, r, Options{Debug: debug, DebugReader: debugReader})
	require.NoError(t, err)
	assert.Equal(t, "cfa=sp+8", both.Lookup(pc).String())
}

// TestFunctionThatEndsWithACall looks a return address up that is the start of
// the next function.
func TestFunctionThatEndsWithACall(t *testing.T) {
	t.Parallel()
	dir := build(t, map[string]string{"a.c": callerSource}, gcc("plain", "-falign-functions=1"))
	table, f := compileFile(t, filepath.Join(dir, "plain"))
	next := symbolAt(t, f, "next")
	assert.Equal(t, "cfa=sp+8", table.Lookup(next).String())
	assert.Equal(t, "cfa=sp+32", table.Lookup(next-1).String())
}

// frames writes a section of call frame information by hand.
type frames struct {
	bytes.Buffer
	wide, debug bool
}

func (f *frames) entry(id uint64, body []byte) uint64 {
	at := uint64(f.Len())
	width := 4
	if f.wide && f.debug {
		width = 8
	}
	if f.wide {
		f.Write([]byte{0xff, 0xff, 0xff, 0xff})
		_ = binary.Write(f, le, uint64(width+len(body)))
	} else {
		_ = binary.Write(f, le, uint32(width+len(body)))
	}
	if id == 0 && f.debug {
		id = 1<<64 - 1
	} else if !f.debug && id != 0 {
		id = uint64(f.Len()) - (id - 1)
	} else if id != 0 {
		id--
	}
	if width == 8 {
		_ = binary.Write(f, le, id)
	} else {
		_ = binary.Write(f, le, uint32(id))
	}
	f.Write(body)
	return at
}

const handBase = 0x40_0000

// compileFrames compiles a section that lies 64 KiB above code of 4 KiB.
func compileFrames(t testing.TB, f *frames) (*Table, *builder) {
	b := &builder{m: amd64, base: handBase, code: []codeRange{{handBase, handBase + 0x1000}}, limit: 1000}
	s := &section{at: handBase + 0x10000, isDebug: f.debug, bases: bases{data: handBase, text: handBase + 0x100}}
	s.r, s.size = bytes.NewReader(f.Bytes()), uint64(f.Len())
	require.NoError(t, b.addSection(s))
	return b.table(), b
}

// initialX86 are the instructions of common entries of x86-64.
var initialX86 = []byte{cfaDef, 7, 8, cfaOffset | 16, 1}

func TestEncodings(t *testing.T) {
	t.Parallel()
	const start, size = handBase + 0x200, 0x40
	u4 := func(v uint64) []byte { return le.AppendUint32(nil, uint32(v)) }
	u8 := func(v uint64) []byte { return le.AppendUint64(nil, v) }
	tests := map[string]struct {
		encoding byte
		address  func(at uint64) []byte // at is where the pointer lies
		size     []byte
		bad      bool
	}{
		"absolute":    {encAbs, func(uint64) []byte { return u8(start) }, u8(size), false},
		"unsigned 4":  {encU4, func(uint64) []byte { return u4(start) }, u4(size), false},
		"signed 8":    {encS8, func(uint64) []byte { return u8(start) }, u8(size), false},
		"relative":    {encPCRel | encS4, func(at uint64) []byte { return u4(start - at) }, u4(size), false},
		"relative 8":  {encPCRel | encS8, func(at uint64) []byte { return u8(start - at) }, u8(size), false},
		"data":        {encDataRel | encS4, func(uint64) []byte { return u4(0x200) }, u4(size), false},
		"data 2":      {encDataRel | encU2, func(uint64) []byte { return []byte{0, 2} }, []byte{size, 0}, false},
		"signed 2":    {encDataRel | encS2, func(uint64) []byte { return []byte{0, 2} }, []byte{size, 0}, false},
		"text LEB":    {encTextRel | encULEB, func(uint64) []byte { return []byte{0x80, 2} }, []byte{size}, false},
		"signed LEB":  {encDataRel | encSLEB, func(uint64) []byte { return []byte{0x80, 4} }, []byte{0xc0, 0}, false},
		"indirect":    {encIndirect | encPCRel | encS4, func(at uint64) []byte { return u4(start - at) }, u4(size), true},
		"omitted":     {encOmit, func(uint64) []byte { return nil }, nil, true},
		"of function": {0x40 | encS4, func(uint64) []byte { return u4(0) }, u4(size), true},
		"unknown":     {0x07, func(uint64) []byte { return u8(start) }, u8(size), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, wide := range []bool{false, true} {
				f := &frames{wide: wide}
				// Version 1, with a routine for exceptions and its data.
				cie := append([]byte{1, 'z', 'P', 'L', 'R', 0, 1, 0x78, 16, 7, encPCRel | encS4, 1, 2, 3, 4, encPCRel | encS4, tt.encoding}, initialX86...)
				at := f.entry(0, cie)
				head := uint64(8)
				if wide {
					head = 16
				}
				body := append(tt.address(handBase+0x10000+uint64(f.Len())+head), tt.size...)
				body = append(body, 0, cfaAdvance|4, cfaDefOffset, 16)
				f.entry(at+1, body)
				table, b := compileFrames(t, f)
				if tt.bad {
					assert.Equal(t, 1, b.stats.Damaged)
					assert.Equal(t, []Row{{}}, table.Rows)
					assert.False(t, table.Complete)
					continue
				}
				assert.Equal(t, []Row{{}, {PC: 0x200, Kind: KindSP, CFA: 1}, {PC: 0x204, Kind: KindSP, CFA: 2}, {PC: 0x240}}, table.Rows)
				assert.True(t, table.Complete)
			}
		})
	}
}

func TestVersionsAndAugmentations(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		debug, wide bool
		cie         []byte // before the instructions
		data        []byte // after address and size of the function
		bad         bool
	}{
		"version 1":         {false, false, []byte{1, 0, 1, 0x78, 16}, nil, false},
		"version 3":         {true, false, []byte{3, 0, 1, 0x78, 16}, nil, false},
		"version 3 wide":    {true, true, []byte{3, 0, 1, 0x78, 16}, nil, false},
		"version 4":         {true, false, []byte{4, 0, 8, 0, 1, 0x78, 16}, nil, false},
		"version 4, 4 byte": {true, false, []byte{4, 0, 4, 0, 1, 0x78, 16}, nil, true},
		"version 4, banked": {true, false, []byte{4, 0, 8, 1, 1, 0x78, 16}, nil, true},
		"version 2":         {false, false, []byte{2, 0, 1, 0x78, 16}, nil, true},
		"exceptions, gcc 2": {false, false, []byte{1, 'e', 'h', 0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0x78, 16}, nil, false},
		"arm flags":         {false, false, []byte{1, 'z', 'B', 'G', 0, 1, 0x78, 16, 0}, []byte{0}, false},
		"longer data":       {false, false, []byte{1, 'z', 'R', 0, 1, 0x78, 16, 3, 0, 9, 9}, []byte{2, 9, 9}, false},
		"unknown flag":      {false, false, []byte{1, 'z', 'X', 0, 1, 0x78, 16, 1, 0}, []byte{0}, true},
		"data too long":     {false, false, []byte{1, 'z', 'R', 0, 1, 0x78, 16, 127, 0}, []byte{0}, true},
		"aligned routine":   {false, false, []byte{1, 'z', 'P', 0, 1, 0x78, 16, 16, 0x50, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}, []byte{0}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &frames{debug: tt.debug, wide: tt.wide}
			at := f.entry(0, append(append([]byte(nil), tt.cie...), initialX86...))
			body := le.AppendUint64(le.AppendUint64(nil, handBase+0x200), 0x40)
			body = append(append(body, tt.data...), cfaAdvance|4, cfaDefOffset, 16)
			f.entry(at+1, body)
			table, b := compileFrames(t, f)
			if tt.bad {
				assert.Equal(t, 1, b.stats.Damaged)
				return
			}
			assert.Equal(t, []Row{{}, {PC: 0x200, Kind: KindSP, CFA: 1}, {PC: 0x204, Kind: KindSP, CFA: 2}, {PC: 0x240}}, table.Rows)
		})
	}
}

// add adds a function without a length of augmentation data.
func (f *frames) function(cie, start, size uint64, program ...byte) {
	body := le.AppendUint64(le.AppendUint64(nil, handBase+start), size)
	f.entry(cie+1, append(body, program...))
}

func newFrames() (*frames, uint64) {
	f := &frames{}
	return f, f.entry(0, append([]byte{1, 0, 1, 0x78, 16}, initialX86...))
}

func TestFunctionsInAnyOrder(t *testing.T) {
	t.Parallel()
	f, cie := newFrames()
	f.function(cie, 0x300, 0x10, cfaDefOffset, 32)
	f.function(cie, 0x100, 0x80, cfaDefOffset, 16)
	f.function(cie, 0x170, 0x20, cfaDefOffset, 24, cfaAdvance|0x18, cfaDefOffset, 40) // begins in the one before
	f.function(cie, 0x19a, 0x10, cfaDefOffset, 40)                                    // after padding, the same rule
	f.function(cie, 0x2000, 0x10)                                                     // no code there
	f.function(cie, 0xff8, 0x10)                                                      // reaches out of the code
	table, b := compileFrames(t, f)
	sp := func(pc uint32, cfa int16) Row { return Row{PC: pc, Kind: KindSP, CFA: cfa} }
	assert.Equal(t, []Row{{}, sp(0x100, 2), sp(0x180, 3), sp(0x188, 5), {PC: 0x1aa}, sp(0x300, 4), {PC: 0x310}}, table.Rows)
	assert.Equal(t, 2, b.stats.Outside)
	assert.Equal(t, 4, b.stats.Functions)
	assert.Equal(t, Row{}, table.Lookup(handBase-1))
	assert.Equal(t, Row{}, table.Lookup(handBase+1<<33))
	assert.Equal(t, sp(0x100, 2), table.Lookup(handBase+0x17f))
}

func TestLimitOfRows(t *testing.T) {
	t.Parallel()
	f, cie := newFrames()
	f.function(cie, 0x100, 0x10, cfaAdvance|1, cfaDefOffset, 16, cfaAdvance|1, cfaDefOffset, 24)
	f.function(cie, 0x200, 0x10, cfaAdvance|1, cfaDefOffset, 16, cfaAdvance|1, cfaDefOffset, 24)
	f.function(cie, 0x300, 0x10)
	b := &builder{m: amd64, base: handBase, code: []codeRange{{handBase, handBase + 0x1000}}, limit: 5}
	s := &section{}
	s.r, s.size = bytes.NewReader(f.Bytes()), uint64(f.Len())
	require.NoError(t, b.addSection(s))
	table := b.table()
	assert.False(t, table.Complete)
	assert.Equal(t, KindSP, table.Lookup(handBase+0x201).Kind)
	assert.Equal(t, KindNone, table.Lookup(handBase+0x202).Kind) // not the row before
	assert.Equal(t, KindNone, table.Lookup(handBase+0x300).Kind)
}

func TestOverlay(t *testing.T) {
	t.Parallel()
	top := []span{{start: 10, limit: 20}, {start: 30, limit: 40}, {start: 90, limit: 95}}
	below := []span{{start: 0, limit: 12, first: 1}, {start: 14, limit: 18, first: 2}, {start: 19, limit: 60, first: 3}, {start: 70, limit: 80, first: 4}}
	assert.Equal(t, []span{
		{start: 0, limit: 10, first: 1}, {start: 10, limit: 20}, {start: 20, limit: 30, first: 3}, {start: 30, limit: 40},
		{start: 40, limit: 60, first: 3}, {start: 70, limit: 80, first: 4}, {start: 90, limit: 95},
	}, overlay(nil, top, below))
}

// TestSignalTrampolineWithoutDescription is what musl has.
func TestSignalTrampolineWithoutDescription(t *testing.T) {
	t.Parallel()
	table, f := compileFile(t, "/usr/lib/x86_64-linux-musl/libc.so")
	var signals []Row
	for i, r := range table.Rows {
		if r.Kind == KindSignal {
			signals = append(signals, r, table.Rows[i+1])
		}
	}
	require.Len(t, signals, 2)
	assert.EqualValues(t, len(trampolineAMD64)+1, signals[1].PC-signals[0].PC)
	assert.Equal(t, KindNone, table.Lookup(symbolAt(t, f, "qsort")).Kind)
	assert.Equal(t, KindEnd, table.Lookup(f.Entry).Kind)
}

// TestMillionsOfRows has more rules than any program, in one function.
func TestMillionsOfRows(t *testing.T) {
	t.Parallel()
	const n = 3_000_000
	f, cie := newFrames()
	var program []byte
	for i := range n {
		program = append(program, cfaAdvance|1, cfaDefOffset, byte(16+i%2*8))
	}
	f.function(cie, 0, 2*n, program...)
	b := &builder{m: amd64, base: handBase, code: []codeRange{{handBase, handBase + 2*n}}, limit: DefaultMaxRows}
	s := &section{}
	s.r, s.size = bytes.NewReader(f.Bytes()), uint64(f.Len())
	require.NoError(t, b.addSection(s))
	table := b.table()
	assert.True(t, table.Complete)
	assert.Len(t, table.Rows, n+2)
	assert.Equal(t, "cfa=sp+24", table.Lookup(handBase+n).String())
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	f, cie := newFrames()
	f.function(cie, 0x100, 0x40, cfaAdvance|1, cfaDefOffset, 16, cfaOffset|6, 2, cfaAdvance|4, 0x3f)
	table, _ := compileFrames(t, f)
	var out bytes.Buffer
	require.NoError(t, table.Describe(&out, true))
	assert.Equal(t, `base 0x400000, 5 rows (40 bytes) of 3 decoded, 64 bytes of code covered
functions 1, damaged 0, outside 0, complete true
not expressed: 1 by instruction
rows 2: none
rows 1: stop
rows 2: stack pointer
0x400000 none: follow the frame pointer
0x400100 cfa=sp+8
0x400101 cfa=sp+16 fp=[cfa-16]
0x400105 stop: instruction
0x400140 none: follow the frame pointer
`, out.String())
}

// TestStartsWithoutDescription finds where musl calls main and the functions of
// threads, which is where stacks end.
func TestStartsWithoutDescription(t *testing.T) {
	t.Parallel()
	dir := build(t, map[string]string{"a.c": `
#include <pthread.h>
static void *f(void *p) { return p; }
int main(void) { pthread_t t; return pthread_create(&t, 0, f, 0); }
`}, words("musl-gcc", "-static", "-o", "a", "a.c"))
	for _, name := range []string{"libc_start_main_stage2", "start"} {
		assert.Equal(t, []string{Row{}.String(), "end: no caller", Row{}.String()}, rulesOf(t, filepath.Join(dir, "a"), name), name)
	}
	table, _ := compileFile(t, "/usr/lib/x86_64-linux-musl/libc.so")
	ends := 0
	for _, r := range table.Rows {
		if r.Kind == KindEnd {
			ends++
		}
	}
	assert.Equal(t, 3, ends, "with the entry point")
}

func TestPassesResult(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		m      machine
		code   string
		size   int
		target uint64
	}{
		"call *%rbx; mov %eax,%edi; call":   {amd64, "\xff\xd3\x89\xc7\xe8\x10\x00\x00\x00    ", 2, 0x1019},
		"call *%r12; mov %rax,%rdi; call":   {amd64, "\x41\xff\xd4\x48\x89\xc7\xe8\xf0\xff\xff\xff", 3, 0x0ffb},
		"call *(%rbx); mov %rax,%rdi; call": {amd64, "\xff\x13\x48\x89\xc7\xe8\x10\x00\x00\x00  ", 2, 0x101a},
		"jmp *%rbx":                         {amd64, "\xff\xe3\x89\xc7\xe8\x10\x00\x00\x00  ", 0, 0},
		"call *%rbx; mov %eax,%esi; call":   {amd64, "\xff\xd3\x89\xc6\xe8\x10\x00\x00\x00  ", 0, 0},
		"blr x3; bl forward":                {arm64, "\x60\x00\x3f\xd6\x02\x00\x00\x94   ", 4, 0x100c},
		"blr x3; bl backward":               {arm64, "\x60\x00\x3f\xd6\xff\xff\xff\x97   ", 4, 0x1000},
		"blr x3; b":                         {arm64, "\x60\x00\x3f\xd6\x02\x00\x00\x14   ", 0, 0},
	}
	for name, tt := range tests {
		size, target, ok := tt.m.passesResult([]byte(tt.code), 0x1000)
		assert.Equal(t, tt.size > 0, ok, name)
		assert.Equal(t, tt.size, size, name)
		assert.Equal(t, tt.target, target, name)
	}
}
