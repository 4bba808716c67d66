package unwind

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// build makes files of sources in a fresh folder and runs commands there.
func build(t testing.TB, sources map[string]string, commands ...[]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range sources {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, c := range commands {
		run(t, dir, c...)
	}
	return dir
}

func words(w ...string) []string { return w }

// compileBytes compiles a file that is in memory.
func compileBytes(b []byte) (*Table, error) {
	r := bytes.NewReader(b)
	f, err := elffile.New(r, int64(len(b)))
	if err != nil {
		return nil, err
	}
	return Compile(f, r, Options{})
}

func compileFile(t testing.TB, path string) (*Table, *elffile.File) {
	t.Helper()
	f, r := openFile(t, path)
	table, err := Compile(f, r, Options{})
	require.NoError(t, err)
	return table, f
}

// symbolAt returns the address of a symbol.
func symbolAt(t testing.TB, f *elffile.File, name string) addr.File {
	t.Helper()
	s, err := f.Symbols()
	require.NoError(t, err)
	for i := range s.Len() {
		if s.Name(i) == name {
			start, _ := s.Range(i)
			return start
		}
	}
	t.Fatalf("no symbol %s", name)
	return 0
}

// rulesOf returns the rows of a function as text, one for each byte of code
// where the rule changes; functions are padded by maxPadding bytes and more.
func rulesOf(t testing.TB, path, name string) []string {
	t.Helper()
	table, f := compileFile(t, path)
	at := symbolAt(t, f, name)
	s, err := f.Symbols()
	require.NoError(t, err)
	i, ok := s.Lookup(at)
	require.True(t, ok)
	_, limit := s.Range(i)
	var out []string
	for ; at < limit; at++ {
		if text := table.Lookup(at).String(); len(out) == 0 || out[len(out)-1] != text {
			out = append(out, text)
		}
	}
	return out
}

func TestRowIsEightBytes(t *testing.T) {
	t.Parallel()
	assert.EqualValues(t, RowBytes, unsafe.Sizeof(Row{}))
	assert.EqualValues(t, 4, unsafe.Offsetof(Row{}.CFA))
	assert.EqualValues(t, 6, unsafe.Offsetof(Row{}.Kind))
	assert.EqualValues(t, 7, unsafe.Offsetof(Row{}.FP))
}

// asmCase is a function in assembly: n lines of CFI, a nop after each.
type asmCase struct {
	cfi  []string
	want []string
}

func (c asmCase) source(name string) string {
	var b bytes.Buffer
	b.WriteString("\t.p2align 5\n\t.type " + name + ",%function\n" + name + ":\n\t.cfi_startproc\n\tnop\n")
	for _, line := range c.cfi {
		b.WriteString("\t" + line + "\n\tnop\n")
	}
	b.WriteString("\t.cfi_endproc\n\t.size " + name + ",.-" + name + "\n")
	return b.String()
}

func checkAsm(t *testing.T, cc []string, cases map[string]asmCase) {
	var text bytes.Buffer
	for name, c := range cases {
		text.WriteString(c.source(name))
	}
	dir := build(t, map[string]string{"a.s": text.String()}, append(cc, "-nostdlib", "-shared", "-o", "out", "a.s"))
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, rulesOf(t, filepath.Join(dir, "out"), name))
		})
	}
}

