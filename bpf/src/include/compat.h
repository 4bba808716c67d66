/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What differs between kernels; every switch is set before load. */
#ifndef FLAMETEL_COMPAT_H
#define FLAMETEL_COMPAT_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "types.h"

/*
 * Kernel 5.17, e6f2dd0f8067 ("bpf: Add bpf_loop helper"). Before, loops are
 * verified turn by turn and 1,024 frames are too many for that: stacks have up
 * to FT_LOOP_FRAMES then.
 */
const volatile bool have_loop;
/* Kernel 5.15, dd6e10fbd9fb ("bpf: Add bpf_task_pt_regs() helper"). */
const volatile bool have_task_regs;

/*
 * Keeps the compiler from deriving the value's range, so that the mask that
 * follows stays in the program for the verifier to see.
 */
#define ft_opaque(x) asm volatile("" : "+r"(x))

/* When the process of the current task started, CLOCK_BOOTTIME. */
static __always_inline u64 ft_task_start(struct task_struct *task)
{
	/* Loads through a typed pointer need no helper call (kernel 5.11). */
	if (have_task_regs)
		return bpf_get_current_task_btf()->group_leader->start_boottime;
	return BPF_CORE_READ(task, group_leader, start_boottime);
}

/* Counts the execs of the current process, of its parents too. */
static __always_inline u64 ft_exec_id(struct task_struct *task)
{
	if (have_task_regs)
		return bpf_get_current_task_btf()->self_exec_id;
	return BPF_CORE_READ(task, self_exec_id);
}

/* The same in 16 bits: tells the programs apart that a process runs in turn. */
static __always_inline u32 ft_exec(struct task_struct *task)
{
	return ft_exec_id(task) & 0xffff;
}

/*
 * Copies the registers with which the current task left user mode. Returns
 * false for a task that has none.
 */
static __always_inline bool ft_task_user_regs(struct task_struct *task, struct ft_regs *regs)
{
	void *saved;

	if (have_task_regs) {
		/* The helper wants a typed pointer, which task may not be. */
		saved = (void *)bpf_task_pt_regs((void *)bpf_get_current_task_btf());
	} else {
		saved = BPF_CORE_READ(task, stack);
		if (!saved)
			return false;
		saved += FT_THREAD_SIZE - sizeof(struct ft_regs);
	}
	if (!saved)
		return false;
	if (bpf_probe_read_kernel(regs, sizeof(*regs), saved))
		return false;
	return FT_USER_MODE(regs);
}

#endif
