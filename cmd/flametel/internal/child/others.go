//go:build !linux

package child

import (
	"errors"
	"os"
)

var errNotHere = errors.New("running a command needs Linux")

// Command is a running command.
type Command struct{}

// Find would find a command.
func Find(string) (string, error) { return "", errors.ErrUnsupported }

// Start always fails.
func Start([]string) (*Command, error) { return nil, errNotHere }

// Exec always fails.
func Exec([]string) int { return CodeNotExecutable }

// PID is the process ID of the command.
func (*Command) PID() int { return 0 }

// Release lets the process become the command.
func (*Command) Release() error { return errNotHere }

// Abandon ends the process before it became the command.
func (*Command) Abandon() {}

// Ended is closed when the command has ended.
func (*Command) Ended() <-chan struct{} { return nil }

// Code returns the command's exit code.
func (*Command) Code() int { return 0 }

// Signal sends a signal to the command.
func (*Command) Signal(os.Signal) {}
