/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Waits: from where a thread leaves the CPU until it is back. The user stack is
 * taken when it leaves, for only then can its memory be read; the kernel's when
 * it is back or at a cut, for it is the same then and shorter to walk. What it
 * waited is known when it is back. Kinds say by ft_wait_wanted which waits they
 * are about.
 */
#ifndef FLAMETEL_WAITS_H
#define FLAMETEL_WAITS_H

#include "event.h"
#include "rate.h"
#include "state.h"

/* Shorter waits are left out. */
const volatile u64 min_ns;
/* Waits of this length are counted even if they were not chosen. */
const volatile u64 always_ns;
/* What of a task only this reads. */
struct sched_entity {
	u64 sum_exec_runtime;
} __attribute__((preserve_access_index));
struct task_struct___ran {
	struct sched_entity se;
} __attribute__((preserve_access_index));

/*
 * The wait of a thread. Written by the switch to and from it, which do not
 * overlap; cut_waits moves the begin on. Goes with the thread.
 */
struct ft_wait {
	u64 since; /* what is before was counted; 0: it does not wait */
	u64 begin;
	u64 detail;
	struct ft_rate rate;
	u64 ran; /* CPU time of the thread before */
	u32 stands_for; /* 0: not chosen, there is no user stack */
	u32 kernel_flags;
	struct ft_count_key key; /* if it was chosen; detail is above */
	u64 kernel_stack; /* and kernel_flags: of the wait with this begin */
	u64 kernel_begin;
};
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ft_wait);
} waits SEC(".maps");

/* Tells by the bits of detail whether the kind counts such waits; it may add some. */
static __always_inline bool ft_wait_wanted(u64 *detail);

/* What the current task waits for, as bits of detail. */
static __always_inline u64 ft_wait_detail(u64 *ctx, struct task_struct *task, u32 state)
{
	u64 detail = 0;

	if (!(task->flags & PF_KTHREAD))
		detail = ft_current_call();
	if ((u8)ctx[0] || state == TASK_RUNNING)
		return detail | FT_PREEMPTED;
	if (state & TASK_UNINTERRUPTIBLE)
		return detail | FT_UNINTERRUPTIBLE;
	return detail;
}

/* Counts a wait that is lost for want of its begin, or that is not of a target. */
static __noinline int ft_left_out(bool lost)
{
	struct ft_sink to;

	if (!ft_sink_open(&to, generation))
		return 0;
	ft_bump(&to.st->taken);
	if (lost)
		ft_bump(&to.st->lost_state);
	else
		ft_bump(&to.st->filtered);
	return 0;
}

/* Notes who waits, and where in its program. Returns false, and counts it, if that is lost. */
static __always_inline bool ft_wait_stacks(u64 *ctx, struct task_struct *task, struct ft_wait *w)
{
	struct ft_count_key key = {};
	struct ft_scratch *s;
	struct ft_sink to;
	bool ok = false;

	if (!ft_sink_open(&to, generation))
		return false;
	ft_identify(&key, task, bpf_get_current_pid_tgid());
	s = ft_scratch_take(&to);
	if (s) {
		ok = ft_event_stacks(&to, s, ctx, task, &key, FT_USER_STACK);
		ft_scratch_put(s);
	}
	w->key = key;
	if (!ok)
		ft_bump(&to.st->taken);
	return ok;
}

/* Who waits, of a wait that was not chosen. */
static __always_inline void ft_waiter(struct ft_count_key *key, struct task_struct *task)
{
	__builtin_memset(key, 0, sizeof(*key));
	key->pid = task->tgid;
	key->tid = per_thread ? task->pid : 0;
	key->start_ns = task->group_leader->start_boottime;
	if (!(task->flags & PF_KTHREAD))
		key->flags = FT_END_NOT_LOOKED << FT_END_SHIFT;
	bpf_probe_read_kernel_str(key->comm, sizeof(key->comm), task->comm);
}

static __noinline int ft_return_late(struct task_struct *task, u64 now);

