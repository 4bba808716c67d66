//go:build !linux

package record

import "time"

// OwnCPU is the CPU time that this process has used so far; here it is not known.
func OwnCPU() time.Duration { return 0 }
