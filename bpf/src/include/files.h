/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Paths of open files and of folders, as texts. */
#ifndef FLAMETEL_FILES_H
#define FLAMETEL_FILES_H

#include "event.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr {
	u64 hash_len;
	const unsigned char *name;
};

struct inode {
	u16 i_mode;
	unsigned long i_ino;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
};

struct fs_struct {
	struct path root;
	struct path pwd;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

#pragma clang attribute pop

/* The fields of task_struct that only files need. */
struct task_struct___files {
	struct fs_struct *fs;
	struct files_struct *files;
} __attribute__((preserve_access_index));

#define S_IFMT 0170000
#define S_IFREG 0100000
#define AT_FDCWD -100

/* PATH_MAX, include/uapi/linux/limits.h; with the zero at the end. */
#define FT_PATH_MAX 4096
#define FT_NAME_MAX 255
/* Folders of a path that are looked at; what is above is cut off. */
#define FT_MAX_DEPTH 64
#define FT_LOOP_DEPTH 16 /* without bpf_loop */

/* A path that grows towards its begin, with room for a name behind it. */
struct ft_path_text {
	u8 text[FT_PATH_MAX + FT_NAME_MAX + 1]; /* zeros from FT_PATH_MAX on */
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ft_path_text);
} path_texts SEC(".maps");

/*
 * Paths that are in the map of chunks already. Key: the folder entry, as it is
 * called; a rename above it shows at the next drain. Written by programs; the
 * oldest give way.
 */
struct ft_path_key {
	u64 dentry, mount;
	u64 hash_len; /* of its name */
	u64 ino;
};
struct ft_path_id {
	u64 id;
	u32 generation;
	u32 pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct ft_path_key);
	__type(value, struct ft_path_id);
} known_paths SEC(".maps");

struct ft_climb {
	struct ft_path_text *t;
	struct dentry *dentry;
	struct vfsmount *mnt;
	struct dentry *root_dentry; /* the root of the process */
	struct vfsmount *root_mnt;
	u32 at; /* where the text begins */
};

/* Puts the name of one folder before the text. Returns 1 at the root. */
static long ft_climb_step(u32 index, struct ft_climb *c)
{
	/* Copies: what is read through c would be taken for a type of the kernel. */
	struct dentry *dentry = c->dentry, *parent;
	struct vfsmount *mnt = c->mnt;
	u32 len, at;

	if (dentry == c->root_dentry && mnt == c->root_mnt)
		return 1;
	if (dentry == BPF_CORE_READ(mnt, mnt_root)) {
		struct mount *m = (void *)mnt - bpf_core_field_offset(struct mount, mnt);
		struct mount *up = BPF_CORE_READ(m, mnt_parent);

		if (up == m)
			return 1;
		c->dentry = BPF_CORE_READ(m, mnt_mountpoint);
		c->mnt = (void *)up + bpf_core_field_offset(struct mount, mnt);
		return 0;
	}
	parent = BPF_CORE_READ(dentry, d_parent);
	if (parent == dentry)
		return 1; /* of no folder: a pipe, or what was mounted for the kernel */
	len = BPF_CORE_READ(dentry, d_name.hash_len) >> 32 & FT_NAME_MAX;
	at = c->at;
	if (at <= len)
		return 1;
	at -= len;
	ft_opaque(at);
	at &= FT_PATH_MAX - 1; /* for the verifier: at most what it was */
	bpf_probe_read_kernel(&c->t->text[at], len, BPF_CORE_READ(dentry, d_name.name));
	if (at == 0)
		return 1;
	at--;
	ft_opaque(at);
	at &= FT_PATH_MAX - 1;
	c->t->text[at] = '/';
	c->at = at;
	c->dentry = parent;
	return 0;
}

/*
 * Writes the path of a folder entry into c->t, where it begins at c->at and ends,
 * without a zero, at FT_PATH_MAX. Returns its length, 0 only for the verifier.
 */
static __always_inline u32 ft_climb_path(struct ft_climb *c, struct vfsmount *mnt,
					 struct dentry *dentry)
{
	struct task_struct___files *task = (void *)bpf_get_current_task();
	struct fs_struct *fs = BPF_CORE_READ(task, fs);
	u32 zero = 0;

	c->dentry = dentry;
	c->mnt = mnt;
	c->at = FT_PATH_MAX;
	c->t = bpf_map_lookup_elem(&path_texts, &zero);
	if (!c->t)
		return 0;
	c->root_dentry = BPF_CORE_READ(fs, root.dentry);
	c->root_mnt = BPF_CORE_READ(fs, root.mnt);
	if (have_loop) {
		bpf_loop(FT_MAX_DEPTH, ft_climb_step, c, 0);
	} else {
		for (u32 i = 0; i < FT_LOOP_DEPTH; i++)
			if (ft_climb_step(i, c))
				break;
	}
	if (c->at == FT_PATH_MAX) { /* the root itself */
		c->at = FT_PATH_MAX - 1;
		c->t->text[FT_PATH_MAX - 1] = '/';
	}
	return FT_PATH_MAX - c->at;
}

/* Stores the path of a folder entry and sets *id; it stays 0 without room. */
static __noinline int ft_store_path(struct ft_scratch *s, struct vfsmount *mnt,
				    struct dentry *dentry, u32 gen, u64 *id)
{
	struct ft_climb c = {};
	struct ft_sink to;
	u32 size;

	if (!id || !s)
		return 0; /* for the verifier */
	*id = 0;
	if (!ft_sink_open(&to, gen))
		return 0;
	size = ft_climb_path(&c, mnt, dentry);
	if (!size)
		return 0;
	size = (size + sizeof(u64)) & ~7u; /* a zero at least, up to a whole word */
	ft_opaque(size);
	size &= 2 * FT_PATH_MAX - 1;
	if (size > FT_PATH_MAX)
		size = FT_PATH_MAX;
	ft_opaque(c.at);
	bpf_probe_read_kernel(s->words, size, &c.t->text[c.at & (FT_PATH_MAX - 1)]);
	if (ft_store_words(s, to.chunks, size / sizeof(u64), 0, id))
		*id = 0;
	return 0;
}

/* Sets *id to the path of a folder entry, stored now or earlier; 0 without room. */
static __always_inline void ft_path_id(struct ft_scratch *s, struct vfsmount *mnt,
				       struct dentry *dentry, u32 gen, u64 *id)
{
	struct ft_path_key key = {
		.dentry = (u64)dentry,
		.mount = (u64)mnt,
		.hash_len = BPF_CORE_READ(dentry, d_name.hash_len),
		.ino = BPF_CORE_READ(dentry, d_inode, i_ino),
	};
	struct ft_path_id *known = bpf_map_lookup_elem(&known_paths, &key),
			  fresh = { .generation = gen };

	if (known && known->generation == gen) {
		*id = known->id;
		return;
	}
	ft_store_path(s, mnt, dentry, gen, &fresh.id);
	*id = fresh.id;
	if (fresh.id)
		bpf_map_update_elem(&known_paths, &key, &fresh, BPF_ANY);
}

/* The open file of a descriptor of the current task, 0 for none. */
static __always_inline struct file *ft_file(s32 fd)
{
	struct task_struct___files *task = (void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = 0;

	if (fd < 0 || (u32)fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	bpf_probe_read_kernel(&file, sizeof(file), &files[fd]);
	return file;
}

#endif
