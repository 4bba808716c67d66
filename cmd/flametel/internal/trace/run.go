package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/flametel/flametel/cmd/flametel/internal/record"
	"github.com/flametel/flametel/cmd/flametel/internal/target"
	"github.com/flametel/flametel/receiver/live"
)

// lookInterval is how often events are fetched: as good as at once for those who
// read, and seldom enough to cost nothing.
const lookInterval = 50 * time.Millisecond

// session is a run of the command.
type session struct {
	*Options
	settings *record.Settings
	out      *bufio.Writer
	source   live.Source
	look     <-chan time.Time

	began   time.Time
	printed time.Time // the last table of system calls

	lines int
	lost  uint64
	said  uint64 // of lost, that the user was told of
}

// Run prints lines until the user or the time ends it, and returns the exit
// code. Options must be valid; open is live.Open.
func Run(s *record.Settings, o *Options, open func(*live.Options) (live.Source, error)) (int, error) {
	for _, pid := range o.PIDs {
		if err := target.Check(pid); err != nil {
			return record.CodeFailure, err
		}
	}
	var source live.Source
	err := s.Start(func() (err error) {
		source, err = open(&o.Options)
		return err
	})
	if err != nil {
		return s.StartFailed(err)
	}
	interval := lookInterval
	if o.Family == live.Syscalls {
		interval = o.Interval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	run := &session{Options: o, settings: s, out: bufio.NewWriter(s.Stdout), source: source, look: ticker.C}
	if o.Family != live.Syscalls {
		s.WarnOfNamespace(s.Messages)
	}
	code, err := run.run()
	defer s.QuitOnSignal()()
	if e := source.Close(); err == nil && e != nil {
		code, err = record.CodeFailure, e
	}
	return code, err
}

func (s *session) run() (int, error) {
	s.header()
	s.began = s.settings.Now()
	s.printed = s.began
	var over <-chan time.Time
	if s.Duration > 0 {
		timer := time.NewTimer(s.Duration)
		defer timer.Stop()
		over = timer.C
	}
	code := record.CodeOK
	for ended := false; !ended; {
		select {
		case <-s.look:
			if s.nearlyOver() {
				continue
			}
		case <-over:
			ended = true
		case sig := <-s.settings.Signals:
			if ended = sig != syscall.SIGUSR1; ended {
				code = record.SignalCode(sig)
			}
		}
		if err := s.print(); err != nil {
			if isGone(err) {
				return record.CodeOK, nil
			}
			return record.CodeFailure, err
		}
	}
	s.sayLost(true)
	if s.lines == 0 {
		s.settings.Messages.Printf("%s in %s", s.nothing(), seconds(s.settings.Now().Sub(s.began)))
	}
	if s.lines == 0 && code == record.CodeOK {
		return record.CodeNoSamples, nil
	}
	return code, nil
}

// nearlyOver tells that the end comes in less than half of an interval: the last
// table then has this one's calls as well, instead of being the rest.
func (s *session) nearlyOver() bool {
	return s.Family == live.Syscalls && s.Duration > 0 && s.settings.Now().After(s.began.Add(s.Duration-s.Interval/2))
}

// isGone tells that nobody reads standard output any more: head has seen enough.
func isGone(err error) bool { return errors.Is(err, syscall.EPIPE) }

// print prints what has happened since the last time.
func (s *session) print() error {
	var lost uint64
	var err error
	if s.Family == live.Syscalls {
		lost, err = s.printCalls()
	} else {
		lost, err = s.printEvents()
	}
	if err != nil {
		return err
	}
	s.lost += lost
	if err := s.out.Flush(); err != nil {
		return err
	}
	s.sayLost(false)
	return nil
}

func (s *session) printEvents() (uint64, error) {
	events, lost, err := s.source.Events()
	if err != nil {
		return 0, err
	}
	for i := range events {
		e := &events[i]
		if !strings.Contains(e.Comm, s.Name) {
			continue
		}
		s.lines++
		if s.JSON {
			writeJSON(s.out, eventObject(s.Family, e))
			continue
		}
		_, _ = io.WriteString(s.out, eventLine(s.Family, e)+"\n")
	}
	return lost, nil
}

func (s *session) printCalls() (uint64, error) {
	calls, lost, err := s.source.Calls()
	if err != nil {
		return 0, err
	}
	now := s.settings.Now()
	if !s.JSON && len(calls) > 0 {
		if s.lines > 0 {
			_, _ = io.WriteString(s.out, "\n")
		}
		_, _ = io.WriteString(s.out, callsHeader(now, now.Sub(s.printed), calls)+"\n")
	}
	s.printed = now
	for i := range calls {
		if s.JSON {
			writeJSON(s.out, callObject(now, &calls[i]))
		} else if i < s.Rows {
			_, _ = io.WriteString(s.out, callLine(&calls[i])+"\n")
		}
		s.lines++
	}
	if rest := len(calls) - s.Rows; !s.JSON && rest > 0 {
		_, _ = fmt.Fprintf(s.out, "and %d more\n", rest)
	}
	return lost, nil
}

// sayLost says that lines are missing: when it begins, each time it has doubled,
// and at the end.
func (s *session) sayLost(end bool) {
	if s.lost == 0 || s.lost == s.said || !end && s.lost < 2*s.said {
		return
	}
	s.said = s.lost
	s.settings.Messages.Printf("flametel: warning: %d events are missing: they came faster than they could be fetched", s.lost)
}

// header prints the names of the columns.
func (s *session) header() {
	if s.JSON || s.Family == live.Syscalls {
		return
	}
	_, _ = io.WriteString(s.out, columnsOf(s.Family)+"\n")
	_ = s.out.Flush() // what fails here fails at the next line, too
}
