package unwind

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/elffile"
)

// opened opens a file until the end of the test.
func opened(t testing.TB, path string) (*elffile.File, *os.File) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	info, err := file.Stat()
	require.NoError(t, err)
	f, err := elffile.New(file, info.Size())
	require.NoError(t, err)
	return f, file
}

// reused are a large file, Go's, one without code, small ones and large ones
// again.
func reused(t testing.TB) []string {
	t.Helper()
	own, err := os.Executable()
	require.NoError(t, err)
	libc, err := filepath.Glob("/lib/*/libc.so.6")
	require.NoError(t, err)
	require.NotEmpty(t, libc)
	return []string{libc[0], own, "/bin/true", libc[0], own}
}

func TestCompilersForgetTheFileBefore(t *testing.T) {
	t.Parallel()
	var c Compiler
	for _, path := range reused(t) {
		f, r := opened(t, path)
		want, err := Compile(f, r, Options{})
		require.NoError(t, err)
		got, err := c.Compile(f, r, Options{})
		require.NoError(t, err)
		assert.Nil(t, got.Rows)
		for range 2 {
			got.Rows = nil
			require.NoError(t, c.Rows(func(rows []Row) error { got.Rows = append(got.Rows, rows...); return nil }))
			require.Equal(t, want, got, path)
		}
		failed, pieces := errors.New("failed"), 0
		require.ErrorIs(t, c.Rows(func([]Row) error { pieces++; return failed }), failed)
		assert.Equal(t, 1, pieces)
		_, err = c.Compile(&elffile.File{Machine: f.Machine, Is64: true}, r, Options{})
		require.ErrorIs(t, err, ErrNoCode)
		// A file that is cut leaves the builder full in the middle of a source.
		cut, err := c.Compile(f, r, Options{MaxRows: 100})
		require.NoError(t, err)
		assert.False(t, cut.Complete)
	}
}

func TestCompilersUseTheirMemoryAgain(t *testing.T) {
	var c Compiler
	f, r := opened(t, reused(t)[0])
	_, err := c.Compile(f, r, Options{})
	require.NoError(t, err)
	rows := 0
	require.NoError(t, c.Rows(func(piece []Row) error { rows += len(piece); return nil }))
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = c.Compile(f, r, Options{})
			_ = c.Rows(func([]Row) error { return nil })
		}
	})
	assert.Less(t, result.AllocedBytesPerOp(), int64(rows*RowBytes/2), "less than one copy of the rows")
}
