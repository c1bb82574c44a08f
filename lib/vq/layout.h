/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_VQ_LAYOUT_H
#define VIREO_VQ_LAYOUT_H

/*
 * The only place that tests which layout a ring has. f is a constant in every template
 * instance, so each call is one of the two twins, inlined.
 */

#include "packed.h"
#include "split.h"

#define VQ_LAYOUT(f, fn, ...)                                                                      \
	(((f)&VQ_F_PACKED) ? packed_##fn(__VA_ARGS__) : split_##fn(__VA_ARGS__))

#endif /* VIREO_VQ_LAYOUT_H */
