//go:build !cgo

package native

// Work does something.
func Work(n int) int { return n * 3 }
