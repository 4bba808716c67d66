/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which processes are profiled. */
#ifndef FLAMETEL_TARGETS_H
#define FLAMETEL_TARGETS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "types.h"

/*
 * Verdicts on processes, keyed by PID (tgid): FT_KEEP or FT_DROP. Written by
 * user space and by the life-cycle programs (targets.bpf.c), which add a child
 * before it runs and delete what has ended. A process that is not in it is
 * judged by unknown_verdict.
 */
#define FT_DROP 0
#define FT_KEEP 1
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u8);
} targets SEC(".maps");

#endif
