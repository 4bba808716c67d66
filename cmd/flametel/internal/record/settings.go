package record

import (
	"io"
	"os"
	"time"

	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/flametel/flametel/cmd/flametel/internal/preflight"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
)

// Exit codes.
const (
	CodeOK         = 0
	CodeFailure    = 1
	CodeUsage      = 2
	CodeNoSamples  = 3
	CodePrivileges = 4
	// CodeOurs is CodeFailure where a command's own code is expected.
	CodeOurs = 125
	// codeSignal plus its number is for a recording ended by a signal.
	codeSignal = 128
)

// Settings are what a recording needs from its surroundings.
type Settings struct {
	Messages *terminal.Messages
	Stdout   io.Writer // for the configuration that PrintConfig writes
	// StdoutTerminal: standard output is a terminal, unfit for binary data.
	StdoutTerminal bool
	StdinTerminal  bool
	// Signals are those that end a recording and those that only a command
	// gets.
	Signals <-chan os.Signal
	// Args is the command line, for messages that repeat it.
	Args []string

	Receiver xreceiver.Factory
	Exporter xexporter.Factory
	// Flush makes the exporters write what they have so far.
	Flush func() error
	// Exit ends the program at once.
	Exit func(code int)
	// Inspect finds out what the host and our rights allow; nil: look at them.
	Inspect func() preflight.Host
	Now     func() time.Time
	Getenv  func(string) string
}

func (s *Settings) host() preflight.Host {
	if s.Inspect != nil {
		return s.Inspect()
	}
	return preflight.Inspect("/", s.Getenv)
}

// Interactive reports whether a person can see standard output and type.
func (s *Settings) Interactive() bool { return s.StdinTerminal && s.StdoutTerminal }
