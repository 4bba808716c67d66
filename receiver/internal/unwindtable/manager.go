//go:build linux

package unwindtable

import (
	"errors"
	"hash/maphash"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/elffile"
)

// Kernel is where tables go; *bpf.Tables is one.
type Kernel interface {
	Rows() int
	Mappings() int
	WriteRows(at int, rows []byte) error
	WriteMappings(at int, list []bpf.Mapping) error
	SetSpace(bpf.Space) error
	DeleteSpace(pid uint32) error
	Requests(handle func(bpf.TableRequest)) error
	Wait()
}

// Processes tells what is mapped; *process.Registry is one.
type Processes interface {
	// Image returns what a process maps now.
	Image(pid uint32, start uint64) (image *symbolize.Process, ok bool)
	// TakeChanged returns the processes that map other code since the last
	// call, or have ended.
	TakeChanged() []uint32
	// Ended tells whether a process is not known to run.
	Ended(pid uint32, start uint64) bool
}

// Files gives the contents of mapped files; *symbolize.Symbolizer is one.
type Files interface {
	Read(o *symbolize.Object, use func(r io.ReaderAt, size int64) error) error
	// ReadDebug is the same for a separate debug file.
	ReadDebug(o *symbolize.Object, use func(f *elffile.File, r io.ReaderAt) error) error
}

// Options sets up a Manager.
type Options struct {
	Kernel    Kernel
	Processes Processes
	Files     Files
	// Refresh makes Processes know all that has happened up to now. It may be
	// nil.
	Refresh func()
	// Wanted tells whether a process is profiled: all ask that begin. Nil means
	// that all are.
	Wanted func(bpf.SpaceRequest) bool
	// ColdAfter is how long a file that is mapped stays in a full pool after it
	// was last seen in a stack; longer than stacks take to be seen.
	ColdAfter time.Duration
	// Now is CLOCK_MONOTONIC in nanoseconds.
	Now func() uint64
}

// Manager keeps the tables of the kernel. Run does the work; the other methods
// may be called from other goroutines meanwhile.
type Manager struct {
	opts Options
	seed maphash.Seed

	mu       sync.Mutex // guards what is asked of Run
	asked    []bpf.TableRequest
	missed   []*symbolize.Object
	wake     chan struct{}
	pressure atomic.Bool // the pool of rows is nearly full

	updating sync.Mutex // held while a process is updated: one image must not overtake another
	state    sync.Mutex // guards what follows; held for moments only
	spaces   map[uint32]*space
	files    map[*symbolize.Object]*file
	numbered int               // files so far
	tables   map[uint64]*table // by content
	lists    map[uint64]*list  // by content
	rows     extents
	mappings extents
	retired  []retired
	// Files that wait to be compiled. Large ones have a queue of their own, so
	// that no small one has to wait for them.
	small, large queue
	stats        Stats
}

// Stats is what a Manager holds and what it came upon.
type Stats struct {
	Processes int // with tables
	Files     int // whose rows are loaded
	Rows      int // in use; RowsMax is the size of the pool
	RowsMax   int
	Mappings  int // in use, each list counted once
	// MappingsMax is the size of the pool of mappings.
	MappingsMax int
	// Evicted counts files that are mapped and gave way to others, Refused those
	// for which there was no room, Unreadable those that could not be read or compiled.
	Evicted, Refused, Unreadable uint64
	// MappingsRefused counts processes that map more than there is room for.
	MappingsRefused uint64
}

// New returns a Manager that does nothing before Run.
func New(opts Options) *Manager {
	return &Manager{
		opts:     opts,
		seed:     maphash.MakeSeed(),
		wake:     make(chan struct{}, 1),
		small:    newQueue(),
		large:    newQueue(),
		spaces:   make(map[uint32]*space),
		files:    make(map[*symbolize.Object]*file),
		tables:   make(map[uint64]*table),
		lists:    make(map[uint64]*list),
		rows:     newExtents(opts.Kernel.Rows()),
		mappings: newExtents(opts.Kernel.Mappings()),
	}
}

// Listen passes on what the kernel asks for, until the kernel's side is
// closed.
func (m *Manager) Listen() error {
	return m.opts.Kernel.Requests(m.ask)
}

func (m *Manager) ask(r bpf.TableRequest) {
	m.mu.Lock()
	m.asked = append(m.asked, r)
	m.mu.Unlock()
	m.nudge()
}

