// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Page faults, by the kernel's own software events: one run for each fault that
 * was served, also those of the kernel on behalf of a program.
 */
#include "types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "looks.h"

/* Bits of ft_count_key.detail. */
#define FT_MAJOR (1ULL << 0) /* it waited for a disk */
#define FT_BY_KERNEL (1ULL << 1)

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ft_rate);
} rates SEC(".maps");

static __always_inline int ft_fault(struct ft_perf_ctx *ctx, u64 detail)
{
	struct ft_seen seen = { .add.count = 1, .stacks = FT_USER_STACK };
	u64 now = bpf_ktime_get_ns();
	struct ft_scratch *s;
	struct ft_rate *rate;
	struct ft_sink to;
	u32 zero = 0;

	seen.gen = generation;
	if (!ft_sink_open(&to, seen.gen))
		return 0;
	ft_bump(&to.st->taken);
	if (!ft_event_of(&to, &seen.key, (void *)bpf_get_current_task()))
		return 0;
	if (!FT_USER_MODE(&ctx->regs)) {
		detail |= FT_BY_KERNEL;
		seen.stacks |= FT_KERNEL_STACK;
	}
	seen.key.detail = detail;
	seen.add.last_ns = now;
	rate = bpf_map_lookup_elem(&rates, &zero);
	seen.stands_for = rate ? ft_rate_choose(rate, now) : 0;
	seen.exact = !look_ns || (detail & FT_MAJOR);
	s = ft_scratch_try();
	ft_observe(ctx, s, &seen);
	if (s)
		ft_scratch_put(s);
	return 0;
}

SEC("perf_event")
int minor_fault(struct ft_perf_ctx *ctx)
{
	return ft_fault(ctx, 0);
}

SEC("perf_event")
int major_fault(struct ft_perf_ctx *ctx)
{
	return ft_fault(ctx, FT_MAJOR);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
