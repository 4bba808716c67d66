package metrics

import (
	"fmt"
	"slices"
	"time"

	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/window"
)

// Settings bound an Aggregator.
type Settings struct {
	HostName, Version string
	// MaxProcesses have series of their own at a time, others share theirs.
	MaxProcesses int
	// Window is how much time passes between two calls of Collect.
	Window time.Duration
	// Has tells which metrics are wanted.
	Has func(*metadata.Metric) bool
	// Causes are those of loss that are told of before there is one, so that the
	// first loss is an increase.
	Causes []string
}

// maxSeries is how many series a process has of one metric. Connections are what
// there may be many of.
const maxSeries = 200

// The histograms have a bound at each power of two nanoseconds from 1.024 us to
// 17.2 s: what is shorter or longer is in the first and the last bucket.
const (
	firstBit = 10
	lastBit  = 34
	buckets  = lastBit - firstBit + 2
)

// Aggregator adds samples up. It is not safe for concurrent use.
type Aggregator struct {
	settings  Settings
	start     time.Time // when the first drain began, zero before
	from, to  time.Time // of the drain whose samples are added
	processes map[processKey]*process
	other     *process
	crowded   bool // since the last Collect, a process found no room
	kinds     map[*source.Descriptor]*health
	order     []*source.Descriptor
}

// metric is the series of a metric. Those that cannot be told apart any more go
// to the series without labels.
type metric struct {
	series   map[string]*series
	order    []*series
	byLabels map[*source.Labels]*series
}

type series struct {
	labels   []source.Label
	overflow bool
	count    uint64 // of a histogram
	sum      int64  // of a sum; nanoseconds of a histogram
	buckets  [buckets]uint64
}

// health is what became of the samples of a kind.
type health struct {
	kept, idle, filtered uint64
	lost                 map[string]uint64
}

// New returns an empty Aggregator.
func New(s Settings) *Aggregator {
	return &Aggregator{settings: s, processes: make(map[processKey]*process), kinds: make(map[*source.Descriptor]*health)}
}

// Drained says when that happened which Add gets next.
func (a *Aggregator) Drained(from, to time.Time) {
	a.from, a.to = from, to
	if a.start.IsZero() {
		a.start = from
	}
}

// Add takes a sample in. values are those of the kind; length is
// bpf.Sample.Length, events the number of events that the sample itself counts.
func (a *Aggregator) Add(id *window.Process, kind *source.Descriptor, labels *source.Labels, values []int64, events uint64, length int) {
	var p *process
	for i := range kind.Metrics {
		m := &kind.Metrics[i]
		if !a.settings.Has(m.Metric) || m.Needs != "" && !has(labels, m.Needs) {
			continue
		}
		if p == nil {
			p = a.process(id)
		}
		s := p.metric(m).find(m, labels)
		if !m.Histogram {
			s.sum += values[m.Value]
			continue
		}
		s.sum += values[m.Time]
		if length == 0 {
			continue // a part of an event whose end is to come
		}
		n := uint64(max(values[m.Value], 0))
		if n == 0 {
			n = events // the end of one whose parts were told before
		}
		s.count += n
		s.buckets[bucket(length)] += n
	}
}

// bucket is the one for durations of so many bits.
func bucket(length int) int { return min(max(length-firstBit, 0), buckets-1) }

func has(labels *source.Labels, key string) bool {
	return labels != nil && slices.ContainsFunc(*labels, func(l source.Label) bool { return l.Key == key })
}

// find returns the series for labels, a new one while there is room.
func (m *metric) find(of *source.Metric, labels *source.Labels) *series {
	if s := m.byLabels[labels]; s != nil {
		return s
	}
	chosen := attributes(of, labels)
	key := fmt.Sprintf("%#v", chosen)
	overflow := false
	if m.series[key] == nil && len(m.series) >= maxSeries {
		key, chosen, overflow = "", nil, true
	}
	s := m.series[key]
	if s == nil {
		s = &series{labels: chosen, overflow: overflow}
		m.series[key] = s
		m.order = append(m.order, s)
	}
	if len(m.byLabels) > 16*maxSeries {
		clear(m.byLabels) // sources make labels anew now and then
	}
	m.byLabels[labels] = s
	return s
}

// attributes are those that a metric has of the labels of a sample.
func attributes(of *source.Metric, labels *source.Labels) []source.Label {
	var chosen []source.Label
	if labels == nil {
		return nil
	}
	for _, l := range *labels {
		if name, ok := of.Renamed[l.Key]; ok {
			l.Key = name
		}
		if slices.Contains(of.Attributes, l.Key) {
			chosen = append(chosen, l)
		}
	}
	return chosen
}

// Count takes in what became of the samples of a window.
func (a *Aggregator) Count(t *window.Tally) {
	h := a.kinds[t.Kind]
	if h == nil {
		h = &health{lost: make(map[string]uint64)}
		for _, cause := range a.settings.Causes {
			h.lost[cause] = 0
		}
		a.kinds[t.Kind] = h
		a.order = append(a.order, t.Kind)
	}
	h.kept += t.Kept
	h.idle += t.Idle
	h.filtered += t.Filtered
	for cause, n := range t.Lost {
		h.lost[cause] += n
	}
}

// bound is the upper bound of bucket i in seconds.
func bound(i int) float64 { return float64(uint64(1)<<(firstBit+i)) / 1e9 }
