package perfmap

import (
	"bytes"
	"fmt"
	"io"

	"github.com/flametel/flametel/symbolize/addr"
)

const (
	// maxUpdate is how much of a file one Update reads: about 50 ms of work.
	maxUpdate = 8 << 20
	// maxFile is how much of a file is read in all; of a longer one the end,
	// which has the newest names.
	maxFile = 64 << 20
	// maxEntries and maxNames bound what is held of one process, but for one
	// Update that fills them alone. Over them all names before that Update are
	// forgotten: the newest count.
	maxEntries = 1 << 20
	maxNames   = 32 << 20
	// maxLine is the longest line that is taken. Names of generics and of long
	// paths have some thousand bytes.
	maxLine = 16 << 10
	// tailSize is how many bytes before the place where reading ended are
	// compared to notice that a file was rewritten.
	tailSize = 64
)

// ID is the identity of an open file.
type ID struct{ Dev, Inode uint64 }

// Reader holds what was read of one process's map and goes on where it ended.
// The zero value has read nothing. It is not safe for concurrent use.
type Reader struct {
	table    table
	started  bool
	id       ID
	offset   int64 // everything before it is read or skipped
	skipping bool  // the line at offset is too long, its rest is left out
	tail     [tailSize]byte
	tailLen  int

	malformed uint64
	cut       bool
}

// Update reads what is new in the file behind f, which has size bytes. It
// reports whether names may have changed, and whether there is more to read
// by another Update. On an error what was read before stays.
func (r *Reader) Update(f io.ReaderAt, id ID, size int64) (changed, more bool, err error) {
	same, err := r.continues(f, id, size)
	if err != nil {
		return false, false, err
	}
	if !same {
		changed = r.table.len() > 0
		*r = Reader{started: true, id: id, malformed: r.malformed}
		if size > maxFile {
			r.offset, r.skipping, r.cut = size-maxFile, true, true
		}
	}
	if size-r.offset <= 0 {
		return changed, false, nil
	}
	buf := make([]byte, min(size-r.offset, maxUpdate))
	n, err := f.ReadAt(buf, r.offset)
	if err != nil && err != io.EOF {
		return changed, false, fmt.Errorf("read perf map: %w", err)
	}
	read := r.take(buf[:n])
	return changed || read, n == maxUpdate, nil
}

// continues tells whether the file is the one that was read before and still
// begins with what was read of it.
func (r *Reader) continues(f io.ReaderAt, id ID, size int64) (bool, error) {
	if !r.started || id != r.id || size < r.offset {
		return false, nil
	}
	var b [tailSize]byte
	n, err := f.ReadAt(b[:r.tailLen], r.offset-int64(r.tailLen))
	if err != nil && err != io.EOF {
		return false, fmt.Errorf("read perf map: %w", err)
	}
	return n == r.tailLen && b == r.tail, nil
}

// take parses the whole lines of b and moves the offset behind them.
func (r *Reader) take(b []byte) (changed bool) {
	r.makeRoom(b)
	var batch []entry
	done := 0
	for {
		n := bytes.IndexByte(b[done:], '\n')
		if n < 0 {
			break
		}
		text := b[done : done+n]
		done += n + 1
		if r.skipping {
			r.skipping = false
			continue
		}
		l, ok := parseLine(text)
		if !ok || n > maxLine {
			r.malformed++
			continue
		}
		batch = append(batch, entry{start: l.start, size: l.size, name: r.table.names.intern(l.name)})
	}
	if len(b)-done > maxLine {
		// No newline for too long: what is here is no line, nor what follows it.
		if !r.skipping {
			r.malformed++
		}
		r.skipping = true
		done = len(b)
	}
	r.advance(b[:done])
	r.table.add(batch)
	return len(batch) > 0
}

// advance moves the offset over b and remembers its end.
func (r *Reader) advance(b []byte) {
	r.offset += int64(len(b))
	if len(b) >= tailSize {
		r.tailLen = copy(r.tail[:], b[len(b)-tailSize:])
		return
	}
	joined := append(bytes.Clone(r.tail[:r.tailLen]), b...)
	if len(joined) > tailSize {
		joined = joined[len(joined)-tailSize:]
	}
	r.tail = [tailSize]byte{}
	r.tailLen = copy(r.tail[:], joined)
}

// makeRoom forgets what is held if the lines of b might be too many with it.
func (r *Reader) makeRoom(b []byte) {
	entries := r.table.len() + bytes.Count(b, []byte{'\n'})
	if r.table.len() > 0 && (entries > maxEntries || len(r.table.names.bytes)+len(b) > maxNames) {
		r.table = table{}
		r.cut = true
	}
}

// Lookup returns the name of the code at a.
func (r *Reader) Lookup(a addr.Virtual) (name string, ok bool) {
	place, ok := r.table.lookup(a)
	if !ok {
		return "", false
	}
	return string(r.table.names.at(place)), true
}

// Same tells whether the code at a has this name, without making a string.
func (r *Reader) Same(a addr.Virtual, name string) bool {
	place, ok := r.table.lookup(a)
	return ok && string(r.table.names.at(place)) == name
}

// Forget drops all that was read; the next Update starts over.
func (r *Reader) Forget() { *r = Reader{malformed: r.malformed, cut: r.cut} }

// Len is the number of named ranges.
func (r *Reader) Len() int { return r.table.len() }

// Bytes is the memory that is held.
func (r *Reader) Bytes() int64 { return r.table.size() }

// Malformed counts the lines that made no sense.
func (r *Reader) Malformed() uint64 { return r.malformed }

// Cut tells that the file was too big, so that its oldest names are missing.
func (r *Reader) Cut() bool { return r.cut }
