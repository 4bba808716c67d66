package record

import (
	"os"
	"sync"
	"syscall"

	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
)

// signals watches for signals during a recording.
type signals struct {
	// first gets the first signal that ends the recording.
	first chan os.Signal
	// snapshot gets the wish to write what there is and to go on.
	snapshot chan struct{}
	done     chan struct{}
	ended    sync.WaitGroup
}

// watchSignals passes every signal but SIGUSR1 on to the command. The first one that ends a
// recording is reported, the second ends the program at once, whatever it does
// at the moment.
func watchSignals(r *recording) *signals {
	s := &signals{first: make(chan os.Signal, 1), snapshot: make(chan struct{}, 1), done: make(chan struct{})}
	s.ended.Go(func() {
		count := 0
		for {
			select {
			case <-s.done:
				return
			case sig := <-r.Signals:
				if sig == syscall.SIGUSR1 {
					s.wishSnapshot()
					continue
				}
				r.forward(sig)
				if !ends(sig) {
					continue
				}
				if count++; count == 1 {
					s.first <- sig
					continue
				}
				r.releaseOutputs()
				r.Exit(SignalCode(sig))
			}
		}
	})
	return s
}

// wishSnapshot asks for a snapshot; several wishes that wait are one.
func (s *signals) wishSnapshot() {
	select {
	case s.snapshot <- struct{}{}:
	default:
	}
}

// now returns the signal that ends the recording if it has come, else nil.
// Ctrl-C comes to the command as well, which may end before we look.
func (s *signals) now() os.Signal {
	select {
	case sig := <-s.first:
		return sig
	default:
		return nil
	}
}

// stop ends the watch. It may come without one.
func (s *signals) stop() {
	if s == nil {
		return
	}
	close(s.done)
	s.ended.Wait()
}

// forward sends a signal to the command, unless it came from the terminal, which
// sent it to the command as well.
func (r *recording) forward(sig os.Signal) {
	if r.command == nil {
		return
	}
	if (sig == syscall.SIGINT || sig == syscall.SIGHUP) && terminal.OwnsInput() {
		return
	}
	r.command.Signal(sig)
}

// Interrupted is the error of a program that a signal ended before it sampled.
type Interrupted struct {
	Signal  os.Signal
	command []string // that was to be run
}

// Error says what was not done.
func (e *Interrupted) Error() string {
	text := "stopped before sampling began: nothing was recorded"
	if len(e.command) > 0 {
		text += ", and " + terminal.Clip(e.command[0], maxName) + " was not run"
	}
	return text
}

// Start does the work of starting to sample, and says so on a terminal. A signal that
// ends the program ends the wait, with an *Interrupted: the work goes with the program.
func (s *Settings) Start(work func() error) error {
	if s.Messages.Interactive() {
		s.Messages.Progress(startingText + "; Ctrl-C stops")
		defer s.Messages.Done()
	}
	done := make(chan error, 1)
	go func() { done <- work() }()
	for {
		select {
		case err := <-done:
			return err
		case sig := <-s.Signals:
			if ends(sig) {
				return &Interrupted{Signal: sig}
			}
		}
	}
}

// QuitOnSignal makes the next signal end the program at once, whatever it does,
// until stop is called.
func (s *Settings) QuitOnSignal() (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case sig := <-s.Signals:
				if ends(sig) {
					s.Exit(SignalCode(sig))
				}
			}
		}
	}()
	return func() { close(done) }
}

// ends reports whether a signal ends a recording; others are only for a command.
func ends(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP
}

// SignalCode is the exit code after a signal.
func SignalCode(s os.Signal) int {
	if number, ok := s.(syscall.Signal); ok {
		return codeSignal + int(number)
	}
	return CodeFailure
}
