package callgraph

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Options are the settings of a Builder. The zero value is useful.
type Options struct {
	// Group names the graph that the samples of a resource go to. Nil puts
	// all resources into one graph for each sample type.
	Group func(resource pcommon.Map) string
	// Detail keeps addresses, mappings, source lines and threads apart, as an
	// encoder for pprof needs. Without it only functions are told apart.
	Detail bool
	// Roots says what stands at the root of each stack.
	Roots Roots
	// SampleType is the only type that is added, see Graph.Is; "" means all.
	SampleType string
	// Idle adds the time of idle CPUs, for which a profiler accounts without
	// stacks, as a frame of its own, NameIdle.
	Idle bool
	// MaxBytes bounds the memory of the graphs, by estimate. What comes after
	// is counted in the frame NameFull. 0 means 256 MiB.
	MaxBytes int64
}

// Roots says which frames group stacks at their roots.
type Roots uint8

// The roots of stacks. A graph with Detail has threads below processes as well,
// where a format keeps them beside the stack.
const (
	Processes Roots = iota // the process
	Threads                // the process, below it the thread
	Functions              // nothing: stacks of all processes are merged
)

// Bounds on what one input can make us do.
const (
	defaultMaxBytes = 256 << 20
	// maxGraphs bounds graphs, as a hostile source can name groups at will.
	// Beyond, a sample goes to the group groupOther.
	maxGraphs  = 2000
	groupOther = "other"
	// maxOtherTypes bounds the sample types told apart in that group.
	maxOtherTypes = 64
	// maxDepth bounds the frames of one stack; a deeper one is cut at its root
	// and gets the frame NameTruncated there. Stacks of our own receiver end
	// at 1,024 frames; 65,536 is far above any that a runtime allows.
	maxDepth = 1 << 16
	// maxSteps bounds the frames walked for one message, some seconds of work.
	// Honest messages are below a hundredth of it: a stack is walked once for
	// each process that has it.
	maxSteps = 1 << 28
)

// Builder merges OTLP profiles into graphs. It is not safe for concurrent use.
type Builder struct {
	opts   Options
	frames *frameTable
	graphs map[graphKey]*building
	// accounts are kept apart from the graphs because one host accounts for
	// all of its processes, whatever group they are in.
	accounts map[accountKey]*account
}

// typeKey is what the values of a graph have in common. Samples that stand for
// different periods are not to be added: one taken at 10 Hz weighs as much time
// as ten taken at 100 Hz.
type typeKey struct {
	sample, period ValueType
	length         int64 // of a period
}

// wants tells whether profiles of a type are added.
func (b *Builder) wants(key typeKey) bool {
	return b.opts.SampleType == "" || isType(b.opts.SampleType, key.sample, key.period)
}

type graphKey struct {
	group string
	typeKey
}

type accountKey struct {
	host string
	typeKey
}

// building is a graph being filled.
type building struct {
	*Merger
	records int64 // samples added, each as one, whatever it counts
	span    span
	hosts   map[string]bool
	notKept int64
	invalid int64
	full    int32 // node of the frame NameFull, 0 until needed
}

type account struct {
	Accounting
	group string
	span  span
}

// NewBuilder returns an empty Builder.
func NewBuilder(opts Options) *Builder {
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = defaultMaxBytes
	}
	return &Builder{
		opts:     opts,
		frames:   newFrameTable(),
		graphs:   map[graphKey]*building{},
		accounts: map[accountKey]*account{},
	}
}

// Empty reports whether nothing was added: no sample and no accounting.
func (b *Builder) Empty() bool { return len(b.graphs) == 0 && len(b.accounts) == 0 }

// Add adds all profiles. It only reads them, keeps no reference to them, and
// takes any content: an index that points nowhere stands for [unknown].
func (b *Builder) Add(p pprofile.Profiles) {
	d := newDictionary(p.Dictionary(), b.frames, b.opts.Detail)
	a := &adder{Builder: b, dict: d, leaves: map[leafKey]int32{}, unchecked: checkEvery}
	for _, rp := range p.ResourceProfiles().All() {
		attrs := rp.Resource().Attributes()
		a.startResource(attrs)
		accounting := IsAccounting(attrs)
		for _, sp := range rp.ScopeProfiles().All() {
			for _, prof := range sp.Profiles().All() {
				if accounting {
					a.addAccounting(prof)
				} else {
					a.addProfile(prof)
				}
			}
		}
	}
}

