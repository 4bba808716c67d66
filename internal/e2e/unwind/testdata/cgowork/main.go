// Go calls C without frame pointers, which calls Go again: main.main, main.outer,
// outerC, main.inner, innerC, spin.
package main

/*
#cgo CFLAGS: -O2 -fomit-frame-pointer
#include <stdlib.h>

extern int inner(int);
static volatile unsigned long sink;

static __attribute__((noinline, noclone)) void spin(void)
{
	for (int i = 0; i < 200000; i++)
		sink++;
}

static __attribute__((noinline, noclone)) int compare(const void *x, const void *y)
{
	for (int i = 0; i < 3000; i++)
		sink++;
	return *(int *)x - *(int *)y;
}

static __attribute__((noinline, noclone)) int innerC(int n)
{
	int v[10] = { 4, 2, 8, 5, 9, 1 };
	spin();
	qsort(v, 10, sizeof(int), compare);
	return n + v[3];
}

static __attribute__((noinline, noclone)) int outerC(int n)
{
	volatile char some[300];
	some[n % 300] = 1;
	return inner(n) + some[5];
}
*/
import "C"

import (
	"os"
	"time"
)

//export inner
func inner(n C.int) C.int { return innermost(n) }

//go:noinline
func innermost(n C.int) C.int { return C.innerC(n) + 1 }

//go:noinline
func outer(n int) int { return int(C.outerC(C.int(n))) + 1 }

func main() {
	time.AfterFunc(5*time.Minute, func() { os.Exit(0) })
	for n := 0; ; n = outer(n) % 100 {
	}
}
