package jitdump

import (
	"fmt"
	"io"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/jitdump/jitname"
)

const (
	// maxUpdate is how much of a file one Update reads: about 20 ms of work.
	maxUpdate = 8 << 20
	// windowSize is how much is read at a time, mostly many records.
	windowSize = 32 << 10
	// maxPending is how many debug records may wait for their load records.
	// They come right before them, but several threads may write.
	maxPending = 64
)

// Reader holds what was read of one process's log and goes on where it ended.
// The zero value has read nothing. It is not safe for concurrent use.
type Reader struct {
	table   table
	started bool
	first   [headerSize]byte
	header  header
	offset  int64 // everything before it is read
	broken  bool  // there is no telling where the next record begins
	pending []pending

	malformed uint64
}

// pending are lines of code that is not loaded yet.
type pending struct {
	start   uint64
	lines   span
	garbled int // as in debugInfo
}

// Update reads the whole records that are new in the file behind f, which has
// size bytes. It reports whether names may have changed, and whether there is
// more to read by another Update. On an error what was read before stays. A
// file that was replaced, shortened or rewritten is read from the start.
func (r *Reader) Update(f io.ReaderAt, size int64) (changed, more bool, err error) {
	if size < headerSize {
		changed = r.restart()
		return changed, false, nil
	}
	var first [headerSize]byte
	if n, err := f.ReadAt(first[:], 0); n < headerSize {
		return false, false, fmt.Errorf("read jitdump header: %w", err)
	}
	if r.started && (first != r.first || size < r.offset) {
		changed = r.restart()
	}
	if !r.started {
		h, ok := parseHeader(first[:])
		if !ok {
			return changed, false, fmt.Errorf("%w: its header is not that of version %d on a little-endian machine", ErrFormat, version)
		}
		r.started, r.first, r.header, r.offset = true, first, h, h.size
		r.table.untimed = h.untimed
	}
	if r.broken {
		return changed, false, fmt.Errorf("%w: damaged at %#x", ErrFormat, r.offset)
	}
	read, more, err := r.records(&window{f: f, size: size})
	return changed || read, more, err
}

// restart forgets everything and reports whether there was something.
func (r *Reader) restart() bool {
	had := len(r.table.entries) > 0
	*r = Reader{malformed: r.malformed, table: table{cut: r.table.cut}}
	return had
}

// records takes all whole records up to the budget of one Update.
func (r *Reader) records(w *window) (changed, more bool, err error) {
	for w.size-r.offset >= prefixSize {
		if w.read >= maxUpdate {
			return changed, true, nil
		}
		prefix, err := w.bytes(r.offset, prefixSize)
		if err != nil {
			return changed, false, err
		}
		kind, total, at := le.Uint32(prefix), int64(le.Uint32(prefix[4:])), le.Uint64(prefix[8:])
		if total < prefixSize {
			r.broken = true
			r.malformed++
			return changed, false, fmt.Errorf("%w: damaged at %#x", ErrFormat, r.offset)
		}
		if total > w.size-r.offset {
			return changed, false, nil // it is being written
		}
		took, err := r.record(w, kind, total-prefixSize, at)
		if err != nil {
			return changed, false, err
		}
		changed = changed || took
		r.offset += total
	}
	return changed, false, nil
}

// record takes the record at the offset, whose body has n bytes.
func (r *Reader) record(w *window, kind uint32, n int64, at uint64) (changed bool, err error) {
	limit := int64(0)
	switch kind {
	case recordLoad:
		limit = loadSize + maxName + 1
	case recordMove:
		limit = moveSize
	case recordDebug:
		limit = maxDebug
	default:
		return false, nil // unwinding information, the end, and what is to come
	}
	if kind == recordDebug && n > limit {
		r.malformed++
		return false, nil
	}
	b, err := w.bytes(r.offset+prefixSize, int(min(n, limit)))
	if err != nil {
		return false, err
	}
	switch kind {
	case recordLoad:
		changed = r.load(b, at)
	case recordMove:
		changed = r.move(b, at)
	case recordDebug:
		r.debug(b)
		return false, nil
	}
	if !changed {
		r.malformed++
	}
	return changed, nil
}

func (r *Reader) load(b []byte, at uint64) bool {
	c, ok := parseLoad(b)
	if !ok {
		return false
	}
	e := entry{start: c.start, size: c.size, from: at}
	for i, p := range r.pending {
		if p.start == c.start {
			e.lines = r.restore(p, c.name)
			r.pending = append(r.pending[:i], r.pending[i+1:]...)
			break
		}
	}
	if r.table.full(len(c.name)) {
		r.makeRoom(&e)
	}
	e.name = r.table.names.intern(c.name)
	r.table.add(e)
	return true
}

