//go:build linux

// Package syscalls is the profile kind that shows which system calls programs
// make and how long they take.
package syscalls

import (
	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/source/event"
)

// keyOutcome marks calls that do not return: the thread ended in them.
const (
	keyOutcome = "flametel.syscall.outcome"
	noReturn   = "no_return"
)

// New returns a source that has not started. share is the part of the time in
// which calls are looked at, 1 for all of it.
func New(o bpf.SyscallOptions, share float64, opts bpf.Options) source.Source {
	kind := event.Kind{
		Descriptor: source.Descriptor{
			Name:        "syscalls",
			SampleTypes: []source.ValueType{{Type: "syscalls", Unit: "count"}, {Type: "syscall_time", Unit: "nanoseconds"}},
			Metrics: []source.Metric{
				{Metric: metadata.FlametelSyscallDuration, Value: 0, Time: 1},
				{Metric: metadata.FlametelSyscallErrors, Value: 0, Needs: event.KeyError},
			},
		},
		Probe:    bpf.Syscalls(o),
		Values:   values,
		Describe: describe,
	}
	if share < 1 {
		d := newDuty(share)
		kind.Started = d.run
		kind.Drained = func(stats *bpf.Stats) { stats.Share = 1 / d.factor() }
		kind.Values = func(s *bpf.Sample, dst []int64) []int64 { return d.scale(values(s, dst), len(dst)) }
		kind.Estimate = func(s *bpf.Sample) source.Estimate { return d.estimate(s.Count) }
	}
	return event.New(kind, opts)
}

func values(s *bpf.Sample, dst []int64) []int64 {
	return append(dst, int64(s.Count), int64(s.Sums[0]))
}

func describe(s *bpf.Sample) event.Description {
	nr, is32 := uint32(s.Detail), s.Detail&bpf.SyscallCompat != 0
	d := event.Description{Labels: []source.Label{event.SyscallLabel(nr, is32)}}
	d.Leaf = append(d.Leaf, event.SyscallFrame(nr, is32))
	if errno := s.Detail >> bpf.SyscallErrnoShift & bpf.SyscallErrnoMask; errno != 0 {
		d.Labels = append(d.Labels, event.ErrorLabel(uint32(errno)))
	}
	if s.Detail&bpf.SyscallNoReturn != 0 {
		d.Labels = append(d.Labels, source.Label{Key: keyOutcome, Text: noReturn})
	}
	return d
}
