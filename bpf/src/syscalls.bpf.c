// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * System calls. Every call is counted and timed, by process, call and error;
 * stacks are taken of some calls of threads that make many, and of all that
 * take long. User space shares the exact totals out among these stacks.
 */
#include "types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "calls.h"
#include "cells.h"
#include "looks.h"

/* Calls of this length always have their stack. */
const volatile u64 always_ns;
/* Which calls, a bit for each number; by those of 32-bit programs too. */
#define FT_MAX_CALLS 1024
const volatile bool filter_calls;
const volatile u64 wanted[FT_MAX_CALLS / 64];
const volatile u64 wanted_compat[FT_MAX_CALLS / 64];

#define FT_X32 (1u << 30) /* __X32_SYSCALL_BIT */

/* Bits of ft_count_key.detail; the lower half is the number. */
#define FT_ERRNO_SHIFT 32 /* 12 bits, 0 for success */
#define FT_CALL_COMPAT (1ULL << 48)
#define FT_NO_RETURN (1ULL << 49) /* the thread ended in it */

static __always_inline bool ft_wanted(u32 nr, bool compat)
{
	if (!filter_calls)
		return true;
	nr &= ~FT_X32;
	if (nr >= FT_MAX_CALLS)
		return false;
	ft_opaque(nr);
	nr &= FT_MAX_CALLS - 1;
	return (compat ? wanted_compat[nr / 64] : wanted[nr / 64]) >> (nr % 64) & 1;
}

SEC("tp_btf/sys_enter")
int syscalls_enter(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool compat = FT_COMPAT_CALL(task);
	u32 nr = ctx[1];

	if (!ft_wanted(nr, compat))
		return 0;
	if (filter_targets && !ft_is_target(task->tgid, task->group_leader->start_boottime))
		return 0;
	ft_call_begin(task->pid, nr, compat, bpf_ktime_get_ns());
	return 0;
}

/* What a call that ends is counted as. */
static __always_inline u64 ft_detail(struct ft_call *c, s64 ret)
{
	u64 detail = c->nr | (c->compat ? FT_CALL_COMPAT : 0);

	if (ret < 0 && ret >= -4095)
		detail |= (u64)-ret << FT_ERRNO_SHIFT;
	return detail;
}

/* Counts a call in the totals. Returns true if it is the first of its total. */
static __always_inline bool ft_count_call(struct task_struct *task, u64 detail, u64 ns, u64 now,
					  u32 gen)
{
	struct ft_program of = ft_program_of(task);
	struct ft_cell *cell = ft_cell_at(of.pid, detail, 0, gen);
	bool first;

	if (!cell)
		return false;
	first = !ft_cell_is(cell, &of, detail, 0, gen);
	if (first)
		ft_cell_begin(cell, &of, detail, 0, gen);
	ft_cell_add(cell, ns, 0, now);
	return first;
}

/* Takes the stack of a call. */
static __noinline int ft_look_at_call(void *ctx, u64 detail, u64 ns, u32 stands_for,
				      u64 gen_and_exact)
{
	bool exact = gen_and_exact >> 32;
	struct ft_scratch *s = ft_scratch_try();
	struct ft_seen *seen;
	struct ft_sink to;

	if (!s) {
		/* What the totals have counted is not lost without its stack. */
		if (exact && ft_sink_open(&to, gen_and_exact))
			ft_bump(&to.st->lost_scratch);
		return 0;
	}
	seen = ft_seen_room();
	if (seen) {
		seen->gen = gen_and_exact;
		seen->exact = exact;
		seen->stacks = FT_USER_STACK;
		seen->counted = true;
		/* It is looked at because it is the first of its total, or chosen. */
		seen->first = true;
		seen->stands_for = stands_for;
		seen->key.detail = detail;
		seen->add.count = 1;
		seen->add.sums[0] = ns;
		seen->add.last_ns = bpf_ktime_get_ns();
		ft_identify(&seen->key, (void *)bpf_get_current_task(), bpf_get_current_pid_tgid());
		ft_observe(ctx, s, seen);
	}
	ft_scratch_put(s);
	return 0;
}

SEC("tp_btf/sys_exit")
int syscalls_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = task->pid, gen = generation, at = gen & 1, stands_for;
	struct ft_call *c = ft_call_find(tid);
	u64 now, ns, detail;
	struct ft_stats *st;

	if (!c)
		return 0;
	now = bpf_ktime_get_ns();
	ns = now - c->enter_ns;
	detail = ft_detail(c, ctx[1]) | ft_length(ns);
	stands_for = ft_rate_choose(&c->rate, now);
	if (!ft_call_end(c, tid))
		return 0;
	st = bpf_map_lookup_elem(&stats, &at);
	if (!st)
		return 0; /* cannot happen: the array has two entries */
	st->taken++;
	if (!look_ns || ns >= always_ns) {
		ft_look_at_call(ctx, detail, ns, stands_for, gen | 1ULL << 32);
		return 0;
	}
	st->kept++;
	if (ft_count_call((void *)task, detail, ns, now, gen) || stands_for)
		ft_look_at_call(ctx, detail, ns, stands_for, gen);
	return 0;
}

/* A thread that ends is in a call that does not return. */
SEC("tp_btf/sched_process_exit")
int syscalls_thread_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = task->pid, gen = generation, at = gen & 1;
	struct ft_call *c = ft_call_find(tid);
	struct ft_stats *st;
	u64 now, ns, detail;

	if (!c)
		return 0;
	now = bpf_ktime_get_ns();
	ns = now - c->enter_ns;
	detail = ft_detail(c, 0) | FT_NO_RETURN;
	if (!ft_call_end(c, tid))
		return 0;
	st = bpf_map_lookup_elem(&stats, &at);
	if (!st)
		return 0; /* cannot happen: the array has two entries */
	st->taken++;
	st->kept++;
	ft_count_call((void *)task, detail, ns, now, gen);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int syscalls_exec(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	ft_call_rename(ctx[1], task->pid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
