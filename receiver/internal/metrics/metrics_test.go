package metrics

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/window"
)

var (
	begin  = time.Unix(1000, 0)
	period = 200 * time.Millisecond
	calls  = &source.Descriptor{Name: "syscalls", Metrics: []source.Metric{
		{Metric: metadata.FlametelSyscallDuration, Value: 0, Time: 1},
		{Metric: metadata.FlametelSyscallErrors, Value: 0, Needs: "error.type"},
	}}
	faults = &source.Descriptor{Name: "page_faults", Metrics: []source.Metric{
		{Metric: metadata.ProcessPagingFaults, Renamed: map[string]string{"fault": "system.paging.fault.type"}},
	}}
	locks  = &source.Descriptor{Name: "lock_contention", Metrics: []source.Metric{{Metric: metadata.FlametelLockWaitTime}}}
	openat = named("openat")
	failed = &source.Labels{{Key: "flametel.syscall", Text: "open\x00at"}, {Key: "error.type", Text: "ENOENT"}, {Key: "path", Text: "/x"}}
)

const (
	durations = "flametel.syscall.duration"
	errors    = "flametel.syscall.errors"
)

func named(call string) *source.Labels { return &source.Labels{{Key: "flametel.syscall", Text: call}} }

// empty returns an Aggregator of all metrics whose first drain ends at begin.
func empty(maxProcesses int) *Aggregator {
	config := metadata.DefaultMetricsConfig()
	a := New(Settings{HostName: "h", MaxProcesses: maxProcesses, Window: time.Second, Has: config.Has, Causes: []string{"map_full"}})
	a.Drained(begin.Add(-period), begin)
	return a
}

// call adds one call of 1 ns.
func call(a *Aggregator, pid int) { a.Add(program(pid), calls, openat, []int64{1, 1}, 1, 4) }

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
	a := empty(10)
	// 3 calls of 600 ns, then 2 of 1.5 us, in another drain one of 40 s.
	a.Add(program(1), calls, openat, []int64{3, 1800}, 3, 10)
	a.Add(program(1), calls, openat, []int64{2, 3000}, 2, 11)
	a.Add(program(1), calls, openat, []int64{1, 40e9}, 1, 36)
	// A part of a wait, and its end, which counts no event of its own.
	a.Add(program(1), calls, openat, []int64{1, 1000}, 1, 0)
	a.Add(program(1), calls, openat, []int64{0, 500}, 1, 11)
	md := a.Collect(begin.Add(10 * time.Second))
	h := find(t, md, "p1", durations).Histogram()
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
	v, _ := p.Attributes().Get("flametel.syscall")
	assert.Equal(t, "openat", v.Str())
}

func TestErrorsAreCountedWhereThereIsOne(t *testing.T) {
	t.Parallel()
	a := empty(1)
	a.Add(program(1), calls, openat, []int64{3, 30}, 3, 4)
	a.Add(program(1), calls, failed, []int64{2, 20}, 2, 4)
	a.Add(program(1), calls, failed, []int64{2, 20}, 2, 4)
	points := find(t, a.Collect(begin), "p1", errors).Sum().DataPoints()
	require.Equal(t, 1, points.Len())
	assert.EqualValues(t, 4, points.At(0).IntValue())
	assert.Equal(t, map[string]any{"flametel.syscall": "open\ufffdat", "error.type": "ENOENT"}, points.At(0).Attributes().AsRaw())
}

func TestManyProcessesAndSeriesAreBounded(t *testing.T) {
	t.Parallel()
	a := empty(3)
	for i := range 100 {
		a.Add(program(i), calls, openat, []int64{1, 1}, 1, 4)
	}
	md := a.Collect(begin)
	assert.Equal(t, 3+1, md.ResourceMetrics().Len())
	assert.EqualValues(t, 97, find(t, md, otherName, durations).Histogram().DataPoints().At(0).Count())

	for i := range 1000 {
		a.Add(program(0), calls, named(fmt.Sprint("call", i)), []int64{1, 1}, 1, 4)
	}
	points := find(t, a.Collect(begin), "p0", durations).Histogram().DataPoints()
	assert.Equal(t, maxSeries+1, points.Len())
	last := points.At(points.Len() - 1)
	assert.Equal(t, map[string]any{keyOverflow: true}, last.Attributes().AsRaw())
	assert.EqualValues(t, 1000-(maxSeries-1), last.Count(), "openat has a series, too")
}

