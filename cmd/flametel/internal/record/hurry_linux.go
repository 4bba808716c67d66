package record

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// haste is how much nicer to us, in steps of nice, the kernel is asked to be while
// somebody waits: before sampling begins, and from its end to the finished files. On a
// busy host that is where these take seconds; what they need, some hundred
// milliseconds of CPU time, is the same. Meanwhile nothing is sampled.
const haste = 10

// hurry raises the priority of this program as far as it may, until back is called.
// What it starts meanwhile would inherit that.
func hurry() (back func()) {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return func() {}
	}
	usual := 20 - raw // what the system call returns is never negative
	setNice(usual - haste)
	return func() { setNice(usual) }
}

// setNice sets it for all threads: on Linux each has its own, which those that it
// starts inherit.
func setNice(nice int) {
	set := make(map[int]bool)
	for again := true; again; { // threads that are new by then may have the old value
		again = false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return
		}
		for _, t := range threads {
			tid, err := strconv.Atoi(t.Name())
			if err != nil || set[tid] {
				continue
			}
			set[tid], again = true, true
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, nice) // not allowed, or ended: as it was
		}
	}
}
