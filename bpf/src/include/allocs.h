/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What tracepoints of kernel memory have in common. */
#ifndef FLAMETEL_ALLOCS_H
#define FLAMETEL_ALLOCS_H

#include <bpf/bpf_helpers.h>

#include "types.h"

/*
 * Tells that kmalloc or kmem_cache_alloc returned nothing, by their second
 * argument. The verifier of 6.1 does not admit arguments of type void *.
 */
static __always_inline bool ft_failed(u64 *ctx)
{
	u64 ptr = 0;

	bpf_probe_read_kernel(&ptr, sizeof(ptr), &ctx[1]);
	return !ptr;
}

#endif
