// Package jitdump reads the binary logs in which runtimes record the code that
// they generate, with times and source lines: jit-PID.dump, as specified in
// tools/perf/Documentation/jitdump-specification.txt of the kernel. A process
// maps its log executable, so that profilers see in its mappings where it is.
//
// Any user can put anything there, and it changes while it is read. So whole
// records are read from where the last reading ended, code bytes are skipped,
// what is read at a time and what is held are bounded, and over the bounds the
// newest code counts. Old code stays as long as there is room: an address that
// is used again has another name at another time.
package jitdump
