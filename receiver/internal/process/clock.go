//go:build linux

package process

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// bootMinusMono is how far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, in
// nanoseconds: the time that the host was suspended. Start times of processes
// are in the first, events and samples in the second. The result is never too
// small, so what happened before an event also does so in the other clock.
//
// It is too large by the time between the two readings, which is milliseconds if
// others get the CPU there: the least of some is taken.
func bootMinusMono() uint64 {
	least := uint64(math.MaxUint64)
	for range 10 {
		mono := now(unix.CLOCK_MONOTONIC)
		difference := now(unix.CLOCK_BOOTTIME) - mono
		least = min(least, difference)
		if now(unix.CLOCK_MONOTONIC)-mono < uint64(50*time.Microsecond) {
			break
		}
	}
	return least
}

// wallClock turns a time of an event, CLOCK_MONOTONIC, into that of files.
func wallClock(nanos uint64) time.Time {
	return time.Now().Add(-time.Duration(now(unix.CLOCK_MONOTONIC) - nanos))
}

func now(clock int32) uint64 {
	var t unix.Timespec
	_ = unix.ClockGettime(clock, &t) // fails only for clocks that do not exist
	return uint64(t.Nano())
}
