package window

import (
	"hash/maphash"
	"time"

	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/symbolize"
)

// Process is the identity under which samples are added up. Processes are
// compared by address; only the goroutine that fills windows may change one
// after its first sample.
type Process struct {
	// PID is the process ID in the PID namespace of the profiler, 0 for the
	// kernel's idle task.
	PID int
	// StartNanos is when the process started, CLOCK_BOOTTIME.
	StartNanos uint64
	// Name is what people call the process: the name of its main thread,
	// completed from the executable if the kernel cut it at 15 bytes.
	Name string
	// ExecutablePath is the program file as the process sees it, "" for kernel
	// threads.
	ExecutablePath string
	// CommandLine is "" unless the user asked for it.
	CommandLine string
	// ContainerID is "" outside containers.
	ContainerID string
	// CgroupPath is the path in the unified hierarchy, else in the hierarchy
	// that names the container; "" if unknown.
	CgroupPath string
	// Cgroups is the contents of /proc/PID/cgroup: the path in each hierarchy.
	Cgroups string
	// ServiceName is the service the process belongs to, never empty for a
	// user process.
	ServiceName string
	// Kernel tells kernel threads from programs.
	Kernel bool
}

// Thread says which thread of a process a sample belongs to, and what else
// keeps it apart from samples of the same stack.
type Thread struct {
	// Name is the name the thread gave itself.
	Name string
	// ID is the thread ID, 0 unless samples are kept apart by thread.
	ID int
	// Labels are further attributes, nil for none; equal ones have one address.
	Labels *source.Labels
}

// Stack is a list of frames, leaf first, that is held once in a Window.
type Stack struct {
	// Frames are shared with the symbolizer and never changed.
	Frames []*symbolize.Frame

	next           *Stack // of the same hash
	named, unknown uint64 // frames with and without a name
	truncated      bool   // holds the frame Truncated
}

// Sample is what one stack of one thread added up to.
type Sample struct {
	Thread Thread
	Stack  *Stack
	// Values has one entry for each sample type of the kind.
	Values []int64
	// Count is the number of observations in Values.
	Count uint64
}

// Series is all samples of one process and kind.
type Series struct {
	// Process is a copy taken when the window was closed; all series of a
	// process have the same one.
	Process *Process
	Kind    *source.Descriptor
	Samples []*Sample
}

// Limits bound what one Window holds. The zero value means the defaults.
type Limits struct {
	// Samples bounds the distinct samples, 262,144 by default.
	Samples int
	// Frames bounds the frames in all distinct stacks together, 4 Mi by
	// default, which are 32 MiB of addresses.
	Frames int
}

const (
	defaultMaxSamples = 1 << 18
	defaultMaxFrames  = 1 << 22
)

type seriesKey struct {
	process *Process
	kind    *source.Descriptor
}

type sampleKey struct {
	series *Series
	thread Thread
	stack  *Stack
}

// Window holds what was sampled in [Start, End).
type Window struct {
	Start, End time.Time

	limits  Limits
	seed    maphash.Seed
	stacks  map[uint64]*Stack
	frames  int
	samples map[sampleKey]*Sample
	series  map[seriesKey]*Series
	order   []*Series
	tallies []*Tally
}

// New returns an empty Window that begins at start.
func New(start time.Time, limits Limits) *Window {
	if limits.Samples == 0 {
		limits.Samples = defaultMaxSamples
	}
	if limits.Frames == 0 {
		limits.Frames = defaultMaxFrames
	}
	return &Window{
		Start:   start,
		limits:  limits,
		seed:    maphash.MakeSeed(),
		stacks:  make(map[uint64]*Stack),
		samples: make(map[sampleKey]*Sample),
		series:  make(map[seriesKey]*Series),
	}
}

// Add adds count observations of one stack, leaf first, to what the window
// holds of process p. values are their sums, one for each sample type of the
// kind. The slices stay the caller's, the frames are kept. Add counts the
// samples as kept and reports true, or, when the window is full, as lost with
// cause CauseWindowFull and reports false.
func (w *Window) Add(p *Process, kind *source.Descriptor, t Thread, frames []*symbolize.Frame, count uint64, values []int64) bool {
	tally := w.Tally(kind)
	s := w.sample(p, kind, t, frames)
	if s == nil {
		tally.Lose(CauseWindowFull, count)
		return false
	}
	s.Count += count
	for i, v := range values[:min(len(values), len(s.Values))] {
		s.Values[i] += v
	}
	tally.add(s.Stack, count)
	return true
}

// sample finds or makes the sample to add to; nil means the window is full.
func (w *Window) sample(p *Process, kind *source.Descriptor, t Thread, frames []*symbolize.Frame) *Sample {
	hash := hashFrames(w.seed, frames)
	stack := w.findStack(hash, frames)
	series := w.series[seriesKey{p, kind}]
	if stack != nil && series != nil {
		if s := w.samples[sampleKey{series, t, stack}]; s != nil {
			return s
		}
	}
	if len(w.samples) >= w.limits.Samples {
		return nil
	}
	if stack == nil {
		if w.frames+len(frames) > w.limits.Frames {
			return nil
		}
		stack = w.addStack(hash, frames)
	}
	if series == nil {
		series = &Series{Process: p, Kind: kind}
		w.series[seriesKey{p, kind}] = series
		w.order = append(w.order, series)
	}
	s := &Sample{Thread: t, Stack: stack, Values: make([]int64, len(kind.SampleTypes))}
	w.samples[sampleKey{series, t, stack}] = s
	series.Samples = append(series.Samples, s)
	return s
}

// Rename puts frames in the place of others of which more is known by now,
// before the window is closed, and corrects what was counted of them. What
// becomes equal by that is added up.
func (w *Window) Rename(names map[*symbolize.Frame]*symbolize.Frame) {
	if len(names) == 0 {
		return
	}
	moved := w.renameStacks(names)
	if len(moved) == 0 {
		return
	}
	for _, series := range w.order {
		tally := w.Tally(series.Kind)
		kept := series.Samples[:0]
		for _, s := range series.Samples {
			to := moved[s.Stack]
			if to == nil {
				kept = append(kept, s)
				continue
			}
			tally.add(s.Stack, -s.Count)
			tally.add(to, s.Count)
			delete(w.samples, sampleKey{series, s.Thread, s.Stack})
			s.Stack = to
			key := sampleKey{series, s.Thread, to}
			if first := w.samples[key]; first != nil {
				first.merge(s)
				continue
			}
			w.samples[key] = s
			kept = append(kept, s)
		}
		clear(series.Samples[len(kept):])
		series.Samples = kept
	}
}

// merge adds a sample of the same stack.
func (s *Sample) merge(other *Sample) {
	s.Count += other.Count
	for i, v := range other.Values {
		s.Values[i] += v
	}
}

// Close ends the window. Nothing may be added afterwards, and processes may
// change again: the window keeps a copy of each.
func (w *Window) Close(end time.Time) {
	w.End = end
	copies := make(map[*Process]*Process)
	for _, s := range w.order {
		c := copies[s.Process]
		if c == nil {
			c = new(*s.Process)
			copies[s.Process] = c
		}
		s.Process = c
	}
	// The indices are not needed for reading, and a window may wait a while
	// before it is sent.
	w.stacks, w.samples, w.series = nil, nil, nil
}

// Series returns what a closed window holds, in the order of first samples.
func (w *Window) Series() []*Series { return w.order }
