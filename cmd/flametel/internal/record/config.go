package record

import (
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/flametel/flametel/exporter"
	"github.com/flametel/flametel/receiver"
)

// receiverConfig is the configuration of the receiver. Pids are the targets.
func (o *Options) receiverConfig(f xreceiver.Factory, pids []int) *receiver.Config {
	cfg := f.CreateDefaultConfig().(*receiver.Config)
	cfg.Window = o.window()
	cfg.DrainInterval = o.DrainInterval
	cfg.CPU.Frequency = o.Frequency
	cfg.Targets.PIDs = pids
	return cfg
}

// writeOnce is an interval that no recording reaches, so that a file is written
// at the end. Without one the exporter would rewrite it all the time, which
// costs more than profiling.
const writeOnce = 2 * MaxDuration

// exporterConfig is the configuration of the exporter for one output.
func (o *Options) exporterConfig(f xexporter.Factory, out *output) *exporter.Config {
	cfg := f.CreateDefaultConfig().(*exporter.Config)
	cfg.Path = out.path
	cfg.Format = out.format
	cfg.Interval = writeOnce
	if out.path == stdoutPath {
		cfg.Interval = 0 // it is written once as it is
	}
	cfg.MaxFiles = 0 // nothing of the user's is ever removed
	cfg.Title = o.Title
	cfg.Layout = o.Layout
	cfg.Annotations = !o.NoAnnotations
	return cfg
}
