package receiver

import "time"

// clockStep is the difference between wall clock and elapsed time over one
// window from which on the wall clock was set rather than slewed: slewing moves
// it by at most 0.05 % (adjtimex(2)), 5 ms in 10 s.
const clockStep = 100 * time.Millisecond

// nextBoundary returns when a window that began at start ends, and when the
// next one begins, given the time now and the time that went by since start
// (monotonic). Both are now, so that windows leave no gap and do not overlap;
// only if the wall clock was set or the host was suspended meanwhile, the
// window ends after the time that really went by, and the next one begins by
// the new clock.
func nextBoundary(start, now time.Time, elapsed time.Duration) (end, next time.Time) {
	// A window has some length, however short, or its end would be outside it.
	elapsed = max(elapsed, time.Nanosecond)
	wall := now.Round(0).Sub(start.Round(0))
	if diff := wall - elapsed; diff > clockStep || diff < -clockStep {
		return start.Add(elapsed), now
	}
	if wall <= 0 {
		now = start.Add(elapsed)
	}
	return now, now
}
