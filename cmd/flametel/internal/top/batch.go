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

// batch prints a table for each window until there were enough or the program is
// to end.
func (s *session) batch() (end, error) {
	for n := 1; ; n++ {
		why, err := s.awaitWindow()
		if err != nil || why.signal != nil {
			return why, err
		}
		t := s.table()
		s.printed += t.all
		if err := s.print(s.out, t, n > 1); err != nil {
			return end{}, fmt.Errorf("print a table: %w", err)
		}
		if n == s.Count {
			return end{}, nil
		}
	}
}

const (
	// settle is how long further messages of the same window may take.
	settle = 50 * time.Millisecond
	// overdue is how long after its time a window is no longer waited for.
	overdue = 5 * time.Second
)

// awaitWindow waits for the samples of the next window.
func (s *session) awaitWindow() (end, error) {
	late := time.NewTimer(s.Interval + overdue)
	defer late.Stop()
	for {
		select {
		case <-s.history.fresh:
			time.Sleep(settle)
			select {
			case <-s.history.fresh:
			default:
			}
			return end{}, nil
		case <-late.C:
			return end{}, nil
		case sig := <-s.signals:
			if ends(sig) {
				return end{sig}, nil
			}
		case err := <-s.history.failed:
			return end{}, err
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
