package exporter

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/folded"
	"github.com/flametel/flametel/exporter/pprof"
	"github.com/flametel/flametel/exporter/speedscope"
	"github.com/flametel/flametel/exporter/svg"
)

// Layouts of an SVG.
const (
	layoutFlame  = string(svg.Flame)
	layoutIcicle = string(svg.Icicle)
)

// encoding is an output format.
type encoding struct {
	name       string
	extensions []string
	// severalTypes: one file can hold several graphs.
	severalTypes bool
	// detail: the format has room for addresses, source lines and threads.
	detail bool
	encode func(w io.Writer, graphs []*callgraph.Graph, cfg *Config) error
}

// encodings is the list of formats. A new format is one entry here.
func encodings() []*encoding {
	return []*encoding{
		{name: "svg", extensions: []string{".svg"}, encode: encodeSVG},
		{name: "folded", extensions: []string{".folded", ".txt"}, encode: encodeFolded},
		{name: "pprof", extensions: []string{".pb.gz", ".pprof"}, severalTypes: true, detail: true, encode: encodePprof},
		{name: "speedscope", extensions: []string{".speedscope.json", ".speedscope"}, severalTypes: true, encode: encodeSpeedscope},
	}
}

func encodeSVG(w io.Writer, graphs []*callgraph.Graph, cfg *Config) error {
	return svg.Write(w, graphs[0], svg.Options{Title: cfg.Title, Layout: svg.Layout(cfg.Layout)})
}

func encodeFolded(w io.Writer, graphs []*callgraph.Graph, cfg *Config) error {
	return folded.Write(w, graphs[0], folded.Options{NoAnnotations: !cfg.Annotations})
}

func encodePprof(w io.Writer, graphs []*callgraph.Graph, _ *Config) error {
	return pprof.Write(w, graphs, pprof.Options{})
}

func encodeSpeedscope(w io.Writer, graphs []*callgraph.Graph, cfg *Config) error {
	return speedscope.Write(w, graphs, speedscope.Options{Name: cfg.Title, Exporter: "flametel"})
}

func encodingByName(name string) *encoding {
	for _, e := range encodings() {
		if e.name == name {
			return e
		}
	}
	return nil
}

func encodingByExtension(path string) *encoding {
	for _, e := range encodings() {
		for _, ext := range e.extensions {
			if strings.HasSuffix(path, ext) {
				return e
			}
		}
	}
	return nil
}

// extensionOf returns the extension of a path, all of .pb.gz.
func extensionOf(path string) string {
	for _, e := range encodings() {
		for _, ext := range e.extensions {
			if strings.HasSuffix(path, ext) {
				return ext
			}
		}
	}
	return filepath.Ext(path)
}

func encodingNames() string {
	var names []string
	for _, e := range encodings() {
		names = append(names, e.name)
	}
	return strings.Join(names, ", ")
}

func encodingExtensions() string {
	var all []string
	for _, e := range encodings() {
		all = append(all, e.extensions...)
	}
	return strings.Join(all, ", ")
}
