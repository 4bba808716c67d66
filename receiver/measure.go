package receiver

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/metrics"
	"github.com/flametel/flametel/receiver/internal/window"
)

// measurer is a pipelineSource that also gives its samples to an Aggregator.
type measurer interface {
	// measure is called before Start.
	measure(to *metrics.Aggregator)
}

// MetricsConfig is the configuration of metrics, which a pipeline of metrics
// gets.
type MetricsConfig struct {
	// MaxProcesses is how many processes have series of their own at a time; those
	// of all others are added up under the name "other". Default 100, from 1 to
	// 10000.
	MaxProcesses int `mapstructure:"max_processes"`
	// Each switches single metrics by their names, as in flametel.syscall.errors:
	// {enabled: false}. All are on by default.
	Each metadata.MetricsConfig `mapstructure:",squash"`

	_ struct{}
}

const maxMetricsProcesses = 10000

// newMeter returns what adds up for a pipeline of metrics.
func newMeter(cfg *Config, hostName, version string) *metrics.Aggregator {
	causes := []string{window.CauseWindowFull, window.CauseOversized}
	for _, l := range new(bpf.Stats).Losses() {
		causes = append(causes, l.Cause)
	}
	return metrics.New(metrics.Settings{
		HostName: hostName, Version: version,
		MaxProcesses: cfg.Metrics.MaxProcesses, Window: cfg.Window,
		Has: cfg.Metrics.Each.Has, Causes: causes,
	})
}

// measureWindow takes in a window that ends and offers the metrics to the next
// component. They are cumulative: if it still works on earlier ones, nothing is
// lost by leaving these out, unless they are the last.
func (r *run) measureWindow(w *window.Window, last bool) {
	if r.meter == nil {
		return
	}
	for _, t := range w.Tallies() {
		r.meter.Count(t)
	}
	if !last && len(r.metrics) == cap(r.metrics) {
		return
	}
	md := r.meter.Collect(r.drained)
	if md.ResourceMetrics().Len() == 0 {
		return
	}
	select {
	case r.metrics <- md:
	case <-r.ctx.Done():
	}
}

// sendMetrics hands metrics to the next component.
func (r *run) sendMetrics(md pmetric.Metrics) {
	n := md.DataPointCount() // afterwards they are no longer ours
	ctx := r.obs.StartMetricsOp(r.ctx)
	err := r.nextMetrics.ConsumeMetrics(ctx, md)
	r.obs.EndMetricsOp(ctx, format, n, err)
	if err != nil {
		err = fmt.Errorf("metrics dropped: %w", err)
	}
	if r.health.set(partMetrics, err) {
		if err != nil {
			r.set.Logger.Warn("The next component did not take the metrics.", zap.Error(err))
		} else {
			r.set.Logger.Info("The next component takes metrics again.")
		}
	}
}
