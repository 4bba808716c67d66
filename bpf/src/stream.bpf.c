// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events one by one, for those who watch: opened files, reads, waits, and what
 * the kernel allocates. System calls are too many for that: they are added up.
 * User space loads the programs of one of these only.
 */
#include "types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define FT_IN_INTERRUPTS
#include "allocs.h"
#include "calls.h"
#include "filecalls.h"
#include "files.h"
#include "state.h"

/* Shorter events are left out. */
const volatile u64 min_ns;
/* Smaller allocations are left out, in bytes. */
const volatile u64 min_bytes;
/* Size of a page. */
const volatile u64 page_bytes = 4096;
/* Calls that succeeded are left out. */
const volatile bool failed_only;

/*
 * An event. Two texts follow, without zero bytes: the path, and the folder that
 * it is relative to.
 */
struct ft_event {
	u64 end_ns; /* CLOCK_MONOTONIC */
	u64 ns;
	u64 detail; /* in the terms of the family */
	s64 result; /* of a call; bytes */
	u64 start_ns; /* of the process, CLOCK_BOOTTIME */
	u32 pid;
	u32 tid;
	u8 comm[TASK_COMM_LEN];
	u32 lengths[2]; /* of the texts, in bytes */
};
_Static_assert(sizeof(struct ft_event) == 72, "ft_event is part of the ABI to Go");

struct ft_event_room {
	struct ft_event e;
	u8 text[2 * FT_PATH_MAX];
};

/* Where an event is put together. Programs do not interrupt themselves. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ft_event_room);
} event_rooms SEC(".maps");

/*
 * Events on their way to user space, which looks several times a second: waking
 * it for each would cost more than the event. When full, they are lost.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} stream SEC(".maps");

/* Begins an event of the current task. Returns 0 only for the verifier. */
static __always_inline struct ft_event_room *ft_event_begin(u64 now, u64 ns)
{
	u64 id = bpf_get_current_pid_tgid();
	struct ft_event_room *room;
	u32 zero = 0;

	room = bpf_map_lookup_elem(&event_rooms, &zero);
	if (!room)
		return 0;
	room->e.end_ns = now;
	room->e.ns = ns;
	room->e.detail = 0;
	room->e.result = 0;
	room->e.start_ns = ft_task_start((void *)bpf_get_current_task());
	room->e.pid = id >> 32;
	room->e.tid = id;
	bpf_get_current_comm(room->e.comm, sizeof(room->e.comm));
	room->e.lengths[0] = 0;
	room->e.lengths[1] = 0;
	return room;
}

/* Sends an event, and counts it as kept or lost. */
static __always_inline void ft_event_send(struct ft_event_room *room)
{
	u32 gen = generation & 1;
	struct ft_stats *st = bpf_map_lookup_elem(&stats, &gen);
	u32 size = sizeof(room->e) + room->e.lengths[0] + room->e.lengths[1];

	if (!st)
		return; /* cannot happen: the array has two entries */
	ft_bump(&st->taken);
	ft_opaque(size);
	if (size > sizeof(*room))
		return; /* for the verifier */
	if (bpf_ringbuf_output(&stream, room, size, BPF_RB_NO_WAKEUP))
		ft_bump(&st->lost_counts_full);
	else
		ft_bump(&st->kept);
}

/* Bits of ft_event.detail of calls, as those of system calls. */
#define FT_ERRNO_SHIFT 32
#define FT_COMPAT_BIT (1ULL << 48)
#define FT_NO_PATH (1ULL << 50)
#define FT_CUT_PATH (1ULL << 51)

static __always_inline u64 ft_call_detail(struct ft_call *c, s64 ret)
{
	u64 detail = c->nr | (c->compat ? FT_COMPAT_BIT : 0);

	if (ret < 0 && ret >= -4095)
		detail |= (u64)-ret << FT_ERRNO_SHIFT;
	return detail;
}

/* Appends the path of a folder entry as text number which, 0 or 1. */
static __always_inline void ft_add_path(struct ft_event_room *room, u32 which, struct vfsmount *mnt,
					struct dentry *dentry)
{
	struct ft_climb c = {};
	u32 size = ft_climb_path(&c, mnt, dentry), at = which ? room->e.lengths[0] : 0;

	if (!size)
		return;
	ft_opaque(at);
	at &= FT_PATH_MAX - 1; /* for the verifier: a text is shorter */
	ft_opaque(size);
	size &= 2 * FT_PATH_MAX - 1;
	if (size > FT_PATH_MAX)
		size = FT_PATH_MAX;
	ft_opaque(c.at);
	bpf_probe_read_kernel(&room->text[at], size, &c.t->text[c.at & (FT_PATH_MAX - 1)]);
	room->e.lengths[which] = size;
}

