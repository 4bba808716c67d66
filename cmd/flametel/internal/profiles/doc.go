// Package profiles reads and writes profiles for the commands that take files:
// a path, or - for standard input and output.
package profiles