func (a *adder) addAccounting(prof pprofile.Profile) {
	key := accountKey{a.host, a.dict.typeKey(prof)}
	if !a.wants(key.typeKey) {
		return
	}
	acc := a.accounts[key]
	if acc == nil {
		if len(a.accounts) >= maxGraphs {
			return
		}
		acc = &account{group: a.group}
		a.accounts[key] = acc
	}
	covers := duration(prof)
	acc.span.add(prof.Time().AsTime(), covers)
	attrs := a.dict.attributes(prof.AttributeIndices())
	acc.add(attrs, covers)
	if a.opts.Idle {
		a.addIdle(key, integer(attrs[attrPrefix+"samples.idle"]))
	}
}

// addIdle adds samples of idle CPUs. Only counts of samples can take them.
func (a *adder) addIdle(key accountKey, n int64) {
	if n <= 0 || key.sample.Unit != "count" {
		return
	}
	g := a.graph(graphKey{a.group, key.typeKey})
	if len(g.hosts) < maxGraphs {
		g.hosts[a.host] = true
	}
	g.addAt(g.trie.child(0, a.frames.intern(Frame{Name: NameIdle, Kind: Process})), 0, n)
}

// duration is a profile's length; one that no int64 of nanoseconds can hold is 0.
func duration(prof pprofile.Profile) time.Duration {
	return max(0, time.Duration(prof.DurationNano()))
}

// graph returns the graph of a key, making it if need be.
func (b *Builder) graph(key graphKey) *building {
	g := b.graphs[key]
	if g == nil && len(b.graphs) >= maxGraphs {
		key.group = groupOther
		if len(b.graphs) >= maxGraphs+maxOtherTypes {
			key = graphKey{group: groupOther}
		}
		g = b.graphs[key]
	}
	if g == nil {
		g = &building{Merger: newMerger(b.frames, 1), hosts: map[string]bool{}}
		b.graphs[key] = g
	}
	return g
}

// overLimit reports whether the memory of all graphs exceeds the limit.
func (b *Builder) overLimit() bool {
	bytes := b.frames.bytes
	for _, g := range b.graphs {
		bytes += int64(g.trie.len()) * g.trie.nodeBytes()
	}
	return bytes > b.opts.MaxBytes
}

// Graphs returns what was added so far, sorted by group and type. What a host
// accounted for, but sent no sample of, gives an empty graph. The Builder can go
// on being used; the graphs do not change.
func (b *Builder) Graphs() []*Graph {
	sampled := map[accountKey]bool{}
	out := make([]*Graph, 0, len(b.graphs))
	for key, building := range b.graphs {
		for host := range building.hosts {
			sampled[accountKey{host, key.typeKey}] = true
		}
		out = append(out, b.finish(key, building))
	}
	empty := map[graphKey]*building{}
	for key, acc := range b.accounts {
		if sampled[key] {
			continue
		}
		g := graphKey{acc.group, key.typeKey}
		if empty[g] == nil {
			empty[g] = &building{Merger: newMerger(b.frames, 1), hosts: map[string]bool{}}
		}
		empty[g].hosts[key.host] = true
	}
	for key, building := range empty {
		if b.graphs[key] == nil {
			out = append(out, b.finish(key, building))
		}
	}
	slices.SortFunc(out, compareGraphs)
	return out
}

func compareGraphs(g, h *Graph) int {
	return cmp.Or(
		cmp.Compare(g.Group, h.Group),
		cmp.Compare(g.Name(), h.Name()),
		cmp.Compare(g.SampleType.Unit, h.SampleType.Unit),
		cmp.Compare(g.SampleType.Type, h.SampleType.Type),
		cmp.Compare(g.PeriodType.Type, h.PeriodType.Type),
		cmp.Compare(g.PeriodType.Unit, h.PeriodType.Unit),
		cmp.Compare(g.Period, h.Period),
	)
}

func (b *Builder) finish(key graphKey, building *building) *Graph {
	g := building.Graph()
	g.Group = key.group
	g.SampleType, g.PeriodType, g.Period = key.sample, key.period, key.length
	g.Meta.NotKept, g.Meta.Invalid, g.Meta.Records = building.notKept, building.invalid, building.records
	times := building.span
	for _, host := range slices.Sorted(maps.Keys(building.hosts)) {
		if host != "" {
			g.Meta.Hosts = append(g.Meta.Hosts, host)
		}
		acc := b.accounts[accountKey{host, key.typeKey}]
		if acc == nil {
			continue
		}
		if g.Meta.Accounting == nil {
			g.Meta.Accounting = &Accounting{}
		}
		g.Meta.Accounting.merge(&acc.Accounting)
		// The accounting covers whole windows; samples may stand in a part.
		times.add(acc.span.start, acc.span.end.Sub(acc.span.start))
	}
	g.Meta.Start = times.start
	g.Meta.Duration = times.end.Sub(times.start)
	return g
}
