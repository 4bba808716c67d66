package lines

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
)

func all(r io.Reader) (got []string, in *Reader) {
	in = NewReader(r)
	for {
		line, ok := in.Next()
		if !ok {
			return got, in
		}
		got = append(got, line)
		if line == "bad" {
			in.Bad(errors.New("is bad"))
		}
	}
}

func TestLines(t *testing.T) {
	got, in := all(strings.NewReader("a\r\n\nb c\nbad\nlast"))
	assert.Equal(t, []string{"a", "", "b c", "bad", "last"}, got)
	assert.Equal(t, 1, in.Count)
	assert.EqualError(t, in.First[0], "line 4: is bad")
	assert.NoError(t, in.Err())
}

func TestLongLinesAreSkipped(t *testing.T) {
	got, in := all(strings.NewReader("a\n" + strings.Repeat("x", Max+1) + "\n" + strings.Repeat("y", 100_000) + "\nb\n"))
	assert.Equal(t, []string{"a", strings.Repeat("y", 100_000), "b"}, got)
	assert.EqualError(t, in.First[0], "line 2: longer than 16777216 bytes")
}

func TestBadLinesAreCountedBeyondThoseThatAreKept(t *testing.T) {
	_, in := all(strings.NewReader(strings.Repeat("bad\n", 150)))
	assert.Equal(t, 150, in.Count)
	assert.Len(t, in.First, 100)
}

func TestErrorsOfTheReader(t *testing.T) {
	broken := errors.New("disk broke")
	_, in := all(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	assert.ErrorIs(t, in.Err(), broken)
}