/* The current task leaves the CPU. */
static __always_inline void ft_leave(u64 *ctx, struct task_struct *task, u64 now)
{
	struct ft_wait *w;
	u64 detail, ran;
	u32 state;

	if (task->pid == 0)
		return; /* the idle task waits for nothing */
	state = ft_state(task, ctx);
	if (state & TASK_DEAD)
		return; /* it does not come back */
	detail = ft_wait_detail(ctx, task, state);
	if (!ft_wait_wanted(&detail)) {
		w = bpf_task_storage_get(&waits, task, 0, 0);
		if (w)
			w->since = 0;
		return;
	}
	if (filter_targets && !ft_is_target(task->tgid, task->group_leader->start_boottime)) {
		ft_left_out(false);
		return;
	}
	w = bpf_task_storage_get(&waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w) {
		ft_left_out(true);
		return;
	}
	ran = ((struct task_struct___ran *)task)->se.sum_exec_runtime;
	/*
	 * Switches away from some tasks are not traced on some systems. When this one
	 * was back is known by the CPU time that it has used since.
	 */
	if (w->since)
		ft_return_late(task, now - (ran - w->ran));
	w->ran = ran;
	w->stands_for = ft_rate_choose(&w->rate, now);
	if (w->stands_for && !ft_wait_stacks(ctx, task, w))
		return;
	w->detail = detail;
	w->begin = now;
	barrier();
	*(volatile u64 *)&w->since = now;
}

/* The most that one wait may be estimated as, in units of 1,024 ns: its square fits. */
#define FT_MAX_ESTIMATE (1ULL << 31)

/*
 * What a wait adds to the variance of the whole time, in square units of 1,024
 * ns. There was a chance of one in stands_for that it is counted at all.
 */
static __always_inline u64 ft_wait_variance(u64 estimate, u32 stands_for)
{
	u64 square;

	estimate >>= 10;
	if (estimate > FT_MAX_ESTIMATE)
		estimate = FT_MAX_ESTIMATE;
	square = estimate * estimate;
	return square - square / stands_for;
}

/* Counts what was waited from since to until; all of it, or a part. */
static __always_inline void ft_waited(struct ft_sink *to, struct ft_count_key *key, u64 ns,
				      u32 stands_for, bool first)
{
	struct ft_count add = { .count = 1, .last_ns = bpf_ktime_get_ns() };

	add.sums[0] = ns * stands_for;
	add.sums[1] = first ? stands_for : 0;
	add.sums[2] = ft_wait_variance(add.sums[0], stands_for);
	ft_event_count(to, key, &add);
}

/* Takes the kernel's stack of a task that waits. Returns 0, or what to count as lost. */
static __always_inline u64 *ft_wait_kernel_stack(struct ft_sink *to, struct task_struct *task,
						 struct ft_count_key *key)
{
	struct ft_scratch *s = ft_scratch_try();
	long size, err = 0;

	if (!s)
		return &to->st->lost_scratch;
	key->flags |= FT_KERNEL_MODE;
	size = bpf_get_task_stack(task, s->words, FT_MAX_KERNEL_FRAMES * sizeof(u64), 0);
	if (size >= FT_MAX_KERNEL_FRAMES * (long)sizeof(u64))
		key->flags |= FT_KERNEL_TRUNCATED;
	if (size > 0)
		err = ft_store_stack(s, to->chunks, (u64)size / sizeof(u64), &key->kernel_stack);
	ft_scratch_put(s);
	return err ? &to->st->lost_stacks_full : 0;
}

/* Uses the kernel's stack that was taken at a cut. Returns false if there is none. */
static __always_inline bool ft_wait_known_stack(struct ft_wait *w, u64 begin,
						struct ft_count_key *key)
{
	if (*(volatile u64 *)&w->kernel_begin != begin)
		return false;
	key->kernel_stack = w->kernel_stack;
	key->flags |= w->kernel_flags;
	return true;
}

/*
 * A task has the CPU again since now. If it has left it meanwhile, that is late:
 * the kernel's stack of the wait is gone.
 */
