package dwarfline

// chain is three functions inlined into each other, across files, with a call
// that does not return at the end of the last.
var chain = map[string]string{
	"inner.h": `static inline __attribute__((always_inline)) long inner(long x) {
	extern volatile long sink;
	sink = x;
	return x * 3;
}
`,
	"middle.h": `#include "inner.h"

static inline __attribute__((always_inline)) long middle(long x) {
	return inner(x + 1) + 1;
}
`,
	"chain.c": `#include "middle.h"
volatile long sink;
__attribute__((noreturn, noinline)) void stop(void) { for (;;) sink++; }

__attribute__((noinline)) long outer(long x) {
	x = middle(x);
	return x ^ sink;
}
__attribute__((noinline, noreturn)) void last(void) {
	sink = 1;
	stop();
}
__attribute__((noinline)) void next(void) { sink = 2; }
void _start(void) { outer(sink); next(); last(); }
`,
}