// A program that is renamed or begins another has series of its own from then on.
func TestAnotherProgramHasOtherSeries(t *testing.T) {
	t.Parallel()
	a := empty(10)
	call(a, 1)
	next := &window.Process{PID: 1, StartNanos: 7, Name: "next"}
	a.Drained(begin, begin.Add(period))
	a.Add(next, calls, openat, []int64{2, 2}, 2, 4)
	a.Add(program(2), calls, openat, []int64{1, 1}, 1, 4)
	md := a.Collect(begin)
	first := find(t, md, "p1", durations).Histogram().DataPoints().At(0)
	second := find(t, md, "next", durations).Histogram().DataPoints().At(0)
	assert.EqualValues(t, 1, first.Count())
	assert.EqualValues(t, 2, second.Count())
	assert.Equal(t, begin.Add(-period).UTC(), first.StartTimestamp().AsTime(), "when the drain began that saw it first")
	assert.Equal(t, begin.UTC(), second.StartTimestamp().AsTime())

	// Of one drain, nobody knows which came first.
	a.Drained(begin, begin.Add(period))
	call(a, 2)
	a.Add(&window.Process{PID: 2, StartNanos: 7, Name: "next"}, calls, openat, []int64{1, 1}, 1, 4)

	a.Review(func(uint32, uint64) bool { return false })
	gone := begin.Add(idleTime + time.Second)
	md = a.Collect(gone)
	assert.True(t, find(t, md, "p1", durations).Histogram().DataPoints().At(0).Flags().NoRecordedValue(), "the first has ended")
	assert.False(t, find(t, md, "next", durations).Histogram().DataPoints().At(0).Flags().NoRecordedValue(), "the second is idle")
	assert.False(t, find(t, md, "p2", durations).Histogram().DataPoints().At(0).Flags().NoRecordedValue())
}

// A later process that nobody could tell from an earlier one does not make its
// sums smaller.
func TestALaterProcessOfTheSameNameGoesOn(t *testing.T) {
	t.Parallel()
	a := empty(10)
	call(a, 1)
	a.Review(func(uint32, uint64) bool { return true })
	later := program(1)
	later.StartNanos += 100e9
	a.Drained(begin, begin.Add(period))
	a.Add(later, calls, openat, []int64{1, 1}, 1, 4)
	md := a.Collect(begin)
	require.Equal(t, 1, md.ResourceMetrics().Len())
	assert.EqualValues(t, 2, find(t, md, "p1", durations).Histogram().DataPoints().At(0).Count())
}

func TestSeriesOfProcessesThatAreGoneEnd(t *testing.T) {
	t.Parallel()
	a := empty(10)
	a.Add(program(1), calls, failed, []int64{1, 1}, 1, 4)
	call(a, 2)
	a.Review(func(pid uint32, start uint64) bool { return pid == 1 && start == 7 })
	require.Equal(t, 2, a.Collect(begin.Add(idleTime)).ResourceMetrics().Len(), "for as long as that they are told of")
	md := a.Collect(begin.Add(idleTime + time.Second))
	require.Equal(t, 2, md.ResourceMetrics().Len())
	histogram := find(t, md, "p1", durations).Histogram().DataPoints().At(0)
	assert.True(t, histogram.Flags().NoRecordedValue())
	assert.Equal(t, "open\ufffdat", histogram.Attributes().AsRaw()["flametel.syscall"])
	assert.True(t, find(t, md, "p1", errors).Sum().DataPoints().At(0).Flags().NoRecordedValue())
	assert.False(t, find(t, md, "p2", durations).Histogram().DataPoints().At(0).Flags().NoRecordedValue(), "it lives")
	md = a.Collect(begin.Add(idleTime + 2*time.Second))
	assert.Equal(t, 1, md.ResourceMetrics().Len(), "the end is told once")

	// A process that comes later begins at zero, when it was seen first.
	later := begin.Add(idleTime + 3*time.Second)
	a.Drained(later.Add(-period), later)
	call(a, 1)
	point := find(t, a.Collect(later), "p1", durations).Histogram().DataPoints().At(0)
	assert.EqualValues(t, 1, point.Count())
	assert.Equal(t, later.Add(-period).UTC(), point.StartTimestamp().AsTime())
}

