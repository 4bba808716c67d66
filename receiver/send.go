package receiver

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/flametel/flametel/receiver/internal/pdatabuild"
	"github.com/flametel/flametel/receiver/internal/window"
)

const (
	// transport and format are attributes of the metrics that all receivers
	// have in common.
	transport = "ebpf"
	format    = "ebpf"
)

var errBusy = errors.New("the pipeline is more than a window behind")

// send builds the profiles of a window and hands them to the next component.
// What that refuses is dropped and counted: keeping it would need memory
// without bound, and the next window is more interesting.
func (r *run) send(w *window.Window) {
	begin := time.Now()
	var failed error
	if r.next != nil {
		messages := r.builder.Build(w)
		for i := range messages {
			failed = errors.Join(failed, r.sendMessage(&messages[i]))
			messages[i] = pdatabuild.Message{} // sent, not to be kept
		}
	}
	for _, t := range w.Tallies() {
		recordTally(r.ctx, r.telemetry, t)
	}
	r.telemetry.EbpfProfilerWindowDuration.Record(r.ctx, time.Since(begin).Seconds())
	r.reportDownstream(failed)
}

func (r *run) sendMessage(m *pdatabuild.Message) error {
	// Afterwards the profiles are no longer ours, so count now.
	samples := m.Profiles.SampleCount()
	ctx := r.obs.StartProfilesOp(r.ctx)
	err := r.next.ConsumeProfiles(ctx, m.Profiles)
	r.obs.EndProfilesOp(ctx, format, samples, err)
	if err != nil {
		for kind, n := range m.Kept {
			recordUndelivered(r.ctx, r.telemetry, kind, causeRefused, n)
		}
	}
	return err
}

// drop counts a window that the sender has no time for.
func (r *run) drop(w *window.Window) {
	for _, t := range w.Tallies() {
		recordTally(r.ctx, r.telemetry, t)
		recordUndelivered(r.ctx, r.telemetry, t.Kind, causeBusy, t.Kept)
	}
	r.reportDownstream(errBusy)
}

func (r *run) reportDownstream(err error) {
	if err != nil {
		err = fmt.Errorf("profiles dropped: %w", err)
	}
	if r.health.set(partDownstream, err) {
		if err != nil {
			r.set.Logger.Warn("The next component did not take the profiles.", zap.Error(err))
		} else {
			r.set.Logger.Info("The next component takes profiles again.")
		}
	}
}
