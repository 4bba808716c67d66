// Package live tells what programs do while they do it: files they open and
// read, what they wait for, what the kernel allocates and sends again, and which
// system calls they make. It is for people who watch; profiles come from the
// receiver, which needs nothing of this package.
//
//	src, err := live.Open(&live.Options{Family: live.Opens})
//	...
//	defer src.Close()
//	events, lost, err := src.Events() // now and then
package live

import (
	"fmt"
	"time"
)

// The families of events.
const (
	Syscalls    = "syscalls"
	Opens       = "opens"
	Reads       = "reads"
	OffCPU      = "offcpu"
	Allocations = "allocations"
	Retransmits = "retransmits"
)

// Families lists them.
func Families() []string {
	return []string{Syscalls, Opens, Reads, OffCPU, Allocations, Retransmits}
}

// Options say what to look at.
type Options struct {
	Family string
	// PIDs are the processes, with their children; none means all.
	PIDs []int
	// MinDuration leaves shorter events out, MinBytes smaller allocations.
	MinDuration time.Duration
	MinBytes    uint64
	// FailedOnly leaves calls out that succeeded.
	FailedOnly bool
}

// Event is something that happened. Texts are raw bytes, as others chose them.
type Event struct {
	Time     time.Time // when it was over
	Duration time.Duration
	PID, TID int    // 0 if nobody is known
	Comm     string // name of the thread
	// Call is the system call, "" if it happened in none; Error the name of its
	// error, such as ENOENT; Result what it returned.
	Call, Error string
	Result      int64
	// Path is that of the file. A relative one has been joined with its folder.
	Path string
	// What says more: why a thread did not run, how memory was allocated, what
	// was sent again.
	What string
	// Bytes were read or allocated; Cache is the slab they are of.
	Bytes int64
	Cache string
	// Local and Remote are the ends of a connection, Count the segments.
	Local, Remote string
	Count         int64
}

// Call is what happened to the calls of one name since the last look.
type Call struct {
	Name   string
	Count  uint64
	Time   time.Duration
	Errors uint64
	// P99 is the time that 99 of 100 calls took at most, within a quarter.
	P99 time.Duration
	// TopPID is who spent the most time in them, TopComm the name of a thread.
	TopPID  int
	TopComm string
}

// Source tells of events. Its methods are called one at a time.
type Source interface {
	// Events returns what has happened since the last look, of all families but
	// Syscalls, and how many events were lost.
	Events() (events []Event, lost uint64, err error)
	// Calls returns the system calls since the last look, those that took the
	// most time first, and how many were not counted.
	Calls() (calls []Call, lost uint64, err error)
	// Close ends it. It may be called more than once.
	Close() error
}

// errFamily says that there is no such family.
func errFamily(name string) error { return fmt.Errorf("there are no events called %q", name) }
