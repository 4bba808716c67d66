package speedscope

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/bounds"
)

// Result is what Read found.
type Result struct {
	// Graphs has one graph for each unit, or for each type of samples in a file of
	// ours, in the order of the file.
	Graphs []*callgraph.Graph
	// Default is the graph of the profile that speedscope shows first.
	Default int
	Name    string
	// Scale is what the weights of each graph were multiplied by: 1 unless some
	// had a decimal point. Times with one become nanoseconds.
	Scale []int64
}

// maxSteps bounds the frames of all samples together.
const maxSteps = 1 << 28

// file is as much of the format as we use. Numbers are kept as text: a time can
// be any number, and a whole one may not fit a float.
type file struct {
	Schema  string      `json:"$schema"`
	Name    string      `json:"name"`
	Active  json.Number `json:"activeProfileIndex"`
	By      string      `json:"exporter"`
	Shared  *shared     `json:"shared"`
	Entries []entry     `json:"profiles"`
}

type shared struct {
	Frames []frame `json:"frames"`
}

type entry struct {
	Type    string        `json:"type"`
	Name    string        `json:"name"`
	Unit    string        `json:"unit"`
	Start   json.Number   `json:"startValue"`
	End     json.Number   `json:"endValue"`
	Samples [][]int64     `json:"samples"`
	Weights []json.Number `json:"weights"`
	Events  []event       `json:"events"`
}

type event struct {
	Type  string      `json:"type"`
	Frame int64       `json:"frame"`
	At    json.Number `json:"at"`
}

// Read reads a file of speedscope's own format. Several profiles of one unit, as
// other programs write one for each thread, become one graph with a frame for
// each of them at the root.
func Read(data []byte) (*Result, error) {
	if err := bounds.JSON(data); err != nil {
		return nil, fmt.Errorf("read speedscope: the file %w", err)
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("read speedscope: the file is damaged: %w", err)
	}
	if f.Shared == nil || f.Entries == nil {
		return nil, errors.New("read speedscope: the file has no shared frames or no profiles, so it is of another program or of another version of the format")
	}
	r := &reader{file: &f, res: &Result{Name: f.Name}}
	if err := r.read(); err != nil {
		return nil, fmt.Errorf("read speedscope: %w", err)
	}
	return r.res, nil
}

type reader struct {
	*file
	res   *Result
	steps int
}

// read makes a graph of each group of profiles.
func (r *reader) read() error {
	active, _ := r.Active.Int64()
	var groups []*group
	byKey := map[callgraph.ValueType]*group{}
	for i := range r.Entries {
		e := &r.Entries[i]
		t := e.valueType(r.ours())
		g := byKey[t]
		if g == nil {
			g = &group{valueType: t}
			byKey[t] = g
			groups = append(groups, g)
		}
		g.entries = append(g.entries, e)
		if int64(i) == active {
			r.res.Default = slices.Index(groups, g)
		}
	}
	for _, g := range groups {
		if err := r.group(g); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) ours() bool { return strings.HasPrefix(r.By, "flametel") }

// group is profiles that become one graph.
type group struct {
	valueType callgraph.ValueType
	entries   []*entry
}

// valueType is what a profile measures. Our own files name it.
func (e *entry) valueType(ours bool) callgraph.ValueType {
	if i := strings.LastIndex(e.Name, " ("); ours && i > 0 && strings.HasSuffix(e.Name, ")") {
		return callgraph.ValueType{Type: e.Name[:i], Unit: e.Name[i+2 : len(e.Name)-1]}
	}
	switch e.Unit {
	case "none", "":
		return callgraph.ValueType{Type: "samples", Unit: "count"}
	case "bytes":
		return callgraph.ValueType{Type: "space", Unit: "bytes"}
	}
	return callgraph.ValueType{Type: "time", Unit: e.Unit}
}

func (r *reader) group(g *group) error {
	m := callgraph.NewMerger(1)
	ids := make([]int32, len(r.Shared.Frames))
	for i := range r.Shared.Frames {
		ids[i] = m.Frame(r.Shared.Frames[i].frame())
	}
	digits := 0
	for _, e := range g.entries {
		digits = max(digits, e.decimals())
	}
	factor, unit := scale(g.valueType.Unit, digits)
	var records int64
	for _, e := range g.entries {
		var root []int32
		if len(g.entries) > 1 {
			root = []int32{m.Frame(callgraph.Frame{Name: orUnknown(e.Name), Kind: callgraph.Thread})}
		}
		a := &adder{Merger: m, reader: r, ids: ids, root: root, digits: factor}
		if err := a.add(e); err != nil {
			return fmt.Errorf("profile %.60q: %w", e.Name, err)
		}
		records += a.records
	}
	out := m.Graph()
	out.SampleType = callgraph.ValueType{Type: g.valueType.Type, Unit: unit}
	out.Meta.Records = records
	r.res.Graphs = append(r.res.Graphs, out)
	r.res.Scale = append(r.res.Scale, pow10(factor))
	return nil
}

func orUnknown(name string) string {
	if name == "" {
		return callgraph.NameUnknown
	}
	return name
}

// frame is the reverse of toFrame.
func (f *frame) frame() callgraph.Frame {
	out := callgraph.Frame{Name: orUnknown(f.Name), Kind: callgraph.User, Inlined: f.Inlined, Module: f.File}
	if f.Module != nil || f.Line > 0 {
		out.File, out.StartLine, out.Module = f.File, max(0, f.Line), ""
		if f.Module != nil {
			out.Module = *f.Module
		}
	}
	switch {
	case f.Kind != "":
		out.Kind = kindOf(f.Kind)
	case callgraph.IsPlaceholder(out.Name):
		out.Kind = callgraph.Unknown
	default:
		out.Kind = callgraph.KindOf("", out.Module)
	}
	return out
}

func kindOf(word string) callgraph.Kind {
	for k := callgraph.Unknown; k <= callgraph.Thread; k++ {
		if k.String() == word {
			return k
		}
	}
	return callgraph.User
}
