package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

const defaultWidth = 80

// clearLine returns to the first column and erases the line (ECMA-48 EL).
const clearLine = "\r\x1b[K"

// Messages writes lines to one place, and at most one progress line below them
// that is written over and over. Safe for concurrent use. Errors of writing are
// dropped: there is nobody left to tell.
type Messages struct {
	mu       sync.Mutex
	to       io.Writer
	width    int // columns for the progress line; 0: not a terminal
	progress bool
}

// NewMessages returns Messages for a writer. Columns is the width of the
// terminal, 0 if it is none.
func NewMessages(to io.Writer, columns int) *Messages {
	return &Messages{to: to, width: columns}
}

// Interactive reports whether a progress line can be written.
func (m *Messages) Interactive() bool { return m.width > 0 }

// Printf writes a line. Arguments that others chose must be escaped.
func (m *Messages) Printf(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clear()
	_, _ = io.WriteString(m.to, strings.TrimSuffix(fmt.Sprintf(format, args...), "\n")+"\n")
}

// Progress shows text on the progress line, cut to the width of the terminal so
// that it stays one line. Without a terminal it is an ordinary line.
func (m *Messages) Progress(text string) {
	if !m.Interactive() {
		m.Printf("%s", text)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// A line that fills the last column would wrap on some terminals.
	_, _ = io.WriteString(m.to, clearLine+Clip(text, max(m.width-1, 1)))
	m.progress = true
}

// Done removes the progress line.
func (m *Messages) Done() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clear()
}

func (m *Messages) clear() {
	if m.progress {
		_, _ = io.WriteString(m.to, clearLine)
		m.progress = false
	}
}
