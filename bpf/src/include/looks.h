/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Exact totals and stacks of some: what happens often is counted each time, by
 * process and by what it was, and looked at now and then. User space shares the
 * totals out among the stacks.
 */
#ifndef FLAMETEL_LOOKS_H
#define FLAMETEL_LOOKS_H

#include "event.h"
#include "rate.h"

/* What was observed of the current task. */
struct ft_seen {
	struct ft_count_key key; /* detail and record are set, and who it is */
	struct ft_count add; /* count 1, the time, and the sums but the last */
	u32 gen; /* the generation that all of it goes to */
	u32 stands_for; /* ft_rate_choose */
	u32 stacks; /* FT_USER_STACK, and FT_KERNEL_STACK too if that is wanted */
	bool exact; /* has its stack whatever was chosen */
	bool counted; /* is in the totals already */
	bool first; /* with counted: the first of its total */
	bool full; /* there was no room for a stack */
};

/* The sum that holds what a stack stands for. */
#define FT_WEIGHT (FT_SUMS - 1)

/* Multiplies what a stack that was chosen stands for. */
static __always_inline void ft_weigh(struct ft_count *add, u32 stands_for)
{
	/* The stack of the first is used only if none was chosen. */
	u32 n = stands_for ? stands_for : 1;

	for (u32 i = 0; i < FT_WEIGHT; i++)
		add->sums[i] *= n;
	add->sums[FT_WEIGHT] = stands_for;
}

/*
 * The steps of ft_observe are functions of their own, so that the verifier does
 * not follow each outcome of the first through the walk of the stack.
 */

/* Counts in the totals. Returns whether the stack is to be taken. */
static __noinline int ft_observe_total(struct ft_seen *o, bool room)
{
	struct ft_sink to;
	long err;

	if (!ft_sink_open(&to, o->gen))
		return 0;
	if (o->exact) {
		if (!room)
			ft_bump(&to.st->lost_scratch);
		return room;
	}
	if (!o->counted) {
		o->key.flags |= FT_TOTAL;
		err = ft_count_sums(to.counts, &o->key, &o->add);
		if (err < 0) {
			ft_bump(&to.st->lost_counts_full);
			return 0;
		}
		ft_bump(&to.st->kept);
		o->first = err == FT_FIRST;
	}
	/* The totals have it: nothing is lost without the stack. */
	if (!room || (!o->stands_for && !o->first))
		return 0;
	o->key.flags = (o->key.flags & ~FT_TOTAL) | FT_SELECTED;
	ft_weigh(&o->add, o->stands_for);
	return 1;
}

/* Takes the kernel's stack. */
static __noinline int ft_observe_kernel(void *ctx, struct ft_scratch *s, struct ft_seen *o)
{
	struct ft_sink to;

	if (!s || !ft_sink_open(&to, o->gen))
		return 0; /* for the verifier */
	o->key.flags |= FT_KERNEL_MODE;
	o->full = ft_kernel_stack(s, to.chunks, ctx, &o->key) != 0;
	return 0;
}

/* Stores the user stack, which is in the scratch space, and counts it. */
static __noinline int ft_observe_stack(struct ft_scratch *s, struct ft_seen *o, u32 len)
{
	struct ft_sink to;

	if (!s || !ft_sink_open(&to, o->gen))
		return 0; /* for the verifier */
	if (len > FT_MAX_FRAMES)
		len = FT_MAX_FRAMES; /* for the verifier: no stack is longer */
	if (!o->full)
		o->full = ft_store_stack(s, to.chunks, len, &o->key.user_stack) != 0;
	if (!o->exact) {
		if (!o->full)
			ft_count_sums(to.counts, &o->key, &o->add);
	} else if (o->full) {
		ft_bump(&to.st->lost_stacks_full);
	} else {
		ft_event_count(&to, &o->key, &o->add);
	}
	return 0;
}

/*
 * Counts what was observed. s is the scratch space, which the caller has taken,
 * or 0 if it is in use.
 */
static __noinline int ft_observe(void *ctx, struct ft_scratch *s, struct ft_seen *o)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct ft_walk w = {};

	if (!ft_observe_total(o, s != 0) || !s)
		return 0;
	if (o->stacks & FT_KERNEL_STACK)
		ft_observe_kernel(ctx, s, o);
	w.s = s;
	if (ft_walk_begin_saved(&w, task))
		ft_walk_on(&w, ctx, task, &o->key);
	o->key.flags |= w.flags | w.end << FT_END_SHIFT;
	return ft_observe_stack(s, o, w.len);
}

/*
 * Room for what was seen, for programs whose stack would be too large. Who has
 * taken the scratch space may use it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ft_seen);
} seen_room SEC(".maps");

/* Returns the room, emptied; never 0 in fact. */
static __always_inline struct ft_seen *ft_seen_room(void)
{
	u32 zero = 0;
	struct ft_seen *seen = bpf_map_lookup_elem(&seen_room, &zero);

	if (seen)
		__builtin_memset(seen, 0, sizeof(*seen));
	return seen;
}

#endif
