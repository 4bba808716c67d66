package symbolize

import (
	"os"
	"path/filepath"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
	"github.com/flametel/flametel/symbolize/procmap"
)

const (
	// maxNeighbours bounds how many mappings are passed to find a file's.
	maxNeighbours = 64
	// maxMapReads bounds how often all mappings of a process are read to find
	// a file whose code was moved as a whole.
	maxMapReads = 4
	// maxMovedRanges bounds the ranges that are remembered of a process.
	maxMovedRanges = 1024
)

// movedText is what is known of a range of anonymous memory. Programs copy
// their own code into it to have it on huge pages: the code is that of the file
// whose load segment claims the addresses.
type movedText struct {
	limit    addr.Virtual // of the mapping
	object   *Object      // nil if no file claims it
	from, to addr.Virtual // what the segment claims
	offset   addr.Offset  // of from in the file
}

// moved returns where in which file the code at an address in anonymous memory
// came from.
func (s *Symbolizer) moved(p *Process, m *Mapped, at addr.Virtual) (o *Object, off addr.Offset, ok bool) {
	j := p.generated()
	t, known := j.moved[m.Start]
	if !known || t.limit != m.Limit {
		var final bool
		if t, final = s.findMoved(p, j, m); final {
			if j.moved == nil || len(j.moved) >= maxMovedRanges {
				j.moved = make(map[addr.Virtual]movedText)
			}
			j.moved[m.Start] = t
		}
	}
	if t.object == nil || at < t.from || at >= t.to {
		return nil, 0, false
	}
	return t.object, t.offset + addr.Offset(at-t.from), true
}

// findMoved looks for a file that claims m; final is false if a file is not
// read yet.
func (s *Symbolizer) findMoved(p *Process, j *jitState, m *Mapped) (t movedText, final bool) {
	t.limit = m.Limit
	i := 0
	for i < len(p.Mappings) && p.Mappings[i].Start < m.Start {
		i++
	}
	for n := i - 1; n >= max(0, i-maxNeighbours); n-- {
		if near := &p.Mappings[n]; near.Object.kind == objectFile {
			if found, read := s.claims(near, m); found.object != nil || !read {
				return found, read
			}
			break
		}
	}
	for n := i + 1; n < min(len(p.Mappings), i+maxNeighbours); n++ {
		if near := &p.Mappings[n]; near.Object.kind == objectFile {
			if found, read := s.claims(near, m); found.object != nil || !read {
				return found, read
			}
			break
		}
	}
	if j.mapReads >= maxMapReads {
		return t, true
	}
	j.mapReads++
	if near := s.headerBefore(p.PID, m); near != nil {
		return s.claims(near, m)
	}
	return t, true
}

// headerBefore returns the mapping of the start of the file that is mapped
// before m, which holds no code and is therefore not among the mappings that
// are known.
func (s *Symbolizer) headerBefore(pid int, m *Mapped) *Mapped {
	f, err := os.Open(filepath.Join(s.opts.ProcRoot, itoa(pid), "maps"))
	if err != nil {
		return nil
	}
	defer f.Close()
	all, _ := procmap.ParseAll(f) // what was read before an error is good
	var near *procmap.Mapping
	for i := range all {
		if all[i].Start >= m.Start {
			break
		}
		if all[i].File() {
			near = &all[i]
		}
	}
	if near == nil || near.Offset != 0 {
		return nil
	}
	return &Mapped{Mapping: *near, Object: s.Open(pid, *near)}
}

// claims tells which part of m an executable load segment of the file mapped
// at near claims.
func (s *Symbolizer) claims(near, m *Mapped) (t movedText, read bool) {
	t.limit = m.Limit
	o := near.Object
	if o.kind != objectFile {
		return t, true
	}
	o.held.used = s.tick
	img := s.imageOf(o)
	if img == nil {
		return t, false
	}
	_, at, ok := elffile.FindSegment(img.segments, near.Offset)
	if !ok {
		return t, true
	}
	bias := uint64(near.Start) - uint64(at)
	for _, seg := range img.segments {
		from := max(m.Start, addr.Virtual(uint64(seg.Start)+bias))
		to := min(m.Limit, addr.Virtual(uint64(seg.Limit)+bias))
		if seg.Executable && from < to {
			t.object, t.from, t.to = o, from, to
			t.offset = seg.Offset + addr.Offset(uint64(from)-bias-uint64(seg.Start))
			break
		}
	}
	return t, true
}
