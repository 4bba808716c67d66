/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is particular to AArch64 in a step of the walk. */
#ifndef FLAMETEL_WALK_ARM64_H
#define FLAMETEL_WALK_ARM64_H

/* A leaf may have no frame: the return address is in x30. */
#define FT_FRAMELESS(w, class) ((w)->exact)

/* The current g of Go is in x28. */
#define FT_GO_G 28

/* x0 to x15, and rows name no others. */
#define FT_SCRATCH_REGISTER(number) ((number) < 16)

/*
 * Parameters of FT_ROW_SP and FT_ROW_FP are two bits: x30 is saved alone, and
 * not with x29; the place is by SP, and not by the CFA.
 */
#define FT_RA_ALONE 1
#define FT_RA_BY_SP 2

/*
 * Reads the return address, and the frame pointer if it was saved. Returns 0,
 * or how the walk ends.
 */
static __always_inline u32 ft_saved(struct ft_walk *w, u32 class, u32 param, s32 fp_off, u64 cfa,
				    u64 *ip, u64 *fp)
{
	u64 pair[2], at = (param & FT_RA_BY_SP ? w->sp : cfa) + (s64)fp_off * 8;

	if (class == FT_ROW_LR) {
		if (!w->exact)
			return FT_END_ROW;
		*ip = ft_register(w, 30);
		return 0;
	}
	if (param & FT_RA_ALONE)
		return ft_read_word(at, ip) ? 0 : FT_END_FAULT;
	if (param == 0 && fp_off == FT_FP_AT_FP)
		at = w->fp;
	if (bpf_probe_read_user(pair, sizeof(pair), (void *)at))
		return FT_END_FAULT;
	*fp = pair[0];
	*ip = pair[1];
	return 0;
}

/*
 * Goes on with the code that a signal interrupted. SP points to a siginfo of
 * 128 bytes and a ucontext, whose registers x0 to x30, sp and pc begin at byte
 * 184 (arch/arm64/include/uapi/asm/{ucontext,sigcontext}.h).
 */
static __always_inline long ft_step_signal(struct ft_walk *w)
{
	u64 *saved = w->s->signal;
	u64 *regs = w->s->regs;

	if (bpf_probe_read_user(saved, 33 * sizeof(u64), (void *)(w->sp + 128 + 184)))
		return ft_ends(w, FT_END_FAULT);
	for (u32 i = 0; i < 31; i++)
		regs[i] = saved[i];
	if (!ft_code_address(saved[32]))
		return ft_ends(w, FT_END_ADDRESS);
	w->ip = saved[32];
	w->sp = saved[31];
	w->fp = saved[29];
	w->exact = true;
	return 0;
}

#endif
