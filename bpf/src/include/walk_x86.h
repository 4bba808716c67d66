/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is particular to x86-64 in a step of the walk. */
#ifndef FLAMETEL_WALK_X86_H
#define FLAMETEL_WALK_X86_H

/*
 * The caller's stack begins above the return address and not where this one
 * does, unless code has taken the return address off the stack (vfork).
 */
#define FT_FRAMELESS(w, class) ((class) == FT_ROW_RA_REG)

/* The current g of Go is in r14. */
#define FT_GO_G 14

/* rax, rdx, rcx, rsi, rdi, r8 to r11, by their DWARF numbers. */
#define FT_SCRATCH_REGISTER(number) (0xf37 >> (number)&1)

/*
 * Reads the return address, and the frame pointer if it was saved. Returns 0,
 * or how the walk ends.
 */
static __always_inline u32 ft_saved(struct ft_walk *w, u32 class, u32 param, s32 fp_off, u64 cfa,
				    u64 *ip, u64 *fp)
{
	if (class == FT_ROW_RA_REG) {
		*ip = ft_register(w, param);
	} else if (fp_off == -2) { /* pushed right after the call: one read for both */
		u64 pair[2];

		if (bpf_probe_read_user(pair, sizeof(pair), (void *)(cfa - 16)))
			return FT_END_FAULT;
		*fp = pair[0];
		*ip = pair[1];
		return 0;
	} else if (!ft_read_word(cfa - 8, ip)) {
		return FT_END_FAULT;
	}
	if (fp_off == 0)
		return 0;
	if (fp_off == FT_FP_LOST) {
		*fp = FT_NO_FP;
		return 0;
	}
	if (!ft_read_word(fp_off == FT_FP_AT_FP ? w->fp : cfa + (s64)fp_off * 8, fp))
		return FT_END_FAULT;
	return 0;
}

/*
 * Goes on with the code that a signal interrupted. SP points to the ucontext
 * of the frame that the kernel made, whose registers begin at byte 40 (struct
 * sigcontext_64 in arch/x86/include/uapi/asm/sigcontext.h).
 */
static __always_inline long ft_step_signal(struct ft_walk *w)
{
	u64 *saved = w->s->signal;
	u64 *regs = w->s->regs;

	if (bpf_probe_read_user(saved, 17 * sizeof(u64), (void *)(w->sp + 40)))
		return ft_ends(w, FT_END_FAULT);
	for (u32 i = 0; i < 8; i++)
		regs[8 + i] = saved[i];
	regs[5] = saved[8]; /* rdi */
	regs[4] = saved[9]; /* rsi */
	regs[6] = saved[10]; /* rbp */
	regs[3] = saved[11]; /* rbx */
	regs[1] = saved[12]; /* rdx */
	regs[0] = saved[13]; /* rax */
	regs[2] = saved[14]; /* rcx */
	regs[7] = saved[15]; /* rsp */
	if (!ft_code_address(saved[16]))
		return ft_ends(w, FT_END_ADDRESS);
	w->ip = saved[16];
	w->sp = saved[15];
	w->fp = saved[10];
	w->exact = true;
	return 0;
}

#endif
