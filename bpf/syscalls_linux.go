package bpf

import (
	"errors"
	"fmt"
	"time"
)

// SyscallOptions set up Syscalls.
type SyscallOptions struct {
	// Numbers are the calls to count, and Compat those by the numbers of 32-bit
	// programs; both empty means all.
	Numbers, Compat []uint32
	// LookInterval is about how often the stack of a thread is taken that makes
	// many calls; 0 means at each call.
	LookInterval time.Duration
}

// Bits of Sample.Detail of system calls (syscalls.bpf.c): the lower half is the
// number, above it is the error number.
const (
	SyscallErrnoShift = 32
	SyscallErrnoMask  = 0xfff
	SyscallCompat     = 1 << 48 // the number is one of 32-bit programs
	SyscallNoReturn   = 1 << 49 // the thread ended in it
)

// maxSyscalls is FT_MAX_CALLS of syscalls.bpf.c.
const maxSyscalls = 1024

// Syscalls sees system calls begin and end. Sample.Sums[0] are nanoseconds.
// With a look interval there are three sorts of samples:
//
//   - with the flag Total: the exact number and time of calls, without stack;
//   - with the flag Selected: a stack of some of these, see Sample;
//   - others: calls that took long, with their stack, in no total.
func Syscalls(o SyscallOptions) *Probe {
	var wanted, compat [maxSyscalls / 64]uint64
	for _, set := range []struct {
		bits    *[maxSyscalls / 64]uint64
		numbers []uint32
	}{{&wanted, o.Numbers}, {&compat, o.Compat}} {
		for _, nr := range set.numbers {
			if nr < maxSyscalls {
				set.bits[nr/64] |= 1 << (nr % 64)
			}
		}
	}
	return &Probe{
		object: &object{name: "syscalls", spec: loadSyscalls, variables: map[string]any{
			syscallsVarFilterCalls:  len(o.Numbers)+len(o.Compat) > 0,
			syscallsVarWanted:       wanted,
			syscallsVarWantedCompat: compat,
			syscallsVarLookNs:       uint64(o.LookInterval),
			syscallsVarAlwaysNs:     uint64(minAlways),
		}},
		hooks: []hook{
			{program: syscallsProgSyscallsThreadExit, event: "sched_process_exit", since: "5.5"},
			{program: syscallsProgSyscallsExec, event: "sched_process_exec", since: "5.5"},
			{program: syscallsProgSyscallsExit, event: "sys_exit", since: "5.5"},
			{program: syscallsProgSyscallsEnter, event: "sys_enter", since: "5.5"},
		},
		events: 8192,
		more:   readCells,
	}
}

// cellCount is FT_CELLS of cells.h.
const cellCount = 512

// readCells adds the totals of a generation.
func readCells(t *Tracer, epoch uint32, dst []Sample) ([]Sample, error) {
	m := t.objects.programs.Maps[syscallsMapCells]
	if m == nil {
		return dst, errors.New("read totals: the object has none")
	}
	var cells []syscallsFtCell
	for i := range uint32(cellCount) {
		if err := m.Lookup(epoch&1*cellCount+i, &cells); err != nil {
			return dst, fmt.Errorf("read totals: %w", err)
		}
		for j := range cells {
			c := &cells[j]
			if c.Count == 0 || c.Generation != epoch {
				continue
			}
			dst = append(dst, Sample{
				PID: c.Pid, StartNanos: c.StartNs, Comm: c.Comm, Exec: uint16(c.Exec), Flags: Total, Count: c.Count,
				LastNanos: c.LastNs, Sums: [3]uint64{c.Sums[0], c.Sums[1]}, Detail: c.Detail,
				Record: t.drainer.stack(c.Record), RecordID: c.Record,
			})
		}
	}
	return dst, nil
}
