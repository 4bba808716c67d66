/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Walking the user stack of the current task. One step finds one caller; the
 * state shows the registers that are known, so that walkers of other kinds can
 * take over between two steps and hand back.
 */
#ifndef FLAMETEL_WALK_H
#define FLAMETEL_WALK_H

#include "compat.h"
#include "stack.h"

struct ft_walk {
	struct ft_scratch *s;
	u64 ip, sp, fp;
	u32 len; /* words in s->words */
	u32 flags; /* bits of ft_count_key.flags */
	bool compat; /* 4-byte stack slots */
};

/* Addresses that cannot be code: the zero page and all above user space. */
static __always_inline bool ft_code_address(u64 ip)
{
	return ip >= 4096 && ip < FT_USER_TOP;
}

/*
 * Reads the frame record at fp: the caller's frame pointer and the return
 * address above it (x86-64 psABI 3.2.2, AAPCS64 6.4.6).
 */
static __always_inline long ft_frame_record(struct ft_walk *w, u64 *fp, u64 *ip)
{
	if (w->compat) {
		u32 rec[2];
		long err = bpf_probe_read_user(rec, sizeof(rec), (void *)w->fp);

		*fp = rec[0];
		*ip = rec[1];
		return err;
	} else {
		u64 rec[2];
		long err = bpf_probe_read_user(rec, sizeof(rec), (void *)w->fp);

		*fp = rec[0];
		*ip = rec[1];
		return err;
	}
}

/*
 * Notes the current frame and moves to its caller by frame pointer. Returns 1
 * at the end of the stack.
 */
static long ft_walk_step(u32 index, struct ft_walk *w)
{
	u32 slot_size = w->compat ? 4 : 8;
	u64 fp, ip;
	u32 at = w->len;

	if (at >= FT_MAX_FRAMES) {
		w->flags |= FT_USER_TRUNCATED;
		return 1;
	}
	ft_opaque(at);
	at &= FT_MAX_FRAMES - 1; /* for the verifier: checked above */
	w->s->words[at] = w->ip;
	w->len++;

	/*
	 * A frame record lies at or above the stack pointer and is aligned;
	 * anything else is a register that code without frame pointers uses
	 * for data.
	 */
	if (w->fp < w->sp || (w->fp & (slot_size - 1)) || w->fp == 0)
		return 1;
	if (ft_frame_record(w, &fp, &ip)) {
		w->flags |= FT_USER_FAULT;
		return 1;
	}
	if (!ft_code_address(ip))
		return 1;
	/* The caller's stack begins above this record: no loops. */
	w->sp = w->fp + 2 * slot_size;
	w->fp = fp;
	w->ip = ip;
	return 0;
}

/*
 * Fills s->words with the user stack. ip, sp, fp and compat of w are those of
 * the leaf; ctx is the program's, for the helper of older kernels.
 */
static __always_inline void ft_walk_user(struct ft_walk *w, void *ctx)
{
	long size;

	if (w->compat)
		w->flags |= FT_COMPAT_TASK;
	if (have_loop) {
		/* One turn more than frames: it is the one that sees the limit. */
		bpf_loop(FT_MAX_FRAMES + 1, ft_walk_step, w, 0);
		return;
	}
	size = bpf_get_stack(ctx, w->s->words, FT_MAX_KERNEL_FRAMES * sizeof(u64),
			     BPF_F_USER_STACK);
	if (size <= 0) {
		w->flags |= FT_USER_FAULT;
		return;
	}
	if (size >= FT_MAX_KERNEL_FRAMES * (long)sizeof(u64))
		w->flags |= FT_USER_TRUNCATED;
	w->len = (u64)size / sizeof(u64);
}

#endif
