// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Life cycle of targets, loaded only when targets are set: children of a
 * target are targets before they run, an exec makes a process that was turned
 * down worth another look, and what has ended is forgotten.
 */
#include "types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "targets.h"

/* Children that found no room in the map of targets. */
u64 targets_full;

SEC("raw_tp/sched_process_fork")
int target_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0];
	struct task_struct *child = (void *)ctx->args[1];
	u32 parent_pid = BPF_CORE_READ(parent, tgid);
	u32 child_pid = BPF_CORE_READ(child, tgid);
	u8 *verdict, keep = FT_KEEP;

	if (parent_pid == child_pid)
		return 0; /* a thread */
	verdict = bpf_map_lookup_elem(&targets, &parent_pid);
	if (!verdict || *verdict != FT_KEEP)
		return 0;
	if (bpf_map_update_elem(&targets, &child_pid, &keep, BPF_ANY))
		__sync_fetch_and_add(&targets_full, 1);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int target_exec(struct bpf_raw_tracepoint_args *ctx)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	u8 *verdict = bpf_map_lookup_elem(&targets, &pid);

	if (verdict && *verdict == FT_DROP)
		bpf_map_delete_elem(&targets, &pid);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int target_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	u32 pid = BPF_CORE_READ(task, tgid);

	/* The count falls before the tracepoint (kernel/exit.c, do_exit). */
	if (BPF_CORE_READ(task, signal, live.counter) == 0)
		bpf_map_delete_elem(&targets, &pid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
