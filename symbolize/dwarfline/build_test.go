package dwarfline

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// build writes sources into a fresh folder and runs commands there, the first
// word being the program. The tools are part of what `make test` needs.
func build(t testing.TB, sources map[string]string, commands ...string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range sources {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, c := range commands {
		run(t, dir, strings.Fields(c)...)
	}
	return dir
}

func run(t testing.TB, dir string, words ...string) {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", words, out)
}

func openELF(t testing.TB, path string) (*elffile.File, *os.File) {
	t.Helper()
	r, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	info, err := r.Stat()
	require.NoError(t, err)
	f, err := elffile.New(r, info.Size())
	require.NoError(t, err)
	return f, r
}

func openData(t testing.TB, path string) *Data {
	t.Helper()
	f, r := openELF(t, path)
	d, err := Open(f, r, Options{})
	require.NoError(t, err)
	return d
}

func lookup(t testing.TB, d *Data, pc addr.File) []Line {
	t.Helper()
	lines, err := d.Lookup(pc, nil)
	require.NoError(t, err)
	return lines
}
