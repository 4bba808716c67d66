// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Opened files: every call, with the path that was asked for and the outcome. */
#include "types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "calls.h"
#include "cells.h"
#include "filecalls.h"
#include "files.h"
#include "looks.h"

/* Opens of this length always have their stack. */
const volatile u64 always_ns;
/* Files that could be opened are left out. */
const volatile bool failed_only;

/* Bits of ft_count_key.detail, as those of system calls. */
#define FT_ERRNO_SHIFT 32
#define FT_CALL_COMPAT (1ULL << 48)
#define FT_NO_PATH (1ULL << 50) /* the path could not be read */
#define FT_CUT_PATH (1ULL << 51) /* it is longer than paths can be */

static __always_inline int ft_open_begin(void *regs, u32 nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool compat = FT_COMPAT_CALL(task), at;
	struct ft_call *c;
	u64 args[2];

	if (!ft_opens(nr, compat, &at))
		return 0;
	if (filter_targets && !ft_is_target(task->tgid, task->group_leader->start_boottime))
		return 0;
	if (!ft_call_args(regs, compat, args))
		return 0;
	c = ft_call_begin(task->pid, nr, compat, bpf_ktime_get_ns());
	if (!c)
		return 0;
	c->args[0] = args[0];
	c->args[1] = args[1];
	if (!at) {
		c->args[1] = c->args[0];
		c->args[0] = AT_FDCWD;
	}
	return 0;
}

/* The folder that a relative path begins at. */
static __always_inline void ft_base(struct ft_scratch *s, s32 fd, u32 gen, u64 *id)
{
	struct task_struct___files *task = (void *)bpf_get_current_task();
	struct vfsmount *mnt;
	struct dentry *dentry;
	struct file *file;

	if (fd == AT_FDCWD) {
		mnt = BPF_CORE_READ(task, fs, pwd.mnt);
		dentry = BPF_CORE_READ(task, fs, pwd.dentry);
	} else {
		file = ft_file(fd);
		if (!file)
			return;
		mnt = BPF_CORE_READ(file, f_path.mnt);
		dentry = BPF_CORE_READ(file, f_path.dentry);
	}
	ft_path_id(s, mnt, dentry, gen, id);
}

/* Reads the path at a user address into s->words. Returns its length in words. */
static __always_inline u32 ft_read_path(struct ft_scratch *s, u64 user, u64 *detail)
{
	long len = bpf_probe_read_user_str(s->words, FT_PATH_MAX, (void *)user);

	if (len <= 0) {
		*detail |= FT_NO_PATH;
		return 0;
	}
	if (len == FT_PATH_MAX)
		*detail |= FT_CUT_PATH;
	/* The bytes behind the text are those of an earlier one. */
	if (len & 7) {
		u32 last = (u32)len / 8;

		ft_opaque(last);
		s->words[last & (FT_PATH_MAX / 8 - 1)] &= (1ULL << (len & 7) * 8) - 1;
	}
	return ((u32)len + 7) / 8;
}

/* An open that has ended. */
struct ft_opened {
	u64 detail;
	u64 ns;
	u64 now;
	u64 path; /* user address */
	u64 base; /* ID of the folder that the path is relative to */
	u32 words; /* of the path, in the scratch space */
	u32 gen;
	u32 stands_for;
	s32 fd;
};

/*
 * Reads the path that was asked for, and the folder it is relative to. That is
 * done at the end of the call, when the kernel has read it too and it is in
 * memory.
 */
static __noinline int ft_asked(struct ft_scratch *s, struct ft_opened *o)
{
	o->words = ft_read_path(s, o->path, &o->detail);
	if (!o->words || (u8)s->words[0] == '/')
		return 0;
	ft_base(s, o->fd, o->gen, &o->base);
	/* Storing that may have taken the room. */
	o->words = ft_read_path(s, o->path, &o->detail);
	return 0;
}

