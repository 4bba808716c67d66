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
	u64 now = bpf_ktime_get_ns();
	u32 zero = 0, gen = generation;
	struct ft_count_key key = {};
	struct ft_scratch *s;
	struct ft_seen *seen;
	struct ft_rate *rate;
	struct ft_sink to;

	if (!ft_sink_open(&to, gen))
		return 0;
	ft_bump(&to.st->taken);
	if (!ft_event_of(&to, &key, (void *)bpf_get_current_task()))
		return 0;
	s = ft_scratch_take(&to);
	if (!s)
		return 0;
	seen = ft_seen_room();
	if (seen) {
		seen->stacks = FT_USER_STACK;
		if (!FT_USER_MODE(&ctx->regs)) {
			detail |= FT_BY_KERNEL;
			seen->stacks |= FT_KERNEL_STACK;
		}
		key.detail = detail;
		seen->key = key;
		seen->gen = gen;
		seen->add.count = 1;
		seen->add.last_ns = now;
		rate = bpf_map_lookup_elem(&rates, &zero);
		seen->stands_for = rate ? ft_rate_choose(rate, now) : 0;
		seen->exact = !look_ns || (detail & FT_MAJOR);
		ft_observe(ctx, s, seen);
	}
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
