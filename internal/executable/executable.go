//go:build unix

// Package executable writes the programs and scripts that tests run. It serves
// tests only.
package executable

import (
	"os"
	"syscall"
	"testing"
)

// Write makes an executable file. It can be run at once, which a file just
// written mostly can, too: a child that another goroutine forks meanwhile has it
// open for writing until its exec, and until then nobody can run it (ETXTBSY).
func Write(tb testing.TB, name string, text []byte) {
	tb.Helper()
	syscall.ForkLock.RLock() // no child begins
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(name, text, 0o700); err != nil {
		tb.Fatal(err)
	}
}
