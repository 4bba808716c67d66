/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which processes are profiled. */
#ifndef FLAMETEL_TARGETS_H
#define FLAMETEL_TARGETS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "types.h"

/*
 * Verdicts on processes, keyed by PID (tgid). Written by user space and by the
 * life-cycle programs (targets.bpf.c), which add a child before it runs and
 * delete what is gone. A process that is not in it is judged by
 * unknown_verdict, and so is one that started at another time than the entry
 * says: PIDs are used again. When full, a child is counted as not followed.
 */
#define FT_DROP 0
#define FT_KEEP 1
#define FT_KEEP_FROM_EXEC 2 /* dropped until its next exec */

/* The start of a process as procfs tells it, in hundredths of a second. */
#define FT_START_TICK_NS 10000000ULL

struct ft_target {
	u64 start_ticks; /* start_boottime / FT_START_TICK_NS of the leader */
	u32 verdict;
	u32 pad;
};
_Static_assert(sizeof(struct ft_target) == 16, "ft_target is part of the ABI to Go");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct ft_target);
} targets SEC(".maps");

#endif
