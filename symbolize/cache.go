package symbolize

import (
	"cmp"
	"slices"
	"time"
)

// What entries of caches take, in bytes: the value, its share of a map (a slot
// and the room that maps keep free), and the list or pointer that leads there.
const (
	objectBytes  = 512
	frameBytes   = 96 + 40
	lineBytes    = 80
	linesBytes   = lineBytes + 24 + 40
	moduleBytes  = 128
	textBytes    = 16 + 16 + 40 // of a text that frames share
	tablesBytes  = 1024
	sectionBytes = 112
)

// holding is memory that can be given back.
type holding struct {
	bytes  int64
	used   uint64 // when last, in stacks named
	owner  releaser
	listed bool
}

// releaser gives back all that a holding counts.
type releaser interface{ release() }

// hold counts bytes for owner. Guarded by mu, as all of this file.
func (s *Symbolizer) hold(h *holding, owner releaser, bytes int64) {
	h.bytes += bytes
	h.used = s.tick
	s.held += bytes
	if !h.listed {
		h.listed, h.owner = true, owner
		s.holdings = append(s.holdings, h)
	}
}

// shrink gives back what was used longest ago until a quarter of the room is
// free, if there is none. What the stack at hand uses stays.
func (s *Symbolizer) shrink() {
	if s.held <= s.opts.MaxCacheBytes {
		return
	}
	slices.SortFunc(s.holdings, func(a, b *holding) int { return cmp.Compare(b.used, a.used) })
	for n := len(s.holdings); n > 0 && s.held > s.opts.MaxCacheBytes/4*3; n-- {
		h := s.holdings[n-1]
		if h.used == s.tick {
			return
		}
		s.drop(h)
		s.holdings[n-1] = nil
		s.holdings = s.holdings[:n-1]
		s.evictions++
	}
}

// mark is how many stacks had been named at a time.
type mark struct {
	at   time.Time
	tick uint64
}

// Forget gives back what no stack has needed for a time: on a host that builds
// programs, the symbols of those that are gone. Call it now and then; what it
// gives back is read again if it is needed.
func (s *Symbolizer) Forget(unused time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.marks = append(s.marks, mark{now, s.tick})
	old := 0
	for old+1 < len(s.marks) && now.Sub(s.marks[old+1].at) >= unused {
		old++
	}
	s.marks = slices.Delete(s.marks, 0, old)
	if now.Sub(s.marks[0].at) < unused {
		return
	}
	s.holdings = slices.DeleteFunc(s.holdings, func(h *holding) bool {
		if h.used > s.marks[0].tick {
			return false
		}
		s.drop(h)
		return true
	})
}

func (s *Symbolizer) drop(h *holding) {
	s.held -= h.bytes
	h.owner.release()
	*h = holding{}
}

func (o *Object) release() {
	o.image, o.frames, o.lines, o.modules = nil, nil, nil, nil
	o.texts, o.demangled, o.functions = nil, nil, nil
	o.detail.forget()
}
