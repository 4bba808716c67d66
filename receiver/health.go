package receiver

import (
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
)

// part is a part of the receiver that can fail for a while on its own.
type part int

const (
	partSource part = iota
	partDownstream
	partMetrics
	partCount
)

// health reports the status of the component when it changes. The collector
// does not filter repeated events, so this does. Safe for concurrent use.
type health struct {
	host component.Host

	mu    sync.Mutex
	errs  [partCount]error
	muted bool
}

// set notes how a part is; nil means well. It returns true if that is news.
func (h *health) set(p part, err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.errs[p]
	h.errs[p] = err
	if (before == nil) == (err == nil) {
		return false
	}
	switch {
	case h.muted:
	case err != nil:
		componentstatus.ReportStatus(h.host, componentstatus.NewRecoverableErrorEvent(err))
	case h.well():
		componentstatus.ReportStatus(h.host, componentstatus.NewEvent(componentstatus.StatusOK))
	}
	return true
}

func (h *health) well() bool {
	for _, err := range h.errs {
		if err != nil {
			return false
		}
	}
	return true
}

// mute ends reporting: during shutdown the collector reports for us.
func (h *health) mute() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.muted = true
}
