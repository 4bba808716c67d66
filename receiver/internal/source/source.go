package source

import (
	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/symbolize"
)

// Estimate is what samples that were chosen by chance say of all that there were.
type Estimate struct {
	// Events is how many events there were, and Sum what they add up to: their
	// time, or their number.
	Events, Sum float64
	// Variance is that of Sum, in the square of its unit.
	Variance float64
}

// Add adds the estimate of other events.
func (e *Estimate) Add(other Estimate) {
	e.Events += other.Events
	e.Sum += other.Sum
	e.Variance += other.Variance
}

// Source takes the samples of one kind.
type Source interface {
	// Kind is the same pointer at each call.
	Kind() *Descriptor
	// Start begins to sample; it leaves nothing behind when it fails.
	Start() error
	// Drain returns what was sampled since the last call. The samples stay
	// valid until the next one.
	Drain() ([]bpf.Sample, bpf.Stats, error)
	// Relieve empties the kernel's maps before the next Drain if they fill up, also
	// while what the last one returned is in use. It is cheap.
	Relieve() error
	// SyncCPUs follows CPUs that come and go.
	SyncCPUs() error
	// Values appends one number for each sample type that a sample adds to.
	Values(s *bpf.Sample, dst []int64) []int64
	// Estimate tells what a sample stands for; the zero value for itself.
	Estimate(s *bpf.Sample) Estimate
	// Describe says what a sample is besides its stack: frames to put at the
	// leaf side of it, leaf first, and attributes, nil for none. Both are shared
	// and not changed.
	Describe(s *bpf.Sample) ([]*symbolize.Frame, *Labels)
	// SetTarget keeps or drops the samples of a process, IsTarget tells what
	// was said of it, and EachTarget yields what is kept until yield returns
	// false. They are for sources that were made to filter.
	SetTarget(t bpf.Target, v bpf.Verdict) error
	IsTarget(t bpf.Target) (keep, known bool)
	EachTarget(yield func(bpf.Target) bool) error
	// Stop ends sampling, also while Drain runs; Close releases everything.
	// Both may come twice.
	Stop()
	Close() error
}
