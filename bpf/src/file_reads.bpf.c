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

static __always_inline int ft_read_begin(void *regs, u32 nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool compat = FT_COMPAT_CALL(task), sends;
	struct ft_call *c;
	struct inode *inode;
	struct file *file;
	u64 args[2];

	sends = compat ? ft_sends_32(nr) : ft_sends(nr);
	if (!sends && !(compat ? ft_reads_32(nr) : ft_reads(nr)))
		return 0;
	if (filter_targets && !ft_is_target(task->tgid, task->group_leader->start_boottime))
		return 0;
	if (!ft_call_args(regs, compat, args))
		return 0;
	file = ft_file(sends ? args[1] : args[0]);
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

/* A read that has ended. */
struct ft_read_done {
	u64 detail;
	u64 ns;
	u64 now;
	u64 bytes;
	u32 gen;
	u32 stands_for;
};

/* Returns the ID of the path of the file, 0 if it is not known. */
static __noinline u64 ft_file_path(struct ft_scratch *s, struct file *file, u64 inode, u32 gen)
{
	u64 id = 0;

	if (!s)
		return 0; /* for the verifier */
	/* Another thread may have closed the file, which is another one by now. */
	if ((u64)BPF_CORE_READ(file, f_inode) == inode)
		ft_path_id(s, BPF_CORE_READ(file, f_path.mnt), BPF_CORE_READ(file, f_path.dentry),
			   gen, &id);
	return id;
}

/* Counts a read, with its stack if it is to have one. */
static __noinline int ft_count_read(void *ctx, struct ft_scratch *s, struct ft_read_done *r,
				    u64 record)
{
	struct ft_seen *seen = ft_seen_room();

	if (!seen)
		return 0;
	seen->add.count = 1;
	seen->add.last_ns = r->now;
	seen->add.sums[0] = r->ns;
	seen->add.sums[1] = r->bytes;
	seen->stacks = FT_USER_STACK;
	seen->exact = !look_ns || r->ns >= always_ns;
	seen->gen = r->gen;
	seen->stands_for = r->stands_for;
	seen->key.detail = r->detail;
	seen->key.record = record;
	ft_identify(&seen->key, (void *)bpf_get_current_task(), bpf_get_current_pid_tgid());
	ft_observe(ctx, s, seen);
	return 0;
}

static __always_inline int ft_read_end(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = task->pid, at;
	struct ft_call *c = ft_call_find(tid);
	struct ft_read_done r = {};
	struct ft_scratch *s;
	struct ft_stats *st;
	struct file *file;
	s64 ret = ctx[1];
	u64 inode, path;

	if (!c)
		return 0;
	r.now = bpf_ktime_get_ns();
	r.gen = generation;
	r.ns = r.now - c->enter_ns;
	r.detail = c->nr | (c->compat ? FT_CALL_COMPAT : 0) | ft_length(r.ns);
	if (ret >= 0)
		r.bytes = ret;
	else if (ret >= -4095)
		r.detail |= (u64)-ret << FT_ERRNO_SHIFT;
	r.stands_for = ft_rate_choose(&c->rate, r.now);
	file = (void *)c->args[0];
	inode = c->args[1];
	if (!ft_call_end(c, tid))
		return 0;
	at = r.gen & 1;
	st = bpf_map_lookup_elem(&stats, &at);
	if (!st)
		return 0; /* cannot happen: the array has two entries */
	st->taken++;
	if (r.ns < min_ns) {
		st->filtered++;
		return 0;
	}
	s = ft_scratch_try();
	if (!s) {
		st->lost_scratch++;
		return 0;
	}
	path = ft_file_path(s, file, inode, r.gen);
	if (!path)
		r.detail |= FT_NO_PATH;
	ft_count_read(ctx, s, &r, path);
	ft_scratch_put(s);
	return 0;
}

FT_CALL_PROGRAMS(reads, ft_read_begin, ft_read_end)

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
