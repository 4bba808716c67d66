// Package top shows on a terminal what a host spends its CPU time for right now:
// a table of functions, files or processes that is renewed all the time. Samples
// come from the receiver ebpf_profiler in this process, as for a recording.
//
// The parts: history adds profiles up, window by window; view is what the user
// chose to see; rows picks and sorts; lines makes text of it; screen and batch
// show it.
package top
