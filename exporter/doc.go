// Package exporter is the component flamegraph: it writes the profiles of any
// OTLP source to files, as interactive SVG flame graphs, folded text, pprof or
// speedscope. The encoders are packages of their own, usable without the
// collector: see callgraph, svg, folded, pprof and speedscope.
package exporter

//go:generate go tool -modfile=../internal/tools/mdatagen/go.mod mdatagen metadata.yaml
