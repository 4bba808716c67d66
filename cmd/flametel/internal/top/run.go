package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/cmd/flametel/internal/record"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
)

// session is a run of the command.
type session struct {
	*Options
	settings *record.Settings
	out      io.Writer
	signals  <-chan os.Signal
	now      func() time.Time

	history *history
	view    view
	subject string
	frozen  []*window // while paused

	shown   time.Time     // when our own use was measured
	used    time.Duration // CPU time by then
	own     float64
	printed int64 // samples of all tables
}

// end is why a session ended.
type end struct{ signal os.Signal }

// ErrNoTerminal: there is nothing to draw a table on.
var ErrNoTerminal = errors.New("standard input or output is not a terminal; print tables with --once or --iterations N")

// Run shows or prints tables and returns the exit code. Options must be valid.
func Run(ctx context.Context, s *record.Settings, o *Options) (code int, err error) {
	if o.Count == 0 && !s.Interactive() {
		return record.CodeUsage, ErrNoTerminal
	}
	run := &session{Options: o, settings: s, out: s.Stdout, signals: s.Signals, now: s.Now}
	run.view = newView(o)
	if run.subject, err = record.Subject(&o.Record); err != nil {
		return record.CodeFailure, err
	}
	run.history = newHistory(o.Record.Types[0], o.span(), s.Now)
	return run.run(ctx)
}

func newView(o *Options) view {
	v := view{choice: choice{sort: o.Sort}}
	v.level, _ = levelNamed(o.View)
	v.input = o.Filter
	if o.Filter != "" {
		v.filter = regexp.MustCompile(o.Filter)
	}
	return v
}

// run profiles while tables are shown.
func (s *session) run(ctx context.Context) (int, error) {
	messages := s.settings.Messages
	warnings := &lastLine{}
	if s.Count == 0 {
		messages = terminal.NewMessages(warnings, 0) // they would run through the table
	}
	r, err := s.Record.NewReceiver(ctx, s.settings, messages, s.window(), s.history)
	if err != nil {
		return record.CodeFailure, err
	}
	err = s.settings.Start(func() error { return r.Start(ctx, s.history) })
	if err != nil {
		return s.settings.StartFailed(err)
	}
	s.settings.WarnOfNamespace(messages)
	s.shown, s.used = s.now(), record.OwnCPU()
	why, err := s.show(ctx, warnings)
	// What is left in the receiver interests nobody any more, but it has to
	// detach itself.
	defer s.settings.QuitOnSignal()()
	stop, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	err = errors.Join(err, r.Shutdown(stop))
	switch {
	case err != nil:
		return record.CodeFailure, err
	case why.signal != nil:
		return record.SignalCode(why.signal), nil
	case s.Count > 0 && s.printed == 0:
		return record.CodeNoSamples, nil
	}
	return record.CodeOK, nil
}

// stopTime is how long the receiver may take to stop.
const stopTime = 10 * time.Second

func (s *session) show(ctx context.Context, warnings *lastLine) (end, error) {
	if s.Count > 0 {
		return s.batch()
	}
	return s.interactive(ctx, warnings)
}

// table is what is to be shown now.
func (s *session) table() *table {
	windows := s.frozen
	if !s.view.paused {
		windows = s.history.last(s.span())
	}
	return s.tableOf(windows)
}

func (s *session) tableOf(windows []*window) *table {
	t := tabulate(windows, &s.view.choice)
	t.covers = covered(windows)
	return t
}

// covered is the time that windows account for.
func covered(windows []*window) (sum time.Duration) {
	for _, w := range windows {
		sum += w.duration()
	}
	return sum
}

// facts measures our own use of CPU time at most once a second.
func (s *session) facts() facts {
	now := s.now()
	if d := now.Sub(s.shown); d >= time.Second || s.Count > 0 && d > 0 {
		used := record.OwnCPU()
		s.own = float64(used-s.used) / float64(d)
		s.shown, s.used = now, used
	}
	return facts{subject: s.subject, frequency: s.Record.Frequency, own: s.own}
}

// save writes a flame graph of the last minute and says where it is.
func (s *session) save(ctx context.Context) (text string, err error) {
	windows := s.history.last(keep)
	if len(windows) == 0 {
		return "", errors.New("there are no samples yet")
	}
	var messages []pprofile.Profiles
	for _, w := range windows {
		messages = append(messages, w.message)
	}
	path, err := s.Record.Save(ctx, s.settings, "top", messages)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("wrote %s: the last %d s", path, int(covered(windows).Round(time.Second).Seconds())), nil
}

func ends(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP
}

// lastLine keeps the last line that was written to it.
type lastLine struct {
	mu   sync.Mutex
	text string
}

// Write implements io.Writer.
func (l *lastLine) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = strings.TrimSpace(string(p))
	return len(p), nil
}

// take returns the line, once.
func (l *lastLine) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text
	l.text = ""
	return text
}
