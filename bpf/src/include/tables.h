/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Unwind tables: for each address of a process, how to find the caller. All of
 * it is written by user space, which maps the two pools, and read here:
 *
 *   process -> its executable mappings, sorted -> the rows of the mapped file
 *
 * Files have their rows once, however many processes map them.
 */
#ifndef FLAMETEL_TABLES_H
#define FLAMETEL_TABLES_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "compat.h"

/* There are tables; if not, frame pointers are all there is. */
const volatile bool have_tables;
/* Sizes of the two pools, powers of two, less one. */
const volatile u32 row_mask = 1;
const volatile u32 mapping_mask = 1;

/* How to find the caller from pc on: see package unwind, type Row. */
struct ft_row {
	u32 pc; /* file address less that of the table's begin */
	s16 cfa; /* in units of 8 bytes */
	u8 kind;
	s8 fp; /* in units of 8 bytes */
};
_Static_assert(sizeof(struct ft_row) == 8, "ft_row is part of the ABI to Go");

/* A range of a process that is mapped from one file. */
struct ft_mapping {
	u64 start, limit; /* virtual addresses */
	u64 base; /* virtual address of a row whose pc is 0 */
	/* Its rows in the pool. Without rows first tells whether there will be. */
	u32 first, count;
};
_Static_assert(sizeof(struct ft_mapping) == 32, "ft_mapping is part of the ABI to Go");

/*
 * Where the mappings of a process are. It is valid for one program image:
 * start_ns and exec_id are those of the task, so what was written for a PID
 * that is used again, or for what ran before an exec, is not taken. An entry
 * may be replaced while it is read; check tells that it was not.
 */
struct ft_space {
	u64 start_ns; /* start of the process, CLOCK_BOOTTIME */
	u64 exec_id;
	u32 first, count; /* mappings in the pool; 0: asked for, or none */
	u32 check; /* FT_SPACE_CHECK of the others */
	u32 asked; /* by programs: a file was asked for since the entry was written */
};
_Static_assert(sizeof(struct ft_space) == 32, "ft_space is part of the ABI to Go");

#define FT_SPACE_CHECK(s) \
	((u32)(s).start_ns ^ (u32)(s).exec_id ^ (s).first * 0x9e3779b1 ^ (s).count * 0x85ebca6b)

/* The pools: arrays of one value, whose size is set before load. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, 2 * sizeof(struct ft_row));
} unwind_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, 2 * sizeof(struct ft_mapping));
} unwind_mappings SEC(".maps");

/*
 * Key: PID (tgid). Written by user space; programs put an entry without
 * mappings there when they ask for it, so that they ask once.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, struct ft_space);
} unwind_spaces SEC(".maps");

/* A process that was sampled and has no entry, or lacks the table of a file. */
struct ft_request {
	u64 start_ns;
	u64 exec_id;
	u64 address; /* in the file; 0 for a process without an entry */
	u32 pid;
	u32 pad;
};
_Static_assert(sizeof(struct ft_request) == 32, "ft_request is part of the ABI to Go");

/* Requests to user space. When full, the next sample asks again. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} unwind_requests SEC(".maps");

/*
 * Finds the mappings of the current process. Returns how many there are, 0 if
 * user space has to be asked.
 */
static __noinline u32 ft_find_space(u32 pid, u64 start_ns, u64 exec_id, u32 *first)
{
	struct ft_space *found = bpf_map_lookup_elem(&unwind_spaces, &pid);
	struct ft_request ask = { .start_ns = start_ns, .exec_id = exec_id, .pid = pid };
	struct ft_space s;

	if (!first)
		return 0; /* for the verifier */
	if (found) {
		s = *(volatile struct ft_space *)found;
		if (s.check != FT_SPACE_CHECK(s))
			return 0; /* being replaced: the next sample finds it */
		*first = s.first;
		if (s.start_ns == start_ns && s.exec_id == exec_id)
			return s.count;
	}
	/* First the entry: what user space answers must not be overwritten. */
	__builtin_memset(&s, 0, sizeof(s));
	s.start_ns = start_ns;
	s.exec_id = exec_id;
	s.check = FT_SPACE_CHECK(s);
	if (!bpf_map_update_elem(&unwind_spaces, &pid, &s, BPF_ANY) &&
	    bpf_ringbuf_output(&unwind_requests, &ask, sizeof(ask), 0))
		bpf_map_delete_elem(&unwind_spaces, &pid);
	return 0;
}

/*
 * Searches in the pools: functions of their own that are not static, so that
 * the verifier looks at them once and not on every path to them. Halving
 * without a second branch keeps them small.
 */
#define FT_MAX_SEARCH 24 /* halvings: 16 million elements */

/*
 * Returns the place in the pool of the last of count mappings from at on that
 * begins at or below pc, or of the first one.
 */
__noinline u32 ft_find_mapping(u32 at, u32 count, u64 pc)
{
	u32 zero = 0;
	struct ft_mapping *pool = bpf_map_lookup_elem(&unwind_mappings, &zero);

	if (!pool)
		return at; /* cannot happen: the array has one entry */
	for (u32 i = 0; i < FT_MAX_SEARCH; i++) {
		u32 half = count >> 1, mid = at + half;

		if (half == 0)
			break;
		ft_opaque(mid);
		if (pool[mid & mapping_mask].start <= pc)
			at = mid;
		count -= half;
	}
	return at;
}

/* Returns the row for pc, which is relative to the begin of the table. */
__noinline u64 ft_find_row(u32 at, u32 count, u32 pc)
{
	u32 zero = 0;
	u64 *pool = bpf_map_lookup_elem(&unwind_rows, &zero);

	if (!pool)
		return 0; /* cannot happen: the array has one entry */
	for (u32 i = 0; i < FT_MAX_SEARCH; i++) {
		u32 half = count >> 1, mid = at + half;

		if (half == 0)
			break;
		ft_opaque(mid);
		if ((u32)pool[mid & row_mask] <= pc)
			at = mid;
		count -= half;
	}
	ft_opaque(at);
	return pool[at & row_mask];
}

#endif
