// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Life cycle of targets, loaded only when targets are set: children of a
 * target are targets before they run, an exec makes a process that was turned
 * down worth another look and one that waited for it a target, and what has
 * ended is forgotten.
 */
#include "types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "targets.h"

/* Children that found no room in the map of targets. */
u64 targets_full;

static __always_inline u64 ft_start_ticks(struct task_struct *leader)
{
	return BPF_CORE_READ(leader, start_boottime) / FT_START_TICK_NS;
}

SEC("raw_tp/sched_process_fork")
int target_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0];
	struct task_struct *child = (void *)ctx->args[1];
	u32 parent_pid = BPF_CORE_READ(parent, tgid);
	u32 child_pid = BPF_CORE_READ(child, tgid);
	struct ft_target keep = { .verdict = FT_KEEP };
	struct ft_target *t;

	if (parent_pid == child_pid)
		return 0; /* a thread */
	t = bpf_map_lookup_elem(&targets, &parent_pid);
	if (!t || t->verdict != FT_KEEP)
		return 0;
	if (t->start_ticks != ft_start_ticks(BPF_CORE_READ(parent, group_leader)))
		return 0; /* an earlier process with this PID was meant */
	keep.start_ticks = ft_start_ticks(child);
	if (bpf_map_update_elem(&targets, &child_pid, &keep, BPF_ANY))
		__sync_fetch_and_add(&targets_full, 1);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int target_exec(struct bpf_raw_tracepoint_args *ctx)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct ft_target *t = bpf_map_lookup_elem(&targets, &pid);

	if (!t)
		return 0;
	if (t->verdict == FT_DROP)
		bpf_map_delete_elem(&targets, &pid);
	else
		t->verdict = FT_KEEP;
	return 0;
}

/*
 * A task is freed when it has been waited for and nobody looks at it any more:
 * after the end of its exit, which is CPU time like any other. Another process
 * may have its PID by then.
 */
SEC("raw_tp/sched_process_free")
int target_free(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	u32 pid = BPF_CORE_READ(task, tgid);
	struct ft_target *t;

	if (BPF_CORE_READ(task, pid) != pid)
		return 0; /* not the leader, which is freed last */
	t = bpf_map_lookup_elem(&targets, &pid);
	if (t && t->start_ticks == ft_start_ticks(task))
		bpf_map_delete_elem(&targets, &pid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
