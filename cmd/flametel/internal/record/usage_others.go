//go:build !linux

package record

import "time"

// ownCPU is the CPU time that this process has used so far; here it is not known.
func ownCPU() time.Duration { return 0 }
