// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Opened files: every call, with the path that was asked for and the outcome. */
#include "types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "calls.h"
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

SEC("tp_btf/sys_enter")
int opens_enter(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool compat = FT_COMPAT_CALL(task), at;
	struct ft_call *c;
	struct ft_regs regs;
	u32 nr = ctx[1];

	if (!ft_opens(nr, compat, &at))
		return 0;
	if (filter_targets && !ft_is_target(task->tgid, task->group_leader->start_boottime))
		return 0;
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx[0]))
		return 0;
	c = ft_call_begin(task->pid, nr, compat, bpf_ktime_get_ns());
	if (!c)
		return 0;
	c->args[0] = FT_ARG1(&regs, compat);
	c->args[1] = FT_ARG2(&regs, compat);
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

/*
 * Stores the path at a user address, and below it the folder it is relative to.
 * It is read at the end of the call, when the kernel has read it too and it is
 * in memory. Returns 0, or the error of the map.
 */
static __always_inline long ft_asked_path(struct ft_scratch *s, s32 fd, u64 user,
					  struct ft_seen *seen)
{
	struct ft_sink to;
	u64 base = 0;
	long len;
	u8 first = 0;
	u32 words;

	if (bpf_probe_read_user(&first, 1, (void *)user)) {
		seen->key.detail |= FT_NO_PATH;
		return 0;
	}
	if (first != '/')
		ft_base(s, fd, seen->gen, &base);
	len = bpf_probe_read_user_str(s->words, FT_PATH_MAX, (void *)user);
	if (len <= 0) {
		seen->key.detail |= FT_NO_PATH;
		return 0;
	}
	if (len == FT_PATH_MAX)
		seen->key.detail |= FT_CUT_PATH;
	/* The bytes behind the text are those of an earlier one. */
	words = ((u32)len + 7) / 8;
	if (len & 7) {
		u32 last = words - 1;

		ft_opaque(last);
		s->words[last & (FT_PATH_MAX / 8 - 1)] &= (1ULL << (len & 7) * 8) - 1;
	}
	if (!ft_sink_open(&to, seen->gen))
		return 0;
	return ft_store_words(s, to.chunks, words, base, &seen->key.record);
}

SEC("tp_btf/sys_exit")
int opens_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ft_seen seen = { .add.count = 1, .stacks = FT_USER_STACK };
	u32 tid = task->pid, at;
	struct ft_call *c = ft_call_find(tid);
	struct ft_scratch *s;
	struct ft_stats *st;
	s64 ret = ctx[1];
	u64 now, user;
	s32 fd;

	if (!c)
		return 0;
	now = bpf_ktime_get_ns();
	seen.gen = generation;
	seen.add.last_ns = now;
	seen.add.sums[0] = now - c->enter_ns;
	seen.key.detail = c->nr | (c->compat ? FT_CALL_COMPAT : 0) | ft_length(seen.add.sums[0]);
	if (ret < 0 && ret >= -4095)
		seen.key.detail |= (u64)-ret << FT_ERRNO_SHIFT;
	seen.stands_for = ft_rate_choose(&c->rate, now);
	fd = c->args[0];
	user = c->args[1];
	if (!ft_call_end(c, tid))
		return 0;
	at = seen.gen & 1;
	st = bpf_map_lookup_elem(&stats, &at);
	if (!st)
		return 0; /* cannot happen: the array has two entries */
	st->taken++;
	if (failed_only && ret >= 0) {
		st->filtered++;
		return 0;
	}
	seen.exact = !look_ns || seen.add.sums[0] >= always_ns;
	s = ft_scratch_try();
	if (!s) {
		st->lost_scratch++;
		return 0;
	}
	if (ft_asked_path(s, fd, user, &seen)) {
		st->lost_stacks_full++;
	} else {
		ft_identify(&seen.key, (void *)task, bpf_get_current_pid_tgid());
		ft_observe(ctx, s, &seen);
	}
	ft_scratch_put(s);
	return 0;
}

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
