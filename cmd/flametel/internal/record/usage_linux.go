package record

import (
	"time"

	"golang.org/x/sys/unix"
)

// OwnCPU is the CPU time that this process has used so far.
func OwnCPU() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
