package receiver

import "time"

// clock is where the receiver gets the time from.
type clock interface {
	// Now returns the time with a monotonic reading.
	Now() time.Time
	// After returns a channel that gets a value after d. It is collected as
	// garbage when nobody waits for it.
	After(d time.Duration) <-chan time.Time
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// clockStep is the difference between wall clock and elapsed time over one
// window from which on the wall clock was set rather than slewed: slewing moves
// it by at most 0.05 % (adjtimex(2)), 5 ms in 10 s.
const clockStep = 100 * time.Millisecond

// nextBoundary returns when a window that began at start ends, and when the
// next one begins. Both are now, so that windows leave no gap and do not
// overlap; only if the wall clock was set or the host was suspended meanwhile,
// the window ends after the time that really went by, and the next one begins
// by the new clock.
func nextBoundary(start, now time.Time) (end, next time.Time) {
	elapsed := now.Sub(start) // monotonic
	wall := now.Round(0).Sub(start.Round(0))
	if diff := wall - elapsed; elapsed > 0 && (diff > clockStep || diff < -clockStep) {
		return start.Add(elapsed), now
	}
	if !now.After(start) || wall <= 0 {
		// A window has some length, however short.
		now = start.Add(time.Nanosecond)
	}
	return now, now
}
