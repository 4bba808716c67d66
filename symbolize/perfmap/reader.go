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
	// readSize is how much is read at a time.
	readSize = 2 << 20
	// maxFile is how much of a file is read in all; of a longer one the end,
	// which has the newest names.
	maxFile = 64 << 20
	// maxEntries and maxNames bound what is held of one process, but for one
	// Update that fills them alone. Over them the oldest names are forgotten: the
	// newest count.
	maxEntries = 1 << 20
	maxNames   = 32 << 20
	// parts is by how many parts of that names are forgotten.
	parts = 8
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
	table    table   // what was read last
	older    []table // what was read before that, the oldest first
	watch    []watched
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
		changed = r.Len() > 0
		*r = Reader{started: true, id: id, malformed: r.malformed, watch: r.watch}
		if size > maxFile {
			r.offset, r.skipping, r.cut = size-maxFile, true, true
		}
	}
	end := r.offset + maxUpdate
	buf := make([]byte, max(min(size-r.offset, readSize), 0))
	for before := int64(-1); r.offset < min(size, end) && r.offset != before; {
		before = r.offset
		n, err := f.ReadAt(buf[:min(int64(len(buf)), size-r.offset, end-r.offset)], r.offset)
		if err != nil && err != io.EOF {
			return changed, false, fmt.Errorf("read perf map: %w", err)
		}
		changed = r.take(buf[:n]) || changed
	}
	return changed, r.offset+maxLine >= end && r.offset < size, nil
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
		r.note(&l)
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

// makeRoom forgets the oldest part of what is held, as often as the lines of b
// might be too many with it.
func (r *Reader) makeRoom(b []byte) {
	if t := &r.table; t.len() > maxEntries/parts || len(t.names.bytes) > maxNames/parts {
		r.older = append(r.older, *t)
		r.table = table{}
	}
	lines := bytes.Count(b, []byte{'\n'})
	for len(r.older) > 0 && (r.Len()+lines > maxEntries || r.nameBytes()+len(b) > maxNames) {
		r.older[0] = table{}
		r.older = r.older[1:]
		r.cut = true
	}
}

// lookup returns the name of the code at a, valid until the next Update.
func (r *Reader) lookup(a addr.Virtual) (name []byte, ok bool) {
	if place, ok := r.table.lookup(a); ok {
		return r.table.names.at(place), true
	}
	for i := len(r.older) - 1; i >= 0; i-- {
		if place, ok := r.older[i].lookup(a); ok {
			return r.older[i].names.at(place), true
		}
	}
	return nil, false
}

// Lookup returns the name of the code at a.
func (r *Reader) Lookup(a addr.Virtual) (name string, ok bool) {
	b, ok := r.lookup(a)
	return string(b), ok
}

// Same tells whether the code at a has this name, without making a string.
func (r *Reader) Same(a addr.Virtual, name string) bool {
	b, ok := r.lookup(a)
	return ok && string(b) == name
}

// Forget drops all that was read; the next Update starts over.
func (r *Reader) Forget() { *r = Reader{malformed: r.malformed, cut: r.cut} }

// Len is the number of named ranges.
func (r *Reader) Len() int {
	n := r.table.len()
	for i := range r.older {
		n += r.older[i].len()
	}
	return n
}

func (r *Reader) nameBytes() int {
	n := len(r.table.names.bytes)
	for i := range r.older {
		n += len(r.older[i].names.bytes)
	}
	return n
}

// Bytes is the memory that is held.
func (r *Reader) Bytes() int64 {
	n := r.table.size()
	for i := range r.older {
		n += r.older[i].size()
	}
	return n
}

// Malformed counts the lines that made no sense.
func (r *Reader) Malformed() uint64 { return r.malformed }

// Cut tells that the file was too big, so that its oldest names are missing.
func (r *Reader) Cut() bool { return r.cut }
