/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Storing stacks as chains of chunks. */
#ifndef FLAMETEL_STACK_H
#define FLAMETEL_STACK_H

#include "compat.h"
#include "maps.h"

/*
 * Random, set before load: nobody outside can make two stacks collide on
 * purpose.
 */
const volatile u64 hash_seed = 1;

/* Scratch space of one CPU: too large for the 512 bytes of a program's stack. */
struct ft_scratch {
	u64 words[FT_MAX_FRAMES + FT_CHUNK_WORDS]; /* the stack, leaf first */
	struct ft_regs saved; /* those with which a task left user mode */
	u32 len; /* of the walk: words */
	u32 end; /* of the walk: FT_END_* */
	u64 regs[FT_MAX_REGISTERS]; /* of the leaf, by their DWARF numbers */
	u64 signal[33]; /* registers in the frame of a signal */
	u32 busy; /* a program that this one interrupted uses the space */
	u32 chained; /* of the walk: the last step followed a frame pointer */
	u32 near; /* of the walk: the last step left the leaf, by a row */
	u64 lacks; /* of the walk: the last address whose table is to come, 0 for none */
	struct ft_chunk chunk;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ft_scratch);
} scratch SEC(".maps");

static __always_inline u64 ft_mix(u64 hash, u64 word)
{
	/* Odd constant of splitmix64; the shift carries high bits down. */
	hash = (hash ^ word) * 0xbf58476d1ce4e5b9ULL;
	return hash ^ (hash >> 32);
}

/*
 * The ID of words[from..from + len) of the scratch space on top of root, at most
 * one chunk. The verifier follows the loop of a global function once, and that of
 * another one on each path to it.
 */
__noinline u64 ft_chunk_id(u32 from, u32 len, u64 root)
{
	u64 hash = ft_mix(hash_seed, root);
	u32 zero = 0;
	struct ft_scratch *s = bpf_map_lookup_elem(&scratch, &zero);

	if (!s)
		return 1; /* cannot happen: the array has one entry */
	from &= FT_MAX_FRAMES - 1;
	for (u32 i = 0; i < FT_CHUNK_WORDS; i++) {
		if (i >= len)
			break;
		hash = ft_mix(hash, s->words[from + i]);
	}
	hash = ft_mix(hash, len);
	return hash ? hash : 1; /* 0 means "no stack" */
}

struct ft_store {
	struct ft_scratch *s;
	void *chunks;
	u32 left; /* words not stored yet; they are words[0..left) */
	u64 parent; /* ID of the chunk stored last */
	s32 err;
};

/* Puts words[from..from + len) into a new chunk. */
static __always_inline long ft_add_chunk(struct ft_store *st, u64 id, u32 from, u32 len)
{
	struct ft_chunk *chunk = &st->s->chunk;

	chunk->parent = st->parent;
	chunk->len = len;
	chunk->pad = 0;
	/*
	 * All of them: what lies behind len is of no account. One call, because
	 * the verifier would follow a copy word by word on many paths.
	 */
	bpf_probe_read_kernel(chunk->words, sizeof(chunk->words), &st->s->words[from]);
	__sync_fetch_and_add(&entries_made.chunks, 1);
	return bpf_map_update_elem(st->chunks, &id, chunk, BPF_ANY);
}

/*
 * Stores the root-most FT_CHUNK_WORDS words that are left; returns 1 when
 * nothing is left. Most chunks are known already, so they are hashed where
 * they stand and copied only if not.
 */
static long ft_store_chunk(u32 index, struct ft_store *st)
{
	u32 from, len;
	u64 id;

	if (st->left == 0)
		return 1;
	len = st->left < FT_CHUNK_WORDS ? st->left : FT_CHUNK_WORDS;
	from = st->left - len;
	ft_opaque(from);
	from &= FT_MAX_FRAMES - 1; /* for the verifier: left <= FT_MAX_FRAMES */

	id = ft_chunk_id(from, len, st->parent);
	if (!bpf_map_lookup_elem(st->chunks, &id)) {
		st->err = ft_add_chunk(st, id, from, len);
		if (st->err)
			return 1;
	}
	st->parent = id;
	st->left = from;
	return 0;
}

/*
 * Stores words[0..len) of the scratch space on top of what root names (0 for
 * nothing) and sets *id to the ID of the whole. Returns 0, or the error of the
 * map.
 */
static __always_inline long ft_store_words(struct ft_scratch *s, void *chunks, u32 len, u64 root,
					   u64 *id)
{
	struct ft_store st = { .s = s, .chunks = chunks, .left = len, .parent = root };

	*id = root;
	if (len == 0)
		return 0;
	if (have_loop) {
		bpf_loop(FT_MAX_CHUNKS, ft_store_chunk, &st, 0);
	} else {
		for (u32 i = 0; i < FT_MAX_KERNEL_FRAMES / FT_CHUNK_WORDS + 1; i++)
			if (ft_store_chunk(i, &st))
				break;
	}
	*id = st.parent;
	return st.err;
}

/* The same for a stack, which has nothing below it. */
static __always_inline long ft_store_stack(struct ft_scratch *s, void *chunks, u32 len, u64 *id)
{
	return ft_store_words(s, chunks, len, 0, id);
}

#endif
