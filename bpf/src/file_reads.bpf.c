// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reads of regular files by system calls: read, pread, readv, preadv, preadv2
 * and sendfile. What is read through memory that is mapped, or by io_uring, is
 * not seen here.
 */
#include "types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "calls.h"
#include "filecalls.h"
#include "files.h"
#include "looks.h"

/* Shorter reads are left out. */
const volatile u64 min_ns;
/* Reads of this length always have their stack. */
const volatile u64 always_ns;

/* Bits of ft_count_key.detail, as those of system calls. */
#define FT_ERRNO_SHIFT 32
#define FT_CALL_COMPAT (1ULL << 48)
#define FT_NO_PATH (1ULL << 50) /* the file was closed meanwhile */

SEC("tp_btf/sys_enter")
int reads_enter(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool compat = FT_COMPAT_CALL(task), sends;
	struct ft_call *c;
	struct ft_regs regs;
	struct inode *inode;
	struct file *file;
	u32 nr = ctx[1];

	sends = compat ? ft_sends_32(nr) : ft_sends(nr);
	if (!sends && !(compat ? ft_reads_32(nr) : ft_reads(nr)))
		return 0;
	if (filter_targets && !ft_is_target(task->tgid, task->group_leader->start_boottime))
		return 0;
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx[0]))
		return 0;
	file = ft_file(sends ? FT_ARG2(&regs, compat) : FT_ARG1(&regs, compat));
	if (!file)
		return 0; /* EBADF */
	inode = BPF_CORE_READ(file, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG)
		return 0;
	c = ft_call_begin(task->pid, nr, compat, bpf_ktime_get_ns());
	if (!c)
		return 0;
	c->args[0] = (u64)file;
	c->args[1] = (u64)inode;
	return 0;
}

SEC("tp_btf/sys_exit")
int reads_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ft_seen seen = { .add.count = 1, .stacks = FT_USER_STACK };
	u32 tid = task->pid, at;
	struct ft_call *c = ft_call_find(tid);
	struct ft_scratch *s;
	struct ft_stats *st;
	struct file *file;
	s64 ret = ctx[1];
	u64 now, inode;

	if (!c)
		return 0;
	now = bpf_ktime_get_ns();
	seen.gen = generation;
	seen.add.last_ns = now;
	seen.add.sums[0] = now - c->enter_ns;
	seen.key.detail = c->nr | (c->compat ? FT_CALL_COMPAT : 0) | ft_length(seen.add.sums[0]);
	if (ret >= 0)
		seen.add.sums[1] = ret;
	else if (ret >= -4095)
		seen.key.detail |= (u64)-ret << FT_ERRNO_SHIFT;
	seen.stands_for = ft_rate_choose(&c->rate, now);
	file = (void *)c->args[0];
	inode = c->args[1];
	if (!ft_call_end(c, tid))
		return 0;
	at = seen.gen & 1;
	st = bpf_map_lookup_elem(&stats, &at);
	if (!st)
		return 0; /* cannot happen: the array has two entries */
	st->taken++;
	if (seen.add.sums[0] < min_ns) {
		st->filtered++;
		return 0;
	}
	seen.exact = !look_ns || seen.add.sums[0] >= always_ns;
	s = ft_scratch_try();
	if (!s) {
		st->lost_scratch++;
		return 0;
	}
	/* Another thread may have closed the file, which is another one by now. */
	if ((u64)BPF_CORE_READ(file, f_inode) == inode)
		ft_path_id(s, BPF_CORE_READ(file, f_path.mnt), BPF_CORE_READ(file, f_path.dentry),
			   seen.gen, &seen.key.record);
	if (!seen.key.record)
		seen.key.detail |= FT_NO_PATH;
	ft_identify(&seen.key, (void *)task, bpf_get_current_pid_tgid());
	ft_observe(ctx, s, &seen);
	ft_scratch_put(s);
	return 0;
}

/* What ends in a call is not counted. */
SEC("tp_btf/sched_process_exit")
int reads_thread_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = task->pid;
	struct ft_call *c = ft_call_find(tid);

	if (c)
		ft_call_end(c, tid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
