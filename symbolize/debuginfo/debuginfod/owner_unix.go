//go:build unix

package debuginfod

import (
	"os"
	"syscall"
)

// ownedByUs tells whether a file belongs to the profiler's user.
func ownedByUs(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
