package top

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// batchWidth is the room for a line of a printed table: names are cut only where
// nobody reads any more.
const batchWidth = 240

// batch prints a table for each interval until there were enough or the program is
// to end.
func (s *session) batch() (end, error) {
	last := 0 // number of the last window in a table
	for n := 1; ; n++ {
		windows, why, err := s.awaitInterval(last)
		if err != nil || why.signal != nil {
			return why, err
		}
		if len(windows) > 0 {
			last = windows[len(windows)-1].number
		}
		if !isSpan(covered(windows), s.span()) {
			windows = s.history.last(s.span())
		}
		t := s.tableOf(windows)
		s.printed += t.all
		if err := s.print(s.out, t, n > 1); err != nil {
			return end{}, fmt.Errorf("print a table: %w", err)
		}
		if n == s.Count {
			return end{}, nil
		}
	}
}

// settle is how long further messages of the same window may take.
const settle = 50 * time.Millisecond

// awaitInterval waits until the windows after one of a number cover an interval. What
// counts is the time of the samples, not when they come.
func (s *session) awaitInterval(after int) ([]*window, end, error) {
	late := time.NewTimer(s.Interval + overdue)
	defer late.Stop()
	for {
		select {
		case <-s.history.fresh:
			time.Sleep(settle)
			if windows := s.history.since(after); isSpan(covered(windows), s.Interval) {
				return windows, end{}, nil
			}
			late.Reset(s.Interval + overdue)
		case <-late.C:
			return s.history.since(after), end{}, nil
		case sig := <-s.signals:
			if ends(sig) {
				return nil, end{sig}, nil
			}
		case err := <-s.history.failed:
			return nil, end{}, err
		}
	}
}

// print writes a table as text.
func (s *session) print(w io.Writer, t *table, more bool) error {
	var b strings.Builder
	if more {
		b.WriteByte('\n')
	}
	for _, text := range []string{t.facts(s.facts()), s.view.choiceText(t), s.view.columns()} {
		fmt.Fprintln(&b, clip(text, batchWidth))
	}
	for i := range t.rows[:min(s.Rows, len(t.rows))] {
		fmt.Fprintln(&b, clip(s.view.rowText(t, &t.rows[i], batchWidth), batchWidth))
	}
	if len(t.rows) == 0 {
		fmt.Fprintln(&b, s.view.emptyText(t))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
