package svg

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"

	"github.com/flametel/flametel/exporter/callgraph"
)

// File is what Read finds in a flame graph.
type File struct {
	Title string
	// Facts are those that were given to Write.
	Facts []Fact
	// Graph is the whole call graph with what is known about its origin. All
	// totals, names as they are shown, kinds, modules and places in the source
	// are those of the graph that was written; what the limit on the file's size
	// merged is in frames called "(N small frames)".
	Graph *callgraph.Graph
	// Comparison is nil for a file with one profile. Otherwise Graph is its graph.
	Comparison *callgraph.Comparison
}

// Bounds on hostile input. Our largest files, without a limit on their size, are
// a tenth of it for a million stacks.
const (
	maxMetadata = 512 << 20 // bytes of one metadata element
	maxPacked   = 1 << 30   // bytes of the unpacked graph
)

// errNotOurs is the error for files that Write did not make.
var errNotOurs = errors.New("no flame graph of ours: only files that flametel wrote hold the call graph; convert the folded stacks or the profile that the picture was made from")

// Read reads a flame graph that Write or WriteComparison wrote.
func Read(r io.Reader) (*File, error) {
	head, graph, err := metadata(r)
	if err != nil {
		return nil, err
	}
	var a about
	if err := json.Unmarshal([]byte(head), &a); err != nil {
		return nil, fmt.Errorf("read the description of the flame graph: %w", err)
	}
	if a.Format != formatName {
		return nil, errNotOurs
	}
	if a.Version != formatVersion {
		return nil, fmt.Errorf("the flame graph has format %d, and this version reads %d: use the version that wrote it", a.Version, formatVersion)
	}
	g, err := decodePayload(graph)
	if err != nil {
		return nil, fmt.Errorf("read the graph in the flame graph: %w", err)
	}
	return fileOf(&a, g)
}

// metadata returns both metadata elements of a file.
func metadata(r io.Reader) (head, graph string, err error) {
	d := xml.NewDecoder(io.LimitReader(r, 2*maxMetadata))
	for head == "" || graph == "" {
		tok, err := d.Token()
		if err == io.EOF {
			return "", "", errNotOurs
		}
		if err != nil {
			return "", "", fmt.Errorf("read the flame graph: %w", err)
		}
		start, ok := tok.(xml.StartElement)
		if !ok || start.Name.Local != "metadata" {
			continue
		}
		var text string
		if err := d.DecodeElement(&text, &start); err != nil {
			return "", "", fmt.Errorf("read the flame graph: %w", err)
		}
		for _, attr := range start.Attr {
			switch {
			case attr.Name.Local == "data-ft" && attr.Value == "about":
				head = text
			case attr.Name.Local == "data-ft" && attr.Value == "graph":
				graph = text
			}
		}
	}
	return head, graph, nil
}

// fileOf checks that both parts of a file agree.
func fileOf(a *about, g *callgraph.Graph) (*File, error) {
	if len(a.Sources) == 0 || len(a.Sources) > 2 || len(a.Sources) != len(g.Self) {
		return nil, fmt.Errorf("the flame graph describes %d profiles and holds %d", len(a.Sources), len(g.Self))
	}
	for w := range a.Sources {
		if total := g.Total(w); total != a.Sources[w].Total {
			return nil, fmt.Errorf("the flame graph is damaged: it says a total of %d, and its stacks add up to %d", a.Sources[w].Total, total)
		}
	}
	f := &File{Title: a.Title, Facts: a.Facts, Graph: g}
	last := a.Sources[len(a.Sources)-1].side()
	g.Group = a.Sources[0].Group
	g.SampleType, g.PeriodType, g.Period, g.Meta = last.SampleType, last.PeriodType, last.Period, last.Meta
	if len(a.Sources) == 2 {
		f.Comparison = &callgraph.Comparison{
			Graph: g, Normalized: a.Normalized,
			Sides: [2]callgraph.Side{a.Sources[callgraph.Before].side(), last},
		}
	}
	return f, nil
}
