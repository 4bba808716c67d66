package exporter

import (
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
)

// statusHost remembers the statuses that a component reports.
type statusHost struct {
	component.Host
	seen []componentstatus.Status
}

func (h *statusHost) Report(e *componentstatus.Event) { h.seen = append(h.seen, e.Status()) }
