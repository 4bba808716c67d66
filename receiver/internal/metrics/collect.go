package metrics

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/pdatabuild"
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
	// unitSeconds is the unit of times, which sources tell in nanoseconds.
	unitSeconds = "s"
)

// Collect returns everything up to now, cumulative since each process was first
// seen.
func (a *Aggregator) Collect(now time.Time) pmetric.Metrics {
	a.forget(now)
	md := pmetric.NewMetrics()
	a.writeHealth(md.ResourceMetrics().AppendEmpty(), now)
	keys := slices.SortedFunc(maps.Keys(a.processes), func(x, y processKey) int {
		return cmp.Or(cmp.Compare(x.pid, y.pid), cmp.Compare(x.start, y.start))
	})
	for _, key := range keys {
		a.writeProcess(md.ResourceMetrics().AppendEmpty(), a.processes[key], now)
	}
	if a.other != nil {
		a.writeProcess(md.ResourceMetrics().AppendEmpty(), a.other, now)
	}
	return md
}

func (a *Aggregator) scope(rm pmetric.ResourceMetrics) pmetric.MetricSlice {
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().SetName(metadata.ScopeName)
	sm.Scope().SetVersion(a.settings.Version)
	return sm.Metrics()
}

func (a *Aggregator) writeProcess(rm pmetric.ResourceMetrics, p *process, now time.Time) {
	pdatabuild.FillResource(rm.Resource().Attributes(), p.identity, a.settings.HostName)
	if p.identity == nil {
		rm.Resource().Attributes().PutStr(pdatabuild.KeyExecutableName, otherName)
	}
	out := a.scope(rm)
	start, end := pcommon.NewTimestampFromTime(p.start), pcommon.NewTimestampFromTime(now)
	for _, m := range p.order {
		to := out.AppendEmpty()
		to.SetName(m.Name)
		to.SetUnit(m.Unit)
		to.SetDescription(m.Description)
		if m.Seconds {
			h := to.SetEmptyHistogram()
			h.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
			for _, s := range p.metrics[m].order {
				s.writeHistogram(h.DataPoints().AppendEmpty(), start, end)
			}
			continue
		}
		sum := to.SetEmptySum()
		sum.SetIsMonotonic(true)
		sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		for _, s := range p.metrics[m].order {
			point := sum.DataPoints().AppendEmpty()
			point.SetStartTimestamp(start)
			point.SetTimestamp(end)
			if m.Unit == unitSeconds {
				point.SetDoubleValue(float64(s.sum) / 1e9)
			} else {
				point.SetIntValue(s.sum)
			}
			s.writeLabels(point.Attributes())
		}
	}
}

func (s *series) writeHistogram(point pmetric.HistogramDataPoint, start, end pcommon.Timestamp) {
	point.SetStartTimestamp(start)
	point.SetTimestamp(end)
	point.SetCount(s.count)
	point.SetSum(float64(s.sum) / 1e9)
	point.ExplicitBounds().EnsureCapacity(buckets - 1)
	for i := range buckets - 1 {
		point.ExplicitBounds().Append(bound(i))
	}
	point.BucketCounts().FromRaw(s.buckets[:])
	s.writeLabels(point.Attributes())
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
	to.SetName("flametel.samples")
	to.SetUnit("{sample}")
	to.SetDescription("Observations by what became of them.")
	sum := to.SetEmptySum()
	sum.SetIsMonotonic(true)
	sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	for _, kind := range a.order {
		h := a.kinds[kind]
		add := func(state, cause string, n uint64) {
			point := sum.DataPoints().AppendEmpty()
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
