/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts and stacks exist twice: programs write to the generation that
 * `generation` names, user space flips it, waits until no program can still
 * be writing to the old one, and empties that at leisure. Draining a map that
 * is being written to would lose the additions that are under way.
 */
#ifndef FLAMETEL_MAPS_H
#define FLAMETEL_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "sample.h"

/* Written by user space only, which counts up; the lowest bit is what matters. */
volatile u32 generation;

/*
 * Counts. Key: who and where. Written by programs, emptied by user space at
 * each drain. When full, new keys are counted as lost_counts_full. The size is
 * set before load.
 */
#define FT_COUNTS(name)                           \
	struct {                                  \
		__uint(type, BPF_MAP_TYPE_HASH);  \
		__uint(max_entries, 8192);        \
		__type(key, struct ft_count_key); \
		__type(value, struct ft_count);   \
	} name SEC(".maps")
FT_COUNTS(counts_0);
FT_COUNTS(counts_1);

/*
 * Chunks of stacks. Key: hash over the chunk's words and all on its root side.
 * Written by programs, emptied with the counts of the same generation. When
 * full, the sample is counted as lost_stacks_full.
 */
#define FT_CHUNKS(name)                          \
	struct {                                 \
		__uint(type, BPF_MAP_TYPE_HASH); \
		__uint(max_entries, 8192);       \
		__type(key, u64);                \
		__type(value, struct ft_chunk);  \
	} name SEC(".maps")
FT_CHUNKS(chunks_0);
FT_CHUNKS(chunks_1);

/*
 * How many entries programs have made in counts and in chunks, of both
 * generations: user space empties the maps sooner when they fill up. On a cache
 * line of its own, because the others are read at each event.
 */
struct {
	u64 counts;
	u64 chunks;
	u64 pad[6];
} entries_made __attribute__((aligned(64)));

/* Counters by generation. Written by programs, read by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct ft_stats);
} stats SEC(".maps");

#endif
