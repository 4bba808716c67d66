// Package native is C code if cgo is on.
package native

/*
int work(int n) {
	int s = 0;
	for (int i = 0; i < n; i++) s += i * s + n;
	return s;
}
*/
import "C"

// Work does something.
func Work(n int) int { return int(C.work(C.int(n))) }
