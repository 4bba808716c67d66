package metrics

import (
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/pdatabuild"
	"github.com/flametel/flametel/receiver/internal/source"
)

const (
	// otherName is the name of the process that stands for those beyond the limit.
	otherName = "other"
	// keyOverflow marks the series of what is beyond the limit (OpenTelemetry
	// metrics SDK, cardinality limits).
	keyOverflow = "otel.metric.overflow"
	keyKind     = "flametel.kind"
	keyState    = "flametel.sample.state"
	keyCause    = "flametel.sample.lost_cause"
)

// noValue flags a point that says that its series has ended.
var noValue = pmetric.DefaultDataPointFlags.WithNoRecordedValue(true)

// Collect returns everything up to now, cumulative since each process was first
// seen. Of processes that it forgets it says once that their series end.
func (a *Aggregator) Collect(now time.Time) pmetric.Metrics {
	gone := a.forget(now)
	md := pmetric.NewMetrics()
	if a.settings.Has(metadata.FlametelSamples) && len(a.order) > 0 {
		a.writeHealth(md.ResourceMetrics().AppendEmpty(), now)
	}
	for _, p := range gone {
		a.writeProcess(md.ResourceMetrics().AppendEmpty(), p, now, true)
	}
	for _, key := range a.sorted() {
		a.writeProcess(md.ResourceMetrics().AppendEmpty(), a.processes[key], now, false)
	}
	if a.other != nil {
		a.writeProcess(md.ResourceMetrics().AppendEmpty(), a.other, now, false)
	}
	return md
}

func (a *Aggregator) scope(rm pmetric.ResourceMetrics) pmetric.MetricSlice {
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().SetName(metadata.ScopeName)
	sm.Scope().SetVersion(a.settings.Version)
	return sm.Metrics()
}

// declare writes what metadata.yaml says of a metric.
func declare(to pmetric.Metric, m *metadata.Metric) {
	to.SetName(m.Name)
	to.SetUnit(m.Unit)
	to.SetDescription(m.Description)
	if m.Histogram {
		to.SetEmptyHistogram().SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		return
	}
	sum := to.SetEmptySum()
	sum.SetIsMonotonic(true)
	sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
}

func (a *Aggregator) writeProcess(rm pmetric.ResourceMetrics, p *process, now time.Time, ends bool) {
	pdatabuild.FillResource(rm.Resource().Attributes(), p.identity, a.settings.HostName)
	if p.identity == nil {
		rm.Resource().Attributes().PutStr(pdatabuild.KeyExecutableName, otherName)
	}
	out := a.scope(rm)
	start, end := pcommon.NewTimestampFromTime(p.start), pcommon.NewTimestampFromTime(now)
	for _, m := range p.order {
		to := out.AppendEmpty()
		declare(to, m.Metric)
		for _, s := range p.metrics[m].order {
			if m.Histogram {
				s.writeHistogram(to.Histogram().DataPoints().AppendEmpty(), start, end, ends)
			} else {
				s.writeSum(to.Sum().DataPoints().AppendEmpty(), m, start, end, ends)
			}
		}
	}
}

func (s *series) writeSum(point pmetric.NumberDataPoint, m *source.Metric, start, end pcommon.Timestamp, ends bool) {
	point.SetStartTimestamp(start)
	point.SetTimestamp(end)
	s.writeLabels(point.Attributes())
	switch {
	case ends:
		point.SetFlags(noValue)
	case m.Double:
		point.SetDoubleValue(float64(s.sum) / 1e9)
	default:
		point.SetIntValue(s.sum)
	}
}

func (s *series) writeHistogram(point pmetric.HistogramDataPoint, start, end pcommon.Timestamp, ends bool) {
	point.SetStartTimestamp(start)
	point.SetTimestamp(end)
	s.writeLabels(point.Attributes())
	if ends {
		point.SetFlags(noValue)
		return
	}
	point.SetCount(s.count)
	point.SetSum(float64(s.sum) / 1e9)
	point.ExplicitBounds().EnsureCapacity(buckets - 1)
	for i := range buckets - 1 {
		point.ExplicitBounds().Append(bound(i))
	}
	point.BucketCounts().FromRaw(s.buckets[:])
}

func (s *series) writeLabels(to pcommon.Map) {
	for _, l := range s.labels {
		if l.IsNumber {
			to.PutInt(l.Key, l.Number)
		} else {
			to.PutStr(l.Key, pdatabuild.Sanitize(l.Text))
		}
	}
	if s.overflow {
		to.PutBool(keyOverflow, true)
	}
}

// writeHealth writes what became of all samples, by kind.
func (a *Aggregator) writeHealth(rm pmetric.ResourceMetrics, now time.Time) {
	pdatabuild.FillResource(rm.Resource().Attributes(), nil, a.settings.HostName)
	to := a.scope(rm).AppendEmpty()
	declare(to, metadata.FlametelSamples)
	for _, kind := range a.order {
		h := a.kinds[kind]
		add := func(state, cause string, n uint64) {
			point := to.Sum().DataPoints().AppendEmpty()
			point.SetStartTimestamp(pcommon.NewTimestampFromTime(a.start))
			point.SetTimestamp(pcommon.NewTimestampFromTime(now))
			point.SetIntValue(int64(n))
			point.Attributes().PutStr(keyKind, kind.Name)
			point.Attributes().PutStr(keyState, state)
			if cause != "" {
				point.Attributes().PutStr(keyCause, cause)
			}
		}
		add("kept", "", h.kept)
		add("idle", "", h.idle)
		add("filtered", "", h.filtered)
		for _, cause := range slices.Sorted(maps.Keys(h.lost)) {
			add("lost", cause, h.lost[cause])
		}
	}
}
