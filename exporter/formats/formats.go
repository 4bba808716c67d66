package formats

import (
	"io"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/folded"
	"github.com/flametel/flametel/exporter/pprof"
	"github.com/flametel/flametel/exporter/speedscope"
	"github.com/flametel/flametel/exporter/svg"
)

// Format is one format of profiles.
type Format struct {
	Name string
	// Extensions of its files; the first is the one that we give.
	Extensions []string
	// SeveralTypes: one file can hold several sample types.
	SeveralTypes bool
	// Detail: the format has room for addresses, source lines and threads.
	Detail bool
	// Binary files are not for a terminal.
	Binary bool
	// Write writes graphs, the first alone if there is no room for SeveralTypes.
	// It is nil for a format that is only read.
	Write func(w io.Writer, graphs []*callgraph.Graph, opts *WriteOptions) error

	// read reads a whole file; a format without it is not read.
	read func(in *input, opts *ReadOptions) (*Profile, error)
}

// WriteOptions are the settings of all writers; each takes those that it knows.
type WriteOptions struct {
	// Title of an SVG, name of a speedscope file. Empty: made from the profile.
	Title string
	// Default is the graph that is shown first in files of several.
	Default int
	// Layout of an SVG.
	Layout svg.Layout
	// MaxBytes of an SVG, as svg.Options has it.
	MaxBytes int64
	// Facts of an SVG, as svg.Options has them; comments of pprof.
	Facts []svg.Fact
	// NoAnnotations and Modules of folded text.
	NoAnnotations, Modules bool
}

// exporterName is how files name the program that wrote them. By it speedscope
// files are known as ours.
const exporterName = "flametel"

// All lists the formats, those that are written first.
func All() []*Format {
	return []*Format{
		{Name: "svg", Extensions: []string{".svg"}, Write: writeSVG, read: readSVG},
		{Name: "folded", Extensions: []string{".folded", ".txt"}, Write: writeFolded, read: readFolded},
		{
			Name: "pprof", Extensions: []string{".pb.gz", ".pprof"},
			SeveralTypes: true, Detail: true, Binary: true, Write: writePprof, read: readPprof,
		},
		{
			Name: "speedscope", Extensions: []string{".speedscope.json", ".speedscope"},
			SeveralTypes: true, Write: writeSpeedscope, read: readSpeedscope,
		},
		{Name: "otlp", Extensions: []string{".otlp"}, SeveralTypes: true, Detail: true, Binary: true, read: readOTLP},
		{Name: "otlp-json", Extensions: []string{".otlp.json", ".jsonl"}, SeveralTypes: true, Detail: true, read: readOTLPJSON},
		{Name: "perf-script", Extensions: []string{".perf"}, SeveralTypes: true, read: readPerfScript},
	}
}

// ByName returns the format of a name, nil if there is none.
func ByName(name string) *Format {
	for _, f := range All() {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// ByExtension returns the format to be written to a path, and the extension by
// which it is known; nil if there is none.
func ByExtension(path string) (f *Format, extension string) {
	for _, f := range All() {
		for _, ext := range f.Extensions {
			if f.Write != nil && strings.HasSuffix(path, ext) {
				return f, ext
			}
		}
	}
	return nil, ""
}

// WrittenNames and WrittenExtensions list what ByName and ByExtension know that
// can be written.
func WrittenNames() []string { return names(func(f *Format) bool { return f.Write != nil }) }

// ReadNames lists the formats that can be read.
func ReadNames() []string { return names(func(f *Format) bool { return f.read != nil }) }

func names(is func(f *Format) bool) []string {
	var out []string
	for _, f := range All() {
		if is(f) {
			out = append(out, f.Name)
		}
	}
	return out
}

// WrittenExtensions lists the extensions by which files to be written are known.
func WrittenExtensions() []string {
	var out []string
	for _, f := range All() {
		if f.Write != nil {
			out = append(out, f.Extensions...)
		}
	}
	return out
}

func writeSVG(w io.Writer, graphs []*callgraph.Graph, o *WriteOptions) error {
	return svg.Write(w, graphs[0], o.SVG())
}

// SVG are the settings of an SVG.
func (o *WriteOptions) SVG() svg.Options {
	return svg.Options{Title: o.Title, Layout: o.Layout, MaxBytes: o.MaxBytes, Facts: o.Facts}
}

func writeFolded(w io.Writer, graphs []*callgraph.Graph, o *WriteOptions) error {
	return folded.Write(w, graphs[0], folded.Options{NoAnnotations: o.NoAnnotations, Modules: o.Modules})
}

func writePprof(w io.Writer, graphs []*callgraph.Graph, o *WriteOptions) error {
	var comments []string
	for _, f := range o.Facts {
		comments = append(comments, f.Name+": "+f.Value)
	}
	return pprof.Write(w, graphs, pprof.Options{Comments: comments, Default: o.Default})
}

func writeSpeedscope(w io.Writer, graphs []*callgraph.Graph, o *WriteOptions) error {
	return speedscope.Write(w, graphs, speedscope.Options{Name: o.Title, Exporter: exporterName, Default: o.Default})
}
