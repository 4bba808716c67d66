package live

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/sysname"
)

// stream is a source that is told each event by the kernel, or the sums of
// system calls.
type stream struct {
	family string
	stream *bpf.Stream

	allocations allocations

	before  map[callKey]bpf.CallTimes
	callers map[callerKey]time.Duration
}

type callKey struct {
	number uint32
	compat bool
}

type callerKey struct {
	callKey
	pid uint32
}

// Events implements Source.
func (s *stream) Events() (events []Event, lost uint64, err error) {
	clock := newClock()
	err = s.stream.Read(func(e *bpf.LiveEvent) {
		event := Event{Time: clock.at(e.EndNanos), Duration: e.Duration, PID: int(e.PID), TID: int(e.TID), Comm: e.Comm}
		switch s.family {
		case OffCPU:
			describeWait(&event, e)
		case Allocations:
			describeAllocation(&event, e)
		default:
			describeFile(&event, e)
		}
		events = append(events, event)
	})
	if err != nil {
		return nil, 0, err
	}
	if s.family == Allocations {
		events = s.allocations.once(events)
	}
	lost, err = s.stream.Lost()
	return events, lost, err
}

// What stands for a path that is not known, and behind one that was cut.
const (
	noPath  = "[path not read]"
	cutPath = " (cut)"
)

func describeFile(to *Event, e *bpf.LiveEvent) {
	to.Call = sysname.Name(uint32(e.Detail), e.Detail&bpf.SyscallCompat != 0)
	if errno := e.Detail >> bpf.SyscallErrnoShift & bpf.SyscallErrnoMask; errno != 0 {
		to.Error = sysname.Error(uint32(errno))
	}
	to.Result, to.Bytes = e.Result, max(e.Result, 0)
	to.Path = e.Text
	if e.Base != "" && !path.IsAbs(e.Text) {
		to.Path = strings.TrimSuffix(e.Base, "/") + "/" + e.Text
	}
	switch {
	case e.Detail&bpf.FileNoPath != 0:
		to.Path = noPath
	case e.Detail&bpf.FileCutPath != 0:
		to.Path += cutPath
	}
}

func describeWait(to *Event, e *bpf.LiveEvent) {
	if e.Detail&bpf.OffCPUInCall != 0 {
		to.Call = sysname.Name(uint32(e.Detail), e.Detail&bpf.OffCPUCompatCall != 0)
	}
	switch {
	case e.Detail&bpf.OffCPUPreempted != 0:
		to.What = "preempted"
	case e.Detail&bpf.OffCPUUninterruptible != 0:
		to.What = "uninterruptible"
	default:
		to.What = "blocked"
	}
}

func describeAllocation(to *Event, e *bpf.LiveEvent) {
	to.Bytes, to.Cache = e.Result, e.Text
	to.What = map[uint64]string{bpf.LiveKmalloc: kmalloc, bpf.LiveSlab: slab, bpf.LivePages: pages}[e.Detail]
}

// Calls implements Source.
func (s *stream) Calls() ([]Call, uint64, error) {
	times, callers, err := s.stream.Calls()
	if err != nil {
		return nil, 0, err
	}
	top := s.top(callers)
	var calls []Call
	for _, t := range times {
		key := callKey{t.Number, t.Compat}
		was, known := s.before[key]
		s.before[key] = t
		slots := slices.Clone(t.Slots)
		if known {
			t.Count -= was.Count
			t.Time -= was.Time
			t.Errors -= was.Errors
			for i := range slots {
				slots[i] -= was.Slots[i]
			}
		}
		if t.Count == 0 {
			continue
		}
		who := top[key]
		calls = append(calls, Call{
			Name: sysname.Name(t.Number, t.Compat), Count: t.Count, Time: t.Time, Errors: t.Errors,
			P99: p99(slots, t.Time), TopPID: int(who.PID), TopComm: who.Comm,
		})
	}
	slices.SortFunc(calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name))
	})
	lost, err := s.stream.Lost()
	return calls, lost, err
}

// top returns for each call who spent the most time in it since the last look.
func (s *stream) top(callers []bpf.Caller) map[callKey]bpf.Caller {
	top := make(map[callKey]bpf.Caller)
	now := make(map[callerKey]time.Duration, len(callers))
	for _, c := range callers {
		key := callerKey{callKey{c.Number, c.Compat}, c.PID}
		now[key] = c.Time
		// One that had given way and is back begins at 0 again.
		if was := s.callers[key]; was <= c.Time {
			c.Time -= was
		}
		if best, ok := top[key.callKey]; (!ok || c.Time > best.Time) && c.Time > 0 {
			top[key.callKey] = c
		}
	}
	s.callers = now
	return top
}

// p99 is the time that 99 of 100 calls took at most, as well as slots and the sum of
// all times tell it.
func p99(slots []uint64, sum time.Duration) time.Duration {
	var all uint64
	for _, n := range slots {
		all += n
	}
	rank, before := 0.99*float64(all), uint64(0)
	for i, n := range slots {
		if before += n; n == 0 || float64(before) < rank {
			continue
		}
		start, end := bpf.SlotStart(i), bpf.SlotStart(i+1)
		part := 1 - (float64(before)-rank)/float64(n)
		t := start + time.Duration(part*float64(end-start))
		if n == all { // the mean is in the same slot
			t = max(t, sum/time.Duration(all))
		}
		return min(t, sum) // no call took longer than all
	}
	return 0
}

// Close implements Source.
func (s *stream) Close() error { return s.stream.Close() }
