// Package child runs a command in two steps, so that a profiler can watch it
// from its first instruction on: Start makes the process, Release lets it become
// the command.
//
// In between, the process is this program, called again with the argument
// ExecName, waiting for a byte from a pipe. It then replaces itself by the
// command, so the command has the process ID that Start made, and our standard
// input, output and error as they are. Being traced would do the same, but is
// forbidden in many containers and takes away the rights of set-user-ID programs.
package child

import "fmt"

// ExecName is the first argument of this program when it is to become the
// command: main then calls Exec with the others, before anything else.
const ExecName = "__exec"

// Exit codes, as those of env, timeout and the shells.
const (
	CodeNotExecutable = 126
	CodeNotFound      = 127
	// codeSignal plus the number of the signal that ended a process.
	codeSignal = 128
)

// Error says why a command does not run.
type Error struct {
	Command string
	Code    int // 126 or 127
	Err     error
}

// Error is one sentence without the remedy, which the cause implies.
func (e *Error) Error() string { return fmt.Sprintf("run %s: %v", e.Command, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
