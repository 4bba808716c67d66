package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/flametel/flametel/cmd/flametel/internal/child"
	"github.com/flametel/flametel/cmd/flametel/internal/preflight"
	"github.com/flametel/flametel/cmd/flametel/internal/record"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
	"github.com/flametel/flametel/exporter"
	"github.com/flametel/flametel/exporter/svg"
	"github.com/flametel/flametel/receiver"
)

// Main runs the program with its arguments, the first of which is its name, and
// returns the exit code.
func Main(args []string) int {
	return Run(args, receiver.NewFactory().(xreceiver.Factory), nil)
}

// Run is Main with another receiver, and on a host that inspect tells of; nil: on
// this one.
func Run(args []string, r xreceiver.Factory, inspect func() preflight.Host) int {
	if len(args) > 1 && args[1] == child.ExecName {
		return child.Exec(args[2:])
	}
	saveMemory()
	columns := 0
	if terminal.Is(os.Stderr) {
		columns = terminal.Width(os.Stderr)
	}
	signals := make(chan os.Signal, 16)
	notify(signals)
	defer signal.Stop(signals)
	flusher := exporter.Flusher{Facts: []svg.Fact{{Name: "Command", Value: strings.Join(args, " ")}}}
	return execute(&record.Settings{
		Messages:       terminal.NewMessages(os.Stderr, columns),
		Stdout:         os.Stdout,
		StdoutTerminal: terminal.Is(os.Stdout),
		StdinTerminal:  terminal.Is(os.Stdin),
		Signals:        signals,
		Args:           args,
		Receiver:       r,
		Exporter:       flusher.Factory().(xexporter.Factory),
		Flush:          flusher.Flush,
		Exit:           os.Exit,
		Inspect:        inspect,
		Now:            time.Now,
		Getenv:         os.Getenv,
	})
}

// gcPercent is how much garbage may pile up, in percent of what is in use. Most
// of ours is made when the symbols of the host are read at the start; on a host
// with 300 processes Go's default of 100 made 60 MB resident of what is 46 MB so,
// for a hundredth of the CPU time. There is no limit in bytes, as near to one Go
// spends half of a CPU on collecting.
const gcPercent = 50

func saveMemory() {
	if os.Getenv("GOGC") == "" { // the user has the last word
		debug.SetGCPercent(gcPercent)
	}
}

// notify asks for the signals that a recording answers to. Signals that are
// caught, unlike those that are ignored, are at their default again in a command
// that we run.
func notify(signals chan<- os.Signal) {
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup makes it
		signal.Notify(signals, syscall.SIGHUP)
	}
	// Writing to a pipe without reader is then an error like others, which
	// stops neither a recording nor its other outputs.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// usageError is a mistake in the command line.
type usageError struct {
	cause   error
	command *cobra.Command
}

// Error is what the mistake is.
func (e *usageError) Error() string { return e.cause.Error() }

// execute runs the sub-command that s.Args name and says what went wrong.
func execute(s *record.Settings) int {
	code := record.CodeOK
	root := newRoot(s, &code)
	root.SetArgs(s.Args[1:])
	root.SetOut(s.Stdout)
	cmd, err := root.ExecuteContextC(context.Background())
	if err == nil {
		return code
	}
	var usage *usageError
	if !errors.As(err, &usage) {
		if code != record.CodeOK {
			complain(s, err)
			return code
		}
		usage = &usageError{err, cmd} // cobra's own errors are about usage
	}
	complain(s, usage.cause)
	s.Messages.Printf("%s --help says how to use it", usage.command.CommandPath())
	return record.CodeUsage
}

// complain prints an error, or each of several that were joined, on a line.
func complain(s *record.Settings, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			complain(s, e)
		}
		return
	}
	lines := []string{err.Error()}
	if refused := (*record.Refused)(nil); errors.As(err, &refused) {
		lines = refused.Lines()
	}
	for i, line := range lines {
		lines[i] = terminal.Escape(line)
	}
	s.Messages.Printf("flametel: %s", strings.Join(lines, "\n"))
}
