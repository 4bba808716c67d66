/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Walking the user stack of the current task. One step finds one caller: by
 * the row of an unwind table where the address has one, by frame pointer where
 * it has none. The state shows the registers that are known, so that walkers
 * of other kinds can take over between two steps and hand back. Walk in
 * bpf/unwind/walk.go does the same and is what tests compare with a debugger.
 */
#ifndef FLAMETEL_WALK_H
#define FLAMETEL_WALK_H

#include "compat.h"
#include "stack.h"
#include "tables.h"

struct ft_walk {
	struct ft_scratch *s;
	struct ft_mapping *mappings; /* the pool */
	u64 ip, sp, fp;
	struct ft_mapping here; /* that of the frame before, most often this one's */
	u32 first, count; /* mappings of the process */
	u32 len; /* words in s->words */
	u32 flags; /* bits of ft_count_key.flags */
	u32 end; /* FT_END_* */
	bool compat; /* 4-byte stack slots */
	bool exiting; /* the memory may be gone already */
	/* ip is that of an instruction, and s->regs are known: the leaf. */
	bool exact;
};

/* Kinds of rows, package unwind. From 0x10 on the lower half is a parameter. */
#define FT_ROW_NONE 0x00
#define FT_ROW_FRAME_POINTER 0x01
#define FT_ROW_STOP 0x02
#define FT_ROW_END 0x03
#define FT_ROW_SIGNAL 0x04
#define FT_ROW_LR 0x05
#define FT_ROW_SWITCH 0x06
#define FT_ROW_GROW 0x07
#define FT_ROW_SP 0x10
#define FT_ROW_FP 0x20
#define FT_ROW_PLT 0x30
#define FT_ROW_DEREF_SP 0x40
#define FT_ROW_DEREF_FP 0x50
#define FT_ROW_REG 0x60
#define FT_ROW_INDEX 0x70
#define FT_ROW_RA_REG 0x80

/* Values of ft_row.fp. */
#define FT_FP_AT_FP (-128)
#define FT_FP_LOST 127

/* A frame pointer that is not known: no record is at an odd address. */
#define FT_NO_FP 1

/* Addresses that cannot be code: the zero page and all above user space. */
static __always_inline bool ft_code_address(u64 ip)
{
	return ip >= 4096 && ip < FT_USER_TOP;
}

static __always_inline long ft_ends(struct ft_walk *w, u32 how)
{
	w->s->end = how;
	return 1;
}

static __always_inline bool ft_read_word(u64 at, u64 *word)
{
	return bpf_probe_read_user(word, sizeof(*word), (void *)at) == 0;
}

/* Makes the caller the current frame. */
static __always_inline long ft_enter(struct ft_walk *w, u64 ip, u64 sp, u64 fp)
{
	ip = FT_STRIP_PAC(ip);
	if (ip == 0)
		return ft_ends(w, FT_END_ZERO); /* where threads begin */
	if (!ft_code_address(ip))
		return ft_ends(w, FT_END_ADDRESS);
	w->ip = ip;
	w->sp = sp;
	w->fp = fp;
	w->exact = false;
	return 0;
}

/*
 * Moves to the caller by the frame record at fp: the caller's frame pointer
 * and the return address above it (x86-64 psABI 3.2.2, AAPCS64 6.4.6).
 */
static __always_inline long ft_step_record(struct ft_walk *w, u32 kind)
{
	u32 slot = w->compat ? 4 : 8;
	/* A switch leads to another stack, which may lie anywhere. */
	bool above = kind != FT_ROW_SWITCH;
	/* The register is known to lead to records, and not just a number. */
	u32 known = w->exact ? 0 : kind | w->s->chained;
	u64 rec[2];
	long err;

	/* The outermost record has 0, and so has Go's scheduler below mcall. */
	if (w->fp == 0)
		return ft_ends(w, known ? FT_END_ZERO : FT_END_FRAME);
	w->s->chained = true;
	w->s->near = false;
	/*
	 * A record lies at or above the stack pointer and is aligned; anything
	 * else is a register that code without frame pointers uses for data.
	 */
	if ((above && w->fp < w->sp) || (w->fp & (slot - 1)))
		return ft_ends(w, FT_END_FRAME);
	if (w->compat) {
		u32 rec32[2];

		err = bpf_probe_read_user(rec32, sizeof(rec32), (void *)w->fp);
		rec[0] = rec32[0];
		rec[1] = rec32[1];
	} else {
		err = bpf_probe_read_user(rec, sizeof(rec), (void *)w->fp);
	}
	if (err)
		return ft_ends(w, FT_END_FAULT);
	if (rec[1] == 0)
		return ft_ends(w, known ? FT_END_ZERO : FT_END_FRAME);
	/* The caller's stack begins above this record: no loops. */
	return ft_enter(w, rec[1], w->fp + 2 * slot, rec[0]);
}

/* The value of a register by its DWARF number; known in the leaf only. */
static __always_inline u64 ft_register(struct ft_walk *w, u32 number)
{
	ft_opaque(number);
	return w->s->regs[number & (FT_MAX_REGISTERS - 1)];
}

