package dwarfline

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/internal/fixture"
)

// inMemory is scratch that notes whether it is in use.
type inMemory struct {
	data   []byte
	full   bool
	closed *int
}

func (m *inMemory) Write(b []byte) (int, error) {
	if m.full {
		return 0, errDiskFull
	}
	m.data = append(m.data, b...)
	return len(b), nil
}

func (m *inMemory) ReadAt(b []byte, off int64) (int, error) {
	return bytes.NewReader(m.data).ReadAt(b, off)
}

func (m *inMemory) Close() error { *m.closed++; return nil }

var errDiskFull = errors.New("disk full")

// TestLargeCompressedSectionsGoToScratch reads a file whose sections are more
// than may be held in memory.
func TestLargeCompressedSectionsGoToScratch(t *testing.T) {
	t.Parallel()
	path := bulky(t)
	plain := openData(t, path+".plain")
	f, r := openELF(t, path)
	const room = 1 << 20
	_, err := Open(f, r, Options{MaxUnpacked: room})
	require.ErrorIs(t, err, ErrTooBig, "the test is about such a file")

	opened, closed, refuse, full := 0, 0, false, false
	d, err := Open(f, r, Options{MaxUnpacked: room, Scratch: func(size int64) (Scratch, error) {
		if refuse {
			return nil, errDiskFull
		}
		opened++
		assert.GreaterOrEqual(t, size, int64(minSpilled))
		return &inMemory{closed: &closed, full: full}, nil
	}})
	require.NoError(t, err)
	pcs := addresses(t, path+".plain", 500)
	refuse = true
	_, err = d.Lookup(pcs[100], nil)
	require.ErrorIs(t, err, errDiskFull)
	refuse = false
	for _, pc := range pcs {
		require.Equal(t, lookup(t, plain, pc), lookup(t, d, pc))
	}
	assert.Positive(t, opened)
	assert.Zero(t, closed)
	assert.LessOrEqual(t, d.unpacked, int64(room))
	assert.Positive(t, d.UnpackTime())
	d.Drop()
	assert.Equal(t, opened, closed)
	assert.Equal(t, lookup(t, plain, pcs[100]), lookup(t, d, pcs[100]))
	d.Drop()
	full = true
	_, err = d.Lookup(pcs[100], nil)
	require.Error(t, err)
	assert.Equal(t, opened, closed, "what could not be filled is given back")
}

// TestScratchIsPreferredToMemory: files that would fit are spilled, too, unless
// there is no scratch.
func TestScratchIsPreferredToMemory(t *testing.T) {
	t.Parallel()
	path := bulky(t)
	plain := openData(t, path+".plain")
	f, r := openELF(t, path)
	opened, closed, refuse := 0, 0, false
	d, err := Open(f, r, Options{SpillFrom: 1 << 20, Scratch: func(int64) (Scratch, error) {
		if refuse {
			return nil, errDiskFull
		}
		opened++
		return &inMemory{closed: &closed}, nil
	}})
	require.NoError(t, err)
	pc := addresses(t, path+".plain", 500)[100]
	assert.Equal(t, lookup(t, plain, pc), lookup(t, d, pc))
	assert.Positive(t, opened)
	assert.Less(t, d.unpacked, int64(1<<20))
	d.Drop()
	opened, refuse = 0, true
	assert.Equal(t, lookup(t, plain, pc), lookup(t, d, pc))
	assert.Zero(t, opened)
	assert.Greater(t, d.unpacked, int64(1<<20))
}

// bulky builds a file with some megabytes of compressed debug information, and
// the same with the suffix .plain that is not compressed: one unit many times.
func bulky(t *testing.T) string {
	t.Helper()
	var src strings.Builder
	for i := range 500 {
		fmt.Fprintf(&src, "struct type_%[1]d { long member_%[2]x; };\n"+
			"static inline __attribute__((always_inline)) long in_%[1]d(long x) { struct type_%[1]d t = { x * %[1]d }; return t.member_%[2]x; }\n"+
			"__attribute__((used)) static long out_%[1]d(long x) { return in_%[1]d(x) + in_%[1]d(x ^ %[1]d); }\n", i, i*104729)
	}
	dir := fixture.Build(t, map[string]string{"part.c": src.String(), "main.c": "void _start(void) {}\n"},
		"gcc -g -O1 -c part.c", "gcc -c main.c")
	part, err := os.ReadFile(filepath.Join(dir, "part.o"))
	require.NoError(t, err)
	link := "gcc -nostdlib -static -o a.plain main.o"
	for i := range 40 {
		name := fmt.Sprintf("part%d.o", i)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), part, 0o600))
		link += " " + name
	}
	fixture.Run(t, dir, strings.Fields(link)...)
	fixture.Run(t, dir, "objcopy", "--compress-debug-sections=zlib", "a.plain", "a")
	return filepath.Join(dir, "a")
}
