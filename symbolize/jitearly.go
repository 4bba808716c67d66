package symbolize

import (
	"sync"

	"github.com/flametel/flametel/symbolize/jitdump/jitname"
	"github.com/flametel/flametel/symbolize/perfmap"
)

const (
	// maxEarly bounds the places that are held before code is looked up, each
	// of which is one descriptor.
	maxEarly = 64
	// earlySettles is for how many calls of Settle a place is held: those of the
	// window in which its process began, and of the next.
	earlySettles = 2
)

// earlyPlaces are where processes will write the maps of their code when they
// end. Those that end before any of their code was looked up could no longer
// tell. The zero value is empty. It is safe for concurrent use.
type earlyPlaces struct {
	mu     sync.Mutex
	byPID  map[int]earlyPlace
	closed bool
}

type earlyPlace struct {
	place   *perfmap.Place
	settles int
}

// writesAtEnd tells whether a file belongs to a runtime that can write a map
// when it ends.
func writesAtEnd(path string) bool { return jitname.Of(path) == jitname.JVM }

// note remembers where a process has its map.
func (e *earlyPlaces) note(procRoot string, pid int) {
	place, err := perfmap.Locate(procRoot, pid, 0)
	if err != nil {
		return // it has ended already, or cannot be looked at
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	before, known := e.byPID[pid]
	if e.closed || !known && len(e.byPID) >= maxEarly {
		place.Close()
		return
	}
	before.place.Close()
	if e.byPID == nil {
		e.byPID = make(map[int]earlyPlace)
	}
	e.byPID[pid] = earlyPlace{place: place}
}

// take hands over the place of a process that has ended, nil if it is not
// known.
func (e *earlyPlaces) take(p *Process) *perfmap.Place {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, ok := e.byPID[p.PID]
	if !ok || !n.place.IsOf(p.StartNanos) {
		return nil
	}
	delete(e.byPID, p.PID)
	return n.place
}

// settle drops what was held for long enough.
func (e *earlyPlaces) settle() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for pid, n := range e.byPID {
		if n.settles++; n.settles < earlySettles {
			e.byPID[pid] = n
			continue
		}
		n.place.Close()
		delete(e.byPID, pid)
	}
}

// close drops everything; nothing is held from then on.
func (e *earlyPlaces) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for _, n := range e.byPID {
		n.place.Close()
	}
	e.byPID = nil
}
