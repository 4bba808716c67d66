package bpf

import (
	"bytes"
	"time"
)

// SampleFlags tells how a sample was taken. The bits are those of sample.h.
type SampleFlags uint32

// What can be said of a sample.
const (
	UserTruncated   SampleFlags = 1 << iota // the user stack has more than MaxUserFrames
	KernelTruncated                         // the kernel stack has more than MaxKernelFrames
	KernelMode                              // the CPU ran in kernel mode
	Compat                                  // 32-bit code on a 64-bit kernel
	InExec                                  // during an exec, so without a user stack
	Selected                                // stands for others that were not looked at
	Total                                   // all observations together, without their stacks
)

// endShift is FT_END_SHIFT of sample.h.
const endShift = 8

// execShift is FT_EXEC_SHIFT of sample.h.
const execShift = 16

// StackEnd is why the walk of a user stack ended. The numbers up to
// EndTruncated are those of unwind.End.
type StackEnd uint8

// The ends (FT_END_* of sample.h).
const (
	EndNone      StackEnd = iota // there is no user stack
	EndOutmost                   // the table says that there is no caller: complete
	EndZero                      // a frame pointer or return address of 0: complete
	EndStop                      // a rule that rows cannot express
	EndRow                       // a row needs a register that is not known there
	EndFrame                     // no frame where one should be
	EndFault                     // memory could not be read
	EndAddress                   // a return address that cannot be code
	EndTruncated                 // MaxUserFrames
	EndNoTable                   // the unwind table of the file is not loaded (yet)
	EndExiting                   // the process gives its memory back: its stack is no more
	EndNotLooked                 // the stack was not looked at: others were chosen

	numEnds
)

var endNames = [numEnds]string{
	"none", "outmost", "zero", "rule", "register", "frame", "fault", "address", "truncated", "no_table", "exiting", "not_looked",
}

// Complete tells whether the walk saw where the thread begins.
func (e StackEnd) Complete() bool { return e == EndOutmost || e == EndZero }

// String names the end in one word.
func (e StackEnd) String() string {
	if e < numEnds {
		return endNames[e]
	}
	return "unknown"
}

// Limits of a stack (sample.h).
const (
	MaxUserFrames   = 1024
	MaxKernelFrames = 127
	// MaxLoopFrames is MaxUserFrames on kernels before 5.17.
	MaxLoopFrames = 127
)

// Sample is one kind of observation and how often it was made since the last
// drain. Its slices belong to the drain that returned it and are overwritten
// by the next one.
type Sample struct {
	// PID is the process and TID the thread (0 unless threads are kept apart),
	// in the initial PID namespace.
	PID, TID uint32
	// StartNanos is when the process started, CLOCK_BOOTTIME: with PID it
	// names a process for good.
	StartNanos uint64
	// Comm is the name of the thread: the bytes up to the first NUL count, at
	// most 15, not necessarily UTF-8.
	Comm [16]byte
	// User and Kernel are frame words, leaf first. The top byte of a frame's
	// first word is its kind: 0 for a user address, 0xff for a kernel address.
	User, Kernel []uint64
	Flags        SampleFlags
	// End is why the user stack ends where it does.
	End StackEnd
	// Exec differs between the programs that a process runs in turn.
	Exec uint16
	// Count is how many samples were like this one.
	Count uint64
	// LastNanos is when the newest of them was taken, CLOCK_MONOTONIC.
	LastNanos uint64
	// Sums are what the observations add up to, in the terms of their kind:
	// nanoseconds or bytes. With the flag Selected the last one is how many
	// observations the sample stands for, and the others are those of all of
	// these; if it is 0, the stack is that of a first observation and not chosen
	// by chance. Stats does not count these samples, but those with Total.
	Sums [3]uint64
	// Detail says what happened and Record holds the bytes of a text, both in
	// the terms of the kind.
	Detail uint64
	Record []uint64
	// RecordID is the same for equal records of a tracer, 0 if there is none.
	RecordID uint64
	// Context and Slot are reserved for links to traces and for heat maps.
	Context uint64
	Slot    uint32
}

