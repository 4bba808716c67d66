package receiver

import (
	"time"

	"go.uber.org/zap"

	"github.com/flametel/flametel/receiver/internal/source"
)

// relieveInterval is how often somebody looks whether the maps of events fill up.
// A quarter of a map has to last for that long, see bpf.Tracer.
const relieveInterval = 100 * time.Millisecond

// reliever keeps the maps of a kind from filling up before they are drained. A
// drain is late when many programs are new on a busy host: their symbols are read
// by it.
type reliever struct {
	src source.Source
	// The maps are looked at when they were not drained for patience, and then
	// every so often.
	patience, every time.Duration
	timer           *time.Timer
}

// newReliever: events may fill the maps at any time. What a clock samples cannot
// come faster than it ticks: there is room for twice what it samples in a drain
// interval, unless less was asked for, and to look before a drain is late would
// only wake the CPU.
func (h *hostSource) newReliever(src source.Source) *reliever {
	r := &reliever{src: src, every: relieveInterval}
	if src.Kind().Period != 0 {
		r.every = max(relieveInterval, h.cfg.DrainInterval/4)
	}
	r.patience = r.every
	if src.Kind().Period != 0 && h.cfg.MapEntries == 0 {
		r.patience = h.cfg.DrainInterval + r.every
	}
	r.timer = time.NewTimer(r.patience)
	return r
}

// drained says that the maps were emptied.
func (r *reliever) drained() { r.timer.Reset(r.patience) }

// run works until stop is closed.
func (r *reliever) run(stop <-chan struct{}, log *zap.Logger) {
	defer r.timer.Stop()
	failed := false
	for {
		select {
		case <-stop:
			return
		case <-r.timer.C:
		}
		err := r.src.Relieve()
		if err != nil && !failed {
			log.Error("Kernel maps that fill up could not be emptied.", zap.Error(err))
		}
		failed = err != nil
		r.timer.Reset(r.every)
	}
}
