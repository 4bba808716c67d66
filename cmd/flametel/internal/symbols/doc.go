// Package symbols shows what the symbolizer knows of a file or a process, and
// why an address has no name.
package symbols
