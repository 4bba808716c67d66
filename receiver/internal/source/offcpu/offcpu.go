//go:build linux

// Package offcpu is the profile kind that shows what threads wait for: where
// they leave the CPU and for how long.
package offcpu

import (
	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/source/event"
)

// keyReason says why a thread was not on a CPU.
const keyReason = "flametel.off_cpu.reason"

// The reasons.
const (
	reasonBlocked         = "blocked"         // it waited for something
	reasonUninterruptible = "uninterruptible" // the same, and no signal could wake it: often a disk
	reasonPreempted       = "preempted"       // it could have run: another thread had the CPU
)

// New returns a source that has not started.
func New(o bpf.OffCPUOptions, opts bpf.Options) source.Source {
	return event.New(event.Kind{
		Descriptor: source.Descriptor{
			Name:        "off_cpu",
			SampleTypes: []source.ValueType{{Type: "off_cpu", Unit: "nanoseconds"}, {Type: "events", Unit: "count"}},
			Metrics: []source.Metric{
				{Metric: metadata.FlametelOffCPUDuration, Value: 1, Time: 0},
			},
		},
		Probe:    bpf.OffCPU(o),
		Values:   values,
		Estimate: event.EstimateWaits,
		Describe: describe,
	}, opts)
}

func values(s *bpf.Sample, dst []int64) []int64 {
	return append(dst, int64(s.Sums[0]), int64(s.Sums[1]))
}

func describe(s *bpf.Sample) event.Description {
	d := event.Description{Labels: []source.Label{{Key: keyReason, Text: reasonBlocked}}}
	switch {
	case s.Detail&bpf.OffCPUPreempted != 0:
		d.Labels[0].Text = reasonPreempted
		d.Leaf = append(d.Leaf, event.Frame("waiting for a CPU"))
	case s.Detail&bpf.OffCPUUninterruptible != 0:
		d.Labels[0].Text = reasonUninterruptible
	}
	if s.Detail&bpf.OffCPUInCall != 0 {
		d.Labels = append(d.Labels, event.SyscallLabel(uint32(s.Detail), s.Detail&bpf.OffCPUCompatCall != 0))
	}
	return d
}