/* --- opened files --- */

SEC("tp_btf/sys_enter")
int stream_opens_enter(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool compat = FT_COMPAT_CALL(task), at;
	struct ft_call *c;
	struct ft_regs regs;
	u32 nr = ctx[1];

	if (!ft_opens(nr, compat, &at))
		return 0;
	if (filter_targets && !ft_is_target(task->tgid, task->group_leader->start_boottime))
		return 0;
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx[0]))
		return 0;
	c = ft_call_begin(task->pid, nr, compat, bpf_ktime_get_ns());
	if (!c)
		return 0;
	c->args[0] = at ? FT_ARG1(&regs, compat) : AT_FDCWD;
	c->args[1] = at ? FT_ARG2(&regs, compat) : FT_ARG1(&regs, compat);
	return 0;
}

/* The path that was asked for, read when the kernel has read it too. */
static __always_inline void ft_asked(struct ft_event_room *room, s32 fd, u64 user)
{
	struct task_struct___files *task = (void *)bpf_get_current_task();
	struct file *file;
	long len = bpf_probe_read_user_str(room->text, FT_PATH_MAX, (void *)user);

	if (len <= 1) {
		if (len < 0)
			room->e.detail |= FT_NO_PATH;
		return;
	}
	if (len == FT_PATH_MAX)
		room->e.detail |= FT_CUT_PATH;
	room->e.lengths[0] = (len - 1) & (FT_PATH_MAX - 1);
	if (room->text[0] == '/')
		return;
	if (fd == AT_FDCWD) {
		ft_add_path(room, 1, BPF_CORE_READ(task, fs, pwd.mnt),
			    BPF_CORE_READ(task, fs, pwd.dentry));
		return;
	}
	file = ft_file(fd);
	if (file)
		ft_add_path(room, 1, BPF_CORE_READ(file, f_path.mnt),
			    BPF_CORE_READ(file, f_path.dentry));
}

SEC("tp_btf/sys_exit")
int stream_opens_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = task->pid;
	struct ft_call *c = ft_call_find(tid);
	u64 now = bpf_ktime_get_ns(), ns, detail, user;
	struct ft_event_room *room;
	s64 ret = ctx[1];
	s32 fd;

	if (!c)
		return 0;
	ns = now - c->enter_ns;
	detail = ft_call_detail(c, ret);
	fd = c->args[0];
	user = c->args[1];
	if (!ft_call_end(c, tid) || ns < min_ns || (failed_only && ret >= 0))
		return 0;
	room = ft_event_begin(now, ns);
	if (!room)
		return 0;
	room->e.detail = detail;
	room->e.result = ret;
	ft_asked(room, fd, user);
	ft_event_send(room);
	return 0;
}

/* --- reads of regular files --- */

SEC("tp_btf/sys_enter")
int stream_reads_enter(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool compat = FT_COMPAT_CALL(task), sends;
	struct ft_call *c;
	struct ft_regs regs;
	struct inode *inode;
	struct file *file;
	u32 nr = ctx[1];

	sends = compat ? ft_sends_32(nr) : ft_sends(nr);
	if (!sends && !(compat ? ft_reads_32(nr) : ft_reads(nr)))
		return 0;
	if (filter_targets && !ft_is_target(task->tgid, task->group_leader->start_boottime))
		return 0;
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx[0]))
		return 0;
	file = ft_file(sends ? FT_ARG2(&regs, compat) : FT_ARG1(&regs, compat));
	if (!file)
		return 0; /* EBADF */
	inode = BPF_CORE_READ(file, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG)
		return 0;
	c = ft_call_begin(task->pid, nr, compat, bpf_ktime_get_ns());
	if (!c)
		return 0;
	c->args[0] = (u64)file;
	c->args[1] = (u64)inode;
	return 0;
}

SEC("tp_btf/sys_exit")
int stream_reads_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = task->pid;
	struct ft_call *c = ft_call_find(tid);
	u64 now = bpf_ktime_get_ns(), ns, detail, inode;
	struct ft_event_room *room;
	struct file *file;
	s64 ret = ctx[1];

	if (!c)
		return 0;
	ns = now - c->enter_ns;
	detail = ft_call_detail(c, ret);
	file = (void *)c->args[0];
	inode = c->args[1];
	if (!ft_call_end(c, tid) || ns < min_ns || (failed_only && ret >= 0))
		return 0;
	room = ft_event_begin(now, ns);
	if (!room)
		return 0;
	room->e.detail = detail;
	room->e.result = ret;
	/* Another thread may have closed the file, which is another one by now. */
	if ((u64)BPF_CORE_READ(file, f_inode) == inode)
		ft_add_path(room, 0, BPF_CORE_READ(file, f_path.mnt),
			    BPF_CORE_READ(file, f_path.dentry));
	else
		room->e.detail |= FT_NO_PATH;
	ft_event_send(room);
	return 0;
}

