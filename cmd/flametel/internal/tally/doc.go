// Package tally adds up profiles for the summary of a recording: the functions
// in which samples ended, the processes, and what the profiler says about its
// own losses. It keeps no stacks, so its memory does not grow with time.
package tally
