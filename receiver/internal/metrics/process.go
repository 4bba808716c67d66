package metrics

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/window"
)

// idleTime is how long the series of a process that has ended stay, so that they
// are fetched once more, and how long one that runs may do nothing before it has
// to make room.
const idleTime = 5 * time.Minute

// processKey tells apart whose series are. A process that begins another program
// begins other series; one that has the ID and the name of an earlier one goes on
// with those of that one, because nobody who gets them could tell them apart.
type processKey struct {
	pid  int
	name string
}

// process is the series of one process.
type process struct {
	identity *window.Process // nil for the one of all others
	start    time.Time
	seen     time.Time
	ended    bool
	metrics  map[*source.Metric]*metric
	order    []*source.Metric
}

func keyOf(id *window.Process) processKey { return processKey{id.PID, id.Name} }

// process finds the series of a process, or those of all others.
func (a *Aggregator) process(id *window.Process) *process {
	key := keyOf(id)
	if p := a.processes[key]; p != nil {
		p.identity, p.seen = id, a.to
		return p
	}
	if len(a.processes) >= a.settings.MaxProcesses {
		a.crowded = true
		if a.other == nil {
			a.other = a.newProcess(nil)
		}
		return a.other
	}
	p := a.newProcess(id)
	a.processes[key] = p
	return p
}

func (a *Aggregator) newProcess(id *window.Process) *process {
	return &process{identity: id, start: a.from, seen: a.to, metrics: make(map[*source.Metric]*metric)}
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

// Review learns which processes have ended, or have begun another program.
func (a *Aggregator) Review(ended func(pid uint32, start uint64) bool) {
	latest := make(map[int]time.Time, len(a.processes))
	for key, p := range a.processes {
		if p.seen.After(latest[key.pid]) {
			latest[key.pid] = p.seen
		}
	}
	for key, p := range a.processes {
		p.ended = latest[key.pid].After(p.seen) || ended(uint32(key.pid), p.identity.StartNanos)
	}
}

// forget takes out what has ended a while ago or, where others found no room, has
// long done nothing.
func (a *Aggregator) forget(now time.Time) (gone []*process) {
	for _, key := range a.sorted() {
		p := a.processes[key]
		if (p.ended || a.crowded) && now.Sub(p.seen) > max(idleTime, 2*a.settings.Window) {
			gone = append(gone, p)
			delete(a.processes, key)
		}
	}
	a.crowded = false
	return gone
}

func (a *Aggregator) sorted() []processKey {
	return slices.SortedFunc(maps.Keys(a.processes), func(x, y processKey) int {
		return cmp.Or(cmp.Compare(x.pid, y.pid), cmp.Compare(x.name, y.name))
	})
}
