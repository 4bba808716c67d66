//go:build linux

package unwindtable

import (
	"hash/maphash"
	"io"
	"slices"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/bpf/unwind"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// file is what is known of a mapped file.
type file struct {
	object   *symbolize.Object
	number   int
	weight   uint64 // bytes of unwind information
	state    fileState
	segments []elffile.Segment // executable ones
	base     addr.File         // of the rows
	table    *table            // nil unless loaded
	users    int               // lists that were made with it
	hit      bool              // a walk ended for want of its rows
	seen     uint64            // in a stack, CLOCK_MONOTONIC; kept while the pool is short
}

type fileState uint8

const (
	fileUnread fileState = iota
	fileLoaded
	fileWaiting // in a queue
	fileNothing // it has no rows, or cannot be read; never tried again
	fileRefused // there was no room, or it had to give way
	fileUnhit   // large, and no walk has ended for want of it so far
)

// table is rows in the pool. Files with the same rows share it: copies in
// containers have inodes of their own.
type table struct {
	hash  uint64
	where extent
	files []*file
}

// compileFile makes the rows of a file, which are in the compiler then. What
// describes itself nowhere may do so in a separate debug file.
func (m *Manager) compileFile(c *unwind.Compiler, f *file) (t *unwind.Table, segments []elffile.Segment, err error) {
	err = m.opts.Files.Read(f.object, func(r io.ReaderAt, size int64) error {
		e, err := elffile.New(r, size)
		if err != nil {
			return err
		}
		segments = slices.DeleteFunc(e.Segments(), func(s elffile.Segment) bool { return !s.Executable })
		opts := unwind.Options{MaxRows: m.opts.Kernel.Rows()}
		if f.weight == 0 {
			err = m.opts.Files.ReadDebug(f.object, func(debug *elffile.File, from io.ReaderAt) error {
				opts.Debug, opts.DebugReader = debug, from
				t, err = c.Compile(e, r, opts)
				return err
			})
			if err == nil {
				return nil
			}
			opts.Debug, opts.DebugReader = nil, nil // there is none
		}
		t, err = c.Compile(e, r, opts)
		return err
	})
	return t, segments, err
}

// load compiles a file and puts its rows into the pool.
func (m *Manager) load(c *unwind.Compiler, f *file) error {
	t, segments, err := m.compileFile(c, f)
	var hash maphash.Hash
	count := 0
	if err == nil {
		hash.SetSeed(m.seed)
		err = c.Rows(func(rows []unwind.Row) error {
			count += len(rows)
			_, err := hash.Write(unwind.Bytes(rows))
			return err
		})
	}
	m.state.Lock()
	defer m.state.Unlock()
	f.seen = m.opts.Now()
	if err != nil || count <= 1 {
		f.state = fileNothing
		if err != nil {
			m.stats.Unreadable++
		}
		return nil
	}
	f.segments, f.base = segments, t.Base
	return m.store(f, c, hash.Sum64(), count)
}

// store puts the rows of a compiler, of this hash and count, into the pool unless
// they are there. m.state is held.
func (m *Manager) store(f *file, c *unwind.Compiler, hash uint64, count int) error {
	have := m.tables[hash]
	if have == nil || have.where.count != count {
		where, ok := m.takeRows(count)
		if !ok {
			f.state = fileRefused
			m.stats.Refused++
			return nil
		}
		at := where.at
		err := c.Rows(func(rows []unwind.Row) error {
			at += len(rows)
			return m.opts.Kernel.WriteRows(at-len(rows), unwind.Bytes(rows))
		})
		if err != nil {
			m.rows.give(where)
			f.state = fileRefused
			return err
		}
		have = &table{hash: hash, where: where}
		m.tables[hash] = have
	}
	have.files = append(have.files, f)
	f.table, f.state = have, fileLoaded
	return nil
}

// ranges appends the mappings of the kernel for one of a process: one for each
// executable segment that it shows.
func (f *file) ranges(m *symbolize.Mapped, dst []bpf.Mapping) []bpf.Mapping {
	if f.state != fileLoaded {
		lacking := bpf.Mapping{Start: uint64(m.Start), Limit: uint64(m.Limit)}
		if f.state != fileNothing {
			lacking.First = 1 // there would be rows
		}
		return append(dst, lacking)
	}
	const page = 0xfff
	from, to := m.Offset, m.Offset+addr.Offset(m.Limit-m.Start)
	for i := range f.segments {
		s := &f.segments[i]
		// Whole pages are mapped, so code may lie before and after the segment.
		first := max(from, s.Offset&^page)
		last := min(to, (s.Offset+addr.Offset(s.Limit-s.Start)+page)&^page)
		if first >= last {
			continue
		}
		start := uint64(m.Start) + uint64(first-from)
		if n := len(dst); n > 0 && start < dst[n-1].Limit {
			start = dst[n-1].Limit // a page that two segments share
		}
		limit := uint64(m.Start) + uint64(last-from)
		if start >= limit {
			continue
		}
		// Where the byte at s.Offset is, or would be.
		origin := uint64(m.Start) + uint64(s.Offset) - uint64(from)
		dst = append(dst, bpf.Mapping{
			Start: start, Limit: limit,
			Base:  origin - uint64(s.Start-f.base),
			First: uint32(f.table.where.at), Count: uint32(f.table.where.count),
		})
	}
	return dst
}

// Seen says that the stack of a process has addresses in its mappings. It
// keeps hot files in the pool when there is not room for all, and is cheap as
// long as there is. cut tells that the stack ended in a file without rows.
func (m *Manager) Seen(image *symbolize.Process, pcs []addr.Virtual, cut bool) {
	if !cut && !m.pressure.Load() {
		return
	}
	now := m.opts.Now()
	m.state.Lock()
	defer m.state.Unlock()
	for i, pc := range pcs {
		mapped := image.Find(pc)
		if mapped == nil {
			continue
		}
		f := m.files[mapped.Object]
		if f == nil {
			continue
		}
		f.seen = now
		if cut && i == len(pcs)-1 && f.state == fileRefused {
			m.miss(f.object)
		}
	}
}

// maxMissed bounds the files that wait to be loaded again.
const maxMissed = 64

// miss asks for a file that has no room so far.
func (m *Manager) miss(o *symbolize.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.missed) < maxMissed && !slices.Contains(m.missed, o) {
		m.missed = append(m.missed, o)
		m.nudge()
	}
}

// reload queues files that had no room.
func (m *Manager) reload(objects []*symbolize.Object) {
	for _, o := range objects {
		m.state.Lock()
		f := m.files[o]
		m.state.Unlock()
		m.retry(f)
	}
}

// hit queues the file for want of which a walk ended, unless it is there by now.
func (m *Manager) hit(r bpf.TableRequest) {
	m.state.Lock()
	var f *file
	if s := m.spaces[r.PID]; s != nil && s.key == r.SpaceRequest && len(s.history) > 0 {
		if mapped := s.current().Find(addr.Virtual(r.Address)); mapped != nil {
			f = m.files[mapped.Object]
		}
	}
	m.state.Unlock()
	m.retry(f)
}

// retry queues a file, which may be nil, that has no room so far or was left out
// for its size.
func (m *Manager) retry(f *file) {
	m.state.Lock()
	again := f != nil && (f.state == fileRefused || f.state == fileUnhit)
	if again {
		f.state, f.hit = fileUnread, true
	}
	m.state.Unlock()
	if again {
		m.want(f)
	}
}
