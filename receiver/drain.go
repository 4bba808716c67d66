package receiver

import (
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/flametel/flametel/receiver/internal/window"
)

// mapWarning is the fill of a kernel map from which on it may soon lose
// samples.
const mapWarning = 0.8

// drain empties the kernel's maps into w.
func (r *run) drain(w *window.Window) {
	begin := time.Now()
	stats, err := r.source.Drain(r.ctx, w)
	r.telemetry.EbpfProfilerDrainDuration.Record(r.ctx, time.Since(begin).Seconds())
	if r.drained.IsZero() && !stats.Since.IsZero() {
		w.Start = stats.Since // the first drain knows when sampling really began
	}
	if r.drained = stats.Until; r.drained.IsZero() {
		r.drained = time.Now()
	}
	if err != nil {
		err = fmt.Errorf("empty the kernel maps: %w", err)
	}
	if r.health.set(partSource, err) && err != nil {
		r.set.Logger.Error("Samples could not be read.", zap.Error(err))
	}
	r.telemetry.EbpfProfilerProcessesTracked.Record(r.ctx, int64(stats.Processes))
	r.telemetry.EbpfProfilerEventsLost.Add(r.ctx, int64(stats.EventsLost))
	r.telemetry.EbpfProfilerUnwindFiles.Record(r.ctx, int64(stats.UnwindFiles))
	r.telemetry.EbpfProfilerUnwindFilesEvicted.Add(r.ctx, int64(stats.UnwindEvicted))
	if r.news("unwind", stats.UnwindEvicted > 0) {
		r.set.Logger.Warn("Not all unwind tables fit: stacks of code without frame pointers may be cut. Set unwind::max_table_mib higher.")
	}
	for name, fill := range stats.UnwindUsage {
		r.mapUsage[name] = max(r.mapUsage[name], fill)
	}
	for name, fill := range stats.MapUsage {
		r.mapUsage[name] = max(r.mapUsage[name], fill)
		if r.news("map "+name, fill >= mapWarning) {
			r.set.Logger.Warn("A kernel map is nearly full.",
				zap.String("map", name), zap.Float64("fill", fill), zap.String("advice", "Set map_entries higher."))
		}
	}
}

// news tells whether a condition has just become true. It stays silent until
// the condition was false in between.
func (r *run) news(what string, is bool) bool {
	was := r.warned[what]
	r.warned[what] = is
	return is && !was
}

// reportMaps sets the gauges of the maps at the end of a window.
func (r *run) reportMaps() {
	for name, fill := range r.mapUsage {
		r.telemetry.EbpfProfilerMapUsage.Record(r.ctx, fill, metric.WithAttributes(attrMap.String(name)))
	}
	clear(r.mapUsage)
}

// reportLosses says once that samples are being lost, and again only after a
// window without loss.
func (r *run) reportLosses(w *window.Window) {
	for _, t := range w.Tallies() {
		lost := t.LostTotal()
		if r.news("lost "+t.Kind.Name, lost > 0) {
			r.set.Logger.Warn("Samples were lost.",
				zap.String("kind", t.Kind.Name), zap.Uint64("lost", lost), zap.Uint64("taken", t.Taken), zap.Any("causes", t.Lost))
		}
	}
}
