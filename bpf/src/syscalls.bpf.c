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

/*
 * Totals of this CPU. A cell is of the generation whose number it holds; the
 * half of the array that is not written is read by user space. A cell that is
 * needed for another key moves to the map of counts.
 */
#define FT_CELLS 512 /* in each half */
struct ft_cell {
	u64 start_ns;
	u64 detail;
	u64 count;
	u64 ns;
	u64 last_ns;
	u32 pid;
	u32 generation;
	u8 comm[TASK_COMM_LEN];
};
_Static_assert(sizeof(struct ft_cell) == 64, "ft_cell is part of the ABI to Go");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2 * FT_CELLS);
	__type(key, u32);
	__type(value, struct ft_cell);
} cells SEC(".maps");

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

/* Moves a cell to the map of counts. */
static __noinline int ft_spill(struct ft_cell *cell)
{
	struct ft_count_key key = { .start_ns = cell->start_ns,
				    .detail = cell->detail,
				    .pid = cell->pid,
				    .flags = FT_TOTAL };
	struct ft_count add = { .count = cell->count, .last_ns = cell->last_ns };
	struct ft_sink to;

	if (!ft_sink_open(&to, cell->generation))
		return 0;
	__builtin_memcpy(key.comm, cell->comm, sizeof(key.comm));
	add.sums[0] = cell->ns;
	if (ft_count_sums(to.counts, &key, &add) < 0) {
		to.st->kept -= add.count;
		to.st->lost_counts_full += add.count;
	}
	return 0;
}

/* Adds a call to its cell. Returns true if it is the first in it. */
static __always_inline bool ft_add_to_cell(u32 pid, u64 start_ns, u64 detail, u64 ns, u64 now,
					   u32 gen)
{
	u32 at = (pid * 0x9e3779b1u ^ (u32)detail * 0x85ebca6bu ^
		  (u32)(detail >> 32) * 0xc2b2ae35u) >>
		 20;
	struct ft_cell *cell;

	at = (at & (FT_CELLS - 1)) + (gen & 1) * FT_CELLS;
	cell = bpf_map_lookup_elem(&cells, &at);
	if (!cell)
		return false; /* cannot happen: the mask sees to it */
	if (cell->generation == gen && cell->count) {
		if (cell->detail == detail && cell->pid == pid && cell->start_ns == start_ns) {
			cell->count++;
			cell->ns += ns;
			cell->last_ns = now;
			return false;
		}
		ft_spill(cell);
	}
	cell->start_ns = start_ns;
	cell->detail = detail;
	cell->count = 1;
	cell->ns = ns;
	cell->last_ns = now;
	cell->pid = pid;
	cell->generation = gen;
	bpf_get_current_comm(cell->comm, sizeof(cell->comm));
	return true;
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

SEC("tp_btf/sys_exit")
int syscalls_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = task->pid, at;
	struct ft_call *c = ft_call_find(tid);
	struct ft_seen seen = { .add.count = 1, .stacks = FT_USER_STACK, .counted = true };
	struct ft_scratch *s;
	struct ft_stats *st;
	u64 now;

	if (!c)
		return 0;
	now = bpf_ktime_get_ns();
	seen.gen = generation;
	seen.add.last_ns = now;
	seen.add.sums[0] = now - c->enter_ns;
	seen.key.detail = ft_detail(c, ctx[1]) | ft_length(seen.add.sums[0]);
	seen.stands_for = ft_rate_choose(&c->rate, now);
	if (!ft_call_end(c, tid))
		return 0;
	at = seen.gen & 1;
	st = bpf_map_lookup_elem(&stats, &at);
	if (!st)
		return 0; /* cannot happen: the array has two entries */
	st->taken++;
	seen.exact = !look_ns || seen.add.sums[0] >= always_ns;
	if (!seen.exact) {
		st->kept++;
		seen.first = ft_add_to_cell(task->tgid, task->group_leader->start_boottime,
					    seen.key.detail, seen.add.sums[0], now, seen.gen);
		if (!seen.stands_for && !seen.first)
			return 0;
	}
	ft_identify(&seen.key, (void *)task, bpf_get_current_pid_tgid());
	s = ft_scratch_try();
	ft_observe(ctx, s, &seen);
	if (s)
		ft_scratch_put(s);
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
	ft_add_to_cell(task->tgid, task->group_leader->start_boottime, detail, ns, now, gen);
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
