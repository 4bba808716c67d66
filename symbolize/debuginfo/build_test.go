package debuginfo

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/elffile"
)

const programSource = `
__attribute__((noinline)) static long secret(long n) { for (volatile long i = 0; i < n; i++); return n; }
int main(int c, char **v) { return secret(c * 1000) == 7; }
`

// build writes the program's source into a fresh folder and runs commands
// there with a shell. The tools are part of what `make test` needs.
func build(t testing.TB, commands ...string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.c"), []byte(programSource), 0o600))
	run(t, dir, commands...)
	return dir
}

func run(t testing.TB, dir string, commands ...string) {
	t.Helper()
	for _, c := range commands {
		cmd := exec.Command("sh", "-ec", c)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", c, out)
	}
}

func openProgram(t testing.TB, file, path string) *Program {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	return &Program{Path: path, Info: info, File: elfOf(t, b)}
}

func elfOf(t testing.TB, b []byte) *elffile.File {
	t.Helper()
	f, err := elffile.New(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	return f
}

// hasName tells whether a file names code so.
func hasName(t testing.TB, f *elffile.File, name string) bool {
	t.Helper()
	syms, err := f.Symbols()
	require.NoError(t, err)
	for i := range syms.Len() {
		if syms.Name(i) == name {
			return true
		}
	}
	return false
}

// addressOf returns the address of a symbol in hexadecimal, by what nm says.
func addressOf(t testing.TB, file, name string) string {
	t.Helper()
	out, err := exec.Command("nm", file).Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == name {
			return strings.TrimLeft(f[0], "0")
		}
	}
	t.Fatalf("no symbol %s in %s", name, file)
	return ""
}
