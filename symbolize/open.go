package symbolize

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
	"github.com/flametel/flametel/symbolize/procmap"
)

// maxObjects bounds the files that are known. Hosts have some hundred that are
// mapped at a time; build hosts see new ones all the time.
const maxObjects = 4096

// index finds the object of a mapping.
type index struct {
	mu      sync.Mutex
	objects map[objectKey]*Object
	inodes  map[inodeKey]pinned
	seen    uint64

	early      []*Object // whose images are read before they are asked for
	earlyTasks int
}

// inodeKey is what /proc/PID/maps says of a file.
type inodeKey struct {
	dev, inode uint64
	path       string
}

// pinned is an object and the file that was open when it was found by an
// inode. Once the object holds another file open, the number of the inode may
// be given to a new one.
type pinned struct {
	object *Object
	pin    *pin
}

// Open finds and pins the file behind a mapping of the process pid. It never
// fails and never returns nil: an Object remembers why it cannot be read.
func (s *Symbolizer) Open(pid int, m procmap.Mapping) *Object {
	if path, cut := strings.CutSuffix(m.Path, " (deleted)"); cut && m.File() {
		m.Path, m.Deleted = path, true // events give the name of the kernel as it is
	}
	kind, path := classify(&m)
	switch kind {
	case objectVsyscall:
		return s.vsyscall
	case objectAnonymous:
		return s.special(objectKey{path: path}, kind, nil)
	case objectVDSO:
		return s.openVDSO(pid, &m)
	}
	if writesAtEnd(m.Path) {
		s.early.note(s.opts.ProcRoot, pid)
	}
	if o := s.known(pid, &m); o != nil {
		return o
	}
	f, err := s.locate(origin{pid, m})
	if err != nil {
		return &Object{
			kind: objectLost, key: objectKey{path: path, buildID: string(m.BuildID)},
			extent: addr.File(m.Offset) + addr.File(m.Limit-m.Start), lost: err,
		}
	}
	key := objectKey{path: path, buildID: string(f.buildID), id: f.id}
	return s.insert(key, origin{pid, m}, f)
}

// known returns the object of a mapping if it is sure to be the right one
// without opening anything: by an inode that we hold open and that has not been
// written to since.
func (s *Symbolizer) known(pid int, m *procmap.Mapping) *Object {
	x := &s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	if m.Inode == 0 {
		return nil
	}
	n := x.inodes[inodeKey{m.Dev, m.Inode, m.Path}]
	o := n.object
	if o == nil || o.failed.Load() || o.pin != n.pin {
		return nil
	}
	f, done := s.files.use(o.pin)
	if f == nil {
		return nil
	}
	defer done()
	if id, err := identify(f); err != nil || id != o.pin.id {
		return nil
	}
	return x.touch(o, origin{pid, *m})
}

// touch notes that a process maps o.
func (x *index) touch(o *Object, from origin) *Object {
	x.seen++
	o.seen = x.seen
	o.origin = from
	if from.mapping.Inode != 0 {
		x.inodes[inodeKey{from.mapping.Dev, from.mapping.Inode, from.mapping.Path}] = pinned{o, o.pin}
	}
	return o
}

// insert adds an object for a file, or takes the one that is there by now.
func (s *Symbolizer) insert(key objectKey, from origin, f *located) *Object {
	pin, done := s.files.add(f.file, f.id)
	defer done()
	x := &s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	o := x.objects[key]
	if o == nil || o.failed.Load() {
		o = &Object{kind: objectFile, key: key, extent: addr.File(f.id.size)}
		x.add(o)
		s.readEarly(o) // as soon as mu is free
	}
	s.files.forget(o.pin)
	o.pin = pin
	return x.touch(o, from)
}

// add enters an object and makes room for it.
func (x *index) add(o *Object) {
	x.seen++
	o.seen = x.seen
	x.objects[o.key] = o
	if len(x.objects) <= maxObjects && len(x.inodes) <= 2*maxObjects {
		return
	}
	// Objects left out live on in the processes that map them.
	all := make([]*Object, 0, len(x.objects))
	for _, o := range x.objects {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b *Object) int { return cmp.Compare(a.seen, b.seen) })
	for _, o := range all[:len(all)/4] {
		delete(x.objects, o.key)
	}
	for k, n := range x.inodes {
		if x.objects[n.object.key] != n.object || n.object.pin != n.pin {
			delete(x.inodes, k)
		}
	}
}

// special returns the object of memory that is no file; data is its image, if
// it has one.
func (s *Symbolizer) special(key objectKey, kind objectKind, data []byte) *Object {
	x := &s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	o := x.objects[key]
	if o == nil {
		o = &Object{kind: kind, key: key, data: data, extent: addr.File(len(data))}
		x.add(o)
	}
	return x.touch(o, origin{})
}

// openVDSO returns the object of a vDSO. All 64-bit processes have the
// profiler's own; 32-bit ones, which have all their memory below 4 GiB, have
// another, which is read from them.
func (s *Symbolizer) openVDSO(pid int, m *procmap.Mapping) *Object {
	from := "self"
	if m.Limit <= 1<<32 {
		from = itoa(pid)
	} else if o := s.ownVDSO.Load(); o != nil {
		return o
	}
	data, err := s.readVDSO(from, m)
	if err != nil {
		return &Object{kind: objectLost, key: objectKey{path: m.Path}, extent: addr.File(m.Limit - m.Start), lost: err}
	}
	key := objectKey{path: m.Path, id: identity{size: int64(len(data))}}
	if f, err := elffile.New(bytes.NewReader(data), int64(len(data))); err == nil {
		key.buildID = string(f.BuildIDs().GNU)
	}
	o := s.special(key, objectVDSO, data)
	if from == "self" {
		s.ownVDSO.Store(o)
	}
	return o
}
