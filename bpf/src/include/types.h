/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel structures that the programs read, cut down to the fields used.
 * preserve_access_index makes the loader relocate every access to the running
 * kernel (CO-RE), so the order and the gaps here mean nothing.
 */
#ifndef FLAMETEL_TYPES_H
#define FLAMETEL_TYPES_H

#include <stdbool.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define TASK_COMM_LEN 16
#define PF_EXITING 0x00000004 /* include/linux/sched.h */
#define PF_KTHREAD 0x00200000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info {
	unsigned long flags;
	u32 status; /* x86 */
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	int pid;
	int tgid;
	u64 start_boottime; /* since 5.5; real_start_time before */
	void *stack;
	struct task_struct *group_leader;
	u64 self_exec_id; /* u32 before 5.7 */
	char comm[TASK_COMM_LEN];
};

struct pt_regs {
	unsigned long orig_ax; /* x86 */
	s32 syscallno; /* arm64 */
};

#pragma clang attribute pop

/*
 * Registers as perf programs (struct bpf_perf_event_data) and the saved
 * registers of a task show them. The layout is user ABI: arch/x86/include/
 * uapi/asm/ptrace.h, arch/arm64/include/uapi/asm/ptrace.h. All fields are
 * 64 bits wide because the verifier admits only whole words.
 */
#if defined(__TARGET_ARCH_x86)
struct ft_regs {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	u64 orig_ax;
	u64 ip, cs, flags, sp, ss;
};
#define FT_IP(r) ((r)->ip)
#define FT_SP(r) ((r)->sp)
#define FT_FP(r) ((r)->bp)
#define FT_USER_MODE(r) (((r)->cs & 3) == 3)
/* Copies the registers to their DWARF numbers, psABI figure 3.36. */
#define FT_COPY_REGISTERS(to, r)     \
	do {                         \
		(to)[0] = (r)->ax;   \
		(to)[1] = (r)->dx;   \
		(to)[2] = (r)->cx;   \
		(to)[3] = (r)->bx;   \
		(to)[4] = (r)->si;   \
		(to)[5] = (r)->di;   \
		(to)[6] = (r)->bp;   \
		(to)[7] = (r)->sp;   \
		(to)[8] = (r)->r8;   \
		(to)[9] = (r)->r9;   \
		(to)[10] = (r)->r10; \
		(to)[11] = (r)->r11; \
		(to)[12] = (r)->r12; \
		(to)[13] = (r)->r13; \
		(to)[14] = (r)->r14; \
		(to)[15] = (r)->r15; \
	} while (0)
#define FT_STRIP_PAC(ip) (ip)
/* __USER32_CS, arch/x86/include/asm/segment.h */
#define FT_COMPAT(r) ((r)->cs == 0x23)
/* execve and execveat, by the numbers of 64-bit and of 32-bit programs. */
#define FT_IN_EXECVE(r)                                           \
	(FT_COMPAT(r) ? (r)->orig_ax == 11 || (r)->orig_ax == 358 \
		      : (r)->orig_ax == 59 || (r)->orig_ax == 322)
/* Size of a kernel stack without KASAN, for kernels without bpf_task_pt_regs. */
#define FT_THREAD_SIZE 16384
/* TS_COMPAT, arch/x86/include/asm/thread_info.h */
#define FT_COMPAT_CALL(task) ((task)->thread_info.status & 2)
/* The system call that these registers of the kernel are of; negative for none. */
#define FT_CALL_NUMBER(regs) ((s64)(regs)->orig_ax)
#define FT_USER_TOP 0x00fffffffffff000ULL /* above the end of 5-level user space */
#elif defined(__TARGET_ARCH_arm64)
struct ft_regs {
	u64 regs[31];
	u64 sp;
	u64 pc;
	u64 pstate;
};
#define FT_IP(r) ((r)->pc)
#define FT_SP(r) ((r)->sp)
#define FT_FP(r) ((r)->regs[29])
#define FT_USER_MODE(r) (((r)->pstate & 0xf) == 0) /* PSR_MODE_EL0t */
#define FT_COMPAT(r) (false)
/* Copies x0 to x30. */
#define FT_COPY_REGISTERS(to, r)                                                      \
	do {                                                                          \
		_Pragma("unroll") for (int i = 0; i < 31; i++)(to)[i] = (r)->regs[i]; \
	} while (0)
/* A signed return address keeps its code above 48 bits of address. */
#define FT_STRIP_PAC(ip) ((ip) & ((1ULL << 48) - 1))
#define FT_IN_EXECVE(r) ((r)->regs[8] == 221 || (r)->regs[8] == 281)
#define FT_THREAD_SIZE 16384
/* TIF_32BIT, arch/arm64/include/asm/thread_info.h */
#define FT_COMPAT_CALL(task) ((task)->thread_info.flags & (1UL << 22))
#define FT_CALL_NUMBER(regs) ((s64)(regs)->syscallno)
#define FT_USER_TOP 0x000ffffffffff000ULL
#else
#error "unknown target architecture"
#endif

#define FT_MAX_REGISTERS 32 /* a power of two, for masks */

/* struct bpf_perf_event_data of linux/bpf_perf_event.h with our registers. */
struct ft_perf_ctx {
	struct ft_regs regs;
	u64 sample_period;
	u64 addr;
};

#endif
