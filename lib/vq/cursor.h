/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_VQ_CURSOR_H
#define VIREO_VQ_CURSOR_H

/*
 * What a burst carries in locals while it walks a ring, so that the compiler keeps it
 * in registers; written back to the queue once, at the burst's end.
 */

#include "../base/vireo_base.h"

/* Driver: posting buffers. */
struct vq_post {
	uint16_t slot; /* next slot to fill */
	uint16_t taken; /* slots taken so far */
	uint16_t avail_idx; /* buffers posted, free-running */
	uint16_t wrap; /* packed: AVAIL and USED bits of this lap */
	uint16_t first_slot; /* packed: held back until publish */
	uint16_t first_flags;
};

/* Driver: taking buffers back. */
struct vq_reap {
	uint16_t tail;
	uint16_t freed; /* slots */
	uint16_t ready; /* split: used elements known to be there */
	uint16_t used_idx; /* buffers taken back, free-running */
	uint16_t used_wrap; /* packed */
};

/* Device: taking buffers. */
struct vq_take {
	uint16_t ready; /* split: avail entries known to be there */
};

/* One descriptor as read by the device. */
struct vq_desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags;
	uint16_t next; /* split: next; packed: buffer id */
};

#endif /* VIREO_VQ_CURSOR_H */