func TestRulesOfX86(t *testing.T) {
	t.Parallel()
	const start = "cfa=sp+8"
	checkAsm(t, words("gcc"), map[string]asmCase{
		"push_and_pop": {
			words(".cfi_def_cfa_offset 16", ".cfi_offset 6,-16", ".cfi_def_cfa_register 6", ".cfi_restore 6\n.cfi_def_cfa 7,8"),
			words(start, "cfa=sp+16", "cfa=sp+16 fp=[cfa-16]", "cfa=fp+16 fp=[cfa-16]", start),
		},
		"remembered": {
			words(".cfi_adjust_cfa_offset 48", ".cfi_remember_state\n.cfi_adjust_cfa_offset -48", ".cfi_restore_state", ".cfi_escape 0x2e,0x10"),
			words(start, "cfa=sp+56", start, "cfa=sp+56"),
		},
		"restored_without_state": {words(".cfi_escape 0x0b"), words(start, "stop: instruction")},
		"unknown_instruction":    {words(".cfi_escape 0x3f"), words(start, "stop: instruction")},
		"undefined_return":       {words(".cfi_undefined 16"), words(start, "end: no caller")},
		"return_in_register":     {words(".cfi_register 16,5\n.cfi_def_cfa_offset 0"), words(start, "cfa=sp+0 ra=r5")},
		"return_elsewhere":       {words(".cfi_offset 16,-24"), words(start, "stop: return address")},
		"other_register":         {words(".cfi_def_cfa 11,96", ".cfi_offset 6,-24"), words(start, "cfa=r11+96", "cfa=r11+96 fp=[cfa-24]")},
		"vector_register":        {words(".cfi_def_cfa 20,96"), words(start, "stop: register")},
		"odd_offset":             {words(".cfi_def_cfa_offset 12"), words(start, "stop: offset")},
		"huge_offset":            {words(".cfi_def_cfa_offset 262136", ".cfi_def_cfa_offset 262144"), words(start, "cfa=sp+262136", "stop: offset")},
		"frame_pointer_value":    {words(".cfi_val_offset 6,-16"), words(start, "cfa=sp+8 fp=?")},
		"frame_pointer_register": {words(".cfi_register 6,3"), words(start, "cfa=sp+8 fp=?")},
		"frame_pointer_same":     {words(".cfi_offset 6,-16", ".cfi_same_value 6"), words(start, "cfa=sp+8 fp=[cfa-16]", start)},
		// DW_OP_breg7 8; DW_OP_breg16 0; lit15; and; lit11; ge; lit3; shl; plus.
		"lazy_linkage": {words(".cfi_escape 0x0f,11,0x77,8,0x80,0,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22"), words(start, "cfa=sp+8+((ip&15)>=11)*8")},
		"lazy_linkage_with_branch_tracking": {words(".cfi_escape 0x0f,11,0x77,8,0x80,0,0x3f,0x1a,0x39,0x2a,0x33,0x24,0x22"),
			words(start, "cfa=sp+8+((ip&15)>=9)*8")},
		"aligned": {words(".cfi_escape 0x0f,3,0x76,0x58,6\n.cfi_escape 0x10,6,2,0x76,0"), words(start, "cfa=[fp-40]+0 fp=[fp]")},
		"saved_stack_pointer": {words(".cfi_offset 6,-24\n.cfi_escape 0x0f,6,0x77,0x98,1,6,0x23,8", ".cfi_def_cfa 7,8"),
			words(start, "cfa=[sp+152]+8 fp=[cfa-24]", "cfa=sp+8 fp=[cfa-24]")},
		"saved_below": {words(".cfi_escape 0x0f,5,0x77,0x78,6,0x23,8"), words(start, "cfa=[sp-8]+8")},
		"indexed":     {words(".cfi_escape 0x0f,10,0x77,8,0x79,0,0x38,0x1e,0x22,6,0x23,8"), words(start, "cfa=[sp+8+r9*8]+8")},
		"unknown_expression": {words(".cfi_escape 0x0f,4,0x77,8,6,6"),
			words(start, "stop: expression")},
		"cut_expression":   {words(".cfi_escape 0x0f,1,0x77"), words(start, "stop: expression")},
		"plain_expression": {words(".cfi_escape 0x0f,4,0x77,8,0x23,16"), words(start, "cfa=sp+24")},
		"signal":           {words(".cfi_signal_frame"), words("signal frame")},
		"signed_offsets":   {words(".cfi_escape 0x12,7,0x7e", ".cfi_escape 0x13,0x7d", ".cfi_escape 0x11,6,0x02"), words(start, "cfa=sp+16", "cfa=sp+24", "cfa=sp+24 fp=[cfa-16]")},
		"far_away":         {words(".skip 300", ".skip 70000\n.cfi_def_cfa_offset 24"), words(start, "cfa=sp+24")},
	})
}

