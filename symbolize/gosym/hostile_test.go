package gosym

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// tableOffset is where the header of an image lies in the file.
const tableOffset = imageConstOffset + imageTableStart

func TestDamagedHeadersAreRefused(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(b []byte){
		"quantum":             func(b []byte) { b[6] = 3 },
		"pointer size":        func(b []byte) { b[7] = 4 },
		"no functions":        func(b []byte) { binary.LittleEndian.PutUint64(b[8:], 0) },
		"too many functions":  func(b []byte) { binary.LittleEndian.PutUint64(b[8:], 1<<60) },
		"functions beyond":    func(b []byte) { binary.LittleEndian.PutUint64(b[8:], 5000) },
		"names beyond":        func(b []byte) { binary.LittleEndian.PutUint64(b[32:], imageConstSize) },
		"functab wraps":       func(b []byte) { binary.LittleEndian.PutUint64(b[64:], ^uint64(0)-7) },
		"functab in itself":   func(b []byte) { binary.LittleEndian.PutUint64(b[64:], 8) },
		"older than Go 1.16":  func(b []byte) { b[0] = 0xfb },
		"of another endiness": func(b []byte) { copy(b, "\xff\xff\xff\xf1") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := sampleImage(Version120)
			b := i.build()
			damage(b[tableOffset:])
			_, err := openBytes(b)
			require.Error(t, err)
			assert.True(t, errors.Is(err, ErrNotGo) || errors.Is(err, ErrFormat), err)
		})
	}
}

func TestOtherProgramsAreNotGo(t *testing.T) {
	t.Parallel()
	b := sampleImage(Version120).build()
	clear(b[imageConstOffset : imageConstOffset+imageConstSize])
	_, err := openBytes(b)
	require.ErrorIs(t, err, ErrNotGo)

	// Programs with sections that the Go linker does not make are not searched.
	f, err := os.Open("/bin/sh")
	require.NoError(t, err)
	defer f.Close()
	st, err := f.Stat()
	require.NoError(t, err)
	e, err := elffile.New(f, st.Size())
	require.NoError(t, err)
	r := &countingReader{r: f}
	_, err = Open(e, r)
	require.ErrorIs(t, err, ErrNotGo)
	assert.Less(t, r.bytes, int64(64<<10))
}

// countingReader counts what is read.
type countingReader struct {
	r     io.ReaderAt
	bytes int64
	err   error // instead of reading, if set
}

func (c *countingReader) ReadAt(b []byte, off int64) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	c.bytes += int64(len(b))
	return c.r.ReadAt(b, off)
}

// TestInlinedCallsInCircle damages the caller of an inlined call so that the
// call is its own caller.
func TestInlinedCallsInCircle(t *testing.T) {
	t.Parallel()
	for _, parent := range []int{45, 59, 1 << 30} {
		i := sampleImage(Version120)
		i.funcs[0].calls[1].parent = parent
		i.funcs[0].rows[4].inline = 1
		table, err := openBytes(i.build())
		require.NoError(t, err)
		lines, err := table.Lookup(imageText+45, nil)
		require.NoError(t, err)
		require.NotEmpty(t, lines)
		assert.LessOrEqual(t, len(lines), maxInlined+1)
		last := lines[len(lines)-1]
		assert.Equal(t, Line{Name: "main.a", StartLine: 10}, last, "the function is known, its line is not")
	}
}

// endless is a file that goes on with the same two bytes: a value that grows
// and holds for no instruction.
type endless struct{ file []byte }

func (e endless) ReadAt(b []byte, off int64) (int, error) {
	for i := range b {
		if at := off + int64(i); at < int64(len(e.file)) {
			b[i] = e.file[at]
		} else {
			b[i] = 2 * byte(1-at%2)
		}
	}
	return len(b), nil
}

