// SPDX-License-Identifier: Apache-2.0
//
// spin_short: a process that lives for a few milliseconds. Start it hundreds of times.
//
//   spin_short [MILLISECONDS]      CPU time to use, default 5
//
// Known answer: main;spin_outer;spin_inner, although the process is gone when the profiler reads
// its samples. Samples of the dynamic loader and of exec itself belong to the process too.
// Build: gcc -O1 -fno-omit-frame-pointer

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define STEPS 20000

static volatile uint64_t sink;

__attribute__((noinline, noclone)) void spin_inner(void)
{
	uint64_t x = sink | 1;

	// See burn.c: a leaf function gets a frame only if it asks for one.
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (int i = 0; i < STEPS; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
}

__attribute__((noinline, noclone)) void spin_outer(void)
{
	spin_inner();
	sink ^= 1;
}

static double cpu_milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	double limit = argc > 1 ? atof(argv[1]) : 5;

	while (cpu_milliseconds() < limit)
		spin_outer();
	return 0;
}
