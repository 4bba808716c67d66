// SPDX-License-Identifier: Apache-2.0
//
// cpu_bound: recursive Fibonacci, a stack that grows and shrinks all the time.
//
//   cpu_bound [SECONDS]      seconds of CPU time to use, default 10
//
// Known answer: main, then up to 28 frames of fibonacci.
// Build: gcc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls
// Without frame pointers (-fomit-frame-pointer in its place) a profiler that follows them sees
// short stacks, but the leaf is still fibonacci and no other function is ever named.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEPTH 28

__attribute__((noinline, noclone)) uint64_t fibonacci(int n)
{
	if (n < 2)
		return (uint64_t)n;
	return fibonacci(n - 1) + fibonacci(n - 2);
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double limit = argc > 1 ? atof(argv[1]) : 10;
	uint64_t sum = 0;

	while (cpu_seconds() < limit)
		sum += fibonacci(DEPTH);
	printf("sum %lu\n", (unsigned long)sum);
	return 0;
}
