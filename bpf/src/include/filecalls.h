/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The system calls that open files and read them, by their numbers. */
#ifndef FLAMETEL_FILECALLS_H
#define FLAMETEL_FILECALLS_H

#include "types.h"

/* Arguments of a call. */
#if defined(__TARGET_ARCH_x86)
#define FT_ARG1(r, compat) ((compat) ? (u64)(u32)(r)->bx : (r)->di)
#define FT_ARG2(r, compat) ((compat) ? (u64)(u32)(r)->cx : (r)->si)
#else
#define FT_ARG1(r, compat) ((compat) ? (u64)(u32)(r)->regs[0] : (r)->regs[0])
#define FT_ARG2(r, compat) ((compat) ? (u64)(u32)(r)->regs[1] : (r)->regs[1])
#endif

#define FT_OPENAT2 437
#define FT_OPEN_32 5
#define FT_CREAT_32 8
#if defined(__TARGET_ARCH_x86)
#define FT_OPEN 2
#define FT_CREAT 85
#define FT_OPENAT 257
#define FT_OPENAT_32 295
#else
#define FT_OPEN -1
#define FT_CREAT -1
#define FT_OPENAT 56
#define FT_OPENAT_32 322
#endif

/* Tells whether the call opens a file by a path; *at: relative to a folder. */
static __always_inline bool ft_opens(s32 nr, bool compat, bool *at)
{
	if (compat) {
		*at = nr == FT_OPENAT_32 || nr == FT_OPENAT2;
		return *at || nr == FT_OPEN_32 || nr == FT_CREAT_32;
	}
	*at = nr == FT_OPENAT || nr == FT_OPENAT2;
	return *at || (FT_OPEN > 0 && (nr == FT_OPEN || nr == FT_CREAT));
}

/* Reads of the file that is the first argument, and of the one that is the second. */
#if defined(__TARGET_ARCH_x86)
static __always_inline bool ft_reads(u32 nr)
{
	return nr == 0 || nr == 17 || nr == 19 || nr == 295 || nr == 327;
}
static __always_inline bool ft_sends(u32 nr)
{
	return nr == 40;
}
static __always_inline bool ft_reads_32(u32 nr)
{
	return nr == 3 || nr == 145 || nr == 180 || nr == 333 || nr == 378;
}
#else
static __always_inline bool ft_reads(u32 nr)
{
	return nr == 63 || nr == 65 || nr == 67 || nr == 69 || nr == 286;
}
static __always_inline bool ft_sends(u32 nr)
{
	return nr == 71;
}
static __always_inline bool ft_reads_32(u32 nr)
{
	return nr == 3 || nr == 145 || nr == 180 || nr == 361 || nr == 392;
}
#endif
static __always_inline bool ft_sends_32(u32 nr)
{
	return nr == 187 || nr == 239;
}

#endif
