// Package preflight finds out whether a host lets us sample, and says what to do
// if it does not. It reads what the kernel shows of itself and of this process,
// and changes nothing.
package preflight
