package tally

import (
	"cmp"
	"maps"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Bounds on what others can make us keep: whoever runs many processes, or
// writes names for its code, would otherwise fill our memory. A host has some
// ten thousand functions in which samples end.
const (
	maxFunctions = 1 << 16
	maxProcesses = 1 << 17
	maxKinds     = 64
	maxStacks    = 1 << 20
)

// Function is where samples ended. Code without a name is one Function for each
// module.
type Function struct {
	Name string
	// Kind is that of the outputs in a word, or KindEvent.
	Kind string
}

// KindEvent is the kind of what is no code but what happened there, such as a
// system call, which outputs show as the kernel's.
const KindEvent = "event"

// Share is a function with its samples.
type Share struct {
	Function
	Self int64
}

// Tally adds up the profiles of one recording. It is not safe for concurrent
// use.
type Tally struct {
	kinds map[string]*Kind
}

// Kind is what was added up for one profile kind, such as cpu.
type Kind struct {
	// Total is the sum over all samples.
	Total int64
	// Frames and UnknownFrames count each frame, inlined calls too, as often as
	// its samples say, as the outputs do; the second are those without a name.
	Frames, UnknownFrames int64
	// Accounting is what the profiler says about its losses; nil if it says
	// nothing.
	Accounting *Accounting

	self      map[Function]*int64
	unknown   map[string]*int64 // frames without a name, by module
	other     int64             // of functions beyond maxFunctions
	processes map[int64]struct{}
	stacks    map[uint64]struct{} // hashes
}

// New returns an empty Tally.
func New() *Tally { return &Tally{kinds: map[string]*Kind{}} }

// Kind returns what was added up for a profile kind, so far nothing perhaps.
func (t *Tally) Kind(name string) *Kind {
	if k := t.kinds[name]; k != nil {
		return k
	}
	k := &Kind{self: map[Function]*int64{}, unknown: map[string]*int64{}, processes: map[int64]struct{}{}, stacks: map[uint64]struct{}{}}
	if len(t.kinds) < maxKinds {
		t.kinds[name] = k
	}
	return k
}

// Processes is the number of processes that have samples, counted up to 131,072.
func (k *Kind) Processes() int { return len(k.processes) }

// Stacks is the number of distinct stacks of distinct processes, counted up to
// 1,048,576.
func (k *Kind) Stacks() int { return len(k.stacks) }

// Top returns the n functions in which most samples ended, largest first; of
// equal ones, in the order of their names.
func (k *Kind) Top(n int) []Share {
	shares := make([]Share, 0, len(k.self))
	for f, self := range maps.All(k.self) {
		shares = append(shares, Share{f, *self})
	}
	slices.SortFunc(shares, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return shares[:min(n, len(shares))]
}

// Module is a file with the number of its frames that have no name, weighted by
// samples.
type Module struct {
	Name   string
	Frames int64
}

// Unknown returns the n modules with most frames that have no name, largest
// first.
func (k *Kind) Unknown(n int) []Module {
	list := make([]Module, 0, len(k.unknown))
	for name, frames := range k.unknown {
		list = append(list, Module{name, *frames})
	}
	slices.SortFunc(list, func(a, b Module) int {
		return cmp.Or(cmp.Compare(b.Frames, a.Frames), cmp.Compare(a.Name, b.Name))
	})
	return list[:min(n, len(list))]
}

// unknownCounter returns where unnamed frames of a module are counted.
func (k *Kind) unknownCounter(module string) *int64 {
	n := k.unknown[module]
	if n == nil && len(k.unknown) >= maxFunctions {
		return new(int64)
	}
	if n == nil {
		n = new(int64)
		k.unknown[module] = n
	}
	return n
}

// counter returns where the samples of a function are counted.
func (k *Kind) counter(f Function) *int64 {
	if n := k.self[f]; n != nil {
		return n
	}
	if len(k.self) >= maxFunctions {
		return &k.other
	}
	n := new(int64)
	k.self[f] = n
	return n
}

// Add adds all profiles. It only reads them and keeps no reference to them.
func (t *Tally) Add(p pprofile.Profiles) {
	d := newDictionary(p.Dictionary())
	for _, rp := range p.ResourceProfiles().All() {
		attrs := rp.Resource().Attributes()
		pid, hasPID := attrs.Get("process.pid")
		mark, isAccounting := attrs.Get("flametel.accounting")
		d.program = ""
		if name, ok := attrs.Get("process.executable.name"); ok {
			d.program = name.Str()
		}
		for _, sp := range rp.ScopeProfiles().All() {
			for _, prof := range sp.Profiles().All() {
				k := t.Kind(d.kindName(prof))
				if isAccounting && mark.Bool() {
					k.account(d, prof)
					continue
				}
				k.add(d, prof, pid)
				if hasPID && prof.Samples().Len() > 0 && len(k.processes) < maxProcesses {
					k.processes[pid.Int()] = struct{}{}
				}
			}
		}
	}
}

func (k *Kind) add(d *dictionary, prof pprofile.Profile, pid pcommon.Value) {
	counters := map[int32]*int64{}  // by stack, so that a name is made once
	unknown := map[int32][]*int64{} // the same
	frames := map[int32]int64{}     // the same
	for _, s := range prof.Samples().All() {
		var value int64
		for _, v := range s.Values().All() {
			value += v
		}
		stack := s.StackIndex()
		if counters[stack] == nil {
			counters[stack] = k.counter(d.leaf(stack))
			if len(k.stacks) < maxStacks {
				k.stacks[d.identity(stack, pid)] = struct{}{}
			}
			frames[stack] = d.frames(stack, func(module string) {
				unknown[stack] = append(unknown[stack], k.unknownCounter(module))
			})
		}
		*counters[stack] += value
		for _, n := range unknown[stack] {
			*n += value
		}
		k.Frames += frames[stack] * value
		k.UnknownFrames += int64(len(unknown[stack])) * value
		k.Total += value
	}
}
