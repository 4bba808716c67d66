/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Totals of one CPU, for what happens too often for a look-up in a hash map. A
 * cell is of the generation whose number it holds; the half of the array that
 * is not written is read by user space. A cell that is needed for another key
 * moves to the map of counts. Only for programs that do not run in interrupts.
 */
#ifndef FLAMETEL_CELLS_H
#define FLAMETEL_CELLS_H

#include "event.h"

#define FT_CELLS 512 /* in each half */
struct ft_cell {
	u64 start_ns;
	u64 detail;
	u64 record;
	u64 count;
	u64 sums[2];
	u64 last_ns;
	u32 pid;
	u32 exec; /* ft_exec */
	u8 comm[TASK_COMM_LEN];
	u32 generation;
	u32 pad;
};
_Static_assert(sizeof(struct ft_cell) == 88, "ft_cell is part of the ABI to Go");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2 * FT_CELLS);
	__type(key, u32);
	__type(value, struct ft_cell);
} cells SEC(".maps");

/* What a process runs: another program after each exec. */
struct ft_program {
	u64 start_ns;
	u32 pid;
	u32 exec;
};

/* What the current task runs. */
static __always_inline struct ft_program ft_program_of(struct task_struct *task)
{
	return (struct ft_program){
		.start_ns = ft_task_start(task),
		.pid = bpf_get_current_pid_tgid() >> 32,
		.exec = ft_exec(task),
	};
}

/* The cell for a key, which may be taken by another. Never 0 in fact. */
static __always_inline struct ft_cell *ft_cell_at(u32 pid, u64 detail, u64 record, u32 gen)
{
	u32 at = (pid * 0x9e3779b1u ^ (u32)detail * 0x85ebca6bu ^
		  (u32)(detail >> 32) * 0xc2b2ae35u ^ (u32)record * 0x27d4eb2fu) >>
		 20;

	at = (at & (FT_CELLS - 1)) + (gen & 1) * FT_CELLS;
	return bpf_map_lookup_elem(&cells, &at);
}

static __always_inline bool ft_cell_is(struct ft_cell *c, const struct ft_program *of, u64 detail,
				       u64 record, u32 gen)
{
	return c->generation == gen && c->count && c->detail == detail && c->record == record &&
	       c->pid == of->pid && c->exec == of->exec && c->start_ns == of->start_ns;
}

static __always_inline void ft_cell_add(struct ft_cell *c, u64 ns, u64 bytes, u64 now)
{
	c->count++;
	c->sums[0] += ns;
	c->sums[1] += bytes;
	c->last_ns = now;
}

/* Moves a cell to the map of counts. */
static __noinline int ft_cell_spill(struct ft_cell *c)
{
	struct ft_count_key key = {
		.start_ns = c->start_ns,
		.detail = c->detail,
		.record = c->record,
		.pid = c->pid,
		.flags = FT_TOTAL | c->exec << FT_EXEC_SHIFT,
	};
	struct ft_count add = { .count = c->count, .last_ns = c->last_ns };
	struct ft_sink to;

	if (!ft_sink_open(&to, c->generation))
		return 0;
	__builtin_memcpy(key.comm, c->comm, sizeof(key.comm));
	add.sums[0] = c->sums[0];
	add.sums[1] = c->sums[1];
	if (ft_count_sums(to.counts, &key, &add) < 0) {
		to.st->kept -= add.count;
		to.st->lost_counts_full += add.count;
	}
	return 0;
}

/* Begins a cell of the current task. */
static __always_inline void ft_cell_begin(struct ft_cell *c, const struct ft_program *of,
					  u64 detail, u64 record, u32 gen)
{
	if (c->generation == gen && c->count)
		ft_cell_spill(c);
	c->start_ns = of->start_ns;
	c->detail = detail;
	c->record = record;
	c->count = 0;
	c->sums[0] = c->sums[1] = 0;
	c->pid = of->pid;
	c->exec = of->exec;
	c->generation = gen;
	bpf_get_current_comm(c->comm, sizeof(c->comm));
}

#endif
