//go:build linux

package process

import (
	"slices"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/procmap"
)

// forkDelay is how long before its fork event a process may have started: the
// kernel takes the start time early in the fork, and may be scheduled away.
const forkDelay = 1e9 // nanoseconds

// Apply takes in events, oldest first, and returns how many the kernel says it
// lost.
func (r *Registry) Apply(events []bpf.Event) (lost uint64) {
	b := batch{r: r, changed: make(map[*Process]*draft)}
	for i := range events {
		ev := &events[i]
		switch ev.Kind {
		case bpf.EventFork:
			b.fork(ev)
		case bpf.EventComm:
			b.comm(ev)
		case bpf.EventMmap:
			b.mmap(ev)
		case bpf.EventExit:
			b.exit(ev)
		case bpf.EventLost:
			lost += ev.Lost
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b.publish()
	if lost > 0 {
		r.stale = true
	}
	return lost
}

// batch are events that are taken in together. Mappings of a process are
// collected in a draft and published as one version, so that a program with
// thousands of libraries does not cost a copy of the list for each.
type batch struct {
	r       *Registry
	changed map[*Process]*draft
}

type draft struct {
	since    uint64
	mappings []symbolize.Mapped
}

// lookup finds the process that has the PID at the time of an event, from
// procfs if need be.
func (b *batch) lookup(pid uint32, nanos uint64, comm string) *Process {
	p := b.r.current(pid)
	if p != nil {
		return p
	}
	p = b.r.learn(pid, 0, comm)
	if p.gone {
		// Older than our first look and ended since, but it was there when
		// the event happened.
		p.startHigh = nanos + bootMinusMono()
		p.endedAt, p.leaderExited = 0, true
	}
	b.r.byPID[pid] = append(b.r.byPID[pid], p)
	return p
}

func (b *batch) fork(ev *bpf.Event) {
	if ev.PID == ev.ParentPID {
		return // a thread
	}
	r := b.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.current(ev.PID); old != nil {
		old.endedAt = ev.Nanos // its exit was missed
	}
	start := ev.Nanos + bootMinusMono()
	child := &Process{
		pid:      ev.PID,
		startLow: start - min(start, forkDelay), startHigh: start,
	}
	image := symbolize.NewProcess(int(ev.PID), child.startLow)
	g := &program{}
	parent := b.lookup(ev.ParentPID, ev.Nanos, "")
	b.publishOne(parent)
	from := parent.running()
	r.loadFacts(parent, from)
	g.comm, g.kernel, g.facts = from.comm, from.kernel, from.facts.inherit()
	image = image.With(slices.Clone(from.image().Mappings))
	child.gone = parent.gone
	g.versions = []version{{ev.Nanos, image}}
	child.programs = []*program{g}
	r.byPID[ev.PID] = append(r.byPID[ev.PID], child)
}

func (b *batch) comm(ev *bpf.Event) {
	if ev.PID != ev.TID {
		return // another thread than the main one
	}
	r := b.r
	r.mu.Lock()
	defer r.mu.Unlock()
	p := b.lookup(ev.PID, ev.Nanos, ev.Comm)
	if !ev.Exec {
		p.running().rename(ev.Comm)
		return
	}
	b.publishOne(p)
	p.gone = false
	p.exec(ev.Nanos, ev.Comm)
}

func (b *batch) mmap(ev *bpf.Event) {
	m := symbolize.Mapped{Mapping: procmap.Mapping{
		Start:  addr.Virtual(ev.Start),
		Limit:  addr.Virtual(ev.Start + ev.Length),
		Offset: addr.Offset(ev.Offset),
		Dev:    ev.Dev,
		Inode:  ev.Inode,
		Path:   ev.Path,
		Seen:   wallClock(ev.Nanos),
	}}
	// Opening may read a file, so it is done without the lock.
	m.Object = b.r.opener.Open(int(ev.PID), m.Mapping)
	r := b.r
	r.mu.Lock()
	defer r.mu.Unlock()
	p := b.lookup(ev.PID, ev.Nanos, "")
	p.gone = false
	p.running().facts.mapped(ev.Path)
	mappings := p.running().image().Mappings
	d := b.changed[p]
	if d == nil {
		if holds(mappings, &m) {
			return
		}
		d = &draft{since: ev.Nanos, mappings: slices.Clone(mappings)}
		b.changed[p] = d
	}
	if replaces(d.mappings, &m) {
		// Samples of before belong to the file that was there.
		b.publishOne(p)
		d = &draft{since: ev.Nanos, mappings: slices.Clone(p.running().image().Mappings)}
		b.changed[p] = d
	}
	d.mappings = insert(d.mappings, m)
}

func (b *batch) exit(ev *bpf.Event) {
	r := b.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.current(ev.PID); p != nil && (ev.PID == ev.TID || p.leaderExited) {
		// Other threads may run on: Sweep looks.
		p.leaderExited = true
	}
}

func (b *batch) publishOne(p *Process) {
	d := b.changed[p]
	if d == nil {
		return
	}
	delete(b.changed, p)
	b.r.changed[p.pid] = struct{}{}
	p.running().publish(d.since, d.mappings)
}

func (b *batch) publish() {
	for p := range b.changed {
		b.publishOne(p)
	}
}
