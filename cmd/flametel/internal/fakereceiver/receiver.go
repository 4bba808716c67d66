package fakereceiver

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"
	"go.uber.org/zap"

	flametelreceiver "github.com/flametel/flametel/receiver"
)

// Behaviour is what the receiver does.
type Behaviour struct {
	// StartErr is what Start fails with.
	StartErr error
	// StartHangs: starting never ends.
	StartHangs bool
	// Late is what it fails with for ever, right after it has started.
	Late error
	// Warn is a warning that it logs when it starts.
	Warn string
	// First is sent when it has started, Last when it is shut down.
	First, Last *Data
	// Hang: shutting down never ends.
	Hang bool
	// Ended: the processes that are recorded have ended.
	Ended bool
}

// NewFactory returns a factory with the type and configuration of the real
// receiver.
func NewFactory(b Behaviour) xreceiver.Factory {
	f := flametelreceiver.NewFactory()
	create := func(_ context.Context, set receiver.Settings, _ component.Config, next xconsumer.Profiles) (xreceiver.Profiles, error) {
		return &fake{b, next, set.Logger}, nil
	}
	return xreceiver.NewFactory(f.Type(), f.CreateDefaultConfig, xreceiver.WithProfiles(create, component.StabilityLevelDevelopment))
}

type fake struct {
	Behaviour
	next   xconsumer.Profiles
	logger *zap.Logger
}

// Start implements component.Component.
func (f *fake) Start(ctx context.Context, host component.Host) error {
	if f.StartErr != nil {
		return f.StartErr
	}
	if f.Warn != "" {
		f.logger.Warn(f.Warn, zap.String("name", "bad\x1b[2J"), zap.Int("count", 3))
	}
	if f.StartHangs {
		select {}
	}
	if f.Late != nil {
		componentstatus.ReportStatus(host, componentstatus.NewPermanentErrorEvent(f.Late))
	}
	return f.send(ctx, f.First)
}

// TargetsEnded is that of the receiver.
func (f *fake) TargetsEnded() bool { return f.Ended }

// Shutdown implements component.Component.
func (f *fake) Shutdown(ctx context.Context) error {
	if f.Hang {
		select {}
	}
	return f.send(ctx, f.Last)
}

func (f *fake) send(ctx context.Context, d *Data) error {
	if d == nil {
		return nil
	}
	return f.next.ConsumeProfiles(ctx, d.Profiles())
}
