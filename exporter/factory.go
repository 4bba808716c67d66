package exporter

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"
	"go.opentelemetry.io/collector/exporter/xexporter"

	"github.com/flametel/flametel/exporter/internal/metadata"
)

// NewFactory returns the factory of the exporter. It also is an
// xexporter.Factory, which creates exporters of profiles.
func NewFactory() exporter.Factory { return newFactory(nil) }

// newFactory returns a factory whose exporters a Flusher knows, if it is not nil.
func newFactory(f *Flusher) exporter.Factory {
	create := func(ctx context.Context, set exporter.Settings, cfg component.Config) (xexporter.Profiles, error) {
		return createProfiles(ctx, set, cfg, f)
	}
	return xexporter.NewFactory(
		metadata.Type,
		createDefaultConfig,
		xexporter.WithProfiles(create, metadata.ProfilesStability),
	)
}

func createProfiles(ctx context.Context, set exporter.Settings, cfg component.Config, f *Flusher) (xexporter.Profiles, error) {
	e, err := newFileExporter(cfg.(*Config), set)
	if err != nil {
		return nil, err
	}
	if f != nil {
		e.flusher = f
		e.facts = append(e.facts, f.Facts...)
	}
	return xexporterhelper.NewProfiles(ctx, set, cfg, e.consume,
		exporterhelper.WithStart(e.start),
		exporterhelper.WithShutdown(e.shutdown),
		exporterhelper.WithCapabilities(consumer.Capabilities{MutatesData: !e.choice.KeepsAll()}),
		// Consuming only adds to memory, so there is nothing to time out,
		// to queue or to try again.
		exporterhelper.WithTimeout(exporterhelper.TimeoutConfig{Timeout: 0}),
	)
}
