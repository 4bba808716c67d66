package bpf

import "time"

// LockOptions set up LockContention.
type LockOptions struct {
	// MinDuration leaves shorter waits out.
	MinDuration time.Duration
	// LookInterval is about how often the stack of a thread, or for the kernel's
	// locks of a CPU, is taken that waits often; 0 means each time.
	LookInterval time.Duration
}

// Bits of Sample.Detail of waits for locks (lock_contention.bpf.c), besides
// those of off-CPU time.
const (
	LockFutexOpShift = 40 // FUTEX_WAIT and its like, include/uapi/linux/futex.h
	LockFutexOpMask  = 0x7f
	LockKernel       = 1 << 63 // the lower half is LCB_F_*, include/trace/events/lock.h
)

// LockContention sees waits in futex calls and, where the kernel has tracepoints
// for it, waits for locks of the kernel. Sample.Sums[0] are nanoseconds. For
// futexes Sums[1] are waits, as for OffCPU; for kernel locks Count is, see
// Syscalls for the sorts of samples.
func LockContention(o LockOptions) *Probe {
	return &Probe{
		object: &object{name: "lock_contention", spec: loadLockContention, variables: map[string]any{
			lockContentionVarMinNs:    uint64(o.MinDuration),
			lockContentionVarLookNs:   uint64(o.LookInterval),
			lockContentionVarAlwaysNs: uint64(max(minAlways, 10*o.LookInterval)),
		}},
		hooks: []hook{
			{program: lockContentionProgFutexSwitch, event: "sched_switch", since: "5.5"},
			{program: lockContentionProgLockEnd, event: "contention_end", since: "5.19", optional: true},
			{program: lockContentionProgLockBegin, event: "contention_begin", since: "5.19", optional: true},
		},
		events: 8192,
		cut:    lockContentionProgCutWaits,
		adapt:  setPrevState,
	}
}
