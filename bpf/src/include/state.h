/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Why a task leaves its CPU: its state, and the system call that it is in. */
#ifndef FLAMETEL_STATE_H
#define FLAMETEL_STATE_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "types.h"

/* The state is an argument, kernel 5.18 (fa2c3254d7cf "sched/tracing: Don't re-read p->state"). */
const volatile bool have_prev_state;

/* Of include/linux/sched.h. */
#define TASK_RUNNING 0
#define TASK_UNINTERRUPTIBLE 2
#define TASK_DEAD 0x80

/* Bits of ft_count_key.detail; the lower half is the number of the call. */
#define FT_PREEMPTED (1ULL << 32) /* could have run: it waited for a CPU */
#define FT_UNINTERRUPTIBLE (1ULL << 33)
#define FT_CALL_COMPAT (1ULL << 34) /* a 32-bit system call */
#define FT_IN_CALL (1ULL << 35)

/* The system call that the current task is in, as bits of detail. */
static __always_inline u64 ft_current_call(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs((void *)task);
	s64 nr = FT_CALL_NUMBER(regs);

	if (nr < 0)
		return 0;
	return FT_IN_CALL | (u32)nr | (FT_COMPAT_CALL(task) ? FT_CALL_COMPAT : 0);
}

/* Before 5.14 the state of a task is called state, and is read of it before 5.18. */
struct task_struct___new {
	unsigned int __state;
} __attribute__((preserve_access_index));
struct task_struct___old {
	long state;
} __attribute__((preserve_access_index));

static __always_inline u32 ft_state(struct task_struct *task, u64 *ctx)
{
	struct task_struct___new *t = (void *)task;

	if (have_prev_state)
		return ctx[3];
	if (bpf_core_field_exists(t->__state))
		return BPF_CORE_READ(t, __state);
	return BPF_CORE_READ((struct task_struct___old *)task, state);
}

#endif
