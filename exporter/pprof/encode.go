package pprof

import (
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/flametel/flametel/exporter/callgraph"
)

// encoder numbers the tables of a profile. IDs are dense and begin with 1, in
// the order of first use, which is that of the graph.
type encoder struct {
	p         *profile.Profile
	types     int
	mappings  map[callgraph.Mapping]*profile.Mapping
	functions map[function]*profile.Function
	locations map[string]*profile.Location
	// single are the locations of one frame, which most are.
	single  map[*callgraph.Frame]*profile.Location
	samples map[string]*profile.Sample
	key     []byte // of the sample at hand, reused
	// unknown is the stack of a sample without frames.
	unknown []*callgraph.Frame
	// named and unnamed count locations by mapping: see finish.
	named, unnamed map[*profile.Mapping]int
}

type function struct {
	name, system, file string
	line               int64
}

func newEncoder(types int) *encoder {
	return &encoder{
		p:         &profile.Profile{},
		types:     types,
		mappings:  map[callgraph.Mapping]*profile.Mapping{},
		functions: map[function]*profile.Function{},
		locations: map[string]*profile.Location{},
		single:    map[*callgraph.Frame]*profile.Location{},
		samples:   map[string]*profile.Sample{},
		unknown:   []*callgraph.Frame{{Name: callgraph.NameUnknown}},
		named:     map[*profile.Mapping]int{},
		unnamed:   map[*profile.Mapping]int{},
	}
}

// add adds the samples of one graph as values of the sample type at an index.
func (e *encoder) add(index int, g *callgraph.Graph, weight int) {
	depths := g.Depths()
	var stack []*callgraph.Frame // of the node at hand, root first
	for i, node := range g.Nodes {
		if i > 0 {
			stack = append(stack[:depths[i]-1], &g.Frames[node.Frame])
		}
		if v := g.Self[weight][i]; v > 0 {
			e.sample(stack).Value[index] += v
		}
	}
}

// sample returns the sample of a stack, the same for every sample type.
func (e *encoder) sample(stack []*callgraph.Frame) *profile.Sample {
	s := &profile.Sample{Value: make([]int64, e.types)}
	for len(stack) > 0 && !stack[0].Kind.IsCode() {
		label(s, stack[0])
		stack = stack[1:]
	}
	if len(stack) == 0 {
		stack = e.unknown
	}
	// Leaf first. Inlined frames belong to the location of the first frame
	// towards the root that was not inlined.
	for end := len(stack); end > 0; {
		start := end - 1
		for start > 0 && stack[start].Inlined && sameLocation(stack[start-1], stack[start]) {
			start--
		}
		s.Location = append(s.Location, e.location(stack[start:end]))
		end = start
	}
	e.key = appendKey(e.key[:0], s)
	if known := e.samples[string(e.key)]; known != nil {
		return known
	}
	e.samples[string(e.key)] = s
	e.p.Sample = append(e.p.Sample, s)
	return s
}

func label(s *profile.Sample, f *callgraph.Frame) {
	if s.Label == nil {
		s.Label = map[string][]string{}
	}
	if f.Kind == callgraph.Process {
		s.Label["process"] = []string{clean(f.Name)}
		return
	}
	s.Label["thread"] = []string{clean(f.Name)}
	if f.Address != 0 {
		s.NumLabel = map[string][]int64{"thread_id": {int64(f.Address)}}
		s.NumUnit = map[string][]string{"thread_id": {""}}
	}
}

// appendKey appends what tells a sample from all others.
func appendKey(key []byte, s *profile.Sample) []byte {
	for _, l := range s.Location {
		key = binary.AppendUvarint(key, l.ID)
	}
	if s.Label != nil {
		key = fmt.Appendf(key, "\x00%q %q %v", s.Label["process"], s.Label["thread"], s.NumLabel["thread_id"])
	}
	return key
}

// sameLocation reports whether a frame and what was inlined into it are lines
// of one location: code of one file and kind at one address, or at none that is
// known.
func sameLocation(outer, inlined *callgraph.Frame) bool {
	return outer.Mapping == inlined.Mapping && outer.Address == inlined.Address &&
		outer.Module == inlined.Module && outer.Kind == inlined.Kind
}

// location returns the location of a frame and all that was inlined into it,
// outermost first.
func (e *encoder) location(frames []*callgraph.Frame) *profile.Location {
	if len(frames) > 1 {
		return e.newLocation(frames)
	}
	loc := e.single[frames[0]]
	if loc == nil {
		loc = e.newLocation(frames)
		e.single[frames[0]] = loc
	}
	return loc
}

