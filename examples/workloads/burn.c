// SPDX-License-Identifier: Apache-2.0
//
// burn: a known split of CPU time.
//
//   burn [SECONDS]      seconds of CPU time to use, default 10; fractions are accepted
//
// A round calls heavy() seven times and light() three times. Both call helper(), which does the
// same work each time, so 70 % of the samples belong to heavy and 30 % to light. A call of helper
// takes about a millisecond: the chance to be sampled anywhere else is about one in a thousand.
//
// Known answer: main;heavy;helper 70 %, main;light;helper 30 %. helper is the leaf.
// Build: gcc -O1 -fno-omit-frame-pointer

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HEAVY_CALLS 7
#define LIGHT_CALLS 3
#define HELPER_STEPS 400000

static volatile uint64_t sink;

__attribute__((noinline, noclone)) void helper(void)
{
	uint64_t x = sink | 1;

	// gcc leaves a function that calls nothing without a frame even under
	// -fno-omit-frame-pointer, and the caller would be missing from the stack.
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (int i = 0; i < HELPER_STEPS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	sink = x;
}

// The store after the call keeps it from becoming a jump, which would remove this frame.
__attribute__((noinline, noclone)) void heavy(void)
{
	helper();
	sink ^= 1;
}

__attribute__((noinline, noclone)) void light(void)
{
	helper();
	sink ^= 2;
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
	unsigned long rounds = 0;

	while (cpu_seconds() < limit) {
		for (int i = 0; i < HEAVY_CALLS; i++)
			heavy();
		for (int i = 0; i < LIGHT_CALLS; i++)
			light();
		rounds++;
	}
	printf("rounds %lu, heavy %lu, light %lu\n", rounds, rounds * HEAVY_CALLS,
	       rounds * LIGHT_CALLS);
	return 0;
}
