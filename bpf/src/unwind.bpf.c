// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Asks for the unwind tables of a program when it begins, so that they are
 * there when it is sampled: short-lived programs have few samples to miss.
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

char LICENSE[] SEC("license") = "Dual BSD/GPL";
