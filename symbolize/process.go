package symbolize

import (
	"github.com/flametel/flametel/symbolize/procmap"
)

// Mapped is one mapping of a process together with the file behind it.
type Mapped struct {
	procmap.Mapping
	// Object is the file that was found when the mapping appeared, never nil.
	Object *Object
}

// Process is one program image of one process, as far as the symbolizer needs
// to know it: the owner (the process registry) makes a new one at each exec.
type Process struct {
	// PID is the process ID in the PID namespace of the profiler.
	PID int
	// StartNanos is the start of the process, CLOCK_BOOTTIME. A perf map older
	// than the process is another process's.
	StartNanos uint64
	// Mappings are sorted by start and do not overlap. The slice is replaced,
	// never changed in place.
	Mappings []Mapped

	jit jitState // what is known of the run-time generated code
}
