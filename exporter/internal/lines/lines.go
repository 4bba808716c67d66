// Package lines reads text of others line by line, within bounds, and keeps
// what was wrong with which line.
package lines

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Max is the longest line that is read, in bytes: 65,536 frames of 256 bytes.
const Max = 16 << 20

// maxBad is how many bad lines are kept; more are counted.
const maxBad = 100

// Bad is a line that was left out.
type Bad struct {
	Number int // from 1
	Err    error
}

func (b Bad) Error() string { return fmt.Sprintf("line %d: %v", b.Number, b.Err) }

// Reader reads lines.
type Reader struct {
	in     *bufio.Reader
	number int
	err    error
	// First are the first lines that were left out, Count is how many there are.
	First []Bad
	Count int
}

// NewReader returns a Reader.
func NewReader(r io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(r, 1<<16)} }

// Next returns the next line without its end; false after the last. A line that
// is too long counts as bad and is skipped.
func (r *Reader) Next() (line string, ok bool) {
	for r.err == nil {
		r.number++
		line, tooLong := r.read()
		switch {
		case r.err != nil && !errors.Is(r.err, io.EOF):
			return "", false
		case tooLong:
			r.Bad(fmt.Errorf("longer than %d bytes", Max))
		case r.err == nil || line != "":
			return line, true
		}
	}
	return "", false
}

func (r *Reader) read() (line string, tooLong bool) {
	var b strings.Builder
	for {
		part, err := r.in.ReadSlice('\n')
		if b.Len()+len(part) > Max {
			tooLong = true
			b.Reset()
		}
		if !tooLong {
			b.Write(part)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			r.err = err
			line = strings.TrimSuffix(b.String(), "\n")
			return strings.TrimSuffix(line, "\r"), tooLong
		}
	}
}

// Bad notes that the line at hand is left out.
func (r *Reader) Bad(err error) {
	r.Count++
	if len(r.First) < maxBad {
		r.First = append(r.First, Bad{r.number, err})
	}
}

// Number is that of the line at hand, from 1.
func (r *Reader) Number() int { return r.number }

// Err is what ended reading, nil if it was the end of the text.
func (r *Reader) Err() error {
	if r.err == nil || errors.Is(r.err, io.EOF) {
		return nil
	}
	return r.err
}
