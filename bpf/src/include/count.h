/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* From an event on the current task to a count: shared by all kinds. */
#ifndef FLAMETEL_COUNT_H
#define FLAMETEL_COUNT_H

#include "targets.h"
#include "walk.h"

/* Keep threads apart: part of the key, else 0. */
const volatile bool per_thread;
/* Only targets are counted. */
const volatile bool filter_targets;
/* Verdict on processes that the map of targets does not know. */
const volatile u8 unknown_verdict = FT_KEEP;

static __always_inline bool ft_is_target(u32 pid, u64 start_ns)
{
	struct ft_target *t = bpf_map_lookup_elem(&targets, &pid);

	if (!t || t->start_ticks != start_ns / FT_START_TICK_NS)
		return unknown_verdict == FT_KEEP;
	return t->verdict == FT_KEEP;
}

#define FT_FIRST 1

/* Adds to the count of key. Returns 0 or FT_FIRST, or the error of the map. */
static __always_inline long ft_count_sums(void *counts, struct ft_count_key *key,
					  struct ft_count *add)
{
	struct ft_count *found = bpf_map_lookup_elem(counts, key);
	long err;

	if (!found) {
		err = bpf_map_update_elem(counts, key, add, BPF_NOEXIST);
		if (!err) {
			__sync_fetch_and_add(&entries_made.counts, 1);
			return FT_FIRST;
		}
		/* Another CPU may have been faster with the same key. */
		found = bpf_map_lookup_elem(counts, key);
		if (!found)
			return err;
	}
	__sync_fetch_and_add(&found->count, add->count);
	found->last_ns = add->last_ns;
	for (u32 i = 0; i < FT_SUMS; i++)
		if (add->sums[i])
			__sync_fetch_and_add(&found->sums[i], add->sums[i]);
	return 0;
}

/* Adds one to the count of key. Returns less than 0 if the map has no room. */
static __always_inline long ft_count_add(void *counts, struct ft_count_key *key)
{
	struct ft_count one = { .count = 1, .last_ns = bpf_ktime_get_ns() };

	return ft_count_sums(counts, key, &one);
}

/* Fills in who is running, and begins the flags. */
static __always_inline void ft_identify(struct ft_count_key *key, struct task_struct *task,
					u64 pid_tgid)
{
	key->pid = pid_tgid >> 32;
	key->tid = per_thread ? (u32)pid_tgid : 0;
	key->start_ns = ft_task_start(task);
	key->flags = ft_exec(task) << FT_EXEC_SHIFT;
	bpf_get_current_comm(key->comm, sizeof(key->comm));
}

/*
 * Sets w up with the registers with which the current task left user mode.
 * Returns false if there is no user stack.
 */
static __always_inline bool ft_walk_begin_saved(struct ft_walk *w, struct task_struct *task)
{
	struct ft_regs *saved = &w->s->saved;
	u32 flags = BPF_CORE_READ(task, flags);

	if (flags & PF_KTHREAD)
		return false;
	w->exiting = flags & PF_EXITING;
	if (!ft_task_user_regs(task, saved))
		return false;
	/*
	 * In the middle of an exec the registers are still those of the old
	 * program while the memory is already that of the new one.
	 */
	if (FT_IN_EXECVE(saved)) {
		w->flags |= FT_IN_EXEC;
		return false;
	}
	w->ip = FT_IP(saved);
	w->sp = FT_SP(saved);
	w->fp = FT_FP(saved);
	w->compat = FT_COMPAT(saved);
	FT_COPY_REGISTERS(w->s->regs, saved);
	return true;
}

/*
 * Sets w up for the user stack of the current task. ctx_regs are those of the
 * event: they are the user's only in user mode. Returns false if there is no
 * user stack.
 */
static __always_inline bool ft_walk_begin(struct ft_walk *w, struct task_struct *task,
					  struct ft_regs *ctx_regs, bool user_mode)
{
	/*
	 * Read before the branch: one load instruction may not serve two kinds
	 * of pointers, and the compiler would merge them.
	 */
	w->ip = FT_IP(ctx_regs);
	w->sp = FT_SP(ctx_regs);
	w->fp = FT_FP(ctx_regs);
	w->compat = FT_COMPAT(ctx_regs);
	FT_COPY_REGISTERS(w->s->regs, ctx_regs);
	barrier();
	return user_mode || ft_walk_begin_saved(w, task);
}

/* Walks the stack that w was set up for. */
static __always_inline void ft_walk_on(struct ft_walk *w, void *ctx, struct task_struct *task,
				       struct ft_count_key *key)
{
	if (have_tables && !w->compat)
		ft_walk_tables(w, key->pid, key->start_ns, ft_exec_id(task));
	ft_walk_user(w, ctx);
}

/* Stores the stack that was walked. Returns 0, or the error of the map. */
static __always_inline long ft_walk_store(struct ft_walk *w, void *chunks, struct ft_count_key *key)
{
	key->flags |= w->flags | w->end << FT_END_SHIFT;
	return ft_store_stack(w->s, chunks, w->len, &key->user_stack);
}

/* Walks and stores the user stack. Returns 0, or the error of the map. */
static __always_inline long ft_user_stack(struct ft_scratch *s, void *chunks, void *ctx,
					  struct task_struct *task, struct ft_regs *ctx_regs,
					  bool user_mode, struct ft_count_key *key)
{
	struct ft_walk w = { .s = s };

	if (ft_walk_begin(&w, task, ctx_regs, user_mode))
		ft_walk_on(&w, ctx, task, key);
	return ft_walk_store(&w, chunks, key);
}

/* The same for what happens in the kernel, where no registers come with it. */
static __always_inline long ft_user_stack_saved(struct ft_scratch *s, void *chunks, void *ctx,
						struct task_struct *task, struct ft_count_key *key)
{
	struct ft_walk w = { .s = s };

	if (ft_walk_begin_saved(&w, task))
		ft_walk_on(&w, ctx, task, key);
	return ft_walk_store(&w, chunks, key);
}

/* Stores the kernel stack of the interrupted code. */
static __always_inline long ft_kernel_stack(struct ft_scratch *s, void *chunks, void *ctx,
					    struct ft_count_key *key)
{
	long size = bpf_get_stack(ctx, s->words, FT_MAX_KERNEL_FRAMES * sizeof(u64), 0);

	if (size <= 0)
		return 0;
	if (size >= FT_MAX_KERNEL_FRAMES * (long)sizeof(u64))
		key->flags |= FT_KERNEL_TRUNCATED;
	return ft_store_stack(s, chunks, (u64)size / sizeof(u64), &key->kernel_stack);
}

#endif
