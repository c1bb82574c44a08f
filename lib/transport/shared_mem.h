/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_SHARED_MEM_H
#define VIREO_SHARED_MEM_H

/*
 * The memory that this process can share: EAL's memory segments as ranges of files, few
 * enough for a peer that takes a limited number of them.
 *
 * Threads: control work, with EAL's memory lock held (for reading or for writing).
 */

#include "../base/vireo_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A range of one file that lies at va in this process. The fd is EAL's, never closed here. */
struct shared_range {
	uint64_t va;
	uint64_t len_bytes;
	uint64_t offset; /* in the file */
	int fd;
};

struct shared_mem {
	struct shared_range *ranges; /* by address within each file */
	uint32_t nb;
	uint32_t room;
};

/** Forget all ranges and free the array. */
void shared_mem_clear(struct shared_mem *m);

/**
 * Append a range; shared_mem_add() merges one that continues the last range with it.
 * @return 0 or -ENOMEM.
 */
int shared_mem_append(struct shared_mem *m, const struct shared_range *r);
int shared_mem_add(struct shared_mem *m, const struct shared_range *r);

/**
 * List EAL's own memory, without [gone, gone + gone_bytes), which is about to be freed,
 * and without external memory, which has no file.
 * @return 0, -ENOMEM, -ENOTSUP: memory without a file descriptor (the log says so).
 */
int shared_mem_walk(struct shared_mem *m, const void *gone, size_t gone_bytes);

/**
 * Bring the count down to max_ranges, when it is above, by joining ranges of one file
 * over the holes between them (nothing in use lies there).
 * @return 0, -E2BIG.
 */
int shared_mem_limit(struct shared_mem *m, uint32_t max_ranges);

/**
 * What of r, from byte *at on, no range of m covers in the same place of the same file.
 * @return true and the part in *piece, *at behind it; false when there is no more.
 */
bool shared_mem_uncovered(const struct shared_mem *m, const struct shared_range *r, uint64_t *at,
			  struct shared_range *piece);

/** Whether any byte of r is in m, in the same place of the same file. */
bool shared_mem_overlaps(const struct shared_mem *m, const struct shared_range *r);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_SHARED_MEM_H */
