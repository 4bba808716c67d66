package elffile

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		words := strings.Fields(c)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", c, out)
	}
	return dir
}

func openFile(t testing.TB, elems ...string) *File {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elems...))
	require.NoError(t, err)
	f, err := New(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	return f
}

func symbolsOf(t testing.TB, f *File) *Symbols {
	t.Helper()
	s, err := f.Symbols()
	require.NoError(t, err)
	return s
}

// named returns the names of a table by their first address.
func named(s *Symbols) map[string]int {
	m := map[string]int{}
	for i := range s.Len() {
		if _, ok := m[s.Name(i)]; !ok {
			m[s.Name(i)] = i
		}
	}
	return m
}
