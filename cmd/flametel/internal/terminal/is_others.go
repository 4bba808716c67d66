//go:build !linux

package terminal

import "os"

// Is reports whether a file is a terminal. Here it is never known.
func Is(*os.File) bool { return false }

// Width is the number of columns of a terminal.
func Width(*os.File) int { return defaultWidth }

// OwnsInput reports whether a terminal sends Ctrl-C to our process group.
func OwnsInput() bool { return false }
