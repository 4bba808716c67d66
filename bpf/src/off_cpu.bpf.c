// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Off-CPU time: all waits, whatever for. */
#include "types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "waits.h"

static __always_inline bool ft_wait_wanted(u64 *detail)
{
	return true;
}

SEC("tp_btf/sched_switch")
int off_cpu_switch(u64 *ctx)
{
	u64 now = bpf_ktime_get_ns();

	ft_leave(ctx, (void *)ctx[1], now);
	ft_return((void *)ctx[2], now);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