static __always_inline void ft_wait_over(struct task_struct *task, u64 now, bool late)
{
	struct ft_wait *w = bpf_task_storage_get(&waits, task, 0, 0);
	struct ft_count_key key;
	struct ft_sink to;
	u64 since, *lost;
	bool first;

	if (!w || !w->since)
		return;
	since = __sync_lock_test_and_set(&w->since, 0);
	if (!since || !ft_sink_open(&to, generation))
		return;
	if (late && now < since)
		now = since; /* the clocks differ a little, or it was cut since */
	if (now - w->begin >= always_ns)
		w->stands_for = w->stands_for ? 1 : 0;
	else if (!w->stands_for)
		return; /* those that were chosen stand for it */
	first = since == w->begin;
	ft_bump(&to.st->taken);
	if (now - w->begin < min_ns) {
		ft_bump(&to.st->filtered);
		return;
	}
	if (w->stands_for) {
		key = w->key;
	} else {
		w->stands_for = 1;
		ft_waiter(&key, task);
	}
	if (!ft_wait_known_stack(w, w->begin, &key) && !late) {
		lost = ft_wait_kernel_stack(&to, task, &key);
		if (lost) {
			ft_bump(lost);
			return;
		}
	}
	key.detail = w->detail | ft_length(now - w->begin);
	ft_waited(&to, &key, now - since, w->stands_for, first);
}

/* A task is about to have the CPU again. */
static __always_inline void ft_return(struct task_struct *task, u64 now)
{
	ft_wait_over(task, now, false);
}

static __noinline int ft_return_late(struct task_struct *task, u64 now)
{
	ft_wait_over(task, now, true);
	return 0;
}

/* What cut_waits counts ends here, CLOCK_MONOTONIC; in that generation. */
volatile u64 cut_ns;
volatile u32 cut_generation;

struct bpf_iter_meta {
	struct seq_file *seq;
} __attribute__((preserve_access_index));

/*
 * Counts what has been waited up to now of waits that are not over, when user
 * space has turned to the next generation. It is told the stacks of those, for
 * they will be needed again.
 */
SEC("iter/task")
int cut_waits(u64 *ctx)
{
	struct bpf_iter_meta *meta = (void *)ctx[0];
	struct task_struct *task = (void *)ctx[1];
	struct ft_count_key key;
	u64 since, begin, detail, ids[2] = {}, *lost = 0;
	struct ft_sink to;
	struct ft_wait *w;
	u64 cut = cut_ns;
	u32 stands_for;
	bool known;

	if (!task)
		return 0;
	w = bpf_task_storage_get(&waits, task, 0, 0);
	if (!w)
		return 0;
	since = *(volatile u64 *)&w->since;
	barrier();
	if (!since || since >= cut)
		return 0;
	begin = w->begin;
	detail = w->detail;
	stands_for = w->stands_for;
	if (stands_for)
		key = w->key;
	else
		ft_waiter(&key, task);
	known = ft_wait_known_stack(w, begin, &key);
	/* Also if the wait is over by now: what counts it needs them, too. */
	ids[0] = key.user_stack;
	ids[1] = key.kernel_stack;
	if (ids[0] || ids[1])
		bpf_seq_write(meta->seq, ids, sizeof(ids));
	if (cut - begin < always_ns || cut - begin < min_ns)
		return 0; /* its end will count all of it */
	if (!ft_sink_open(&to, cut_generation))
		return 0;
	if (!known)
		lost = ft_wait_kernel_stack(&to, task, &key);
	/* The begin tells one wait from the next: all that was read is of this one. */
	barrier();
	if (__sync_val_compare_and_swap(&w->since, since, cut) != since)
		return 0;
	ft_bump(&to.st->taken);
	if (lost) {
		ft_bump(lost);
		return 0;
	}
	if (!known) {
		w->kernel_stack = key.kernel_stack;
		w->kernel_flags = key.flags & (FT_KERNEL_MODE | FT_KERNEL_TRUNCATED);
		barrier();
		*(volatile u64 *)&w->kernel_begin = begin;
	}
	key.detail = detail;
	ft_waited(&to, &key, cut - since, 1, since == begin);
	return 0;
}

#endif