// One that runs and does nothing keeps its series, unless others find no room.
func TestIdleProcessesMakeRoom(t *testing.T) {
	t.Parallel()
	a := empty(1)
	call(a, 1)
	hour := begin.Add(time.Hour)
	assert.False(t, find(t, a.Collect(hour), "p1", durations).Histogram().DataPoints().At(0).Flags().NoRecordedValue())
	a.Drained(hour.Add(-period), hour)
	call(a, 2)
	md := a.Collect(hour)
	assert.True(t, find(t, md, "p1", durations).Histogram().DataPoints().At(0).Flags().NoRecordedValue())
	assert.EqualValues(t, 1, find(t, md, otherName, durations).Histogram().DataPoints().At(0).Count())
	call(a, 2)
	md = a.Collect(hour)
	assert.EqualValues(t, 1, find(t, md, "p2", durations).Histogram().DataPoints().At(0).Count())
	other := find(t, md, otherName, durations).Histogram().DataPoints().At(0)
	assert.EqualValues(t, 1, other.Count(), "what it had is kept")
	assert.Equal(t, hour.Add(-period).UTC(), other.StartTimestamp().AsTime())
}

func TestMetricsThatAreOffAreNotThere(t *testing.T) {
	t.Parallel()
	config := metadata.DefaultMetricsConfig()
	config.FlametelSyscallDuration.Enabled = false
	config.FlametelSamples.Enabled = false
	a := New(Settings{MaxProcesses: 10, Has: config.Has})
	a.Drained(begin, begin)
	call(a, 1)
	a.Count(&window.Tally{Kind: calls})
	assert.Zero(t, a.Collect(begin).ResourceMetrics().Len(), "nothing for a process without errors")
	a.Add(program(1), calls, failed, []int64{1, 1}, 1, 4)
	md := a.Collect(begin)
	require.Equal(t, 1, md.MetricCount())
	assert.EqualValues(t, 1, find(t, md, "p1", errors).Sum().DataPoints().At(0).IntValue())
}

func TestSums(t *testing.T) {
	t.Parallel()
	a := empty(10)
	a.Add(program(1), faults, &source.Labels{{Key: "fault", Text: "major"}}, []int64{7}, 7, 0)
	a.Add(program(1), locks, &source.Labels{{Key: "flametel.lock.type", Text: "mutex"}}, []int64{25e8}, 1, 0)
	md := a.Collect(begin)
	assert.Equal(t, map[string]any{"system.paging.fault.type": "major"}, find(t, md, "p1", "process.paging.faults").Sum().DataPoints().At(0).Attributes().AsRaw())
	waited := find(t, md, "p1", "flametel.lock.wait.time")
	assert.Equal(t, "s", waited.Unit())
	assert.InDelta(t, 2.5, waited.Sum().DataPoints().At(0).DoubleValue(), 1e-9)
}

func TestHealthAddsUp(t *testing.T) {
	t.Parallel()
	a := empty(0)
	for range 2 {
		w := window.New(begin, window.Limits{})
		w.Tally(calls).Count(window.Counts{Taken: 10, Idle: 1, Filtered: 2, Lost: map[string]uint64{"state": 3}})
		a.Count(w.Tally(calls))
	}
	got := map[string]int64{}
	for _, p := range find(t, a.Collect(begin), "", "flametel.samples").Sum().DataPoints().All() {
		assert.Equal(t, begin.Add(-period).UTC(), p.StartTimestamp().AsTime())
		state, _ := p.Attributes().Get(keyState)
		cause, _ := p.Attributes().Get(keyCause)
		got[state.Str()+cause.Str()] += p.IntValue()
	}
	assert.Equal(t, map[string]int64{"kept": 0, "idle": 2, "filtered": 4, "lostmap_full": 0, "loststate": 6}, got)
}