/* What ends in a call is no event. */
SEC("tp_btf/sched_process_exit")
int stream_thread_exit(u64 *ctx)
{
	u32 tid = bpf_get_current_task_btf()->pid;
	struct ft_call *c = ft_call_find(tid);

	if (c)
		ft_call_end(c, tid);
	return 0;
}

/* --- waits --- */

struct ft_stream_wait {
	u64 since; /* 0: it does not wait */
	u64 detail;
};
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ft_stream_wait);
} stream_waits SEC(".maps");

struct task_struct___comm {
	char comm[TASK_COMM_LEN];
} __attribute__((preserve_access_index));

static __always_inline void ft_stream_leave(u64 *ctx, struct task_struct *task, u64 now)
{
	struct ft_stream_wait *w;
	u32 state;

	if (task->pid == 0)
		return; /* the idle task waits for nothing */
	state = ft_state(task, ctx);
	if (state & TASK_DEAD)
		return; /* it does not come back */
	if (filter_targets && !ft_is_target(task->tgid, task->group_leader->start_boottime))
		return;
	w = bpf_task_storage_get(&stream_waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w)
		return;
	w->detail = task->flags & PF_KTHREAD ? 0 : ft_current_call();
	if ((u8)ctx[0] || state == TASK_RUNNING)
		w->detail |= FT_PREEMPTED;
	else if (state & TASK_UNINTERRUPTIBLE)
		w->detail |= FT_UNINTERRUPTIBLE;
	w->since = now;
}

static __always_inline void ft_stream_return(struct task_struct *task, u64 now)
{
	struct ft_stream_wait *w;
	struct ft_event_room *room;
	u64 since;

	if (task->pid == 0)
		return;
	w = bpf_task_storage_get(&stream_waits, task, 0, 0);
	if (!w || !w->since)
		return;
	since = w->since;
	w->since = 0;
	if (now - since < min_ns)
		return;
	room = ft_event_begin(now, now - since);
	if (!room)
		return;
	/* The current task is still the one that leaves. */
	room->e.detail = w->detail;
	room->e.start_ns = task->group_leader->start_boottime;
	room->e.pid = task->tgid;
	room->e.tid = task->pid;
	bpf_probe_read_kernel_str(room->e.comm, sizeof(room->e.comm),
				  ((struct task_struct___comm *)task)->comm);
	ft_event_send(room);
}

SEC("tp_btf/sched_switch")
int stream_switch(u64 *ctx)
{
	u64 now = bpf_ktime_get_ns();

	ft_stream_leave(ctx, (void *)ctx[1], now);
	ft_stream_return((void *)ctx[2], now);
	return 0;
}

/* --- what the kernel allocates --- */

/* ft_event.detail */
#define FT_KMALLOC 1
#define FT_SLAB 2
#define FT_PAGES 3

struct kmem_cache {
	unsigned int size;
	const char *name;
} __attribute__((preserve_access_index));

static __always_inline int ft_stream_allocated(u64 what, u64 bytes, const char *name)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ft_event_room *room;
	long len;

	if (filter_targets && !ft_is_target(task->tgid, task->group_leader->start_boottime))
		return 0;
	room = ft_event_begin(bpf_ktime_get_ns(), 0);
	if (!room)
		return 0;
	room->e.detail = what;
	room->e.result = bytes;
	if (name) {
		len = bpf_probe_read_kernel_str(room->text, FT_NAME_MAX, name);
		if (len > 1)
			room->e.lengths[0] = (len - 1) & FT_NAME_MAX;
	}
	ft_event_send(room);
	return 0;
}

/* call_site, ptr, bytes_req, bytes_alloc, ... */
SEC("tp_btf/kmalloc")
int stream_kmalloc(u64 *ctx)
{
	if (ctx[2] < min_bytes || ft_failed(ctx))
		return 0;
	return ft_stream_allocated(FT_KMALLOC, ctx[3], 0);
}

