// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* On-CPU profile: one run per tick of the CPU clock on each CPU. */
#include "types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "compat.h"
#include "count.h"
#include "maps.h"
#include "sample.h"

/*
 * Code in which a CPU waits for work: address ranges of the kernel's idle
 * functions. What is idle is decided by where the CPU was interrupted, never
 * by the task: interrupts that are served on the idle task are work. They are
 * no constants, for they become known only while the kernel verifies the program.
 */
#define FT_MAX_IDLE_RANGES 24
struct ft_range {
	u64 start, end;
};
volatile struct ft_range idle_ranges[FT_MAX_IDLE_RANGES];
volatile u32 idle_range_count;
/* The ranges are not known (kernel addresses are hidden): take the idle task. */
volatile bool idle_by_task;

static __always_inline bool ft_is_idle(u64 ip, u32 tid)
{
	if (idle_by_task)
		return tid == 0;
	for (u32 i = 0; i < FT_MAX_IDLE_RANGES; i++) {
		if (i >= idle_range_count)
			break;
		if (ip >= idle_ranges[i].start && ip < idle_ranges[i].end)
			return true;
	}
	return false;
}

/* Time between two ticks in nanoseconds. */
const volatile u64 period_ns = 10101010;

/* The last tick of each CPU. Written and read by the program alone. */
struct ft_tick {
	u64 ns; /* CLOCK_MONOTONIC */
	u64 idle;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ft_tick);
} ticks SEC(".maps");

/*
 * Counts the ticks that should have come since the last one. Hypervisors leave
 * out the ticks of an idle CPU, which costs nothing; those of a busy one are
 * CPU time that the profile does not show.
 */
static __always_inline void ft_count_missed(struct ft_stats *st, bool idle)
{
	u64 now = bpf_ktime_get_ns();
	u32 zero = 0;
	struct ft_tick *last = bpf_map_lookup_elem(&ticks, &zero);
	u64 missed;

	if (!last)
		return; /* cannot happen: the array has one entry */
	if (last->ns) {
		/* Half a period of delay is not a missed tick. */
		missed = (now - last->ns + period_ns / 2) / period_ns;
		if (missed > 1 && (idle || last->idle))
			st->missed_idle += missed - 1;
		else if (missed > 1)
			st->missed += missed - 1;
	}
	last->ns = now;
	last->idle = idle;
}

SEC("perf_event")
int profile(struct ft_perf_ctx *ctx)
{
	u32 gen = generation & 1, zero = 0;
	void *counts = gen ? (void *)&counts_1 : (void *)&counts_0;
	void *chunks = gen ? (void *)&chunks_1 : (void *)&chunks_0;
	u64 pid_tgid = bpf_get_current_pid_tgid();
	bool user_mode = FT_USER_MODE(&ctx->regs);
	bool idle = !user_mode && ft_is_idle(FT_IP(&ctx->regs), (u32)pid_tgid);
	struct task_struct *task;
	struct ft_count_key key = {};
	struct ft_scratch *s;
	struct ft_stats *st;

	st = bpf_map_lookup_elem(&stats, &gen);
	if (!st)
		return 0; /* cannot happen: the array has two entries */
	st->taken++;
	ft_count_missed(st, idle);
	if (idle) {
		st->idle++;
		return 0;
	}
	task = (void *)bpf_get_current_task();
	ft_identify(&key, task, pid_tgid);
	if (filter_targets && !ft_is_target(key.pid, key.start_ns)) {
		st->filtered++;
		return 0;
	}
	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s) {
		st->lost_scratch++;
		return 0;
	}

	if (!user_mode) {
		key.flags |= FT_KERNEL_MODE;
		if (ft_kernel_stack(s, chunks, ctx, &key))
			goto stacks_full;
	}
	if (ft_user_stack(s, chunks, ctx, task, &ctx->regs, user_mode, &key))
		goto stacks_full;

	if (key.flags & FT_USER_TRUNCATED)
		st->user_truncated++;
	if (key.flags & FT_KERNEL_TRUNCATED)
		st->kernel_truncated++;
	if (ft_count_add(counts, &key) < 0)
		st->lost_counts_full++;
	else
		st->kept++;
	return 0;

stacks_full:
	st->lost_stacks_full++;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
