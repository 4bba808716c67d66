/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What kinds of events have in common: from something that happened in the
 * kernel to the current task to a count with its stacks.
 */
#ifndef FLAMETEL_EVENT_H
#define FLAMETEL_EVENT_H

#include "count.h"
#include "maps.h"

/*
 * Adds to a counter of this CPU. Kinds whose programs also run in interrupts,
 * and so may interrupt each other, define FT_IN_INTERRUPTS.
 */
#ifdef FT_IN_INTERRUPTS
#define ft_bump(counter) __sync_fetch_and_add(counter, 1)
#else
#define ft_bump(counter) (++*(counter))
#endif

/* Keeps observations of different length apart, for histograms. */
const volatile bool by_duration;

/*
 * Bits of ft_count_key.detail that all kinds have in common: how many bits the
 * duration has in nanoseconds, 6 bits; 0 if it is not told.
 */
#define FT_LENGTH_SHIFT 52
static __always_inline u64 ft_length(u64 ns)
{
	u64 bits = 1;

	if (!by_duration)
		return 0;
	for (u32 shift = 32; shift; shift >>= 1) {
		if (ns >> shift) {
			ns >>= shift;
			bits += shift;
		}
	}
	return (bits < 63 ? bits : 63) << FT_LENGTH_SHIFT;
}

/* Where the observations of one generation go. */
struct ft_sink {
	void *counts;
	void *chunks;
	struct ft_stats *st;
};

/* Opens a generation. Returns false only for the verifier. */
static __always_inline bool ft_sink_open(struct ft_sink *to, u32 gen)
{
	gen &= 1;
	to->counts = gen ? (void *)&counts_1 : (void *)&counts_0;
	to->chunks = gen ? (void *)&chunks_1 : (void *)&chunks_0;
	to->st = bpf_map_lookup_elem(&stats, &gen);
	return to->st;
}

/* Says who runs. Returns false, and counts it, if the process is no target. */
static __always_inline bool ft_event_of(struct ft_sink *to, struct ft_count_key *key,
					struct task_struct *task)
{
	ft_identify(key, task, bpf_get_current_pid_tgid());
	if (!filter_targets || ft_is_target(key->pid, key->start_ns))
		return true;
	ft_bump(&to->st->filtered);
	return false;
}

/* The scratch space, or 0 if it is in use; ft_scratch_put gives it back. */
static __always_inline struct ft_scratch *ft_scratch_try(void)
{
	u32 zero = 0;
	struct ft_scratch *s = bpf_map_lookup_elem(&scratch, &zero);

	if (!s || s->busy)
		return 0;
	s->busy = 1;
	barrier();
	return s;
}

/* The same; counts it as a loss if a program that this one interrupted has it. */
static __always_inline struct ft_scratch *ft_scratch_take(struct ft_sink *to)
{
	struct ft_scratch *s = ft_scratch_try();

	if (!s)
		ft_bump(&to->st->lost_scratch);
	return s;
}

static __always_inline void ft_scratch_put(struct ft_scratch *s)
{
	barrier();
	s->busy = 0;
}

/* Which stacks to take. */
#define FT_USER_STACK (1 << 0)
#define FT_KERNEL_STACK (1 << 1)

/* Takes stacks of the current task. Returns false, and counts it, without room. */
static __always_inline bool ft_event_stacks(struct ft_sink *to, struct ft_scratch *s, void *ctx,
					    struct task_struct *task, struct ft_count_key *key,
					    u32 which)
{
	if (which & FT_KERNEL_STACK) {
		key->flags |= FT_KERNEL_MODE;
		if (ft_kernel_stack(s, to->chunks, ctx, key))
			goto full;
	}
	if ((which & FT_USER_STACK) && ft_user_stack_saved(s, to->chunks, ctx, task, key))
		goto full;
	return true;

full:
	ft_bump(&to->st->lost_stacks_full);
	return false;
}

/* Counts an observation. */
static __always_inline void ft_event_count(struct ft_sink *to, struct ft_count_key *key,
					   struct ft_count *add)
{
	if (ft_count_sums(to->counts, key, add) < 0) {
		ft_bump(&to->st->lost_counts_full);
		return;
	}
	ft_bump(&to->st->kept);
	if (key->flags & FT_USER_TRUNCATED)
		ft_bump(&to->st->user_truncated);
	if (key->flags & FT_KERNEL_TRUNCATED)
		ft_bump(&to->st->kernel_truncated);
}

#endif
