// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What lets tables be there when a program is first sampled: it asks for them
 * when it begins, for short-lived programs have few samples to miss, and those
 * that run already are listed.
 */
#include "types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "compat.h"
#include "tables.h"

SEC("raw_tp/sched_process_exec")
int unwind_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u32 pid = bpf_get_current_pid_tgid() >> 32, first = 0;

	ft_find_space(pid, ft_task_start(task), ft_exec_id(task), &first);
	return 0;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct sched_entity {
	u64 sum_exec_runtime;
};

struct task_struct___running {
	struct sched_entity se;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* A thread that exists now. */
struct ft_thread {
	u64 start_ns; /* of the process */
	u64 exec_id;
	u64 run_ns; /* CPU time of the thread */
	u32 pid; /* process */
	u32 pad;
};
_Static_assert(sizeof(struct ft_thread) == 32, "ft_thread is part of the ABI to Go");

/*
 * Lists all threads but the kernel's: tables are loaded for programs that run
 * already before they are sampled, and only the kernel knows exec IDs. Kernel
 * 5.8 (eaaacd23910f, "bpf: Add task and task/file iterator targets").
 */
SEC("iter/task")
int unwind_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct ft_thread one = {};

	if (!task)
		return 0; /* after the last one */
	if (task->flags & PF_KTHREAD)
		return 0;
	one.pid = task->tgid;
	one.start_ns = task->group_leader->start_boottime;
	one.exec_id = task->self_exec_id;
	one.run_ns = ((struct task_struct___running *)task)->se.sum_exec_runtime;
	bpf_seq_write(ctx->meta->seq, &one, sizeof(one));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