func (r *Reader) move(b []byte, at uint64) bool {
	m, ok := parseMove(b)
	if !ok {
		return false
	}
	i, ok := r.table.newest(m.from)
	if !ok {
		return false
	}
	old := &r.table.entries[i]
	old.until = max(at, 1)
	e := entry{start: m.to, size: m.size, from: at, name: old.name, lines: old.lines}
	if r.table.full(0) {
		text := r.table.names.text[e.name]
		r.makeRoom(&e)
		e.name = r.table.names.intern([]byte(text))
	}
	r.table.add(e)
	return true
}

// makeRoom shrinks the table; lines of e, which is not in it, and pending ones
// are given up.
func (r *Reader) makeRoom(e *entry) {
	r.table.shrink()
	r.pending = nil
	e.lines = span{}
}

func (r *Reader) debug(b []byte) {
	d, ok := parseDebug(b, r.header.v8)
	if !ok {
		return
	}
	if len(r.pending) == maxPending {
		r.pending = append(r.pending[:0], r.pending[1:]...)
	}
	r.pending = append(r.pending, pending{start: d.start, lines: r.table.addLines(d.lines), garbled: d.garbled})
}

// restore returns lines with the file that they are of. If it is not known, it
// is that of the function if that has a name as long; else there are none.
func (r *Reader) restore(p pending, function []byte) span {
	if p.garbled == 0 {
		return p.lines
	}
	file := jitname.Parse(string(function), jitname.V8).File
	// Up to 7 bytes of padding of the record may count as part of the names.
	if n := p.garbled - len(file); n < 0 || n*int(p.lines.count) >= 8 {
		return span{}
	}
	id := r.table.names.intern([]byte(file))
	for i := range p.lines.count {
		r.table.lines[p.lines.start+i].file = id
	}
	return p.lines
}

// Code is a piece of generated code.
type Code struct {
	// Name is as the runtime gave it, not sanitised.
	Name string
	// Start and Size tell where the code lies.
	Start addr.Virtual
	Size  uint32
	// File and Line are of the address that was asked for; "" and 0 if unknown.
	File string
	Line int64
	// FromNanos is when the code was put there, CLOCK_MONOTONIC. It tells code
	// from other code that was at the same place.
	FromNanos uint64
}

// Lookup returns the code that was at a at a time (CLOCK_MONOTONIC), or is
// there now if atNanos is 0. Code that is not known to replace other code is
// taken to have been there before its record, because agents that are loaded
// late list what there is already.
func (r *Reader) Lookup(a addr.Virtual, atNanos uint64) (Code, bool) {
	i, ok := r.table.lookup(uint64(a), atNanos)
	if !ok {
		return Code{}, false
	}
	e := &r.table.entries[i]
	c := Code{Name: r.table.names.text[e.name], Start: addr.Virtual(e.start), Size: e.size, FromNanos: e.from}
	if l, ok := r.table.line(e, uint64(a)); ok {
		c.File, c.Line = r.table.names.text[l.file], int64(l.line)
	}
	return c, true
}

// Contested tells that code of different names is known to have been at a.
func (r *Reader) Contested(a addr.Virtual) bool { return r.table.contested(uint64(a)) }

// Len is the number of pieces of code that are held.
func (r *Reader) Len() int { return len(r.table.entries) }

// Bytes is about the memory that is held.
func (r *Reader) Bytes() int64 { return r.table.bytes() }

// Malformed counts the records that made no sense.
func (r *Reader) Malformed() uint64 { return r.malformed }

// Cut tells that there was too much, so that old names are missing.
func (r *Reader) Cut() bool { return r.table.cut }

// window reads a file in pieces.
type window struct {
	f    io.ReaderAt
	size int64

	buf  []byte
	have []byte // the bytes at off
	off  int64
	read int64 // in all
}

// bytes returns n bytes at off, which the file has, valid until the next call.
func (w *window) bytes(off int64, n int) ([]byte, error) {
	if off < w.off || off+int64(n) > w.off+int64(len(w.have)) {
		want := int(min(int64(max(n, windowSize)), w.size-off))
		if cap(w.buf) < want {
			w.buf = make([]byte, want)
		}
		got, err := w.f.ReadAt(w.buf[:want], off)
		w.read += int64(want)
		w.have, w.off = w.buf[:got], off
		if got < n {
			if err == io.EOF {
				err = fmt.Errorf("%w: it became shorter", ErrFormat)
			}
			return nil, fmt.Errorf("read jitdump: %w", err)
		}
	}
	return w.have[off-w.off:][:n], nil
}
