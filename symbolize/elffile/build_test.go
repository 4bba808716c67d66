package elffile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

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
