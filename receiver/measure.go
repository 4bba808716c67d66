package receiver

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"

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

	_ struct{}
}

const maxMetricsProcesses = 10000

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
	md := r.meter.Collect(r.drained)
	if last {
		select {
		case r.metrics <- md:
		case <-r.ctx.Done():
		}
		return
	}
	select {
	case r.metrics <- md:
	default:
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
