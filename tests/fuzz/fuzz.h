/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_FUZZ_H
#define VIREO_FUZZ_H

/* What the fuzz targets share: reading the input as a script, and failing loudly. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input, read from the front; zeros behind its end. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t
fuzz_u8(struct fuzz_input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static inline uint16_t
fuzz_u16(struct fuzz_input *in)
{
	uint16_t low = fuzz_u8(in);

	return low | (uint16_t)fuzz_u8(in) << 8;
}

/* Copy up to n bytes of the input to dst. */
static inline void
fuzz_copy(struct fuzz_input *in, void *dst, size_t n)
{
	if (n > in->left)
		n = in->left;
	memcpy(dst, in->at, n);
	in->at += n;
	in->left -= n;
}

/* A property does not hold: libFuzzer keeps the input that shows it. */
#define FUZZ_ASSERT(cond)                                                                          \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #cond);  \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#endif /* VIREO_FUZZ_H */
