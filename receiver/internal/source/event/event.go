//go:build linux

// Package event is what the kinds of profiles have in common that count events
// in the kernel. A kind says in a Kind what is particular to it.
package event

import (
	"errors"
	"fmt"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/symbolize"
)

// Kind is a kind of events.
type Kind struct {
	source.Descriptor
	// Probe sees the events.
	Probe *bpf.Probe
	// Values appends one number for each sample type.
	Values func(s *bpf.Sample, dst []int64) []int64
	// Estimate tells what a sample stands for; nil if each stands for itself.
	Estimate func(s *bpf.Sample) source.Estimate
	// Describe says what a sample is besides its stack. It is called once for
	// each pair of detail and record.
	Describe func(s *bpf.Sample) Description
	// Drained looks at what was drained before anything else does; nil for
	// nothing to do.
	Drained func(stats *bpf.Stats)
	// Started is called when the programs run, the function that it returns when
	// they end; nil if there is nothing to do.
	Started func(t *bpf.Tracer) (stop func())
}

// Description is what a sample is besides its stack.
type Description struct {
	// Leaf are frames to put at the leaf side of the stack, leaf first.
	Leaf []*symbolize.Frame
	// Labels are attributes of the sample.
	Labels []source.Label
}

// Source counts the events of one kind.
type Source struct {
	kind   Kind
	opts   bpf.Options
	tracer *bpf.Tracer // nil unless started
	stop   func()

	described map[what]described
	interned  map[string]*source.Labels
}

// what is all that a description depends on.
type what struct{ detail, record uint64 }

type described struct {
	leaf   []*symbolize.Frame
	labels *source.Labels
}

// New returns a source that has not started.
func New(kind Kind, opts bpf.Options) *Source {
	kind.Traced = true
	s := &Source{kind: kind, opts: opts}
	s.forget()
	return s
}

// Kind describes the profiles.
func (s *Source) Kind() *source.Descriptor { return &s.kind.Descriptor }

// Start loads the programs and attaches them.
func (s *Source) Start() error {
	tracer, err := bpf.NewTracer(s.kind.Probe, s.opts)
	if err != nil {
		return err
	}
	s.tracer = tracer
	if s.kind.Started != nil {
		s.stop = s.kind.Started(tracer)
	}
	return nil
}

func (s *Source) errNotStarted() error {
	return fmt.Errorf("the source of %s is not started", s.kind.Name)
}

// Drain empties the counts of the kernel.
func (s *Source) Drain() ([]bpf.Sample, bpf.Stats, error) {
	if s.tracer == nil {
		return nil, bpf.Stats{}, s.errNotStarted()
	}
	samples, stats, err := s.tracer.Drain()
	if err != nil {
		return samples, stats, err
	}
	if s.kind.Drained != nil {
		s.kind.Drained(&stats)
	}
	return shareOut(samples), stats, nil
}

// Relieve empties maps that fill up.
func (s *Source) Relieve() error {
	if s.tracer == nil {
		return s.errNotStarted()
	}
	return s.tracer.Relieve()
}

// SyncCPUs follows CPUs that come and go.
func (s *Source) SyncCPUs() error {
	if s.tracer == nil {
		return s.errNotStarted()
	}
	return s.tracer.SyncCPUs()
}

// Values appends what a sample adds up to.
func (s *Source) Values(sample *bpf.Sample, dst []int64) []int64 { return s.kind.Values(sample, dst) }

// Estimate tells what a sample stands for.
func (s *Source) Estimate(sample *bpf.Sample) source.Estimate {
	if s.kind.Estimate == nil {
		return source.Estimate{}
	}
	return s.kind.Estimate(sample)
}

// EstimateWaits tells what a sample of waits stands for, see bpf.WaitVariance.
func EstimateWaits(s *bpf.Sample) source.Estimate {
	return source.Estimate{Events: float64(s.Sums[1]), Sum: float64(s.Sums[0]), Variance: bpf.WaitVariance(s)}
}

// maxDescribed bounds the descriptions that are kept: paths may all differ.
const maxDescribed = 1 << 15

// Describe says what a sample is besides its stack.
func (s *Source) Describe(sample *bpf.Sample) ([]*symbolize.Frame, *source.Labels) {
	key := what{sample.Detail, sample.RecordID}
	d, ok := s.described[key]
	if !ok {
		if len(s.described) >= maxDescribed {
			s.forget()
		}
		told := s.kind.Describe(sample)
		d = described{leaf: told.Leaf, labels: s.intern(told.Labels)}
		s.described[key] = d
	}
	return d.leaf, d.labels
}

// forget drops all descriptions; those in use stay what they are.
func (s *Source) forget() {
	s.described = make(map[what]described)
	s.interned = make(map[string]*source.Labels)
}

func (s *Source) intern(labels []source.Label) *source.Labels {
	if len(labels) == 0 {
		return nil
	}
	key := fmt.Sprintf("%#v", labels)
	if l, ok := s.interned[key]; ok {
		return l
	}
	l := source.Labels(labels)
	s.interned[key] = &l
	return &l
}

// SetTarget keeps or drops the events of a process.
func (s *Source) SetTarget(t bpf.Target, v bpf.Verdict) error {
	if s.tracer == nil {
		return s.errNotStarted()
	}
	return s.tracer.SetTarget(t, v)
}

// IsTarget tells what SetTarget, or the parent, said of a process.
func (s *Source) IsTarget(t bpf.Target) (keep, known bool) {
	if s.tracer == nil {
		return false, false
	}
	return s.tracer.IsTarget(t)
}

// EachTarget yields the processes that are kept.
func (s *Source) EachTarget(yield func(bpf.Target) bool) error {
	if s.tracer == nil {
		return s.errNotStarted()
	}
	return s.tracer.EachTarget(yield)
}

// Stop ends counting.
func (s *Source) Stop() {
	if s.tracer == nil {
		return
	}
	if s.stop != nil {
		s.stop()
	}
	s.tracer.Stop()
}

// Close releases everything.
func (s *Source) Close() error {
	s.Stop()
	if s.tracer == nil {
		return nil
	}
	return s.tracer.Close()
}

// Unavailable tells whether Start failed because this kernel cannot do what the
// kind needs, whatever the privileges.
func Unavailable(err error) bool {
	var missing *bpf.MissingError
	return errors.As(err, &missing) || bpf.IsRefusal(err)
}
