/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_BASE_H
#define VIREO_BASE_H

/*
 * What every other part leans on: the error convention, a few compiler words and
 * static assertions that work in C11 and in C++.
 *
 * Errors: a function that can fail returns 0 or a count when it worked, and a
 * negative errno otherwise; nothing else carries errors. "Can never work" (-EINVAL,
 * -EMSGSIZE, -ENOTSUP) is kept apart from "not now" (-EAGAIN, -ENOSPC); a violation
 * by the other side of a ring or socket is -EPROTO, an expired wait is -ETIMEDOUT.
 *
 * Nothing here needs EAL: the rte headers used are header-only.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#ifdef __cplusplus
#define VIREO_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define VIREO_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

/* Cache line that shared structures are laid out for, whatever the build machine has. */
#define VIREO_CACHE_LINE 64

/* Hot-path templates: inlined into one instance for each set of constant flags. */
#define vireo_inline static inline __attribute__((always_inline))

/* Kept out of the hot path's line of code. */
#define vireo_cold __attribute__((cold, noinline))

/* Exported from a library of ours (everything else is hidden). */
#define VIREO_EXPORT __attribute__((visibility("default")))

#endif /* VIREO_BASE_H */