// TestEndlessTables reads tables of lines and inlined calls that do not end.
func TestEndlessTables(t *testing.T) {
	t.Parallel()
	for _, field := range []int{20, 24} { // file and line in the first function
		i := sampleImage(Version120)
		i.noModule = true
		b := i.build()
		const size = 256 << 20
		binary.LittleEndian.PutUint64(b[64+56+32:], size) // of the segment of constants
		binary.LittleEndian.PutUint64(b[64+56+40:], size)
		table, err := openBytes(b)
		require.NoError(t, err)
		at, err := table.h.record(table.m, 0)
		require.NoError(t, err)
		binary.LittleEndian.PutUint32(b[int(at)-imageConst+imageConstOffset+field:],
			uint32(imageConst+imageDataOffset-imageConstOffset-table.h.tables))

		r := &countingReader{r: endless{b[:imageDataOffset]}}
		f, err := elffile.New(r, size)
		require.NoError(t, err)
		table, err = Open(f, r)
		require.NoError(t, err)
		assert.Equal(t, []Line{{Name: "main.a", StartLine: 10}}, linesAt(t, table, imageText+5))
		assert.Less(t, r.bytes, int64(3*maxSteps))
		assert.LessOrEqual(t, table.Bytes(), table.MaxBytes())
	}
}

// TestReadErrorsAreTold tells trouble of the reader from damage of the file.
func TestReadErrorsAreTold(t *testing.T) {
	t.Parallel()
	b := sampleImage(Version120).build()
	f, err := elffile.New(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	trouble := errors.New("trouble")
	_, err = Open(f, &countingReader{err: trouble})
	require.ErrorIs(t, err, trouble)

	table := openTable(t, goTool(t, "gofmt"))
	start, limit := table.Text()
	good := table.m.r
	table.m.r = &countingReader{err: trouble}
	failed := 0
	for n := range addr.File(200) {
		lines, err := table.Lookup(start+(limit-start)/200*n, nil)
		if err != nil {
			require.ErrorIs(t, err, trouble)
			assert.Empty(t, lines, "nothing rather than a part")
			failed++
		}
	}
	assert.Positive(t, failed)
	// It goes on when reading does.
	table.m.r = good
	named := 0
	for n := range addr.File(200) {
		if len(linesAt(t, table, start+(limit-start)/200*n)) > 0 {
			named++
		}
	}
	assert.Greater(t, named, 150)
}

// TestMemoryIsBounded looks up all of a large program.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	table := openTable(t, goTool(t, "compile"))
	require.Greater(t, table.Len(), 20000)
	for i := 0; i < table.Len(); i += 3 {
		f, err := table.FuncAt(i)
		require.NoError(t, err)
		linesAt(t, table, f.Start)
	}
	assert.LessOrEqual(t, table.Bytes(), table.MaxBytes())
	assert.Less(t, table.MaxBytes(), int64(600<<10))
}

// TestSearchesEnd searches files full of what looks like a table or leads to
// one: the magic number, and pointers that never fall.
func TestSearchesEnd(t *testing.T) {
	t.Parallel()
	var shape []byte // of module data: a pointer and six slices, the last two at one place
	for n := range uint64(19) {
		v := uint64(100)
		if n%3 == 1 || n == 0 {
			v = imageConst + min(n+2, 15)/3*16
		}
		shape = binary.LittleEndian.AppendUint64(shape, v)
	}
	_, ok := moduleShape(shape, 8)
	require.True(t, ok)
	for name, pattern := range map[string][]byte{
		"magic": []byte("\xf1\xff\xff\xff\x00\x00\x01\x08"), "module": shape, "nothing": make([]byte, 8),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := sampleImage(Version120).build()[:imageTextOffset]
			const size = 64 << 20
			for segment := range 3 {
				binary.LittleEndian.PutUint64(b[64+56*segment+32:], size)
				binary.LittleEndian.PutUint64(b[64+56*segment+40:], size)
			}
			r := &countingReader{r: repeated{b, pattern}}
			f, err := elffile.New(r, 1<<40)
			require.NoError(t, err)
			_, err = Open(f, r)
			require.ErrorIs(t, err, ErrNotGo)
			assert.Less(t, r.bytes, int64(maxScan+maxTries*4*pageBytes))
			if name == "nothing" {
				assert.Greater(t, r.bytes, int64(size), "all was searched")
			}
		})
	}
}

// repeated is a file that goes on with a pattern.
type repeated struct{ file, pattern []byte }

func (p repeated) ReadAt(b []byte, off int64) (int, error) {
	n := 0
	if off < int64(len(p.file)) {
		n = copy(b, p.file[off:])
	}
	for n < len(b) {
		n += copy(b[n:], p.pattern[(off+int64(n))%int64(len(p.pattern)):])
	}
	return len(b), nil
}
