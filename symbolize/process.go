package symbolize

import (
	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/procmap"
)

// Mapped is one mapping of a process together with the file behind it.
type Mapped struct {
	procmap.Mapping
	// Object is the file that was found when the mapping appeared, never nil.
	Object *Object
}

// Process is one program image of one process, as far as the symbolizer needs
// to know it. It is immutable for its owner (the process registry), who makes
// one with NewProcess at each exec and derives a new value by With whenever
// mappings change: a drain that still holds the old value sees no change.
type Process struct {
	// PID is the process ID in the PID namespace of the profiler.
	PID int
	// StartNanos is the start of the process, CLOCK_BOOTTIME. A perf map older
	// than the process is another process's.
	StartNanos uint64
	// Mappings are sorted by start and do not overlap.
	Mappings []Mapped

	jit *jitState // what is known of the run-time generated code; shared by With
}

// NewProcess returns a process without mappings.
func NewProcess(pid int, startNanos uint64) *Process {
	return &Process{PID: pid, StartNanos: startNanos, jit: &jitState{}}
}

// With returns the same program image with other mappings, sorted by start and
// not overlapping. The slice belongs to the result.
func (p *Process) With(mappings []Mapped) *Process {
	return &Process{PID: p.PID, StartNanos: p.StartNanos, Mappings: mappings, jit: p.jit}
}

// Find returns the mapping that holds an address, nil if none does.
func (p *Process) Find(at addr.Virtual) *Mapped { return findMapping(p.Mappings, at) }