// Changed says that Processes have changed.
func (m *Manager) Changed() { m.nudge() }

func (m *Manager) nudge() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Run does what is asked for until stop is closed. It reports the errors of
// the kernel, which end nothing, from two goroutines.
func (m *Manager) Run(stop <-chan struct{}, report func(error)) {
	var large sync.WaitGroup
	defer large.Wait()
	large.Go(func() { m.compile(stop, &m.large, report) })
	large.Go(func() { m.compile(stop, &m.small, report) })
	for {
		select {
		case <-stop:
			return
		case <-m.wake:
		}
		asked, missed := m.work()
		if len(asked) > 0 && m.opts.Refresh != nil {
			m.opts.Refresh()
		}
		err := m.followChanges()
		for _, r := range asked {
			if r.Address != 0 {
				m.hit(r)
				continue
			}
			err = errors.Join(err, m.serve(r.SpaceRequest))
		}
		m.reload(missed)
		m.tidy()
		if err != nil {
			report(err)
		}
	}
}

func (m *Manager) work() (asked []bpf.TableRequest, missed []*symbolize.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked, missed = m.asked, m.missed
	m.asked, m.missed = nil, nil
	return asked, missed
}

// serve gives a process its tables for the first time, or for the first time
// after an exec.
func (m *Manager) serve(r bpf.SpaceRequest) error {
	if m.opts.Wanted != nil && !m.opts.Wanted(r) {
		return m.opts.Kernel.DeleteSpace(r.PID) // it asks again if it is sampled
	}
	return m.begin(r)
}

// begin gives a process its tables, as far as they are loaded.
func (m *Manager) begin(r bpf.SpaceRequest) error {
	m.updating.Lock()
	defer m.updating.Unlock()
	m.state.Lock()
	s := m.spaces[r.PID]
	if s == nil || s.key != r {
		if s != nil {
			m.leave(s)
		}
		s = &space{key: r}
		m.spaces[r.PID] = s
	}
	m.state.Unlock()
	return m.update(s)
}

// followChanges updates the processes that have tables and map other code now.
func (m *Manager) followChanges() error {
	var errs []error
	for _, pid := range m.opts.Processes.TakeChanged() {
		errs = append(errs, m.followChange(pid))
	}
	return errors.Join(errs...)
}

func (m *Manager) followChange(pid uint32) error {
	m.updating.Lock()
	defer m.updating.Unlock()
	s := m.spaceOf(pid)
	switch {
	case s == nil:
		return nil
	case m.opts.Processes.Ended(pid, s.key.StartNanos):
		return m.forget(s)
	}
	return m.update(s)
}

// spaceOf returns the space of a process, nil if it has none.
func (m *Manager) spaceOf(pid uint32) *space {
	m.state.Lock()
	defer m.state.Unlock()
	return m.spaces[pid]
}

// update makes the kernel walk the stacks of a process by what it maps now, as
// far as that is loaded; the rest follows. m.updating is held.
func (m *Manager) update(s *space) error {
	image, ok := m.opts.Processes.Image(s.key.PID, s.key.StartNanos)
	if !ok {
		return m.forget(s)
	}
	files := m.filesOf(image)
	err := m.publish(s, image, files)
	for _, f := range files {
		if f != nil {
			m.want(f)
		}
	}
	return err
}

// filesOf returns the file of each mapping, nil for memory that is none.
func (m *Manager) filesOf(image *symbolize.Process) []*file {
	m.state.Lock()
	defer m.state.Unlock()
	files := make([]*file, len(image.Mappings))
	for i := range image.Mappings {
		o := image.Mappings[i].Object
		if !o.IsFile() {
			continue
		}
		f := m.files[o]
		if f == nil {
			m.numbered++
			f = &file{object: o, number: m.numbered}
			m.files[o] = f
		}
		files[i] = f
	}
	return files
}

// Stats returns what is held now.
func (m *Manager) Stats() Stats {
	m.state.Lock()
	defer m.state.Unlock()
	s := m.stats
	s.Processes = len(m.spaces)
	s.Files = len(m.tables)
	s.Rows, s.RowsMax = m.rows.used, m.opts.Kernel.Rows()
	s.Mappings, s.MappingsMax = m.mappings.used, m.opts.Kernel.Mappings()
	return s
}
