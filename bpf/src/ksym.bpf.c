// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The kernel's symbols in the format of /proc/kallsyms, with their addresses:
 * that file shows zeroes instead to readers whom kernel.kptr_restrict shuts
 * out. Kernel 6.0 (647cafa22349, "bpf: add a ksym BPF iterator").
 */
#include "types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct kallsym_iter {
	unsigned long value;
	char type;
	char name[1]; /* longer in the kernel; only its address is used */
	char module_name[1];
};

struct bpf_iter__ksym {
	struct bpf_iter_meta *meta;
	struct kallsym_iter *ksym;
};

#pragma clang attribute pop

SEC("iter/ksym")
int kernel_symbols(struct bpf_iter__ksym *ctx)
{
	static const char plain[] = "%lx %c %s\n", in_module[] = "%lx %c %s\t[%s]\n";
	struct kallsym_iter *sym = ctx->ksym;
	u64 args[4];

	if (!sym)
		return 0; /* after the last one */
	args[0] = sym->value;
	args[1] = sym->type;
	args[2] = (u64)__builtin_preserve_access_index(&sym->name);
	args[3] = (u64)__builtin_preserve_access_index(&sym->module_name);
	if (sym->module_name[0])
		bpf_seq_printf(ctx->meta->seq, in_module, sizeof(in_module), args, 4 * sizeof(u64));
	else
		bpf_seq_printf(ctx->meta->seq, plain, sizeof(plain), args, 3 * sizeof(u64));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
