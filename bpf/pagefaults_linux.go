package bpf

import (
	"time"

	"golang.org/x/sys/unix"
)

// PageFaultOptions set up PageFaults.
type PageFaultOptions struct {
	// LookInterval is about how often each CPU takes the stack of a fault, when
	// it has many; 0 means each time. Major faults always have theirs.
	LookInterval time.Duration
}

// Bits of Sample.Detail of page faults (page_faults.bpf.c).
const (
	FaultMajor    = 1 << 0 // it waited for a disk
	FaultByKernel = 1 << 1 // the kernel touched memory of the program
)

// PageFaults sees page faults of programs when they have been served. See
// Syscalls for the sorts of samples.
func PageFaults(o PageFaultOptions) *Probe {
	return &Probe{
		object: &object{name: "page_faults", spec: loadPageFaults, variables: map[string]any{
			pageFaultsVarLookNs: uint64(o.LookInterval),
		}},
		clocked: []clocked{
			{program: pageFaultsProgMinorFault, config: unix.PERF_COUNT_SW_PAGE_FAULTS_MIN},
			{program: pageFaultsProgMajorFault, config: unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ},
		},
		events: 8192,
	}
}
