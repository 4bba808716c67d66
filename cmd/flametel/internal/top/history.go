package top

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Bounds on what others can make us keep: whoever runs many processes, or writes
// names for its code, would otherwise fill our memory.
const (
	maxKeys  = 1 << 16 // of a level of a window
	maxBytes = 64 << 20
	// keep is how long messages are kept for a flame graph.
	keep = time.Minute
)

// history holds the windows of the last minute or so. It is the consumer and the
// host of the receiver, and safe for concurrent use.
type history struct {
	kind string
	span time.Duration
	now  func() time.Time
	// fresh gets a token when a window has come, failed the first error after
	// which none will come.
	fresh  chan struct{}
	failed chan error

	mu      sync.Mutex
	windows []*window
	came    int // how many there have been
}

func newHistory(kind string, span time.Duration, now func() time.Time) *history {
	return &history{kind: kind, span: span, now: now, fresh: make(chan struct{}, 1), failed: make(chan error, 1)}
}

// Capabilities implements the consumer.
func (*history) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

// ConsumeProfiles adds a message.
func (h *history) ConsumeProfiles(_ context.Context, p pprofile.Profiles) error {
	p.MarkReadOnly() // it may be written to a file later
	w := summarize(p, h.kind)
	w.at = h.now()
	w.bytes = (&pprofile.ProtoMarshaler{}).ProfilesSize(p)
	h.mu.Lock()
	h.came++
	w.number = h.came
	h.windows = append(h.windows, w)
	h.forget(w.at)
	h.mu.Unlock()
	select {
	case h.fresh <- struct{}{}:
	default:
	}
	return nil
}

// forget drops what is too old, or too much.
func (h *history) forget(now time.Time) {
	bytes := 0
	for i := len(h.windows) - 1; i >= 0; i-- {
		bytes += h.windows[i].bytes
		age := now.Sub(h.windows[i].at)
		if age > max(keep, h.span)+overdue || bytes > maxBytes && i < len(h.windows)-1 {
			clear(h.windows[:i+1])
			h.windows = h.windows[i+1:]
			return
		}
	}
}

// overdue is how long the receiver may be silent: on a busy host, naming the first
// samples takes a while, and their window comes late.
const overdue = 30 * time.Second

// isSpan tells whether windows cover so much time, which they never do exactly.
func isSpan(covered, d time.Duration) bool {
	const slack = 20
	return covered >= d-d/slack
}

// last returns the windows that cover the last so much time for which there are
// samples, oldest first. When the receiver has been silent for long, there are none.
func (h *history) last(d time.Duration) []*window {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, sum, i := h.now(), time.Duration(0), len(h.windows)
	for i > 0 && !isSpan(sum, d) && now.Sub(h.windows[i-1].at) <= d+overdue {
		i--
		sum += h.windows[i].duration()
	}
	return slices.Clone(h.windows[i:])
}

// since returns the windows that came after one of a number.
func (h *history) since(number int) []*window {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := len(h.windows)
	for i > 0 && h.windows[i-1].number > number {
		i--
	}
	return slices.Clone(h.windows[i:])
}

// GetExtensions makes it a component.Host without extensions.
func (*history) GetExtensions() map[component.ID]component.Component { return nil }

// Report is how the receiver tells its status.
func (h *history) Report(ev *componentstatus.Event) {
	switch ev.Status() {
	case componentstatus.StatusPermanentError, componentstatus.StatusFatalError:
		select {
		case h.failed <- ev.Err():
		default:
		}
	}
}