// Length is how many bits the duration of the events has in nanoseconds: each
// took from 2^(Length-1) to below 2^Length, the last of 63 also longer. It is 0
// if it was not asked for or is not known, as of a part of a wait. FT_LENGTH_SHIFT
// of event.h.
func (s *Sample) Length() int { return int(s.Detail >> 52 & 63) }

// ThreadName returns Comm as a string.
func (s *Sample) ThreadName() string {
	name, _, _ := bytes.Cut(s.Comm[:], []byte{0})
	return string(name)
}

// Stats accounts for every sample between two drains:
//
//	Taken = Kept + Idle + Filtered + Lost()
type Stats struct {
	Taken    uint64 // ticks of the clock on which the program ran
	Kept     uint64 // counted, and returned by the drain
	Idle     uint64 // left out because the CPU was idle
	Filtered uint64 // left out because the process is no target

	LostCountsFull uint64 // the map of counts had no room
	LostStacksFull uint64 // the map of stacks had no room
	LostScratch    uint64 // no scratch space
	LostState      uint64 // what was noted when it began has no room, or is gone
	LostRecursion  uint64 // the program was running already on that CPU

	UserTruncated   uint64 // kept, user stack cut at MaxUserFrames
	KernelTruncated uint64 // kept, kernel stack cut at MaxKernelFrames

	// Missed are ticks of busy CPUs that never came, because a hypervisor or
	// the kernel's throttling took the time; MissedIdle those of idle CPUs,
	// which cost nothing. Neither is part of Taken.
	Missed, MissedIdle uint64

	// Share is the part of the time in which there was something to take, 0
	// meaning all of it. Values are scaled up by whoever sets it.
	Share float64

	// CountsUsed and StacksUsed are how much of the two kernel maps was full
	// when they were drained, 0 to 1.
	CountsUsed, StacksUsed float64

	// From and To are when counting into the drained maps began and ended.
	From, To time.Time
	// ChildrenLost are children of targets that were not followed because too
	// many processes are targets; their samples are among Filtered.
	ChildrenLost uint64

	// CPUs is how many CPUs were sampled. Restarted are those whose clock had
	// stopped, because they had been away for a moment.
	CPUs      int
	Restarted []int
}

// Loss is one cause for which samples were lost.
type Loss struct {
	Cause string
	Count uint64
}

// Losses lists every cause, also those that lost nothing, in a fixed order.
func (s *Stats) Losses() []Loss {
	return []Loss{
		{"counts_full", s.LostCountsFull},
		{"stacks_full", s.LostStacksFull},
		{"scratch", s.LostScratch},
		{"state", s.LostState},
		{"recursion", s.LostRecursion},
	}
}

// Lost is the sum over all causes.
func (s *Stats) Lost() uint64 {
	var sum uint64
	for _, l := range s.Losses() {
		sum += l.Count
	}
	return sum
}

// Verdict says what becomes of the samples of a process.
type Verdict uint32

// The verdicts (FT_DROP, FT_KEEP and FT_KEEP_FROM_EXEC of targets.h).
const (
	Drop         Verdict = iota
	Keep                 // and those of the processes that it starts
	KeepFromExec         // when it becomes another program
)

// Target names a process for SetTarget.
type Target struct {
	PID uint32
	// StartTicks is when it started, CLOCK_BOOTTIME in hundredths of a second,
	// as /proc/PID/stat has it. A later process with the same PID is another.
	StartTicks uint64
}

// TargetOf returns the process that a sample was taken of.
func TargetOf(s *Sample) Target {
	return Target{PID: s.PID, StartTicks: s.StartNanos / startTickNanos}
}

// startTickNanos is FT_START_TICK_NS of targets.h.
const startTickNanos = 10_000_000
