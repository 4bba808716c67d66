// Package callgraph is the one model that every encoder of this exporter
// takes: stacks merged into a tree, each node with the weight that ended in it.
//
// A Builder is filled from OTLP profiles of any source, symbolized or not, and
// gives one Graph per sample type and group. A Merger is filled stack by stack
// and serves every other input. A Graph is immutable and canonical: it does not
// depend on the order in which samples came, so neither do the bytes that an
// encoder makes of it.
//
// All arithmetic is in int64. The total of a graph never exceeds the largest
// int64 (what would, is cut and noted in Meta.Saturated), so no partial sum can
// overflow and all encoders agree on every figure. All walks are iterative: a
// stack may be as deep as memory allows.
//
// Names are kept as they came. They may hold any bytes; each encoder escapes
// them for its own format.
package callgraph
