package dwarfline

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

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
