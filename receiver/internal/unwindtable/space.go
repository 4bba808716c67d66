//go:build linux

package unwindtable

import (
	"hash/maphash"
	"slices"
	"unsafe"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/addr"
)

// space is one program image of one process.
type space struct {
	key     bpf.SpaceRequest
	list    *list // nil before the first publish
	history []published
}

// published is what the kernel walked stacks by from a moment on.
type published struct {
	since uint64 // CLOCK_MONOTONIC
	image *symbolize.Process
}

// list is mappings in the pool. Processes that forked without exec share it.
type list struct {
	hash  uint64
	where extent
	files []*file // each once
	users []*space
}

// maxSpaceMappings bounds what one process can take of the pool: a quarter.
func (m *Manager) maxSpaceMappings() int { return m.opts.Kernel.Mappings() / 4 }

// publish makes the kernel use what is loaded for the mappings of an image.
// files has the file of each mapping.
func (m *Manager) publish(s *space, image *symbolize.Process, files []*file) error {
	m.state.Lock()
	defer m.state.Unlock()
	return m.publishLocked(s, image, files)
}

func (m *Manager) publishLocked(s *space, image *symbolize.Process, files []*file) error {
	var ranges []bpf.Mapping
	var uses []*file
	for i := range image.Mappings {
		f := files[i]
		if f == nil {
			continue // generated code has no rows, and takes no room
		}
		ranges = f.ranges(&image.Mappings[i], ranges)
		uses = append(uses, f)
	}
	if len(ranges) > m.maxSpaceMappings() {
		m.stats.MappingsRefused++
		ranges, uses = nil, nil
	}
	slices.SortFunc(uses, func(a, b *file) int { return a.number - b.number })
	uses = slices.Compact(uses)
	l, err := m.listOf(ranges, uses)
	if err != nil {
		return err
	}
	now := m.opts.Now()
	err = m.opts.Kernel.SetSpace(bpf.Space{SpaceRequest: s.key, First: uint32(l.where.at), Count: uint32(l.where.count)})
	if err != nil {
		m.drop(l)
		return err
	}
	s.publishedAt(now, image)
	old := s.list
	s.list = l
	l.users = append(l.users, s)
	m.removeUser(old, s)
	return nil
}

// listOf returns a list with these ranges, which a process may have already.
func (m *Manager) listOf(ranges []bpf.Mapping, uses []*file) (*list, error) {
	var bytes []byte
	if len(ranges) > 0 {
		bytes = unsafe.Slice((*byte)(unsafe.Pointer(&ranges[0])), len(ranges)*int(unsafe.Sizeof(ranges[0])))
	}
	hash := maphash.Bytes(m.seed, bytes)
	if l := m.lists[hash]; l != nil && l.where.count == len(ranges) && slices.Equal(l.files, uses) {
		return l, nil
	}
	l := &list{hash: hash, files: uses}
	if len(ranges) > 0 {
		where, ok := m.takeMappings(len(ranges))
		if !ok {
			m.stats.MappingsRefused++
		} else if err := m.opts.Kernel.WriteMappings(where.at, ranges); err != nil {
			m.mappings.give(where)
			return nil, err
		}
		l.where = where
	}
	for _, f := range uses {
		f.users++
	}
	m.lists[hash] = l
	return l, nil
}

// removeUser takes a space off a list, which may be nil.
func (m *Manager) removeUser(l *list, s *space) {
	if l == nil {
		return
	}
	if i := slices.Index(l.users, s); i >= 0 {
		l.users = slices.Delete(l.users, i, i+1)
	}
	m.drop(l)
}

// drop gives a list back that nobody uses any more.
func (m *Manager) drop(l *list) {
	if len(l.users) > 0 {
		return
	}
	if m.lists[l.hash] == l {
		delete(m.lists, l.hash)
	}
	for _, f := range l.files {
		f.users--
	}
	m.retired = append(m.retired, retired{pool: &m.mappings, what: l.where})
}

// leave ends a space without telling the kernel, which has another for the
// process by now, or none.
func (m *Manager) leave(s *space) {
	delete(m.spaces, s.key.PID)
	m.removeUser(s.list, s)
	s.list = nil
}

// forget ends a space.
func (m *Manager) forget(s *space) error {
	m.state.Lock()
	defer m.state.Unlock()
	m.leave(s)
	return m.opts.Kernel.DeleteSpace(s.key.PID)
}

// keepHistory is how long it can be asked what stacks were walked by: samples
// are resolved at the next drain, whose interval is a minute at most.
const keepHistory = 150e9 // nanoseconds

func (s *space) current() *symbolize.Process { return s.history[len(s.history)-1].image }

func (s *space) publishedAt(now uint64, image *symbolize.Process) {
	if n := len(s.history); n > 0 && s.history[n-1].image == image {
		return
	}
	s.history = append(s.history, published{now, image})
	drop := 0
	for drop+1 < len(s.history) && s.history[drop+1].since+keepHistory < now {
		drop++
	}
	s.history = slices.Delete(s.history, 0, drop)
}

// Sound returns how many frames of a stack, leaf first, can be relied on. The
// kernel may have walked it at a time, CLOCK_MONOTONIC, by the tables of a
// mapping that had just been replaced by another: then what lies beyond the
// first frame in that mapping is not to be trusted. image is what was mapped at
// the time. all is false if that is so, be it the last frame.
func (m *Manager) Sound(pid uint32, start, at uint64, image *symbolize.Process, pcs []addr.Virtual) (n int, all bool) {
	m.state.Lock()
	defer m.state.Unlock()
	s := m.spaces[pid]
	if s == nil || s.key.StartNanos != start {
		return len(pcs), true
	}
	for i := len(s.history) - 1; i >= 0; i-- {
		h := &s.history[i]
		if h.since > at {
			continue
		}
		if h.image != image {
			if n, all := agreed(h.image, image, pcs); !all {
				return n, false
			}
		}
		if h.since+settle < at {
			break // what was published before was not in use any more
		}
	}
	return len(pcs), true
}

// Lacked tells whether a stack, which the kernel walked at a time, has code of a
// file that the kernel was not told of yet. image is what was mapped.
func (m *Manager) Lacked(pid uint32, start, at uint64, image *symbolize.Process, pcs []addr.Virtual) bool {
	m.state.Lock()
	defer m.state.Unlock()
	s := m.spaces[pid]
	if s == nil || s.key.StartNanos != start {
		return false
	}
	i := len(s.history) - 1
	for i >= 0 && s.history[i].since > at {
		i--
	}
	if i < 0 {
		return true // it was told of nothing
	}
	return slices.ContainsFunc(pcs, func(pc addr.Virtual) bool {
		mapped := image.Find(pc)
		return mapped != nil && mapped.Object.IsFile() && s.history[i].image.Find(pc) == nil
	})
}

// settle is how long the kernel may still walk by a list after another was
// published.
const settle = 10e6 // nanoseconds

// agreed returns how many of the frames two images see in the same file at the
// same place, and the first one that they do not.
func agreed(a, b *symbolize.Process, pcs []addr.Virtual) (n int, all bool) {
	for i, pc := range pcs {
		x, y := a.Find(pc), b.Find(pc)
		switch {
		case x == nil: // no table for it
			continue
		case y == nil, x.Object != y.Object, uint64(x.Offset)-uint64(x.Start) != uint64(y.Offset)-uint64(y.Start):
			return i + 1, false
		}
	}
	return len(pcs), true
}
