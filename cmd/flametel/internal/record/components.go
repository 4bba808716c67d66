package record

import (
	"context"
	"errors"
	"io"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
	"github.com/flametel/flametel/cmd/flametel/internal/version"
	flamegraph "github.com/flametel/flametel/exporter"
	profiler "github.com/flametel/flametel/receiver"
)

// telemetry is what components get: messages for the user, nothing else.
func telemetry(messages *terminal.Messages, quiet, verbose bool) component.TelemetrySettings {
	return component.TelemetrySettings{
		Logger:         newLogger(messages, quiet, verbose),
		TracerProvider: tracenoop.NewTracerProvider(),
		MeterProvider:  metricnoop.NewMeterProvider(),
		Resource:       pcommon.NewResource(),
	}
}

func buildInfo() component.BuildInfo {
	return component.BuildInfo{Command: "flametel", Description: "flametel", Version: version.Version}
}

func newReceiver(ctx context.Context, s *Settings, cfg *profiler.Config, t component.TelemetrySettings, next xconsumer.Profiles) (xreceiver.Profiles, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	id := component.NewID(s.Receiver.Type())
	return s.Receiver.CreateProfiles(ctx, receiver.Settings{ID: id, TelemetrySettings: t, BuildInfo: buildInfo()}, cfg, next)
}

func newExporter(ctx context.Context, s *Settings, cfg *flamegraph.Config, t component.TelemetrySettings) (xexporter.Profiles, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	id := component.NewIDWithName(s.Exporter.Type(), cfg.Path)
	return s.Exporter.CreateProfiles(ctx, exporter.Settings{ID: id, TelemetrySettings: t, BuildInfo: buildInfo()}, cfg)
}

// NewReceiver makes a receiver that sends what the options choose to a consumer,
// once in each window. It does not run yet.
func (o *Options) NewReceiver(ctx context.Context, s *Settings, messages *terminal.Messages, window time.Duration, next xconsumer.Profiles) (xreceiver.Profiles, error) {
	cfg := o.receiverConfig(s.Receiver, o.PIDs)
	cfg.Window = window
	cfg.DrainInterval = min(cfg.DrainInterval, window)
	return newReceiver(ctx, s, cfg, telemetry(messages, false, false), next)
}

// StartFailed turns an error at the start of a receiver into an exit code and
// what the user has to know.
func (s *Settings) StartFailed(err error) (int, error) {
	if interrupted := (*Interrupted)(nil); errors.As(err, &interrupted) {
		return SignalCode(interrupted.Signal), err
	}
	if profiler.IsPrivilegeError(err) {
		return CodePrivileges, s.privilegeText(err)
	}
	return CodeFailure, s.explain(err)
}

// Save writes messages as a flame graph into a new file in the present folder,
// whose name begins with profile- and the given word.
func (o *Options) Save(ctx context.Context, s *Settings, word string, messages []pprofile.Profiles) (path string, err error) {
	begin := s.Now()
	out, err := reserve(word, begin, "svg")
	if err != nil {
		return "", err
	}
	defer out.release()
	e, err := newExporter(ctx, s, o.exporterConfig(s.Exporter, &out), telemetry(terminal.NewMessages(io.Discard, 0), true, false))
	if err != nil {
		return "", err
	}
	if err := e.Start(ctx, silentHost{}); err != nil {
		return "", err
	}
	var errs []error
	for _, p := range messages {
		errs = append(errs, e.ConsumeProfiles(ctx, p))
	}
	errs = append(errs, e.Shutdown(ctx))
	if uid, gid, yes := s.caller(); yes {
		errs = append(errs, give(out.path, uid, gid, begin))
	}
	return out.path, errors.Join(errs...)
}

// silentHost is a component.Host without extensions.
type silentHost struct{}

// GetExtensions implements component.Host.
func (silentHost) GetExtensions() map[component.ID]component.Component { return nil }

// Subject finds out whether what the options choose exists, and says in a few
// words what it is.
func Subject(o *Options) (string, error) {
	process, err := checkProcesses(o.PIDs)
	if err != nil {
		return "", err
	}
	return o.subject(process), checkCgroups(o.Cgroups, CgroupRoots())
}
