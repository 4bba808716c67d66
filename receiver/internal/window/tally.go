package window

import (
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/symbolize"
)

// The causes of loss that the receiver itself can add to those of the kernel.
const (
	// CauseWindowFull: the window held as many distinct stacks as it may.
	CauseWindowFull = "window_full"
	// CauseOversized: one stack alone would not fit into a message.
	CauseOversized = "oversized"
)

// Tally says for one kind what became of every sample of a window:
//
//	Taken = Kept + Idle + Filtered + sum of Lost
//
// Taken, Idle, Filtered and the causes of loss in the kernel come from the
// source, which calls Count at each drain; Kept comes from Window.Add.
type Tally struct {
	Kind *source.Descriptor
	Counts
	// Kept is the number of samples in the window.
	Kept uint64
	// Truncated is how many of those have a stack that was cut.
	Truncated uint64
	// UserStacks is how many of them have a stack of user code, Complete how
	// many of those reach the start of the thread; why the others do not is in
	// Incomplete, by reason.
	UserStacks, Complete uint64
	Incomplete           map[string]uint64
	// FramesNamed and FramesUnknown count the frames of kept samples, each as
	// often as it was sampled; the unknown ones by reason.
	FramesNamed   uint64
	FramesUnknown map[symbolize.Reason]uint64
	// FrequencyAsked is in hertz for each CPU, 0 for kinds without frequency.
	FrequencyAsked float64
	// Share is the part of the time for which the values stand, up to which they
	// were scaled; 0 for all of it.
	Share float64
	// Estimate is what the samples in the window stand for, if some were chosen by
	// chance.
	Estimate source.Estimate
	// CPUs is the number of CPUs sampled.
	CPUs int
}

// Counts is what a source knows of the samples that never reach a window.
type Counts struct {
	Taken    uint64
	Idle     uint64
	Filtered uint64
	// Missed and MissedIdle count the ticks of busy and of idle CPUs that
	// never came. They are not part of Taken.
	Missed     uint64
	MissedIdle uint64
	// Lost is by cause, in lower snake case: counts_full, stacks_full, ...
	Lost map[string]uint64
}

// Tally returns the tally of a kind, a new one at the first call.
func (w *Window) Tally(kind *source.Descriptor) *Tally {
	for _, t := range w.tallies {
		if t.Kind == kind {
			return t
		}
	}
	t := &Tally{
		Kind:          kind,
		Counts:        Counts{Lost: make(map[string]uint64)},
		FramesUnknown: make(map[symbolize.Reason]uint64),
		Incomplete:    make(map[string]uint64),
	}
	w.tallies = append(w.tallies, t)
	return t
}

// Tallies returns one tally for each kind that was active in the window.
func (w *Window) Tallies() []*Tally { return w.tallies }

// Count adds what happened since the last call.
func (t *Tally) Count(c Counts) {
	t.Taken += c.Taken
	t.Idle += c.Idle
	t.Filtered += c.Filtered
	t.Missed += c.Missed
	t.MissedIdle += c.MissedIdle
	for cause, n := range c.Lost {
		t.Lose(cause, n)
	}
}

// CountStack counts how the user stacks of n samples end.
func (t *Tally) CountStack(reason string, complete bool, n uint64) {
	t.UserStacks += n
	if complete {
		t.Complete += n
	} else {
		t.Incomplete[reason] += n
	}
}

// Lose counts n samples as lost.
func (t *Tally) Lose(cause string, n uint64) {
	if n > 0 {
		t.Lost[cause] += n
	}
}

// Withdraw turns a kept sample into lost ones, because it cannot be sent.
func (t *Tally) Withdraw(s *Sample, cause string) {
	t.add(s.Stack, -s.Count)
	t.Lose(cause, s.Count)
}

// add counts a stack as kept count times; Withdraw takes that back by adding
// the two's complement.
func (t *Tally) add(s *Stack, count uint64) {
	t.Kept += count
	t.FramesNamed += s.named * count
	if s.truncated {
		t.Truncated += count
	}
	if s.unknown == 0 {
		return
	}
	for _, f := range s.Frames {
		if len(f.Lines) == 0 {
			t.FramesUnknown[f.Reason] += count
		}
	}
}

// LostTotal is the sum over all causes.
func (t *Tally) LostTotal() uint64 {
	var sum uint64
	for _, n := range t.Lost {
		sum += n
	}
	return sum
}

// UnknownTotal is the sum over all reasons.
func (t *Tally) UnknownTotal() uint64 {
	var sum uint64
	for _, n := range t.FramesUnknown {
		sum += n
	}
	return sum
}
