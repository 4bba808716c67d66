package top

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"
)

// interactive shows the table on the terminal until the user leaves.
func (s *session) interactive(ctx context.Context, warnings *lastLine) (end, error) {
	tty, err := tcell.NewStdIoTty()
	if err != nil {
		return end{}, fmt.Errorf("open the terminal: %w", err)
	}
	// Names are escaped already; that nothing else gets through is the second
	// lock on the same door.
	screen, err := tcell.NewTerminfoScreenFromTty(tty, tcell.OptSanitizeContent(true))
	if err != nil {
		return end{}, fmt.Errorf("use this terminal: %w; set TERM, or print tables with --once", err)
	}
	if err := screen.Init(); err != nil {
		return end{}, fmt.Errorf("use this terminal: %w; set TERM, or print tables with --once", err)
	}
	defer screen.Fini()
	saved := make(chan result, 1)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	t := s.table()
	for {
		s.draw(screen, t)
		select {
		case ev := <-screen.EventQ():
			if ev == nil {
				return end{}, nil // the terminal is gone
			}
			if s.handle(ctx, ev, t, saved) {
				return end{}, nil
			}
			if _, resized := ev.(*tcell.EventResize); resized {
				screen.Sync()
			}
		case r := <-saved:
			s.view.say(r.err != nil, r.text())
		case <-s.history.fresh:
		case <-ticker.C:
			if text := warnings.take(); text != "" {
				s.view.say(true, text)
			}
		case sig := <-s.signals:
			if ends(sig) {
				return end{sig}, nil
			}
		case err := <-s.history.failed:
			return end{}, err
		}
		t = s.table()
	}
}

// result is what came of saving.
type result struct {
	where string
	err   error
}

func (r result) text() string {
	if r.err != nil {
		return r.err.Error()
	}
	return r.where
}

// handle takes an event; done means that the user leaves.
func (s *session) handle(ctx context.Context, ev tcell.Event, t *table, saved chan<- result) (done bool) {
	pressed, is := ev.(*tcell.EventKey)
	if !is || !pressed.Pressed() {
		return false
	}
	switch s.view.press(keyName(pressed), t) {
	case quit:
		return true
	case freeze:
		s.frozen = nil
		if s.view.paused {
			s.frozen = s.history.last(s.span())
		}
	case save:
		s.view.say(false, "writing ...")
		go func() {
			where, err := s.save(ctx)
			select {
			case saved <- result{where, err}:
			default: // several at once: one message is enough
			}
		}()
	}
	return false
}

// keyName is the name of a key for the view: a letter as it is.
func keyName(ev *tcell.EventKey) string {
	if ev.Key() == tcell.KeyRune {
		return ev.Str()
	}
	return strings.ToLower(tcell.KeyNames[ev.Key()])
}

func (s *session) draw(screen tcell.Screen, t *table) {
	width, height := screen.Size()
	screen.Clear()
	for y, l := range s.view.lines(t, s.facts(), width, height) {
		look := looks(l.style)
		if l.style == header || l.style == chosen {
			screen.FillArea(0, y, width, 1, ' ', look)
		}
		screen.PutStrStyled(0, y, l.text, look)
	}
	screen.Show()
}

// looks tells styles apart also without colours.
func looks(s style) tcell.Style {
	base := tcell.StyleDefault
	switch s {
	case title:
		return base.Bold(true)
	case header:
		return base.Reverse(true).Bold(true)
	case chosen:
		return base.Reverse(true)
	case faint:
		return base.Dim(true)
	case kernelLine: // as in flame graphs, as far as 16 colours go
		return base.Foreground(color.Olive)
	case jitLine:
		return base.Foreground(color.Purple)
	case alarm:
		return base.Foreground(color.Red).Bold(true)
	}
	return base
}