/* call_site, ptr, cache, ... since 6.1; not loaded before, where sizes stand there. */
SEC("tp_btf/kmem_cache_alloc")
int stream_slab(u64 *ctx)
{
	struct kmem_cache *cache = (void *)ctx[2];

	if (cache->size < min_bytes || ft_failed(ctx))
		return 0;
	return ft_stream_allocated(FT_SLAB, cache->size, cache->name);
}

/* page, order, ... */
SEC("tp_btf/mm_page_alloc")
int stream_pages(u64 *ctx)
{
	u64 bytes = page_bytes << (ctx[1] & 31);

	if (bytes < min_bytes || !ctx[0])
		return 0;
	return ft_stream_allocated(FT_PAGES, bytes, 0);
}

/* --- system calls, added up --- */

/*
 * How often calls took how long: slots by the logarithm to base 2, four for each
 * doubling, from FT_FIRST_BIT on. User space reads and never clears them.
 */
#define FT_FIRST_BIT 6
#define FT_TIME_SLOTS 128
struct ft_call_times {
	u64 count;
	u64 ns;
	u64 errors;
	u32 slots[FT_TIME_SLOTS];
};
_Static_assert(sizeof(struct ft_call_times) == 536, "ft_call_times is part of the ABI to Go");

/* Key: the number, and FT_32BIT for one of 32-bit programs. */
#define FT_32BIT (1u << 31)
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct ft_call_times);
} call_times SEC(".maps");

/* What new entries begin as: too large for the stack. */
const struct ft_call_times ft_no_times;

/* Who calls what. When full, new ones are counted in call_times only. */
struct ft_caller_key {
	u32 pid;
	u32 call;
};
struct ft_caller {
	u64 count;
	u64 ns;
	u8 comm[TASK_COMM_LEN];
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct ft_caller_key);
	__type(value, struct ft_caller);
} callers SEC(".maps");

static __always_inline u32 ft_time_slot(u64 ns)
{
	u64 rest = ns;
	u32 bits = 0, slot;

	for (u32 shift = 32; shift; shift >>= 1) {
		if (rest >> shift) {
			rest >>= shift;
			bits += shift;
		}
	}
	if (bits < FT_FIRST_BIT)
		return 0;
	slot = (bits - FT_FIRST_BIT) * 4 + (ns >> (bits - 2) & 3);
	return slot < FT_TIME_SLOTS ? slot : FT_TIME_SLOTS - 1;
}

SEC("tp_btf/sys_enter")
int stream_calls_enter(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (filter_targets && !ft_is_target(task->tgid, task->group_leader->start_boottime))
		return 0;
	ft_call_begin(task->pid, ctx[1], FT_COMPAT_CALL(task), bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sys_exit")
int stream_calls_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = task->pid, call, slot, gen = generation & 1;
	struct ft_call *c = ft_call_find(tid);
	struct ft_caller_key who = { .pid = task->tgid };
	struct ft_call_times *times;
	struct ft_caller *caller;
	struct ft_stats *st;
	s64 ret = ctx[1];
	u64 ns;

	if (!c)
		return 0;
	ns = bpf_ktime_get_ns() - c->enter_ns;
	call = c->nr | (c->compat ? FT_32BIT : 0);
	if (!ft_call_end(c, tid) || ns < min_ns || (failed_only && (ret >= 0 || ret < -4095)))
		return 0;
	st = bpf_map_lookup_elem(&stats, &gen);
	if (!st)
		return 0; /* cannot happen: the array has two entries */
	ft_bump(&st->taken);
	times = bpf_map_lookup_elem(&call_times, &call);
	if (!times) {
		bpf_map_update_elem(&call_times, &call, &ft_no_times, BPF_NOEXIST);
		times = bpf_map_lookup_elem(&call_times, &call);
		if (!times) {
			ft_bump(&st->lost_counts_full);
			return 0;
		}
	}
	ft_bump(&st->kept);
	times->count++;
	times->ns += ns;
	if (ret < 0 && ret >= -4095)
		times->errors++;
	slot = ft_time_slot(ns);
	ft_opaque(slot);
	times->slots[slot & (FT_TIME_SLOTS - 1)]++;
	who.call = call;
	caller = bpf_map_lookup_elem(&callers, &who);
	if (!caller) {
		struct ft_caller fresh = {};

		bpf_get_current_comm(fresh.comm, sizeof(fresh.comm));
		bpf_map_update_elem(&callers, &who, &fresh, BPF_NOEXIST);
		caller = bpf_map_lookup_elem(&callers, &who);
		if (!caller)
			return 0;
	}
	__sync_fetch_and_add(&caller->count, 1);
	__sync_fetch_and_add(&caller->ns, ns);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
