// Package cli is the command line: sub-commands, their flags, help, and what the
// program exits with.
package cli
