// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory that the kernel allocates: by kmalloc, from slabs, and whole pages.
 * Pages that become slabs, or that a large kmalloc is made of, are part of
 * another allocation and are not counted.
 */
#include "types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define FT_IN_INTERRUPTS
#include "allocs.h"
#include "looks.h"

/* Size of a page. */
const volatile u64 page_bytes = 4096;
/* Smaller ones are left out, in bytes. */
const volatile u64 min_bytes;

/*
 * The kernel's allocators, which ask each other for memory: address ranges of
 * functions.
 */
#define FT_MAX_INNER_RANGES 16
struct ft_range {
	u64 start, end;
};
const volatile struct ft_range inner_ranges[FT_MAX_INNER_RANGES];
const volatile u32 inner_range_count;

/* Bits of ft_count_key.detail. The lower half is the size class, ft_size_class. */
#define FT_KMALLOC (1ULL << 32)
#define FT_SLAB (2ULL << 32)
#define FT_PAGES (3ULL << 32)

/* How the stack begins: tracing, the allocator, then who asked for the pages. */
#define FT_INNER_DEPTH 16

struct kmem_cache {
	unsigned int size;
	unsigned int object_size;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ft_rate);
} rates SEC(".maps");

static __always_inline bool ft_inner(u64 ip)
{
	for (u32 i = 0; i < FT_MAX_INNER_RANGES; i++) {
		if (i >= inner_range_count)
			break;
		if (ip >= inner_ranges[i].start && ip < inner_ranges[i].end)
			return true;
	}
	return false;
}

struct ft_inner_look {
	struct ft_scratch *s;
	u32 depth;
	bool found;
};

static long ft_inner_step(u32 i, struct ft_inner_look *l)
{
	if (i >= l->depth || i >= FT_INNER_DEPTH)
		return 1;
	ft_opaque(i);
	l->found = ft_inner(l->s->words[i & (FT_INNER_DEPTH - 1)]);
	return l->found;
}

/* Tells whether pages are asked for by the allocator of something else. */
static __always_inline bool ft_pages_are_inner(void *ctx, struct ft_scratch *s)
{
	struct ft_inner_look l = { .s = s };
	long size;

	if (!inner_range_count)
		return false;
	size = bpf_get_stack(ctx, s->words, FT_INNER_DEPTH * sizeof(u64), 0);
	if (size <= 0)
		return false;
	l.depth = (u64)size / sizeof(u64);
	if (have_loop) {
		bpf_loop(FT_INNER_DEPTH, ft_inner_step, &l, 0);
	} else {
		for (u32 i = 0; i < FT_INNER_DEPTH; i++)
			if (ft_inner_step(i, &l))
				break;
	}
	return l.found;
}

/*
 * The logarithm of a size to base 2, rounded down. Not static, so that the
 * verifier does not follow each outcome through what comes after.
 */
__noinline u32 ft_size_class(u64 bytes)
{
	u32 bits = 0;

	for (u32 shift = 32; shift; shift >>= 1) {
		if (bytes >> shift) {
			bytes >>= shift;
			bits += shift;
		}
	}
	return bits;
}

static __always_inline int ft_allocated(void *ctx, u64 what, u64 asked, u64 given)
{
	u64 now = bpf_ktime_get_ns();
	u32 zero = 0, gen = generation;
	struct ft_count_key key = {};
	struct ft_scratch *s;
	struct ft_seen *seen;
	struct ft_rate *rate;
	struct ft_sink to;

	if (!ft_sink_open(&to, gen))
		return 0;
	s = ft_scratch_try();
	if (!s) {
		/* Of pages it cannot be told whose they are: they may be too many here. */
		ft_bump(&to.st->taken);
		ft_bump(&to.st->lost_scratch);
		return 0;
	}
	if (what == FT_PAGES && ft_pages_are_inner(ctx, s))
		goto out;
	ft_bump(&to.st->taken);
	if (!ft_event_of(&to, &key, (void *)bpf_get_current_task()))
		goto out;
	seen = ft_seen_room();
	if (!seen)
		goto out;
	key.detail = what | ft_size_class(given);
	seen->key = key;
	seen->gen = gen;
	seen->stacks = FT_USER_STACK | FT_KERNEL_STACK;
	seen->add.count = 1;
	seen->add.last_ns = now;
	seen->add.sums[0] = given;
	seen->add.sums[1] = asked;
	rate = bpf_map_lookup_elem(&rates, &zero);
	seen->stands_for = rate ? ft_rate_choose(rate, now) : 0;
	seen->exact = !look_ns;
	ft_observe(ctx, s, seen);
out:
	ft_scratch_put(s);
	return 0;
}

/* call_site, ptr, bytes_req, bytes_alloc, ... */
SEC("tp_btf/kmalloc")
int alloc_kmalloc(u64 *ctx)
{
	if (ctx[2] < min_bytes || ft_failed(ctx))
		return 0;
	/* Large ones are traced twice on some kernels (seen on 6.18). */
	if (ft_inner(ctx[0]))
		return 0;
	return ft_allocated(ctx, FT_KMALLOC, ctx[2], ctx[3]);
}

/* call_site, ptr, cache, ... since 6.1; not loaded before, where sizes stand there. */
SEC("tp_btf/kmem_cache_alloc")
int alloc_slab(u64 *ctx)
{
	struct kmem_cache *cache = (void *)ctx[2];

	if (cache->object_size < min_bytes || ft_failed(ctx))
		return 0;
	return ft_allocated(ctx, FT_SLAB, cache->object_size, cache->size);
}

/* page, order, ... */
SEC("tp_btf/mm_page_alloc")
int alloc_pages(u64 *ctx)
{
	u64 bytes = page_bytes << (ctx[1] & 31);

	if (bytes < min_bytes || !ctx[0])
		return 0;
	return ft_allocated(ctx, FT_PAGES, bytes, bytes);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
