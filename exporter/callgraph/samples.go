package callgraph

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// adder adds the samples of one message.
type adder struct {
	*Builder
	dict *dictionary
	// leaves remembers where a stack ended in a graph, so that a stack is
	// walked once for each process, whatever number of samples it has.
	leaves map[leafKey]int32
	steps  int // frames walked so far
	// unchecked is the part of steps since the memory limit was looked at.
	unchecked int
	path      []int32 // of the stack being walked, reused

	// Of the resource whose samples are being added.
	host    string
	group   string
	process string // "" if the resource does not name one
}

type leafKey struct {
	graph  *building
	prefix [2]int32 // frames of the process and the thread, -1 for none
	stack  int32
}

// checkEvery is the number of frames between two checks of the memory limit:
// adding up all graphs takes longer than adding a stack.
const checkEvery = 1 << 14

func (a *adder) startResource(attrs pcommon.Map) {
	a.host = stringAttr(attrs, "host.name")
	a.group = ""
	if a.opts.Group != nil {
		a.group = a.opts.Group(attrs)
	}
	a.process = ProcessOf(attrs)
}

func (a *adder) addProfile(prof pprofile.Profile) {
	samples := prof.Samples()
	if samples.Len() == 0 {
		return
	}
	key := a.dict.typeKey(prof)
	if !a.wants(key) {
		return
	}
	g := a.graph(graphKey{a.group, key})
	if len(g.hosts) < maxGraphs {
		g.hosts[a.host] = true
	}
	g.span.add(prof.Time().AsTime(), duration(prof))
	for _, s := range samples.All() {
		v, ok := sampleValue(s)
		if !ok {
			g.invalid++
			continue
		}
		if v > 0 {
			g.records++
			a.addSample(g, s, v)
		}
	}
}

// sampleValue is what a sample counts: the sum of its values; if it has only
// timestamps, their number (OTLP profiles, message Sample).
func sampleValue(s pprofile.Sample) (v int64, ok bool) {
	values := s.Values()
	if values.Len() == 0 {
		n := s.TimestampsUnixNano().Len()
		return int64(n), n > 0
	}
	for _, x := range values.All() {
		if x < 0 {
			return 0, false
		}
		v = clampedSum(v, x)
	}
	return v, true
}

func (a *adder) addSample(g *building, s pprofile.Sample, v int64) {
	key := leafKey{graph: g, prefix: a.prefix(s), stack: s.StackIndex()}
	node, ok := a.leaves[key]
	if !ok {
		node = a.walk(g, key)
		a.leaves[key] = node
	}
	if node == g.full && node != 0 {
		g.notKept = clampedSum(g.notKept, v)
	}
	g.addAt(node, 0, v)
}

// prefix returns the grouping frames at the root of a sample's stack.
func (a *adder) prefix(s pprofile.Sample) [2]int32 {
	if a.opts.Roots == Functions {
		return [2]int32{-1, -1}
	}
	threads := a.opts.Detail || a.opts.Roots == Threads
	thread := ""
	if a.process == "" || threads {
		thread = a.dict.stringOf(s.AttributeIndices(), attrThreadName)
	}
	process := a.process
	if process == "" {
		process = thread
	}
	prefix := [2]int32{a.frames.intern(Frame{Name: orUnknown(process), Kind: Process}), -1}
	if threads {
		id := a.dict.intOf(s.AttributeIndices(), attrThreadID)
		if thread != "" || id != 0 {
			prefix[1] = a.frames.intern(a.thread(orUnknown(thread), id))
		}
	}
	return prefix
}

// thread is the frame of a thread, whose number is 0 if threads of one name are
// not told apart.
func (a *adder) thread(name string, id int64) Frame {
	f := Frame{Name: name, Kind: Thread}
	if a.opts.Detail {
		f.Address = uint64(id)
	} else if id != 0 {
		f.Name = fmt.Sprintf("%s (%d)", name, id)
	}
	return f
}

// walk returns the node in which a stack ends, making it and all above it.
func (a *adder) walk(g *building, key leafKey) int32 {
	if a.exhausted() {
		if g.full == 0 {
			g.full = g.trie.child(0, a.frames.intern(Frame{Name: NameFull}))
		}
		return g.full
	}
	a.path = a.dict.stack(key.stack, a.path[:0])
	a.steps += len(a.path)
	a.unchecked += len(a.path)
	node := int32(0)
	for _, f := range key.prefix {
		if f >= 0 {
			node = g.trie.child(node, f)
		}
	}
	for _, f := range a.path {
		node = g.trie.child(node, f)
	}
	return node
}

// exhausted reports whether the work for this message or the memory of the
// graphs has reached its bound. Once it has, it stays so for this message.
func (a *adder) exhausted() bool {
	if a.unchecked >= checkEvery {
		a.unchecked = 0
		if a.overLimit() {
			a.steps = maxSteps
		}
	}
	return a.steps >= maxSteps
}

func orUnknown(name string) string {
	if name == "" {
		return NameUnknown
	}
	return name
}