func TestRulesOfARM64(t *testing.T) {
	t.Parallel()
	const start = "cfa=sp+0 ra=x30"
	checkAsm(t, words("aarch64-linux-gnu-gcc"), map[string]asmCase{
		"pair": {
			words(".cfi_def_cfa_offset 32\n.cfi_offset 29,-32\n.cfi_offset 30,-24", ".cfi_def_cfa_register 29", ".cfi_restore 30\n.cfi_restore 29\n.cfi_def_cfa 31,0"),
			words(start, "cfa=sp+32 fp=[cfa-32]", "cfa=fp+32 fp=[fp]", start),
		},
		"signed_return":     {words(".cfi_negate_ra_state", ".cfi_def_cfa_offset 16\n.cfi_offset 29,-16\n.cfi_offset 30,-8"), words(start, "cfa=sp+16 fp=[cfa-16]")},
		"return_alone":      {words(".cfi_def_cfa_offset 16\n.cfi_offset 30,-16"), words(start, "cfa=sp+16 ra=[cfa-16]")},
		"large_frame":       {words(".cfi_def_cfa_offset 4096\n.cfi_offset 29,-4000\n.cfi_offset 30,-3992"), words(start, "cfa=sp+4096 fp=[sp+96] ra after it")},
		"pair_at_sp":        {words(".cfi_def_cfa_offset 4096\n.cfi_offset 29,-4096\n.cfi_offset 30,-4088"), words(start, "cfa=sp+4096 fp=[sp+0] ra after it")},
		"alone_at_sp":       {words(".cfi_def_cfa_offset 5616\n.cfi_offset 30,-5616"), words(start, "cfa=sp+5616 ra=[sp+0]")},
		"alone_by_sp":       {words(".cfi_def_cfa_offset 5616\n.cfi_offset 30,-5600"), words(start, "cfa=sp+5616 ra=[sp+16]")},
		"alone_by_neither":  {words(".cfi_def_cfa_offset 5616\n.cfi_offset 30,-2800"), words(start, "stop: return address")},
		"other_order":       {words(".cfi_def_cfa_offset 16\n.cfi_offset 29,-8\n.cfi_offset 30,-16"), words(start, "stop: return address")},
		"undefined_return":  {words(".cfi_undefined 30"), words(start, "end: no caller")},
		"leaf_with_a_frame": {words(".cfi_def_cfa_offset 64"), words(start, "cfa=sp+64 ra=x30")},
	})
}

// TestCompiledForARM64 asks for a rule for each function that a compiler makes,
// the large frames of some among them.
func TestCompiledForARM64(t *testing.T) {
	t.Parallel()
	source := `
#include <alloca.h>
extern long spin(long *);
long leaf(long n) { return n * 3 + 1; }
long small(long n) { long v[2] = { n, n }; return spin(v) + v[1]; }
long large(long n) { long v[700] = { n }; return spin(v) + v[5]; }
long huge(long n) { long v[20000] = { n }; return spin(v) + v[5]; }
long dynamic(long n) { long *v = alloca(n); _Alignas(64) long w[n]; w[0] = n; return spin(v) + spin(w); }
long many(long a, long b, long c, long d, long e, long f, long g, long h, long i) { return spin(&a) + spin(&i) + b * c * d * e * f * g * h; }
double floats(double a, double b) { long n = a; double c = spin(&n); return a * b + c; }
long jump(long n) { return small(n + 1); }
`
	var names []string
	var commands [][]string
	for _, flags := range [][]string{
		words("-O0"), words("-O1"), words("-O2"), words("-O3"), words("-Os"), words("-O2", "-fomit-frame-pointer"), words("-O2", "-fno-omit-frame-pointer"),
		words("-O2", "-mbranch-protection=standard"), words("-O2", "-fstack-clash-protection"), words("-O2", "-fstack-protector-all"),
	} {
		name := strings.Join(flags, "")
		names = append(names, name)
		commands = append(commands, append(words("aarch64-linux-gnu-gcc", "-w", "-fPIC", "-shared", "-nostdlib", "-o", "out"+name, "a.c"), flags...))
	}
	dir := build(t, map[string]string{"a.c": source}, commands...)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, "out"+name)
			for _, function := range []string{"leaf", "small", "large", "huge", "dynamic", "many", "floats", "jump"} {
				rules := rulesOf(t, path, function)
				assert.Equal(t, "cfa=sp+0 ra=x30", rules[0], function)
				for _, rule := range rules {
					assert.NotContains(t, rule, "stop", function)
					assert.NotContains(t, rule, "none", function)
				}
			}
		})
	}
}
