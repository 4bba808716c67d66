package debuginfo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/flametel/flametel/symbolize/elffile"
)

const (
	linkSection = ".gnu_debuglink"
	// maxLinkName is the longest file name of Linux (NAME_MAX).
	maxLinkName = 255
)

// Link is what a program says of its separate debug file: a file name without
// folder, and the CRC-32 of the file.
type Link struct {
	Name string
	CRC  uint32
}

// LinkOf returns the debug link of a program; ErrNone if it has none.
func LinkOf(f *elffile.File) (Link, error) {
	s, ok := f.Section(linkSection)
	if !ok {
		return Link{}, fmt.Errorf("section %s: %w", linkSection, ErrNone)
	}
	b, err := f.Data(s, maxLinkName+64)
	if err != nil {
		return Link{}, err
	}
	return parseLink(b)
}

var errLink = errors.New("section " + linkSection + " is damaged")

// parseLink takes the contents of the section apart: the name, its NUL, zeros
// up to a multiple of 4 from the start of the section, the CRC
// (https://sourceware.org/gdb/current/onlinedocs/gdb.html/Separate-Debug-Files.html).
// Some tools write the CRC without the zeros; it is the end of the section
// then as well.
func parseLink(b []byte) (Link, error) {
	end := bytes.IndexByte(b, 0)
	if end <= 0 || end > maxLinkName || bytes.IndexByte(b[:end], '/') >= 0 {
		return Link{}, errLink
	}
	l := Link{Name: string(b[:end])}
	if l.Name == "." || l.Name == ".." {
		return Link{}, errLink
	}
	at := (end + 1 + 3) &^ 3
	if at+4 > len(b) {
		at = end + 1
	}
	if at+4 > len(b) {
		return Link{}, errLink
	}
	l.CRC = le.Uint32(b[at:])
	return l, nil
}

// maxCRC is the largest file whose CRC is computed: about a second of work.
const maxCRC = 512 << 20

// hasCRC reads a whole file and compares.
func hasCRC(ctx context.Context, f io.ReaderAt, size int64, want uint32) error {
	if size > maxCRC {
		return fmt.Errorf("%d bytes are more than the %d whose CRC is computed", size, maxCRC)
	}
	h := crc32.NewIEEE()
	buf := make([]byte, 256<<10)
	for off := int64(0); off < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.ReadAt(buf[:min(int64(len(buf)), size-off)], off)
		h.Write(buf[:n])
		off += int64(n)
		if n == 0 {
			return fmt.Errorf("read: %w", err)
		}
	}
	if got := h.Sum32(); got != want {
		return fmt.Errorf("its CRC is %08x, the program's link says %08x", got, want)
	}
	return nil
}
