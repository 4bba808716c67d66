package formats

import (
	"fmt"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
)

// Find returns the graph of a sample type, by the name that Graph.Name gives or by
// the type itself; without a name the default one.
func (p *Profile) Find(name string) (*callgraph.Graph, error) {
	if name == "" {
		return p.Graphs[p.Default], nil
	}
	for _, g := range p.Graphs {
		if g.Is(name) {
			return g, nil
		}
	}
	return nil, fmt.Errorf("there is no sample type %q, only %s", name, strings.Join(p.Types(), ", "))
}

// Types are the names of the sample types, in the order of the file.
func (p *Profile) Types() []string {
	var out []string
	for _, g := range p.Graphs {
		out = append(out, g.Name())
	}
	return out
}

// Pair returns a graph of each of two profiles that can be compared: those of the
// type that is named, else the default of the second and the one of its name in
// the first. Text without types can be of any.
func Pair(before, after *Profile, name string) (b, a *callgraph.Graph, err error) {
	if a, err = after.find(name); err != nil {
		return nil, nil, fmt.Errorf("after: %w", err)
	}
	if name == "" && !untyped(a) {
		name = a.Name()
	}
	if b, err = before.find(name); err != nil {
		return nil, nil, fmt.Errorf("before: %w", err)
	}
	if !untyped(a) && !untyped(b) && a.SampleType.Unit != b.SampleType.Unit {
		return nil, nil, fmt.Errorf("before is in %s and after in %s, which cannot be compared", unitOf(b), unitOf(a))
	}
	return b, a, nil
}

func (p *Profile) find(name string) (*callgraph.Graph, error) {
	if len(p.Graphs) == 1 && (untyped(p.Graphs[0]) || p.Graphs[0].Total(0) == 0) {
		return p.Graphs[0], nil
	}
	return p.Find(name)
}

// untyped reports whether a graph says nothing about what it counts, as folded
// text does.
func untyped(g *callgraph.Graph) bool {
	return g.PeriodType.Type == "" && g.SampleType == callgraph.ValueType{Type: "samples", Unit: "count"}
}

func unitOf(g *callgraph.Graph) string {
	if g.SampleType.Unit == "" {
		return "no unit"
	}
	return g.SampleType.Unit
}
