package metrics

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/window"
)

var (
	begin = time.Unix(1000, 0)
	calls = &source.Descriptor{Name: "syscalls", Metrics: []source.Metric{
		{Name: "duration", Unit: "s", Seconds: true, Value: 0, Time: 1, Keys: map[string]string{"name": ""}},
		{Name: "errors", Unit: "{error}", Value: 0, Keys: map[string]string{"name": "call", "error": ""}, Needs: "error"},
	}}
	openat = &source.Labels{{Key: "name", Text: "openat"}}
	failed = &source.Labels{{Key: "name", Text: "open\x00at"}, {Key: "error", Text: "ENOENT"}, {Key: "path", Text: "/x"}}
)

func program(pid int) *window.Process {
	return &window.Process{PID: pid, StartNanos: 7, Name: fmt.Sprint("p", pid)}
}

// find returns the metric of a process, by name.
func find(t *testing.T, md pmetric.Metrics, process, name string) pmetric.Metric {
	t.Helper()
	for _, rm := range md.ResourceMetrics().All() {
		if v, ok := rm.Resource().Attributes().Get("process.executable.name"); process == "" && !ok || v.Str() == process && ok {
			for _, m := range rm.ScopeMetrics().At(0).Metrics().All() {
				if m.Name() == name {
					return m
				}
			}
		}
	}
	t.Fatalf("process %q has no metric %q", process, name)
	return pmetric.Metric{}
}

func TestHistogramsAddUp(t *testing.T) {
	t.Parallel()
	a := New(Settings{HostName: "h", MaxProcesses: 10}, begin)
	// 3 calls of 600 ns, then 2 of 1.5 us, in another drain one of 40 s.
	a.Add(program(1), calls, openat, []int64{3, 1800}, 3, 10, begin)
	a.Add(program(1), calls, openat, []int64{2, 3000}, 2, 11, begin)
	a.Add(program(1), calls, openat, []int64{1, 40e9}, 1, 36, begin)
	// A part of a wait, and its end, which counts no event of its own.
	a.Add(program(1), calls, openat, []int64{1, 1000}, 1, 0, begin)
	a.Add(program(1), calls, openat, []int64{0, 500}, 1, 11, begin)
	md := a.Collect(begin.Add(10 * time.Second))
	h := find(t, md, "p1", "duration").Histogram()
	assert.Equal(t, pmetric.AggregationTemporalityCumulative, h.AggregationTemporality())
	require.Equal(t, 1, h.DataPoints().Len())
	p := h.DataPoints().At(0)
	assert.EqualValues(t, 7, p.Count())
	assert.InDelta(t, 40+6300e-9, p.Sum(), 1e-9)
	counts, bounds := p.BucketCounts().AsRaw(), p.ExplicitBounds().AsRaw()
	require.Len(t, counts, len(bounds)+1)
	assert.EqualValues(t, 3, counts[0])
	assert.EqualValues(t, 3, counts[1])
	assert.EqualValues(t, 1, counts[len(counts)-1])
	assert.InDelta(t, 1.024e-6, bounds[0], 1e-12)
	assert.InDelta(t, 17.18, bounds[len(bounds)-1], 0.01)
	v, _ := p.Attributes().Get("name")
	assert.Equal(t, "openat", v.Str())
}

func TestErrorsAreCountedWhereThereIsOne(t *testing.T) {
	t.Parallel()
	a := New(Settings{MaxProcesses: 1}, begin)
	a.Add(program(1), calls, openat, []int64{3, 30}, 3, 4, begin)
	a.Add(program(1), calls, failed, []int64{2, 20}, 2, 4, begin)
	a.Add(program(1), calls, failed, []int64{2, 20}, 2, 4, begin)
	points := find(t, a.Collect(begin), "p1", "errors").Sum().DataPoints()
	require.Equal(t, 1, points.Len())
	assert.EqualValues(t, 4, points.At(0).IntValue())
	assert.Equal(t, map[string]any{"call": "open\ufffdat", "error": "ENOENT"}, points.At(0).Attributes().AsRaw())
}

func TestManyProcessesAndSeriesAreBounded(t *testing.T) {
	t.Parallel()
	a := New(Settings{MaxProcesses: 3}, begin)
	for i := range 100 {
		a.Add(program(i), calls, openat, []int64{1, 1}, 1, 4, begin)
	}
	md := a.Collect(begin)
	assert.Equal(t, 1+3+1, md.ResourceMetrics().Len())
	assert.EqualValues(t, 97, find(t, md, otherName, "duration").Histogram().DataPoints().At(0).Count())

	for i := range 1000 {
		a.Add(program(0), calls, &source.Labels{{Key: "name", Text: fmt.Sprint("call", i)}}, []int64{1, 1}, 1, 4, begin)
	}
	points := find(t, a.Collect(begin), "p0", "duration").Histogram().DataPoints()
	assert.Equal(t, maxSeries+1, points.Len())
	last := points.At(points.Len() - 1)
	assert.Equal(t, map[string]any{keyOverflow: true}, last.Attributes().AsRaw())
	assert.EqualValues(t, 1000-(maxSeries-1), last.Count(), "openat has a series, too")
}

func TestProcessesThatAreGoneGiveWay(t *testing.T) {
	t.Parallel()
	a := New(Settings{MaxProcesses: 1, Window: time.Second}, begin)
	a.Add(program(1), calls, openat, []int64{1, 1}, 1, 4, begin)
	assert.Equal(t, 2, a.Collect(begin.Add(idleTime)).ResourceMetrics().Len())
	assert.Equal(t, 1, a.Collect(begin.Add(idleTime+time.Second)).ResourceMetrics().Len())
	later := begin.Add(idleTime + 2*time.Second)
	a.Add(program(2), calls, openat, []int64{1, 1}, 1, 4, later)
	point := find(t, a.Collect(later), "p2", "duration").Histogram().DataPoints().At(0)
	assert.Equal(t, later.UTC(), point.StartTimestamp().AsTime())
}

func TestHealthAddsUp(t *testing.T) {
	t.Parallel()
	a := New(Settings{}, begin)
	for range 2 {
		w := window.New(begin, window.Limits{})
		w.Tally(calls).Count(window.Counts{Taken: 10, Idle: 1, Filtered: 2, Lost: map[string]uint64{"state": 3}})
		a.Count(w.Tally(calls))
	}
	got := map[string]int64{}
	for _, p := range find(t, a.Collect(begin), "", "flametel.samples").Sum().DataPoints().All() {
		state, _ := p.Attributes().Get(keyState)
		got[state.Str()] += p.IntValue()
	}
	assert.Equal(t, map[string]int64{"kept": 0, "idle": 2, "filtered": 4, "lost": 6}, got)
}
