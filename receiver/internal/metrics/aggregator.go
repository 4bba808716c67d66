package metrics

import (
	"fmt"
	"slices"
	"time"

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
}

const (
	// maxSeries is how many series a process has of one metric. Connections are
	// what there may be many of.
	maxSeries = 200
	// idleTime is how long a process keeps its series without an event.
	idleTime = 5 * time.Minute
)

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
	start     time.Time
	processes map[processKey]*process
	other     *process
	kinds     map[*source.Descriptor]*health
	order     []*source.Descriptor
}

type processKey struct {
	pid   int
	start uint64
}

// process is the series of one process.
type process struct {
	identity *window.Process // nil for the one of all others
	start    time.Time
	seen     time.Time
	metrics  map[*source.Metric]*metric
	order    []*source.Metric
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
func New(s Settings, now time.Time) *Aggregator {
	return &Aggregator{
		settings: s, start: now, processes: make(map[processKey]*process),
		kinds: make(map[*source.Descriptor]*health),
	}
}

// Add takes a sample in. values are those of the kind; length is
// bpf.Sample.Length, events the number of events that the sample itself counts.
func (a *Aggregator) Add(id *window.Process, kind *source.Descriptor, labels *source.Labels, values []int64, events uint64, length int, now time.Time) {
	if len(kind.Metrics) == 0 {
		return
	}
	p := a.process(id, now)
	for i := range kind.Metrics {
		m := &kind.Metrics[i]
		if m.Needs != "" && !has(labels, m.Needs) {
			continue
		}
		s := p.metric(m).find(m, labels)
		if !m.Seconds {
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

// process finds the series of a process, or those of all others.
func (a *Aggregator) process(id *window.Process, now time.Time) *process {
	key := processKey{id.PID, id.StartNanos}
	if p := a.processes[key]; p != nil {
		p.identity, p.seen = id, now
		return p
	}
	p := &process{start: now, seen: now, metrics: make(map[*source.Metric]*metric)}
	if len(a.processes) < a.settings.MaxProcesses {
		p.identity = id
		a.processes[key] = p
		return p
	}
	if a.other == nil {
		a.other = p
	}
	return a.other
}

func (p *process) metric(m *source.Metric) *metric {
	found := p.metrics[m]
	if found == nil {
		found = &metric{series: make(map[string]*series), byLabels: make(map[*source.Labels]*series)}
		p.metrics[m] = found
		p.order = append(p.order, m)
	}
	return found
}

// find returns the series for labels, a new one while there is room.
func (m *metric) find(of *source.Metric, labels *source.Labels) *series {
	if s := m.byLabels[labels]; s != nil {
		return s
	}
	var chosen []source.Label
	if labels != nil {
		for _, l := range *labels {
			name, ok := of.Keys[l.Key]
			if !ok {
				continue
			}
			if name != "" {
				l.Key = name
			}
			chosen = append(chosen, l)
		}
	}
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

// Count takes in what became of the samples of a window.
func (a *Aggregator) Count(t *window.Tally) {
	h := a.kinds[t.Kind]
	if h == nil {
		h = &health{lost: make(map[string]uint64)}
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

// forget drops processes of which nothing has been seen for a long time.
func (a *Aggregator) forget(now time.Time) {
	for key, p := range a.processes {
		if now.Sub(p.seen) > max(idleTime, 2*a.settings.Window) {
			delete(a.processes, key)
		}
	}
}

// bound is the upper bound of bucket i in seconds.
func bound(i int) float64 { return float64(uint64(1)<<(firstBit+i)) / 1e9 }