/* Counts an open with its stack: by itself, or as one to share totals out by. */
static __noinline int ft_look_at_open(void *ctx, struct ft_scratch *s, struct ft_opened *o,
				      u64 record, bool exact)
{
	struct ft_seen *seen = ft_seen_room();

	if (!seen)
		return 0;
	seen->add.count = 1;
	seen->add.last_ns = o->now;
	seen->add.sums[0] = o->ns;
	seen->stacks = FT_USER_STACK;
	seen->counted = true;
	seen->first = true;
	seen->exact = exact;
	seen->gen = o->gen;
	seen->stands_for = o->stands_for;
	seen->key.detail = o->detail;
	seen->key.record = record;
	ft_identify(&seen->key, (void *)bpf_get_current_task(), bpf_get_current_pid_tgid());
	ft_observe(ctx, s, seen);
	return 0;
}

/* Counts an open; the scratch space is taken. */
static __always_inline void ft_count_open(void *ctx, struct ft_scratch *s, struct ft_stats *st,
					  struct task_struct *task, struct ft_opened *o)
{
	bool exact = !look_ns || o->ns >= always_ns, first = false;
	struct ft_program of = ft_program_of(task);
	struct ft_cell *cell = 0;
	u64 record = 0;
	struct ft_sink to;

	ft_asked(s, o);
	/* Of most paths the ID tells that they are known already. */
	if (!exact && o->words && o->words <= FT_CHUNK_WORDS) {
		record = ft_chunk_id(0, o->words, o->base);
		cell = ft_cell_at(of.pid, o->detail, record, o->gen);
	}
	if (!cell || !ft_cell_is(cell, &of, o->detail, record, o->gen)) {
		if (!ft_sink_open(&to, o->gen))
			return;
		if (ft_store_words(s, to.chunks, o->words, o->base, &record)) {
			st->lost_stacks_full++;
			return;
		}
		if (!exact) {
			cell = ft_cell_at(of.pid, o->detail, record, o->gen);
			if (!cell)
				return;
			first = !ft_cell_is(cell, &of, o->detail, record, o->gen);
			if (first)
				ft_cell_begin(cell, &of, o->detail, record, o->gen);
		}
	}
	if (!exact) {
		ft_cell_add(cell, o->ns, 0, o->now);
		st->kept++;
	}
	if (exact || first || o->stands_for)
		ft_look_at_open(ctx, s, o, record, exact);
}

static __always_inline int ft_open_end(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = task->pid, at;
	struct ft_call *c = ft_call_find(tid);
	struct ft_opened o = {};
	struct ft_scratch *s;
	struct ft_stats *st;
	s64 ret = ctx[1];

	if (!c)
		return 0;
	o.now = bpf_ktime_get_ns();
	o.gen = generation;
	o.ns = o.now - c->enter_ns;
	o.detail = c->nr | (c->compat ? FT_CALL_COMPAT : 0) | ft_length(o.ns);
	if (ret < 0 && ret >= -4095)
		o.detail |= (u64)-ret << FT_ERRNO_SHIFT;
	o.stands_for = ft_rate_choose(&c->rate, o.now);
	o.fd = c->args[0];
	o.path = c->args[1];
	if (!ft_call_end(c, tid))
		return 0;
	at = o.gen & 1;
	st = bpf_map_lookup_elem(&stats, &at);
	if (!st)
		return 0; /* cannot happen: the array has two entries */
	st->taken++;
	if (failed_only && ret >= 0) {
		st->filtered++;
		return 0;
	}
	s = ft_scratch_try();
	if (!s) {
		st->lost_scratch++;
		return 0;
	}
	ft_count_open(ctx, s, st, (void *)task, &o);
	ft_scratch_put(s);
	return 0;
}

FT_CALL_PROGRAMS(opens, ft_open_begin, ft_open_end)

/* What ends in a call is not counted. */
SEC("tp_btf/sched_process_exit")
int opens_thread_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = task->pid;
	struct ft_call *c = ft_call_find(tid);

	if (c)
		ft_call_end(c, tid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
