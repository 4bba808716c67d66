//go:build linux

package process

import (
	"slices"

	"github.com/flametel/flametel/receiver/internal/window"
	"github.com/flametel/flametel/symbolize"
)

// Process is one process of this host, from its start to its end. The Registry
// owns it and uses it under its lock.
type Process struct {
	pid uint32
	// The start lies in [startLow, startHigh], CLOCK_BOOTTIME: procfs tells it
	// to a clock tick, an event some time after it, a sample exactly.
	startLow, startHigh uint64
	// programs are what it ran, by exec; never empty, the last is running.
	programs []*program

	learntAt     uint64 // when procfs was read, CLOCK_MONOTONIC; 0 if it was not
	gone         bool   // had ended before anything could be learnt of it
	leaderExited bool
	endedAt      uint64 // CLOCK_MONOTONIC, 0 while it runs
}

// program is what a process runs from one exec to the next.
type program struct {
	comm     string // of the main thread, raw bytes
	kernel   bool   // a kernel thread
	facts    facts
	versions []version // never empty, the last is current

	identity *window.Process // nil until asked for
	renamed  bool            // since the identity was made
}

// version is what was mapped from a moment on.
type version struct {
	since uint64 // CLOCK_MONOTONIC
	image *symbolize.Process
}

// keepVersions is how long a replaced version can still be asked for: samples
// are resolved at the next drain, whose interval is a minute at most.
const keepVersions = 150e9 // nanoseconds

// Bounds of what is kept of a process that does little else than exec, or
// unload and load libraries.
const (
	maxPrograms = 64
	maxVersions = 256
)

// startedAt tells whether this is the process that started at start.
func (p *Process) startedAt(start uint64) bool {
	return p.startLow <= start && start <= p.startHigh
}

// running is the program that runs now.
func (p *Process) running() *program {
	return p.programs[len(p.programs)-1]
}

// at returns the program of a time. Before the first one that is the first:
// samples may be a little older than the event that told of the process.
func (p *Process) at(nanos uint64) *program {
	for i := len(p.programs) - 1; i > 0; i-- {
		if p.programs[i].versions[0].since <= nanos {
			return p.programs[i]
		}
	}
	return p.programs[0]
}

// exec begins a new program.
func (p *Process) exec(since uint64, comm string) {
	old := p.running()
	if since <= p.learntAt && len(p.programs) == 1 {
		// What procfs told was already the new program, or one after it: of the
		// old one nothing is known, and its few samples go under the name that came.
		*old = program{comm: comm, versions: []version{{0, symbolize.NewProcess(int(p.pid), p.startLow)}}}
	}
	p.programs = append(p.programs, &program{
		comm:     comm,
		facts:    old.facts.exec(),
		versions: []version{{since, symbolize.NewProcess(int(p.pid), p.startLow)}},
	})
	drop := 0
	for drop+1 < len(p.programs) && p.programs[drop+1].versions[0].since+keepVersions < since {
		drop++
	}
	drop = max(drop, len(p.programs)-maxPrograms)
	p.programs = slices.Delete(p.programs, 0, drop)
}

// imageAt returns what was mapped at a time.
func (g *program) imageAt(nanos uint64) *symbolize.Process {
	for i := len(g.versions) - 1; i > 0; i-- {
		if g.versions[i].since <= nanos {
			return g.versions[i].image
		}
	}
	return g.versions[0].image
}

func (g *program) image() *symbolize.Process {
	return g.versions[len(g.versions)-1].image
}

// publish makes other mappings current and forgets those that nobody can ask
// for any more.
func (g *program) publish(since uint64, mappings []symbolize.Mapped) {
	image := g.image().With(mappings)
	if last := &g.versions[len(g.versions)-1]; len(last.image.Mappings) == 0 {
		last.image = image // what is mapped right after an exec belongs to it
		return
	}
	g.versions = append(g.versions, version{since, image})
	drop := 0
	for drop+1 < len(g.versions) && g.versions[drop+1].since+keepVersions < since {
		drop++
	}
	drop = max(drop, len(g.versions)-maxVersions)
	if drop > 0 {
		// The first version keeps the time of the exec.
		g.versions[drop].since = g.versions[0].since
		g.versions = slices.Delete(g.versions, 0, drop)
	}
}
