package pprof

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/bounds"
)

// Result is what Read found.
type Result struct {
	// Graphs has one graph for each sample type, in the order of the profile.
	Graphs []*callgraph.Graph
	// Default is the graph that go tool pprof shows if nobody chooses.
	Default  int
	Comments []string
}

// ReadOptions are the settings of Read. The zero value is useful.
type ReadOptions struct {
	// Detail keeps addresses, mappings, source lines and threads apart, as
	// writing a profile again needs it.
	Detail bool
}

// maxSteps bounds the frames of all samples together: a location can have any
// number of lines, and a sample name it any number of times.
const maxSteps = 1 << 28

// messages are the fields of profile.proto that are messages.
func messages() bounds.Message {
	label, line, valueType := bounds.Message{}, bounds.Message{}, bounds.Message{}
	return bounds.Message{
		1: valueType, 2: bounds.Message{3: label}, 3: bounds.Message{}, 4: bounds.Message{4: line},
		5: bounds.Message{}, 11: valueType,
	}
}

// Is reports whether bytes look like an uncompressed profile: a protobuf message
// with a string table and no field beyond those of profile.proto.
func Is(data []byte) bool {
	fields, err := bounds.Protobuf(data, bounds.Message{})
	if err != nil || !fields[6] {
		return false
	}
	const last = 15 // doc_url
	for number := range fields {
		if number > last {
			return false
		}
	}
	return true
}

// Read reads an uncompressed profile. Labels of the names process, comm, thread,
// thread_name and thread_id become processes and threads, all others are left
// out. Values that are negative, as in a difference of two profiles, are left out
// and counted in Meta.Invalid.
func Read(data []byte, opts ReadOptions) (*Result, error) {
	if _, err := bounds.Protobuf(data, messages()); err != nil {
		return nil, fmt.Errorf("read pprof: the profile %w", err)
	}
	p, err := profile.ParseUncompressed(data)
	if err != nil {
		return nil, fmt.Errorf("read pprof: the profile is damaged: %w", err)
	}
	if err := p.CheckValid(); err != nil {
		return nil, fmt.Errorf("read pprof: the profile is damaged: %w", err)
	}
	if len(p.SampleType) == 0 {
		return nil, errors.New("read pprof: the profile has no sample type")
	}
	r := &reader{p: p, opts: opts, locations: map[*profile.Location][]int32{}}
	return r.read()
}

type reader struct {
	p       *profile.Profile
	opts    ReadOptions
	mergers []*callgraph.Merger // by sample type
	invalid []int64
	// locations are the frames of each location, outermost first.
	locations map[*profile.Location][]int32
	stack     []int32
	steps     int
}

func (r *reader) read() (*Result, error) {
	first := callgraph.NewMerger(1)
	for range r.p.SampleType {
		r.mergers = append(r.mergers, first.Sibling())
	}
	r.invalid = make([]int64, len(r.mergers))
	for _, s := range r.p.Sample {
		if err := r.sample(s); err != nil {
			return nil, err
		}
	}
	res := &Result{Comments: r.p.Comments, Default: len(r.mergers) - 1}
	for i, m := range r.mergers {
		g := m.Graph()
		g.SampleType = callgraph.ValueType(valueTypeOf(r.p.SampleType[i]))
		g.Meta.Invalid = r.invalid[i]
		r.origin(g)
		res.Graphs = append(res.Graphs, g)
	}
	for i, t := range r.p.SampleType {
		if r.p.DefaultSampleType != "" && t.Type == r.p.DefaultSampleType {
			res.Default = i
		}
	}
	r.records(res.Graphs)
	return res, nil
}

func valueTypeOf(t *profile.ValueType) callgraph.ValueType {
	if t == nil {
		return callgraph.ValueType{}
	}
	return callgraph.ValueType{Type: t.Type, Unit: t.Unit}
}

// origin fills in what the profile says about all of its types.
func (r *reader) origin(g *callgraph.Graph) {
	g.PeriodType, g.Period = valueTypeOf(r.p.PeriodType), max(0, r.p.Period)
	if r.p.TimeNanos > 0 {
		g.Meta.Start = time.Unix(0, r.p.TimeNanos).UTC()
	}
	g.Meta.Duration = max(0, time.Duration(r.p.DurationNanos))
}

// records says how many samples each type stands for: what a type of counts
// beside it says (samples beside cpu, alloc_objects beside alloc_space), else how
// many the profile lists.
func (r *reader) records(graphs []*callgraph.Graph) {
	counts := int64(len(r.p.Sample))
	for _, g := range graphs {
		if g.SampleType.Unit == "count" {
			counts = g.Total(0)
		}
		g.Meta.Records = counts
	}
}

