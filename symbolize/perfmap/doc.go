// Package perfmap reads the text files in which runtimes list the code that
// they generate: /tmp/perf-PID.map, a line for each function,
//
//	7f0a5c003e40 1a8 JS:*hot /srv/app.js:10:14
//
// start and size in hexadecimal, the name up to the end of the line
// (tools/perf/Documentation/jit-interface.txt of the kernel).
//
// Any user can put anything there, and it changes while it is read. So a file
// is opened below the root of its process without following links, must be a
// regular file of the process's owner (or of root) and no older than the
// process; it is read in pieces of bounded size, only up to its last newline,
// from where the last reading ended, and from the start when it was replaced,
// shortened or rewritten. Later lines win over earlier ones.
package perfmap
