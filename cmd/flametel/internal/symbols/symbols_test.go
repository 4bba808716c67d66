package symbols

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
)

const source = `static inline __attribute__((always_inline)) int inner(volatile int *p) { return *p * 3; }
int outer(volatile int *p) {
	return inner(p) + 1;
}
`

// build compiles the source and returns the folder and where outer is.
func build(t *testing.T) (dir string, outer uint64) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.c"), []byte(source), 0o600))
	for _, c := range []string{
		"gcc -O2 -g -shared -fPIC -Wl,--build-id=0x0102 -o lib.so a.c",
		"strip -o plain.so lib.so",
	} {
		words := strings.Fields(c)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", c, out)
	}
	f, err := elf.Open(filepath.Join(dir, "lib.so"))
	require.NoError(t, err)
	defer f.Close()
	syms, err := f.Symbols()
	require.NoError(t, err)
	for _, s := range syms {
		if s.Name == "outer" {
			return dir, s.Value
		}
	}
	t.Fatal("no symbol outer")
	return "", 0
}

func run(t *testing.T, o Options) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Run(&b, &o))
	return b.String()
}

func TestFile(t *testing.T) {
	t.Parallel()
	dir, outer := build(t)
	file := filepath.Join(dir, "lib.so")
	out := run(t, Options{File: file})
	for _, want := range []string{file + "\n  its functions have names, and inlined calls and lines are known\n", "build ID       0102\n", "code           0x", "dwarf          in the file itself\n", "named ranges\n"} {
		assert.Contains(t, out, want)
	}
	for off := range uint64(16) {
		if out = run(t, Options{File: file, Addresses: []addr.Virtual{addr.Virtual(outer + off)}}); strings.Contains(out, "inlined") {
			break
		}
	}
	assert.Contains(t, out, "  inner  "+filepath.Join(dir, "a.c")+":1  (inlined)\n  outer  "+filepath.Join(dir, "a.c")+":3\n")
	out = run(t, Options{File: file, NoInlines: true, Addresses: []addr.Virtual{addr.Virtual(outer), addr.Virtual(outer)}})
	assert.Equal(t, 2, strings.Count(out, "  native\n  outer\n"))
}

func TestWhyThereIsNoName(t *testing.T) {
	t.Parallel()
	dir, outer := build(t)
	out := run(t, Options{File: filepath.Join(dir, "plain.so"), Addresses: []addr.Virtual{addr.Virtual(outer) - 16, 0x7fffffff}})
	file := run(t, Options{File: filepath.Join(dir, "plain.so")})
	assert.Regexp(t, `plain.so\n  stripped: .*, from \.dynsym; its debug package \(build ID 0102\) names the rest\n`, file)
	assert.Contains(t, out, "debug file     debug file of "+filepath.Join(dir, "plain.so")+": no debug information")
	assert.Contains(t, out, "no name        no_symbol\n")
	assert.Contains(t, out, "no name        no_mapping\n")
}

func TestFunctionWithoutName(t *testing.T) {
	t.Parallel()
	dir, _ := build(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.c"), []byte("__attribute__((used, noinline)) static int hidden(int n) { return n * 3; }\nint main(int n, char **v) { return hidden(n); }\n"), 0o600))
	for _, c := range [][]string{{"gcc", "-O1", "-o", "whole", "b.c"}, {"strip", "-o", "plain", "whole"}} {
		cmd := exec.Command(c[0], c[1:]...)
		cmd.Dir = dir
		require.NoError(t, cmd.Run())
	}
	f, err := elf.Open(filepath.Join(dir, "whole"))
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	require.NoError(t, err)
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == "hidden" })
	require.GreaterOrEqual(t, i, 0)
	start, size := symbols[i].Value, symbols[i].Size
	out := run(t, Options{File: filepath.Join(dir, "plain"), Addresses: []addr.Virtual{addr.Virtual(start + 1)}})
	assert.Contains(t, out, fmt.Sprintf("  no name        no_symbol\n  function       %#x-%#x\n", start, start+size))
	assert.Regexp(t, `  unwind         ranges of \d+ functions\n`, out)
}

func TestProcess(t *testing.T) {
	t.Parallel()
	out := run(t, Options{PID: os.Getpid()})
	exe, err := os.Executable()
	require.NoError(t, err)
	assert.Regexp(t, regexp.QuoteMeta(exe)+`\n  all [0-9,]+ functions of Go have names, files and lines\n  mapped at      0x`, out)
	assert.Contains(t, out, "go             line table of go")
	assert.Contains(t, run(t, Options{PID: os.Getpid(), Addresses: []addr.Virtual{1}}), "no_mapping")
}

func TestWhatCannotBeShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text"), []byte("no program"), 0o600))
	require.NoError(t, exec.Command("mkfifo", filepath.Join(dir, "fifo")).Run())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.c"), []byte(source), 0o600))
	require.NoError(t, exec.Command("gcc", "-c", "-o", filepath.Join(dir, "a.o"), filepath.Join(dir, "a.c")).Run())
	core, err := os.ReadFile(filepath.Join(dir, "a.o"))
	require.NoError(t, err)
	core[16] = byte(elf.ET_CORE)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "core"), core, 0o600))
	for file, want := range map[string]string{"text": "it is not an ELF file: give a program", "core": "it is a core file", "a.o": "it is not linked", "missing": "no such file", "fifo": "not a regular file", ".": "not a regular file"} {
		assert.ErrorContains(t, Run(&bytes.Buffer{}, &Options{File: filepath.Join(dir, file)}), want)
	}
	assert.ErrorContains(t, Run(&bytes.Buffer{}, &Options{PID: 1 << 30}), "does not exist")
}

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]addr.Virtual{"0x10": 16, "ff": 255, "0Xa": 10, "ffffffffffffffff": 1<<64 - 1} {
		at, err := ParseAddress(text)
		require.NoError(t, err)
		assert.Equal(t, want, at)
	}
	for text, want := range map[string]string{"": "must be a hexadecimal number", "main": "must be a hexadecimal number", "-1": "must be a hexadecimal number", "10000000000000000": "is above 64 bits"} {
		_, err := ParseAddress(text)
		assert.ErrorContains(t, err, want)
	}
}
