/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * System calls that are under way. Most of the cost of looking at calls is
 * finding at the end what was noted at the begin, so that is an array by the
 * low bits of the thread ID; threads whose bits are the same go to a hash map.
 */
#ifndef FLAMETEL_CALLS_H
#define FLAMETEL_CALLS_H

#include "event.h"
#include "rate.h"

/*
 * Changes when the programs are attached again: what is older never ended. 0 while
 * programs on functions are detached, which takes the kernel a while.
 */
volatile u32 session = 1;

struct ft_call {
	u64 enter_ns; /* 0: the thread is in no call */
	u32 tid; /* whose it is, 0: nobody's; stays for its next call */
	u32 session;
	u32 nr;
	u8 compat; /* a number of 32-bit programs */
	u8 spilled; /* it lies in the hash map */
	u16 pad;
	u64 args[2];
	struct ft_rate rate; /* stays for the next call */
};
_Static_assert(sizeof(struct ft_call) <= 64, "a call fits into a cache line");

#define FT_CALL_SLOTS 65536
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FT_CALL_SLOTS);
	__type(key, u32);
	__type(value, struct ft_call);
} calls SEC(".maps");

/* When full, the call is lost_state. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32); /* thread ID */
	__type(value, struct ft_call);
} spilled_calls SEC(".maps");

/* How many calls are in the hash map, or were. Never too low. */
u64 calls_spilled;

/* Takes a place. Returns 0 if there is none. */
static __always_inline struct ft_call *ft_call_take(u32 tid)
{
	u32 at = tid & (FT_CALL_SLOTS - 1), was;
	struct ft_call *c = bpf_map_lookup_elem(&calls, &at);
	struct ft_call fresh = { .tid = tid, .spilled = 1 };

	if (!c)
		return 0; /* cannot happen: the mask sees to it */
	was = *(volatile u32 *)&c->tid;
	if (was == tid)
		return c;
	/*
	 * A place whose owner is in no call can be had. Should the owner enter one
	 * at this very moment, that call is not seen: an atomic operation for each
	 * call would cost more than all the rest.
	 */
	if ((!c->enter_ns || c->session != session) &&
	    __sync_val_compare_and_swap(&c->tid, was, tid) == was)
		return c;
	__sync_fetch_and_add(&calls_spilled, 1);
	if (bpf_map_update_elem(&spilled_calls, &tid, &fresh, BPF_ANY)) {
		__sync_fetch_and_add(&calls_spilled, -1);
		return 0;
	}
	return bpf_map_lookup_elem(&spilled_calls, &tid);
}

/* Notes that the current task enters a call. Returns 0, and counts it, if it is lost. */
static __always_inline struct ft_call *ft_call_begin(u32 tid, u32 nr, bool compat, u64 now)
{
	struct ft_call *c = ft_call_take(tid);
	struct ft_sink to;

	if (!c) {
		if (ft_sink_open(&to, generation)) {
			ft_bump(&to.st->taken);
			ft_bump(&to.st->lost_state);
		}
		return 0;
	}
	c->enter_ns = now;
	c->session = session;
	c->nr = nr;
	c->compat = compat;
	return c;
}

/*
 * Finds the call that the task is in; ft_call_end gives the place back. There
 * is none after a fork, for a call that was refused before it was traced, or
 * one that began before we did.
 */
static __always_inline struct ft_call *ft_call_find(u32 tid)
{
	u32 at = tid & (FT_CALL_SLOTS - 1);
	struct ft_call *c = bpf_map_lookup_elem(&calls, &at);

	if (c && c->tid == tid && c->enter_ns)
		return c;
	if (!*(volatile u64 *)&calls_spilled)
		return 0;
	return bpf_map_lookup_elem(&spilled_calls, &tid);
}