// newLocation returns the location of frames that are not known yet, or the one
// that is equal to it in the file.
func (e *encoder) newLocation(frames []*callgraph.Frame) *profile.Location {
	loc := &profile.Location{Address: frames[0].Address, Mapping: e.mapping(frames[0])}
	key := fmt.Sprintf("%p %x", loc.Mapping, loc.Address)
	for _, f := range slices.Backward(frames) {
		if f.Mapping != nil && callgraph.IsPlaceholder(f.Name) && !isFunction(f) {
			continue // the address says as much, and lets others name it
		}
		fn := e.function(f)
		loc.Line = append(loc.Line, profile.Line{Function: fn, Line: f.Line})
		key += fmt.Sprintf(" %x:%x", fn.ID, f.Line)
	}
	if known := e.locations[key]; known != nil {
		return known
	}
	loc.ID = uint64(len(e.p.Location) + 1)
	e.locations[key] = loc
	e.p.Location = append(e.p.Location, loc)
	if loc.Mapping != nil {
		if len(loc.Line) > 0 && (frames[0].Mapping == nil || !isFunction(frames[0])) {
			e.named[loc.Mapping]++
		} else {
			e.unnamed[loc.Mapping]++
		}
		e.describe(loc)
	}
	return loc
}

// isFunction reports whether the name of a frame, which is none, says in which
// function the address is. Then it is written, so that the function is one in
// pprof, too, but does not keep others from naming it.
func isFunction(f *callgraph.Frame) bool {
	return strings.Contains(f.Name, "]+0x") && callgraph.IsPlaceholder(f.Name) &&
		f.Name != callgraph.Unnamed(f.Mapping, f.Address)
}

// describe notes on the mapping what its locations carry.
func (e *encoder) describe(loc *profile.Location) {
	m := loc.Mapping
	for _, l := range loc.Line {
		m.HasFilenames = m.HasFilenames || l.Function.Filename != ""
		m.HasLineNumbers = m.HasLineNumbers || l.Line != 0
	}
	m.HasInlineFrames = m.HasInlineFrames || len(loc.Line) > 1
}

func (e *encoder) function(f *callgraph.Frame) *profile.Function {
	key := function{clean(f.Name), clean(f.SystemName), clean(f.File), f.StartLine}
	if key.system == "" {
		key.system = key.name
	}
	if fn := e.functions[key]; fn != nil {
		return fn
	}
	fn := &profile.Function{
		ID:         uint64(len(e.p.Function) + 1),
		Name:       key.name,
		SystemName: key.system,
		Filename:   key.file,
		StartLine:  key.line,
	}
	e.functions[key] = fn
	e.p.Function = append(e.p.Function, fn)
	return fn
}

// mapping returns the mapping of a frame. Graphs without detail have only file
// names: then the mapping covers no addresses.
func (e *encoder) mapping(f *callgraph.Frame) *profile.Mapping {
	m := callgraph.Mapping{File: f.Module}
	if f.Mapping != nil {
		m = *f.Mapping
	} else if m.File == "" {
		m.File = standIn(f)
	}
	if m == (callgraph.Mapping{}) {
		return nil
	}
	if known := e.mappings[m]; known != nil {
		return known
	}
	pm := &profile.Mapping{
		ID: uint64(len(e.p.Mapping) + 1), Start: m.Start, Limit: m.Limit, Offset: m.Offset,
		File: clean(m.File), BuildID: clean(m.BuildID),
	}
	e.mappings[m] = pm
	e.p.Mapping = append(e.p.Mapping, pm)
	return pm
}

// standIn is the file of code that a source named without one. By it readers know
// code of the kernel and of runtimes, for which pprof has no other place.
func standIn(f *callgraph.Frame) string {
	switch f.Kind {
	case callgraph.Kernel:
		return "[kernel]"
	case callgraph.JIT:
		return "[anon]"
	}
	return ""
}

// finish decides which mappings need no symbolizing, and puts the main binary
// first, where go tool pprof looks for it: the mapping of a file (not of the
// kernel, a library or anonymous memory) with most locations.
func (e *encoder) finish() {
	main := -1
	for i, m := range e.p.Mapping {
		m.HasFunctions = e.named[m] > 0
		if isBinary(m.File) && (main < 0 || e.count(m) > e.count(e.p.Mapping[main])) {
			main = i
		}
	}
	if main > 0 {
		m := e.p.Mapping[main]
		copy(e.p.Mapping[1:main+1], e.p.Mapping[:main])
		e.p.Mapping[0] = m
	}
	for i, m := range e.p.Mapping {
		m.ID = uint64(i + 1)
	}
}

func (e *encoder) count(m *profile.Mapping) int { return e.named[m] + e.unnamed[m] }

func isBinary(file string) bool {
	base := path.Base(file)
	return file != "" && !strings.HasPrefix(base, "[") && !strings.Contains(base, ".so")
}
