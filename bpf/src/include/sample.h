/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Types that cross to user space. Go types are generated from their BTF; the
 * sizes are asserted here and in a Go test.
 */
#ifndef FLAMETEL_SAMPLE_H
#define FLAMETEL_SAMPLE_H

#include "types.h"

/*
 * A frame is one or more 64-bit words. The top byte of the first word is its
 * kind: 0x00 is a native user address, 0xff a kernel address (both are the
 * address itself); other values are for interpreters, which may own a second
 * and a third word.
 */
#define FT_MAX_FRAMES 1024 /* user frames of one stack */
#define FT_LOOP_FRAMES 127 /* the same without bpf_loop: 505,180 verified instructions */
#define FT_MAX_KERNEL_FRAMES 127 /* the default of kernel.perf_event_max_stack */

/*
 * Stacks are stored in chunks that are linked from the leaf to the root. Chunk
 * borders are counted from the root, so stacks that share their outer frames
 * share chunks, and a stack of 1,024 frames costs 32 chunks while a short one
 * costs one.
 */
#define FT_CHUNK_WORDS 32
#define FT_MAX_CHUNKS (FT_MAX_FRAMES / FT_CHUNK_WORDS)

struct ft_chunk {
	u64 parent; /* ID of the chunk on the root side, 0 for the root chunk */
	u32 len; /* words in use */
	u32 pad;
	u64 words[FT_CHUNK_WORDS]; /* leaf first */
};
_Static_assert(sizeof(struct ft_chunk) == 272, "ft_chunk is part of the ABI to Go");

/* Bits of ft_count_key.flags. */
#define FT_USER_TRUNCATED (1 << 0) /* more than FT_MAX_FRAMES user frames */
#define FT_KERNEL_TRUNCATED (1 << 1) /* more than FT_MAX_KERNEL_FRAMES */
#define FT_KERNEL_MODE (1 << 2) /* the CPU ran in kernel mode */
#define FT_COMPAT_TASK (1 << 3) /* 32-bit code */
#define FT_IN_EXEC (1 << 4) /* during an exec: there is no user stack */
#define FT_SELECTED (1 << 5) /* stands for others that were not looked at */
#define FT_TOTAL (1 << 6) /* all observations together, without their stacks */
#define FT_END_SHIFT 8 /* how the user stack ends, FT_END_*, in 8 bits */
#define FT_EXEC_SHIFT 16 /* ft_exec, in 16 bits */

/* Why a walk ended, in the numbers of unwind.End. The first two are complete. */
#define FT_END_OUTMOST 1 /* the table says that there is no caller */
#define FT_END_ZERO 2 /* a frame pointer or return address of 0 */
#define FT_END_STOP 3 /* a rule that rows cannot express */
#define FT_END_ROW 4 /* a row needs a register that is not known here */
#define FT_END_FRAME 5 /* no frame where one should be */
#define FT_END_FAULT 6 /* memory could not be read */
#define FT_END_ADDRESS 7 /* a return address that cannot be code */
#define FT_END_LIMIT 8 /* FT_MAX_FRAMES */
#define FT_END_NO_TABLE 9 /* the table of the file is not loaded */
#define FT_END_EXITING 10 /* the memory of the process is being given back */
#define FT_END_NOT_LOOKED 11 /* the stack was not looked at */

struct ft_count_key {
	u64 start_ns; /* start of the process, CLOCK_BOOTTIME */
	u64 user_stack; /* ID of the leaf chunk, 0 for none */
	u64 kernel_stack;
	u64 context; /* for links to traces, 0 now */
	u64 detail; /* what happened, in the terms of the kind; 0 for CPU time */
	u64 record; /* ID of the leaf chunk of a text such as a path, 0 for none */
	u32 pid; /* process: the kernel's tgid, initial PID namespace */
	u32 tid; /* thread: the kernel's pid; 0 unless asked for */
	u32 slot; /* for heat maps, 0 now */
	u32 flags;
	u8 comm[TASK_COMM_LEN]; /* of the thread */
};
_Static_assert(sizeof(struct ft_count_key) == 80, "ft_count_key is part of the ABI to Go");

#define FT_SUMS 3
struct ft_count {
	u64 count;
	u64 last_ns; /* newest sample, CLOCK_MONOTONIC */
	u64 sums[FT_SUMS]; /* nanoseconds, bytes, ...: each kind has its own */
};
_Static_assert(sizeof(struct ft_count) == 40, "ft_count is part of the ABI to Go");

/* Counters of one CPU in one generation (see maps.h); they only grow. */
struct ft_stats {
	u64 taken; /* the program ran */
	u64 kept; /* counted in the map of counts */
	u64 idle; /* left out: the CPU was idle */
	u64 filtered; /* left out: not a target */
	u64 lost_counts_full; /* no room for a new count */
	u64 lost_stacks_full; /* no room for a new chunk of a stack */
	u64 lost_scratch; /* per-CPU scratch space was in use or missing */
	u64 lost_state; /* what was noted of the begin has no room, or is gone */
	u64 user_truncated;
	u64 kernel_truncated;
	u64 missed; /* ticks of a busy CPU that never came */
	u64 missed_idle; /* the same of an idle CPU */
};
_Static_assert(sizeof(struct ft_stats) == 96, "ft_stats is part of the ABI to Go");

#endif