func (r *reader) sample(s *profile.Sample) error {
	if !slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 }) {
		return nil
	}
	r.stack = r.labels(s, r.stack[:0])
	for _, loc := range slices.Backward(s.Location) { // leaf first in pprof
		r.stack = append(r.stack, r.location(loc)...)
		if r.steps += len(r.locations[loc]) + 1; r.steps > maxSteps {
			return fmt.Errorf("read pprof: the samples have more than %d frames", maxSteps)
		}
		if len(r.stack) > 2*callgraph.MaxDepth {
			r.cut()
		}
	}
	if len(r.stack) > callgraph.MaxDepth {
		r.cut()
	}
	for i, v := range s.Value {
		if v < 0 {
			r.invalid[i]++
		}
		if r.mergers[i].Add(r.stack, 0, v); r.mergers[i].TooLarge() {
			return fmt.Errorf("read pprof: the profile %w", callgraph.ErrTooLarge)
		}
	}
	return nil
}

// cut cuts a stack at its root.
func (r *reader) cut() {
	keep := r.stack[len(r.stack)-callgraph.MaxDepth+1:]
	r.stack[0] = r.mergers[0].Frame(callgraph.Frame{Name: callgraph.NameTruncated})
	n := copy(r.stack[1:], keep)
	r.stack = r.stack[:n+1]
}

// labels appends the frames of the process and the thread.
func (r *reader) labels(s *profile.Sample, stack []int32) []int32 {
	if name := firstLabel(s, "process", "comm"); name != "" {
		stack = append(stack, r.mergers[0].Frame(callgraph.Frame{Name: name, Kind: callgraph.Process}))
	}
	if !r.opts.Detail {
		return stack
	}
	name := firstLabel(s, "thread", "thread_name")
	var id int64
	if ids := s.NumLabel["thread_id"]; len(ids) > 0 {
		id = ids[0]
	}
	if name == "" && id == 0 {
		return stack
	}
	if name == "" {
		name = callgraph.NameUnknown
	}
	return append(stack, r.mergers[0].Frame(callgraph.Frame{Name: name, Kind: callgraph.Thread, Address: uint64(id)}))
}

func firstLabel(s *profile.Sample, keys ...string) string {
	for _, key := range keys {
		if v := s.Label[key]; len(v) > 0 && v[0] != "" {
			return v[0]
		}
	}
	return ""
}

// location returns the frames of a location, outermost first.
func (r *reader) location(loc *profile.Location) []int32 {
	frames, known := r.locations[loc]
	if known {
		return frames
	}
	var m *callgraph.Mapping
	if loc.Mapping != nil {
		m = r.mergers[0].Mapping(callgraph.Mapping{
			Start: loc.Mapping.Start, Limit: loc.Mapping.Limit, Offset: loc.Mapping.Offset,
			File: loc.Mapping.File, BuildID: loc.Mapping.BuildID,
		})
	}
	for i, line := range slices.Backward(loc.Line) {
		f := r.frame(loc, line, m)
		f.Inlined = i < len(loc.Line)-1
		frames = append(frames, r.mergers[0].Frame(f))
	}
	if len(frames) == 0 {
		frames = append(frames, r.mergers[0].Frame(r.frame(loc, profile.Line{}, m)))
	}
	r.locations[loc] = frames
	return frames
}

func (r *reader) frame(loc *profile.Location, line profile.Line, m *callgraph.Mapping) callgraph.Frame {
	var f callgraph.Frame
	if fn := line.Function; fn != nil {
		f.Name, f.SystemName, f.File, f.StartLine = fn.Name, fn.SystemName, fn.Filename, max(0, fn.StartLine)
	}
	if f.Name == "" {
		f.Name = f.SystemName
	}
	if m != nil {
		f.Module = m.File
	}
	named := f.Name != ""
	if !named {
		f.Name = callgraph.Unnamed(m, loc.Address)
	}
	f.Kind = callgraph.KindOf("", f.Module)
	if (!named || callgraph.IsPlaceholder(f.Name)) && f.Kind != callgraph.Kernel {
		f.Kind = callgraph.Unknown
	}
	if !r.opts.Detail || f.SystemName == f.Name {
		f.SystemName = ""
	}
	// A mapping without addresses says no more than Module: so it is written for
	// graphs that have no mappings.
	if r.opts.Detail {
		f.Line, f.Address, f.Mapping = max(0, line.Line), loc.Address, m
		if m != nil && *m == (callgraph.Mapping{File: m.File}) && loc.Address == 0 {
			f.Mapping = nil
		}
	}
	return f
}
