//go:build linux

package unwindtable

import (
	"io"
	"slices"
	"time"

	"github.com/flametel/flametel/bpf/unwind"
	"github.com/flametel/flametel/symbolize/elffile"
)

// queue is files that wait to be compiled, the smallest first: common libraries
// are small, and most stacks need those.
type queue struct {
	files []*file
	wake  chan struct{}
}

func newQueue() queue { return queue{wake: make(chan struct{}, 1)} }

// largeBytes of unwind information take some 20 ms to compile.
const largeBytes = 512 << 10

// hugePart is the part of the pool of rows from which on a file is loaded only
// when a walk has ended for want of it: browsers and compilers map libraries of
// which a few would fill the pool, and most processes run no code of them. A file
// has about as many bytes of rows as of unwind information.
const hugePart = 8

func (m *Manager) huge(weight uint64) bool {
	return weight > uint64(m.opts.Kernel.Rows()*unwind.RowBytes/hugePart)
}

// want queues a file that was not read yet.
func (m *Manager) want(f *file) {
	m.state.Lock()
	unread := f.state == fileUnread
	if unread {
		f.state = fileWaiting
	}
	m.state.Unlock()
	if !unread {
		return
	}
	weight, err := m.weigh(f)
	m.state.Lock()
	defer m.state.Unlock()
	if err != nil {
		f.state = fileNothing
		m.stats.Unreadable++
		return
	}
	f.weight = weight
	if m.huge(weight) && !f.hit {
		f.state = fileUnhit
		return
	}
	q := &m.small
	if weight > largeBytes {
		q = &m.large
	}
	at, _ := slices.BinarySearchFunc(q.files, weight, func(f *file, w uint64) int {
		if f.weight <= w {
			return -1
		}
		return 1
	})
	q.files = slices.Insert(q.files, at, f)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// weigh returns how many bytes of unwind information a file has.
func (m *Manager) weigh(f *file) (n uint64, err error) {
	err = m.opts.Files.Read(f.object, func(r io.ReaderAt, size int64) error {
		e, err := elffile.New(r, size)
		if err != nil {
			return err
		}
		for i := range e.Sections {
			switch e.Sections[i].Name {
			case ".eh_frame", ".debug_frame", ".gopclntab", ".data.rel.ro.gopclntab":
				n += e.Sections[i].Size
			}
		}
		return nil
	})
	return n, err
}

// announceAfter is how long compiling goes on before what is ready is used.
const announceAfter = 3 * time.Millisecond

// dropAfter is how long a compiler, which holds memory, is kept for more files:
// programs that start map theirs within moments.
const dropAfter = 3 * time.Second

// compile loads the files of a queue until stop is closed.
func (m *Manager) compile(stop <-chan struct{}, q *queue, report func(error)) {
	var c *unwind.Compiler
	var idle <-chan time.Time
	for {
		select {
		case <-stop:
			return
		case <-idle:
			c, idle = nil, nil
			continue
		case <-q.wake:
		}
		if c == nil {
			c = new(unwind.Compiler)
		}
		if !m.compileAll(stop, c, q, report) {
			return
		}
		idle = time.After(dropAfter)
	}
}

// compileAll loads the files that wait in a queue. It returns false if stop was
// closed meanwhile.
func (m *Manager) compileAll(stop <-chan struct{}, c *unwind.Compiler, q *queue, report func(error)) bool {
	var ready []*file
	began := time.Now()
	for f := m.next(q); f != nil; f = m.next(q) {
		if err := m.load(c, f); err != nil {
			report(err)
		}
		ready = append(ready, f)
		if time.Since(began) > announceAfter {
			m.announce(ready, report)
			ready, began = ready[:0], time.Now()
		}
		select {
		case <-stop:
			return false
		default:
		}
	}
	m.announce(ready, report)
	return true
}

func (m *Manager) next(q *queue) *file {
	m.state.Lock()
	defer m.state.Unlock()
	if len(q.files) == 0 {
		return nil
	}
	f := q.files[0]
	q.files = slices.Delete(q.files, 0, 1)
	return f
}

// announce makes all who map some files use what was loaded of them.
func (m *Manager) announce(files []*file, report func(error)) {
	m.state.Lock()
	defer m.state.Unlock()
	loaded := slices.DeleteFunc(files, func(f *file) bool { return f.state != fileLoaded })
	if err := m.rewrite(loaded); err != nil {
		report(err)
	}
}
