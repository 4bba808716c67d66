/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Looking at some events of a thread only. Each is chosen with a probability
 * that is known before anything of it is, and stands for its inverse: sums over
 * the chosen ones, times what they stand for, are not biased. The probability
 * follows how often the thread has such events, so that about one is looked at
 * in each interval, and all of a thread that has them more seldom.
 */
#ifndef FLAMETEL_RATE_H
#define FLAMETEL_RATE_H

#include "types.h"

/* About how often the events of a thread are looked at; 0: all are. */
const volatile u64 look_ns;

struct ft_rate {
	u64 last_ns; /* the last event */
	u32 gap_ns; /* mean time between events, at most look_ns */
	u32 random;
};

/* Chooses. Returns how many events this one stands for, 0 if it is left out. */
static __always_inline u32 ft_rate_choose(struct ft_rate *r, u64 now)
{
	u64 gap = now - r->last_ns;
	u32 n;

	if (!look_ns)
		return 1;
	if (gap >= look_ns)
		gap = look_ns;
	if (!r->last_ns)
		r->gap_ns = gap; /* nothing is known: as if they were seldom */
	r->last_ns = now;
	/* The mean over the last eight, rounded up so that it can grow again. */
	r->gap_ns += ((s64)gap - (s64)r->gap_ns + 7) >> 3;
	n = (u32)look_ns / (r->gap_ns | 1);
	if (n <= 1)
		return 1;
	if (!r->random)
		r->random = bpf_get_prandom_u32() | 1;
	/* Numerical Recipes' generator, whose high bits are good enough. */
	r->random = r->random * 1664525 + 1013904223;
	return (u32)(((u64)r->random * n) >> 32) == 0 ? n : 0;
}

#endif