#if defined(__TARGET_ARCH_x86)
#include "walk_x86.h"
#elif defined(__TARGET_ARCH_arm64)
#include "walk_arm64.h"
#endif

/* Finds the CFA of a row. Returns 0, or how the walk ends. */
static __always_inline u32 ft_find_cfa(struct ft_walk *w, u32 class, u32 param, u64 off, u64 *cfa)
{
	u64 at = w->sp + off;

	switch (class) {
	case FT_ROW_SP:
	case FT_ROW_LR:
		*cfa = at;
		return 0;
	case FT_ROW_FP:
		*cfa = w->fp + off;
		return 0;
	case FT_ROW_PLT:
		*cfa = at + ((w->ip & 15) >= param ? 8 : 0);
		return 0;
	case FT_ROW_DEREF_SP:
	case FT_ROW_DEREF_FP:
		if (!ft_read_word(class == FT_ROW_DEREF_SP ? at : w->fp + off, cfa))
			return FT_END_FAULT;
		*cfa += param * 8;
		return 0;
	}
	/*
	 * The others need registers that are known in the leaf only. If code says
	 * of a call that its frame hangs on a register which calls need not keep,
	 * then it knows that the function it calls leaves it alone.
	 */
	if (!w->exact && !(class == FT_ROW_REG && w->s->near && FT_SCRATCH_REGISTER(param)))
		return FT_END_ROW;
	switch (class) {
	case FT_ROW_RA_REG:
		*cfa = at;
		return 0;
	case FT_ROW_REG:
		*cfa = ft_register(w, param) + off;
		return 0;
	case FT_ROW_INDEX:
		if (!ft_read_word(at + ft_register(w, param) * 8, cfa))
			return FT_END_FAULT;
		*cfa += 8;
		return 0;
	}
	return FT_END_ROW;
}

/* Moves to the caller by a row that says where the CFA is. */
static __always_inline long ft_step_cfa(struct ft_walk *w, u32 kind, s64 cfa_off, s32 fp_off)
{
	u32 class = kind < FT_ROW_SP ? kind : kind & 0xf0;
	u64 cfa = 0, ip = 0, fp = w->fp;
	u32 end;

	end = ft_find_cfa(w, class, kind & 15, cfa_off * 8, &cfa);
	if (end)
		return ft_ends(w, end);
	/* Stacks grow down: what seems to be below is none. */
	if (cfa < w->sp || (cfa == w->sp && !FT_FRAMELESS(w, class)) || (cfa & 7))
		return ft_ends(w, FT_END_FRAME);
	end = ft_saved(w, class, kind & 15, fp_off, cfa, &ip, &fp);
	if (end)
		return ft_ends(w, end);
	w->s->near = w->exact;
	return ft_enter(w, ip, cfa, fp);
}

/*
 * Goes on where the goroutine stopped whose stack grows, from the current g of
 * the leaf, which is that of the thread. Offsets are those of Go 1.17 to 1.26
 * (runtime2.go): m in g, sched behind it, g0 as the first in m, and curg in m,
 * before and since a field was taken out of gobuf. What is found has to refer
 * to what it was found by.
 */
static __noinline long ft_find_goroutine(u64 g0, u64 *regs)
{
	u64 m, g, curg[2];

	if (!regs || !ft_read_word(g0 + 48, &m) || !ft_read_word(m, &g) || g != g0)
		return FT_END_STOP;
	if (bpf_probe_read_user(curg, sizeof(curg), (void *)(m + 184)))
		return FT_END_STOP;
	/* m, sp, pc, g, ctxt, with or without ret, lr, bp. */
	if (!bpf_probe_read_user(regs, 8 * sizeof(u64), (void *)(curg[0] + 48)) && regs[0] == m)
		return 0;
	if (!bpf_probe_read_user(regs, 8 * sizeof(u64), (void *)(curg[1] + 48)) && regs[0] == m) {
		regs[6] = regs[7];
		return 0;
	}
	return FT_END_ZERO; /* the thread has left the goroutine and looks for another one */
}

static __always_inline long ft_step_grow(struct ft_walk *w)
{
	u64 *found = w->s->signal;
	u32 end = ft_find_goroutine(ft_register(w, FT_GO_G), found);

	if (end)
		return ft_ends(w, end);
	return ft_enter(w, found[2], found[1], found[6]);
}

/* The address by which the current frame is looked up. */
static __always_inline u64 ft_lookup_pc(struct ft_walk *w)
{
	/* A return address may lie behind the end of its function. */
	return w->exact ? w->ip : w->ip - 1;
}

static __always_inline bool ft_is_here(struct ft_walk *w, u64 pc)
{
	return pc >= w->here.start && pc < w->here.limit;
}

