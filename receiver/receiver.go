package receiver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.uber.org/zap"

	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/metrics"
	"github.com/flametel/flametel/receiver/internal/pdatabuild"
)

// profilesReceiver is the component. While it runs, all its state is in run.
type profilesReceiver struct {
	set       receiver.Settings
	cfg       *Config
	next      xconsumer.Profiles // nil if nobody takes profiles
	newSource newSourceFunc
	telemetry *metadata.TelemetryBuilder
	obs       *receiverhelper.ObsReport
	// nextMetrics is nil if nobody takes metrics.
	nextMetrics consumer.Metrics

	mu  sync.Mutex
	run *run // nil unless started and not shut down
}

func newReceiver(set receiver.Settings, cfg *Config, next xconsumer.Profiles, newSource newSourceFunc) (*profilesReceiver, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, fmt.Errorf("internal metrics: %w", err)
	}
	obs, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
		ReceiverID:             set.ID,
		Transport:              transport,
		ReceiverCreateSettings: set,
	})
	if err != nil {
		return nil, fmt.Errorf("metrics of received samples: %w", err)
	}
	return &profilesReceiver{
		set:       set,
		cfg:       cfg,
		next:      next,
		newSource: newSource,
		telemetry: telemetry,
		obs:       obs,
	}, nil
}

// Start begins to sample. It returns as soon as that is done; ctx is for
// starting only.
func (r *profilesReceiver) Start(ctx context.Context, host component.Host) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run != nil {
		return errors.New("the receiver has already started")
	}
	src, err := r.newSource(r.set, r.cfg)
	if err != nil {
		return err
	}
	hostName, err := os.Hostname()
	if err != nil {
		// host.name is left out; everything else works without it.
		r.set.Logger.Warn("No host name for the profiles.", zap.Error(err))
	}
	var meter *metrics.Aggregator
	if m, ok := src.(measurer); ok && r.nextMetrics != nil {
		meter = newMeter(r.cfg, hostName, r.set.BuildInfo.Version)
		m.measure(meter)
	}
	if err := src.Start(ctx); err != nil {
		return err
	}
	r.run = newRun(r, src, host, pdatabuild.Settings{HostName: hostName, Version: r.set.BuildInfo.Version})
	r.run.meter = meter
	r.run.start()
	return nil
}

// Shutdown stops sampling and sends what is left, until ctx ends. Then it
// returns an error, but sampling has ended all the same.
func (r *profilesReceiver) Shutdown(ctx context.Context) error {
	r.mu.Lock()
	run := r.run
	r.run = nil
	r.mu.Unlock()
	if run == nil {
		return nil
	}
	defer r.telemetry.Shutdown()
	return run.shutdown(ctx)
}

// mortal is a pipelineSource that knows when its targets have ended.
type mortal interface{ targetsEnded() bool }

// TargetsEnded reports whether all processes of targets::pids have ended, and all
// that they have started; false if others may become targets. A collector waits
// for a new configuration then; a program that makes a receiver of its own can
// stop. Safe for concurrent use.
func (r *profilesReceiver) TargetsEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run == nil {
		return false
	}
	m, ok := r.run.source.(mortal)
	return ok && m.targetsEnded()
}

// grace is how long Shutdown waits, when its time is over, for goroutines to
// notice that their context was cancelled.
const grace = 200 * time.Millisecond
