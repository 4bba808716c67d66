// Package speedscope writes and reads the file format of speedscope, version 0.0.1: the
// JSON of https://www.speedscope.app/file-format-schema.json.
//
// Each graph is one profile of type "sampled" in one file; all share one table
// of frames. Samples stand in the order of the graph, as there is no time in
// it: use the views Left Heavy and Sandwich.
package speedscope

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flametel/flametel/exporter/callgraph"
)

const schema = "https://www.speedscope.app/file-format-schema.json"

// Options are the settings of Write. The zero value is useful.
type Options struct {
	// Name of the whole file. Empty: the name of the first profile.
	Name string
	// Exporter is the program and version that wrote it.
	Exporter string
	// Default is the graph that is shown first.
	Default int
	// Weight is which of a graph's weights to write.
	Weight int
}

// frame is an entry of the shared table, which has each distinct one once. Kind,
// Inlined and Module are ours: the schema allows more than it names, speedscope
// leaves them alone, and Read makes the same frame of them again.
type frame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int64  `json:"line,omitempty"`
	// Kind is in words, "" for user code.
	Kind    string `json:"kind,omitempty"`
	Inlined bool   `json:"inlined,omitempty"`
	// Module is given if File is one of source code; otherwise File is the module.
	Module *string `json:"module,omitempty"`
}

// Write writes the graphs as one file. Without graphs, or with an empty one, the
// file is valid and holds an empty profile.
func Write(w io.Writer, graphs []*callgraph.Graph, opts Options) error {
	if len(graphs) == 0 {
		graphs = []*callgraph.Graph{callgraph.NewMerger(1).Graph()}
	}
	if opts.Name == "" {
		opts.Name = profileName(graphs[opts.Default])
	}
	e := &encoder{Writer: bufio.NewWriterSize(w, 1<<16), weight: opts.Weight}
	tables := e.frames(graphs)
	e.raw(`{"$schema":`)
	e.json(schema)
	e.raw(`,"name":`)
	e.json(clean(opts.Name))
	e.raw(`,"activeProfileIndex":`)
	e.int(int64(opts.Default))
	if opts.Exporter != "" {
		e.raw(`,"exporter":`)
		e.json(clean(opts.Exporter))
	}
	e.raw(`,"shared":{"frames":`)
	e.json(e.table)
	e.raw(`},"profiles":[`)
	for i, g := range graphs {
		if i > 0 {
			e.raw(",")
		}
		e.raw("\n")
		e.profile(g, tables[i])
	}
	e.raw("]}\n")
	if e.err != nil {
		return e.err
	}
	return e.Flush()
}

type encoder struct {
	*bufio.Writer // keeps its first error until it is flushed
	weight        int
	table         []frame
	buf           []byte
	err           error
}

func (e *encoder) raw(s string) { _, _ = e.WriteString(s) }

func (e *encoder) int(v int64) {
	e.buf = strconv.AppendInt(e.buf[:0], v, 10)
	_, _ = e.Write(e.buf)
}

func (e *encoder) json(v any) {
	b, err := json.Marshal(v)
	if err != nil && e.err == nil {
		e.err = err
	}
	_, _ = e.Write(b)
}

// frames fills the shared table and returns, for each graph, the place of each
// of its frames in it.
func (e *encoder) frames(graphs []*callgraph.Graph) [][]int64 {
	e.table = []frame{}
	ids := map[callgraph.Frame]int64{}
	tables := make([][]int64, len(graphs))
	for i, g := range graphs {
		tables[i] = make([]int64, len(g.Frames))
		for j := range g.Frames {
			f := cleaned(&g.Frames[j])
			id, ok := ids[f]
			if !ok {
				id = int64(len(e.table))
				ids[f] = id
				e.table = append(e.table, toFrame(&f))
			}
			tables[i][j] = id
		}
	}
	return tables
}

// cleaned returns what a file holds of a frame, as valid UTF-8.
func cleaned(f *callgraph.Frame) callgraph.Frame {
	out := callgraph.Frame{
		Name: orUnknown(clean(f.Name)), Kind: f.Kind, Inlined: f.Inlined,
		Module: clean(f.Module), File: clean(f.File),
	}
	if out.File != "" {
		out.StartLine = max(0, f.StartLine)
	}
	return out
}

// toFrame shows the source file if it is known, else the module.
func toFrame(f *callgraph.Frame) frame {
	out := frame{Name: f.Name, File: f.File, Line: f.StartLine, Inlined: f.Inlined}
	if f.Kind != callgraph.User {
		out.Kind = f.Kind.String()
	}
	if out.File == "" {
		out.File = f.Module
	} else {
		out.Module = &f.Module
	}
	return out
}

// clean makes a string valid UTF-8. JSON escapes everything else.
func clean(s string) string { return strings.ToValidUTF8(s, string(utf8.RuneError)) }

// profile writes one graph. Samples and weights are two arrays, so the nodes
// are walked twice.
func (e *encoder) profile(g *callgraph.Graph, table []int64) {
	e.raw(`{"type":"sampled","name":`)
	e.json(profileName(g))
	e.raw(`,"unit":`)
	e.json(unit(g.SampleType.Unit))
	e.raw(`,"startValue":0,"endValue":`)
	e.int(g.Total(e.weight))
	e.raw(`,"samples":[`)
	e.samples(g, table)
	e.raw(`],"weights":[`)
	first := true
	for _, v := range g.Self[e.weight] {
		if v <= 0 {
			continue
		}
		if !first {
			e.raw(",")
		}
		first = false
		e.int(v)
	}
	e.raw("]}")
}

func (e *encoder) samples(g *callgraph.Graph, table []int64) {
	depths := g.Depths()
	var stack []int64 // of the node at hand, root first
	first := true
	for i, node := range g.Nodes {
		if i > 0 {
			stack = append(stack[:depths[i]-1], table[node.Frame])
		}
		if g.Self[e.weight][i] <= 0 {
			continue
		}
		if !first {
			e.raw(",")
		}
		first = false
		e.raw("[")
		for j, f := range stack {
			if j > 0 {
				e.raw(",")
			}
			e.int(f)
		}
		e.raw("]")
	}
}

// profileName tells profiles in one file apart.
func profileName(g *callgraph.Graph) string {
	name := clean(g.Name())
	if u := clean(g.SampleType.Unit); u != "" {
		name += " (" + u + ")"
	}
	return name
}

// unit translates a unit to one of those that the schema allows.
func unit(u string) string {
	switch u {
	case "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes":
		return u
	case "ns":
		return "nanoseconds"
	case "us":
		return "microseconds"
	case "ms":
		return "milliseconds"
	case "s":
		return "seconds"
	case "By", "byte", "B":
		return "bytes"
	}
	return "none"
}