/* Gives the place back. Returns false if the call is of an earlier session. */
static __always_inline bool ft_call_end(struct ft_call *c, u32 tid)
{
	bool current = c->session == session;

	if (c->spilled) {
		bpf_map_delete_elem(&spilled_calls, &tid);
		__sync_fetch_and_add(&calls_spilled, -1);
	} else {
		*(volatile u64 *)&c->enter_ns = 0;
	}
	return current;
}

/* Reads the first two arguments of a call. Returns false if that fails. */
static __always_inline bool ft_call_args(void *regs, bool compat, u64 *args)
{
#if defined(__TARGET_ARCH_x86)
	u64 words[2];

	/* 64-bit: si, di. 32-bit: bx; cx. Offsets in struct pt_regs. */
	if (!compat) {
		if (bpf_probe_read_kernel(words, sizeof(words), regs + 104))
			return false;
		args[0] = words[1];
		args[1] = words[0];
		return true;
	}
	if (bpf_probe_read_kernel(&words[0], sizeof(words[0]), regs + 40) ||
	    bpf_probe_read_kernel(&words[1], sizeof(words[1]), regs + 88))
		return false;
	args[0] = (u32)words[0];
	args[1] = (u32)words[1];
	return true;
#else
	if (bpf_probe_read_kernel(args, 2 * sizeof(*args), regs))
		return false;
	if (compat) {
		args[0] = (u32)args[0];
		args[1] = (u32)args[1];
	}
	return true;
#endif
}

/*
 * The programs of a kind that looks at some calls. They hang either way:
 *
 * - _enter and _exit on the tracepoints that all calls pass;
 * - _call and _return on each of the functions that carry out those calls, where
 *   the kernel admits it (5.5, on arm64 6.4). User space copies both for each.
 *   All of the latter go on with _done: it walks stacks, so it is verified once.
 *
 * begin gets the registers of the call and its number, end the context, in which
 * the result follows the registers either way.
 */
#define FT_CALL_PROGRAMS(kind, begin, end)                                   \
	SEC("tp_btf/sys_enter")                                              \
	int kind##_enter(u64 *ctx)                                           \
	{                                                                    \
		return begin((void *)ctx[0], ctx[1]);                        \
	}                                                                    \
	SEC("tp_btf/sys_exit")                                               \
	int kind##_exit(u64 *ctx)                                            \
	{                                                                    \
		return end(ctx);                                             \
	}                                                                    \
	SEC("fentry/call")                                                   \
	int kind##_call(u64 *ctx)                                            \
	{                                                                    \
		struct pt_regs *regs = (void *)ctx[0];                       \
                                                                             \
		if (!session)                                                \
			return 0;                                            \
		return begin(regs, FT_CALL_NUMBER(regs));                    \
	}                                                                    \
	SEC("fexit/call")                                                    \
	int kind##_done(u64 *ctx)                                            \
	{                                                                    \
		return end(ctx);                                             \
	}                                                                    \
	struct {                                                             \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY);                       \
		__uint(max_entries, 1);                                      \
		__type(key, u32);                                            \
		__array(values, int(u64 *));                                 \
	} kind##_ends SEC(".maps") = { .values = { (void *)&kind##_done } }; \
	SEC("fexit/call")                                                    \
	int kind##_return(u64 *ctx)                                          \
	{                                                                    \
		bpf_tail_call(ctx, &kind##_ends, 0);                         \
		return 0; /* cannot happen: the program is there */          \
	}

/*
 * An exec by another thread than the first gives it the ID of the first, in the
 * middle of the call.
 */
static __always_inline void ft_call_rename(u32 old_tid, u32 tid)
{
	struct ft_call *from, *to, copy;

	if (old_tid == tid)
		return;
	from = ft_call_find(old_tid);
	if (!from)
		return;
	copy = *from;
	if (!ft_call_end(from, old_tid))
		return;
	to = ft_call_begin(tid, copy.nr, copy.compat, copy.enter_ns);
	if (!to)
		return;
	to->args[0] = copy.args[0];
	to->args[1] = copy.args[1];
}

#endif
