package receiver

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/window"
)

// The attributes of the internal metrics, as in metadata.yaml.
const (
	attrKind   = attribute.Key("kind")
	attrCause  = attribute.Key("cause")
	attrReason = attribute.Key("reason")
	attrMap    = attribute.Key("map")
)

// The causes for which kept samples are not delivered.
const (
	causeBusy    = "busy"    // the pipeline still worked on an earlier window
	causeRefused = "refused" // the pipeline returned an error
)

// recordTally counts a whole window.
func recordTally(ctx context.Context, b *metadata.TelemetryBuilder, t *window.Tally) {
	kind := attrKind.String(t.Kind.Name)
	with := metric.WithAttributeSet(attribute.NewSet(kind))
	b.EbpfProfilerSamplesTaken.Add(ctx, int64(t.Taken), with)
	b.EbpfProfilerSamplesKept.Add(ctx, int64(t.Kept), with)
	b.EbpfProfilerSamplesIdle.Add(ctx, int64(t.Idle), with)
	b.EbpfProfilerSamplesFiltered.Add(ctx, int64(t.Filtered), with)
	b.EbpfProfilerSamplesMissed.Add(ctx, int64(t.Missed), with)
	b.EbpfProfilerStacksTruncated.Add(ctx, int64(t.Truncated), with)
	b.EbpfProfilerFramesNamed.Add(ctx, int64(t.FramesNamed), with)
	b.EbpfProfilerStacksComplete.Add(ctx, int64(t.Complete), with)
	for reason, n := range t.Incomplete {
		b.EbpfProfilerStacksIncomplete.Add(ctx, int64(n), metric.WithAttributeSet(attribute.NewSet(kind, attrReason.String(reason))))
	}
	for cause, n := range t.Lost {
		b.EbpfProfilerSamplesLost.Add(ctx, int64(n), metric.WithAttributeSet(attribute.NewSet(kind, attrCause.String(cause))))
	}
	for reason, n := range t.FramesUnknown {
		b.EbpfProfilerFramesUnknown.Add(ctx, int64(n), metric.WithAttributeSet(attribute.NewSet(kind, attrReason.String(reason.String()))))
	}
}

// recordUndelivered counts kept samples that went nowhere.
func recordUndelivered(ctx context.Context, b *metadata.TelemetryBuilder, kind *source.Descriptor, cause string, n uint64) {
	b.EbpfProfilerSamplesUndelivered.Add(ctx, int64(n),
		metric.WithAttributeSet(attribute.NewSet(attrKind.String(kind.Name), attrCause.String(cause))))
}
