// Package terminal writes messages for people: one line each, with a progress
// line below them on a terminal, and with nothing in them that a terminal would
// take for a command.
package terminal
