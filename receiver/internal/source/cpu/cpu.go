//go:build linux

// Package cpu is the profile kind that shows where programs spend CPU time.
package cpu

import (
	"errors"
	"time"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/symbolize"
)

// Source samples every CPU by its clock.
type Source struct {
	kind    *source.Descriptor
	opts    bpf.Options
	sampler *bpf.Sampler // nil unless started
}

// New returns a source that has not started.
func New(opts bpf.Options) *Source {
	return &Source{
		kind: &source.Descriptor{
			Name:        "cpu",
			SampleTypes: []source.ValueType{{Type: "samples", Unit: "count"}},
			PeriodType:  source.ValueType{Type: "cpu", Unit: "nanoseconds"},
			Period:      int64(time.Second) / int64(max(opts.Frequency, 1)),
			Frequency:   float64(opts.Frequency),
		},
		opts: opts,
	}
}

// Kind describes CPU profiles.
func (s *Source) Kind() *source.Descriptor { return s.kind }

// Start loads the program and attaches it to every CPU.
func (s *Source) Start() error {
	sampler, err := bpf.NewSampler(s.opts)
	if err != nil {
		return err
	}
	s.sampler = sampler
	return nil
}

var errNotStarted = errors.New("the CPU source is not started")

// Drain empties the counts of the kernel.
func (s *Source) Drain() ([]bpf.Sample, bpf.Stats, error) {
	if s.sampler == nil {
		return nil, bpf.Stats{}, errNotStarted
	}
	return s.sampler.Drain()
}

// Relieve empties maps that fill up.
func (s *Source) Relieve() error {
	if s.sampler == nil {
		return errNotStarted
	}
	return s.sampler.Relieve()
}

// SyncCPUs follows CPUs that come and go.
func (s *Source) SyncCPUs() error {
	if s.sampler == nil {
		return errNotStarted
	}
	return s.sampler.SyncCPUs()
}

// Values counts the samples.
func (s *Source) Values(sample *bpf.Sample, dst []int64) []int64 {
	return append(dst, int64(sample.Count))
}

// Estimate has nothing to say: a sample stands for itself.
func (s *Source) Estimate(*bpf.Sample) source.Estimate { return source.Estimate{} }

// Describe has nothing to add to the stack.
func (s *Source) Describe(*bpf.Sample) ([]*symbolize.Frame, *source.Labels) { return nil, nil }

// SetTarget keeps or drops the samples of a process.
func (s *Source) SetTarget(t bpf.Target, v bpf.Verdict) error {
	if s.sampler == nil {
		return errNotStarted
	}
	return s.sampler.SetTarget(t, v)
}

// IsTarget tells what SetTarget, or the parent, said of a process.
func (s *Source) IsTarget(t bpf.Target) (keep, known bool) {
	if s.sampler == nil {
		return false, false
	}
	return s.sampler.IsTarget(t)
}

// EachTarget yields the processes that are kept.
func (s *Source) EachTarget(yield func(bpf.Target) bool) error {
	if s.sampler == nil {
		return errNotStarted
	}
	return s.sampler.EachTarget(yield)
}

// Stop ends sampling.
func (s *Source) Stop() {
	if s.sampler != nil {
		s.sampler.Stop()
	}
}

// Close releases everything.
func (s *Source) Close() error {
	if s.sampler == nil {
		return nil
	}
	return s.sampler.Close()
}