/* The row for the current frame; one that says nothing if there is none. */
static __always_inline u64 ft_row_here(struct ft_walk *w)
{
	u64 pc = ft_lookup_pc(w), rel;

	if (!w->count)
		return 0;
	if (!ft_is_here(w, pc)) {
		u32 at = ft_find_mapping(w->first, w->count, pc);

		ft_opaque(at);
		w->here = w->mappings[at & mapping_mask];
		if (!ft_is_here(w, pc))
			return 0; /* generated code: it keeps frame pointers */
	}
	if (!w->here.count) {
		if (w->here.first)
			w->s->lacks = pc;
		return 0;
	}
	rel = pc - w->here.base;
	if (rel > 0xffffffff)
		return 0;
	return ft_find_row(w->here.first, w->here.count, rel);
}

/* Notes the current frame and moves to its caller. Returns 1 at the end. */
static long ft_walk_step(u32 index, struct ft_walk *w)
{
	/*
	 * The turn is the number of the frame. The verifier does not know it, and
	 * so is done after a few turns; counting in w it would follow all 1,024.
	 */
	u32 at = index, kind;
	u64 row;

	if (at >= FT_MAX_FRAMES)
		return ft_ends(w, FT_END_LIMIT);
	ft_opaque(at);
	at &= FT_MAX_FRAMES - 1; /* for the verifier: checked above */
	w->s->words[at] = w->ip;
	w->s->len = at + 1;

	if (!have_tables)
		return ft_step_record(w, FT_ROW_NONE);
	row = ft_row_here(w);
	kind = (row >> 48) & 0xff;
	switch (kind) {
	case FT_ROW_NONE:
	case FT_ROW_FRAME_POINTER:
	case FT_ROW_SWITCH:
		return ft_step_record(w, kind);
	}
	w->s->chained = false;
	switch (kind) {
	case FT_ROW_END:
		return ft_ends(w, FT_END_OUTMOST);
	case FT_ROW_STOP:
		return ft_ends(w, FT_END_STOP);
	case FT_ROW_SIGNAL:
		return ft_step_signal(w);
	case FT_ROW_GROW:
		return ft_step_grow(w);
	}
	return ft_step_cfa(w, kind, (s16)(row >> 32), (s8)(row >> 56));
}

/* Finds the tables of the current process; without them w->count stays 0. */
static __always_inline void ft_walk_tables(struct ft_walk *w, u32 pid, u64 start_ns, u64 exec_id)
{
	u32 zero = 0;
	struct ft_mapping *mappings = bpf_map_lookup_elem(&unwind_mappings, &zero);

	if (!mappings)
		return; /* cannot happen: the array has one entry */
	w->mappings = mappings;
	w->count = ft_find_space(pid, start_ns, exec_id, &w->first);
}

/*
 * Asks for the table of the file that is mapped at an address of the current
 * process: a walk ended for want of it. Once for each entry that user space
 * writes, which it does again when it has loaded something.
 */
static __noinline void ft_ask_file(u32 pid, u64 address)
{
	struct ft_space *s = bpf_map_lookup_elem(&unwind_spaces, &pid);
	struct ft_request ask = { .address = address, .pid = pid };

	if (!s || s->asked)
		return;
	s->asked = 1;
	ask.start_ns = s->start_ns;
	ask.exec_id = s->exec_id;
	if (bpf_ringbuf_output(&unwind_requests, &ask, sizeof(ask), 0))
		s->asked = 0;
}

/*
 * The walk broke off for want of a table. Without one the frame pointer is
 * followed, which may hold anything, so whatever comes behind such code is no
 * reason of its own: neither a frame nor an address that are none, nor what
 * looks like the outermost record.
 */
static __always_inline bool ft_lacks_table(struct ft_walk *w)
{
	if (!have_tables || w->compat || (w->count && !w->s->lacks))
		return false;
	return w->end != FT_END_OUTMOST && w->end != FT_END_LIMIT;
}

/*
 * Fills s->words with the user stack. ip, sp, fp, compat and s->regs are those
 * of the leaf; ctx is the program's, for the helper of older kernels.
 */
static __always_inline void ft_walk_user(struct ft_walk *w, void *ctx)
{
	w->exact = true;
	if (w->compat)
		w->flags |= FT_COMPAT_TASK;
	/*
	 * The outcome is kept where the verifier does not follow values: what
	 * comes after would be looked at once for each length of the stack.
	 */
	w->s->len = 0;
	w->s->chained = false;
	w->s->near = false;
	w->s->lacks = 0;
	w->s->end = FT_END_LIMIT;
	if (have_loop) {
		/* One turn more than frames: it is the one that sees the limit. */
		bpf_loop(FT_MAX_FRAMES + 1, ft_walk_step, w, 0);
	} else {
#pragma unroll /* calls, which the verifier follows better than a loop */
		for (u32 i = 0; i < FT_LOOP_FRAMES; i++)
			if (ft_walk_step(i, w))
				break;
	}
	w->len = w->s->len;
	w->end = w->s->end;
	if (w->end == FT_END_LIMIT)
		w->flags |= FT_USER_TRUNCATED;
	if (w->exiting && w->end == FT_END_FAULT)
		w->end = FT_END_EXITING;
	else if (ft_lacks_table(w))
		w->end = FT_END_NO_TABLE;
	if (w->end == FT_END_NO_TABLE && w->s->lacks)
		ft_ask_file(bpf_get_current_pid_tgid() >> 32, w->s->lacks);
}

#endif
