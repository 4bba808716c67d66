// Package trace is the command flametel trace: what programs do, while they do
// it, a line each.
package trace

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flametel/flametel/receiver/live"
)

// Options say what to show.
type Options struct {
	live.Options
	// Name leaves out threads whose name does not contain it.
	Name string
	// Duration is how long; 0: until the user ends it.
	Duration time.Duration
	// Interval is how often the table of system calls is printed, Rows how long
	// it is at most.
	Interval time.Duration
	Rows     int
	// JSON prints an object for each line.
	JSON bool
}

// The defaults and bounds.
const (
	DefaultInterval = time.Second
	DefaultRows     = 20
	// DefaultMinBytes of allocations: smaller ones are too many to read.
	DefaultMinBytes = 64 << 10
	// DefaultMinWait of waits, for the same reason.
	DefaultMinWait = time.Millisecond

	minInterval = 100 * time.Millisecond
	maxInterval = time.Hour
	maxDuration = 24 * time.Hour
	maxMin      = time.Hour
	maxRows     = 10_000
	maxPID      = 1 << 22 // PID_MAX_LIMIT, include/linux/threads.h
	maxTargets  = 1024
)

// Validate returns all mistakes at once, each naming the flag.
func (o *Options) Validate() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !slices.Contains(live.Families(), o.Family) {
		add("%q cannot be traced; there are %s", o.Family, strings.Join(live.Families(), ", "))
	}
	if len(o.PIDs) > maxTargets {
		add("--pid: at most %d processes are possible, got %d", maxTargets, len(o.PIDs))
	}
	for _, pid := range o.PIDs {
		if pid < 1 || pid > maxPID {
			add("--pid must be between 1 and %d, got %d", maxPID, pid)
		}
	}
	if o.Duration > maxDuration {
		add("--duration must be at most 24h, got %v", o.Duration)
	}
	if o.Interval < minInterval || o.Interval > maxInterval {
		add("--interval must be between %v and 1h, got %v", minInterval, o.Interval)
	}
	if o.MinDuration > maxMin {
		add("--min-duration must be at most 1h, got %v", o.MinDuration)
	}
	if o.Rows < 1 || o.Rows > maxRows {
		add("--rows must be between 1 and %d, got %d", maxRows, o.Rows)
	}
	calls := o.Family == live.Syscalls || o.Family == live.Opens || o.Family == live.Reads
	if o.FailedOnly && !calls {
		add("--failed is for syscalls, opens and reads")
	}
	if o.Name != "" && o.Family == live.Syscalls {
		add("--name is not for syscalls, whose lines are about many programs")
	}
	if o.MinDuration > 0 && (o.Family == live.Allocations || o.Family == live.Retransmits) {
		add("--min-duration is for syscalls, opens, reads and offcpu")
	}
	return errors.Join(errs...)
}
