// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Waits for locks: of programs, as waits in futex calls, which costs calls
 * nothing; of the kernel, where it has tracepoints for that.
 */
#include "types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define FT_IN_INTERRUPTS
#include "looks.h"
#include "waits.h"

/* Bits of ft_count_key.detail, besides those of waits. */
#define FT_FUTEX_OP_SHIFT 40 /* 7 bits, FUTEX_WAIT and its like */
#define FT_KERNEL_LOCK (1ULL << 63) /* the lower half is LCB_F_* */

#if defined(__TARGET_ARCH_x86)
#define FT_FUTEX 202
#define FT_OP_OFFSET 104 /* of si in struct pt_regs */
#define FT_OP_OFFSET_32 88 /* of cx */
#else
#define FT_FUTEX 98
#define FT_OP_OFFSET 8 /* of x1 */
#define FT_OP_OFFSET_32 8
#endif
#define FT_FUTEX_32 240
#define FT_FUTEX_TIME64 422
#define FT_FUTEX_WAITV 449
#define FT_FUTEX_WAIT 455

static __always_inline bool ft_wait_wanted(u64 *detail)
{
	bool compat = *detail & FT_CALL_COMPAT;
	u32 nr = *detail, op = 0;
	void *regs;

	if (!(*detail & FT_IN_CALL) || (*detail & FT_PREEMPTED))
		return false;
	if (nr == FT_FUTEX_WAITV || nr == FT_FUTEX_WAIT)
		return true;
	if (compat ? nr != FT_FUTEX_32 && nr != FT_FUTEX_TIME64 : nr != FT_FUTEX)
		return false;
	regs = (void *)bpf_task_pt_regs((void *)bpf_get_current_task_btf());
	bpf_probe_read_kernel(&op, sizeof(op), regs + (compat ? FT_OP_OFFSET_32 : FT_OP_OFFSET));
	*detail |= (u64)(op & 0x7f) << FT_FUTEX_OP_SHIFT;
	return true;
}

SEC("tp_btf/sched_switch")
int futex_switch(u64 *ctx)
{
	u64 now = bpf_ktime_get_ns();

	ft_leave(ctx, (void *)ctx[1], now);
	ft_return((void *)ctx[2], now);
	return 0;
}

/* A lock that a task, or an interrupt on a CPU, waits for. */
struct ft_lock_key {
	u64 lock;
	u32 tid;
	u32 cpu; /* of the idle task, which each CPU has */
};
struct ft_lock_wait {
	u64 begin;
	u64 flags;
};

/* Written and emptied by the programs. When full, the wait is lost_state. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct ft_lock_key);
	__type(value, struct ft_lock_wait);
} lock_waits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ft_rate);
} rates SEC(".maps");

static __always_inline void ft_lock_of(struct ft_lock_key *key, u64 lock)
{
	key->lock = lock;
	key->tid = bpf_get_current_pid_tgid();
	key->cpu = key->tid ? 0 : bpf_get_smp_processor_id();
}

#define FT_EEXIST 17

SEC("tp_btf/contention_begin")
int lock_begin(u64 *ctx)
{
	struct ft_lock_wait wait = { .begin = bpf_ktime_get_ns(), .flags = (u32)ctx[1] };
	struct ft_lock_key key;
	struct ft_sink to;
	long err;

	ft_lock_of(&key, ctx[0]);
	/* A mutex begins twice, spinning and then sleeping: the first begin counts. */
	err = bpf_map_update_elem(&lock_waits, &key, &wait, BPF_NOEXIST);
	if (!err || err == -FT_EEXIST || !ft_sink_open(&to, generation))
		return 0;
	ft_bump(&to.st->taken);
	ft_bump(&to.st->lost_state);
	return 0;
}

SEC("tp_btf/contention_end")
int lock_end(u64 *ctx)
{
	u64 now = bpf_ktime_get_ns(), waited, detail;
	u32 zero = 0, gen = generation;
	struct ft_count_key key = {};
	struct ft_lock_wait *wait;
	struct ft_lock_key lock;
	struct ft_scratch *s;
	struct ft_seen *seen;
	struct ft_rate *rate;
	struct ft_sink to;

	ft_lock_of(&lock, ctx[0]);
	wait = bpf_map_lookup_elem(&lock_waits, &lock);
	if (!wait)
		return 0;
	waited = now - wait->begin;
	detail = FT_KERNEL_LOCK | wait->flags;
	bpf_map_delete_elem(&lock_waits, &lock);
	if (!ft_sink_open(&to, gen))
		return 0;
	ft_bump(&to.st->taken);
	if (!ft_event_of(&to, &key, (void *)bpf_get_current_task()))
		return 0;
	if (waited < min_ns) {
		ft_bump(&to.st->filtered);
		return 0;
	}
	s = ft_scratch_take(&to);
	if (!s)
		return 0;
	seen = ft_seen_room();
	if (seen) {
		key.detail = detail;
		seen->key = key;
		seen->gen = gen;
		seen->stacks = FT_USER_STACK | FT_KERNEL_STACK;
		seen->add.count = 1;
		seen->add.last_ns = now;
		seen->add.sums[0] = waited;
		rate = bpf_map_lookup_elem(&rates, &zero);
		seen->stands_for = rate ? ft_rate_choose(rate, now) : 0;
		seen->exact = !look_ns || waited >= always_ns;
		ft_observe(ctx, s, seen);
	}
	ft_scratch_put(s);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
