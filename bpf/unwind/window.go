package unwind

import (
	"errors"
	"fmt"
	"io"

	"github.com/flametel/flametel/symbolize/elffile"
)

const (
	// windowBytes is how much of a section is read at a time.
	windowBytes = 256 << 10
	// maxEntry bounds an entry. Generated functions have millions of
	// instructions that each move the stack pointer, at 2 to 6 bytes.
	maxEntry = 32 << 20
)

// errEntry is wrapped by errors that the contents of a section cause.
var errEntry = errors.New("damaged unwind information")

// window shows the bytes of a section, most of the time in order.
type window struct {
	r         io.ReaderAt
	off, size uint64 // of the section in r
	buf       []byte
	start     uint64 // of buf in the section
}

// view returns n bytes at a position of the section; they are valid until the
// next call.
func (w *window) view(pos, n uint64) ([]byte, error) {
	if pos >= w.start && pos-w.start <= uint64(len(w.buf)) && n <= uint64(len(w.buf))-(pos-w.start) {
		return w.buf[pos-w.start:][:n], nil
	}
	if pos > w.size || n > w.size-pos {
		return nil, fmt.Errorf("%w: %d bytes at %#x of a section of %#x", errEntry, n, pos, w.size)
	}
	size := min(max(n, windowBytes), w.size-pos)
	if uint64(cap(w.buf)) < size {
		w.buf = make([]byte, size)
	}
	w.buf, w.start = w.buf[:size], pos
	got, err := w.r.ReadAt(w.buf, int64(w.off+pos))
	w.buf = w.buf[:got]
	if uint64(got) >= n {
		return w.buf[:n], nil
	}
	if err == io.EOF {
		err = elffile.ErrFormat
	}
	return nil, fmt.Errorf("read unwind information at %#x: %w", w.off+pos, err)
}
