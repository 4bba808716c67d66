// Package pprof writes profile.proto, the format of go tool pprof.
//
// Several graphs become the sample types of one profile. A graph built with
// callgraph.Options.Detail gives locations with addresses, mappings with build
// IDs, source lines and threads; without it, one location for each function.
// Process and thread are the labels process, thread and thread_id of a sample,
// not frames: go tool pprof shows them as roots with -tagroot=process,thread.
//
// A mapping whose locations carry names says so (has_functions and so on), so
// that no viewer symbolizes it again and replaces good names by worse ones.
package pprof
