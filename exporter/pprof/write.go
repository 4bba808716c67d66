package pprof

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"github.com/flametel/flametel/exporter/callgraph"
)

// Options are the settings of Write. The zero value is useful.
type Options struct {
	// Comments are free text kept in the profile.
	Comments []string
	// Default is the graph that go tool pprof shows if nobody chooses.
	Default int
	// Weight is which of a graph's weights to write.
	Weight int
}

// Write writes the graphs as one gzip-compressed profile.
func Write(w io.Writer, graphs []*callgraph.Graph, opts Options) error {
	p, err := Profile(graphs, opts)
	if err != nil {
		return err
	}
	return p.Write(w)
}

// Profile returns the graphs as one checked profile. Without graphs it is an
// empty profile of the type samples/count.
func Profile(graphs []*callgraph.Graph, opts Options) (*profile.Profile, error) {
	if len(graphs) == 0 {
		graphs = []*callgraph.Graph{callgraph.NewMerger(1).Graph()}
	}
	e := newEncoder(len(graphs))
	first := graphs[0]
	for _, g := range graphs {
		e.p.SampleType = append(e.p.SampleType, sampleType(g, graphs))
	}
	// Otherwise go tool pprof shows the last one.
	if len(graphs) > 1 {
		e.p.DefaultSampleType = e.p.SampleType[opts.Default].Type
	}
	if first.Period > 0 || first.PeriodType.Type != "" {
		e.p.PeriodType = valueType(first.PeriodType, "cpu", "nanoseconds")
		e.p.Period = first.Period
	}
	if !first.Meta.Start.IsZero() {
		e.p.TimeNanos = first.Meta.Start.UnixNano()
	}
	e.p.DurationNanos = int64(first.Meta.Duration)
	for _, c := range opts.Comments {
		e.p.Comments = append(e.p.Comments, clean(c))
	}
	for i, g := range graphs {
		e.add(i, g, opts.Weight)
	}
	e.finish()
	return e.p, e.p.CheckValid()
}

// sampleType names what a graph counts. Several kinds of samples, as of the events
// of perf, are told apart by what their periods measure.
func sampleType(g *callgraph.Graph, graphs []*callgraph.Graph) *profile.ValueType {
	t := g.SampleType
	same := func(h *callgraph.Graph) bool { return h != g && h.SampleType == t }
	if slices.ContainsFunc(graphs, same) {
		t.Type = g.Name()
	}
	return valueType(t, "samples", "count")
}

func valueType(v callgraph.ValueType, defaultType, defaultUnit string) *profile.ValueType {
	t := &profile.ValueType{Type: clean(v.Type), Unit: clean(v.Unit)}
	if t.Type == "" {
		t.Type = defaultType
	}
	if t.Unit == "" {
		t.Unit = defaultUnit
	}
	return t
}

// clean makes a string fit for protobuf, which refuses invalid UTF-8.
func clean(s string) string { return strings.ToValidUTF8(s, string(utf8.RuneError)) }
