package receiver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"

	"github.com/flametel/flametel/receiver/internal/metrics"
	"github.com/flametel/flametel/receiver/internal/pdatabuild"
	"github.com/flametel/flametel/receiver/internal/window"
)

// run is one life of the receiver, from Start to Shutdown. Three goroutines work
// in it: one drains the source into windows and never waits for the pipelines,
// one builds profiles from windows and sends them, one sends metrics.
type run struct {
	*profilesReceiver
	source  pipelineSource
	builder *pdatabuild.Builder
	health  *health

	// ctx is cancelled when the time for shutdown is over.
	ctx    context.Context
	cancel context.CancelFunc
	// stop is closed to end sampling, done when the goroutines have ended.
	stop chan struct{}
	done chan struct{}
	// windows holds one window that waits for the sender. What comes when it
	// is full is dropped.
	windows chan *window.Window
	// metrics holds those that wait for their sender; meter adds them up and is
	// nil if nobody takes them.
	metrics chan pmetric.Metrics
	meter   *metrics.Aggregator

	// Only the sampling goroutine uses these.
	drained  time.Time          // when the samples of the last drain end
	mapUsage map[string]float64 // highest of the current window
	warned   map[string]bool    // what has been said already
}

func newRun(r *profilesReceiver, src pipelineSource, host component.Host, s pdatabuild.Settings) *run {
	ctx, cancel := context.WithCancel(context.Background())
	return &run{
		profilesReceiver: r,
		source:           src,
		builder:          pdatabuild.New(s),
		health:           &health{host: host},
		ctx:              ctx,
		cancel:           cancel,
		stop:             make(chan struct{}),
		done:             make(chan struct{}),
		windows:          make(chan *window.Window, 1),
		metrics:          make(chan pmetric.Metrics, 1),
		mapUsage:         make(map[string]float64),
		warned:           make(map[string]bool),
	}
}

func (r *run) start() {
	r.set.Logger.Info("Profiling started.",
		zap.Duration("window", r.cfg.Window),
		zap.Duration("drain_interval", r.cfg.DrainInterval),
		zap.Int("frequency", r.cfg.CPU.Frequency))
	go r.sample(time.Now())
	var senders sync.WaitGroup
	senders.Go(func() {
		for w := range r.windows {
			r.send(w)
		}
	})
	senders.Go(func() {
		for md := range r.metrics {
			r.sendMetrics(md)
		}
	})
	go func() {
		senders.Wait()
		close(r.done)
	}()
}

// shutdown ends the goroutines, or gives up on the senders when ctx ends.
func (r *run) shutdown(ctx context.Context) error {
	defer r.cancel()
	r.health.mute()
	// First of all, and not behind a drain that is under way: the recording
	// ends now.
	if err := r.source.Stop(); err != nil {
		r.set.Logger.Warn("Sampling was not stopped cleanly.", zap.Error(err))
	}
	close(r.stop)
	select {
	case <-r.done:
		r.set.Logger.Info("Profiling stopped.")
		return nil
	case <-ctx.Done():
	}
	r.cancel()
	select {
	case <-r.done:
	case <-time.After(grace):
	}
	return fmt.Errorf("the last profiles were not delivered in time: %w", ctx.Err())
}

// sample is the sampling goroutine.
func (r *run) sample(start time.Time) {
	defer close(r.windows)
	defer close(r.metrics)
	w := window.New(start, window.Limits{})
	nextDrain, windowEnd := start.Add(r.cfg.DrainInterval), start.Add(r.cfg.Window)
	for {
		wake := nextDrain
		if windowEnd.Before(wake) {
			wake = windowEnd
		}
		select {
		case <-r.stop:
			r.finish(w)
			return
		case <-time.After(time.Until(wake)):
		}
		r.drain(w)
		now := time.Now()
		nextDrain = now.Add(r.cfg.DrainInterval)
		if now.Before(windowEnd) {
			continue
		}
		r.source.Settle(w)
		next := r.closeWindow(w)
		r.measureWindow(w, false)
		windowEnd = windowEnd.Add(r.cfg.Window)
		if !windowEnd.After(now) {
			windowEnd = now.Add(r.cfg.Window) // we were held up for more than a window
		}
		r.offer(w)
		w = window.New(next, window.Limits{})
	}
}

// finish hands over the last window. The source is released first, so that it
// is gone even if the pipeline hangs.
func (r *run) finish(w *window.Window) {
	r.drain(w)
	r.source.Settle(w)
	if err := r.source.Close(); err != nil {
		r.set.Logger.Warn("Not everything was released.", zap.Error(err))
	}
	r.closeWindow(w)
	r.measureWindow(w, true)
	select {
	case r.windows <- w:
	case <-r.ctx.Done():
		r.drop(w)
	}
}

// closeWindow closes w and returns when the next window begins.
func (r *run) closeWindow(w *window.Window) time.Time {
	end, next := nextBoundary(w.Start, r.drained, r.drained.Sub(w.Start))
	if !end.Equal(next) {
		r.set.Logger.Warn("The clock was set or the host was suspended, profiles follow the new time.",
			zap.Time("before", end), zap.Time("after", next))
	}
	w.Close(end)
	r.reportMaps()
	r.reportLosses(w)
	return next
}

// offer hands a window to the sender unless that one is two windows behind.
func (r *run) offer(w *window.Window) {
	select {
	case r.windows <- w:
	default:
		r.drop(w)
	}
}
