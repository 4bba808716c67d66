// Package demangle turns linker names of C++ and Rust into source form.
package demangle

// Style says how much of a name is shown.
type Style uint8

// The styles; Simple is the zero value and the default.
const (
	// Simple leaves out arguments, template arguments and hashes.
	Simple Style = iota
	// Full shows all that the linker name holds.
	Full
	// None shows the linker name itself.
	None
)
