/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_VQ_POOL_H
#define VIREO_VQ_POOL_H

/*
 * Pools of indirect tables, one for each size class of a queue (seed: "virtio: cache
 * indirect desc", which allocated a table for each packet before). A table is found and
 * given back in a few instructions: LIFO, so the one given back last, still in the
 * cache, goes out first; no lock, since one lcore owns the queue. Tables lie in the queue's
 * shared memory; their address is base + offset.
 */

#include "vq.h"

struct vq_table {
	void *mem; /* NULL: none free */
	uint64_t addr; /* in the transport's space */
	uint16_t handle;
};

/** Take a table of at least nb_desc descriptors. Owner lcore. mem is NULL when there is none. */
vireo_inline struct vq_table
vq_table_take(struct vq_drv *q, uint16_t nb_desc)
{
	struct vq_table t = { 0 };
	uint16_t c;

	for (c = 0; c < VQ_NB_CLASSES; c++) {
		struct vq_pool *p = &q->pools[c];
		uint32_t offset;

		if (nb_desc > p->nb_desc || p->nb_free == 0)
			continue;
		t.handle = p->stack[--p->nb_free];
		offset = (uint32_t)(t.handle - p->first) * p->table_bytes;
		t.mem = p->base + offset;
		t.addr = p->addr + offset;
		break;
	}
	return t;
}

/** Give a table back, exactly once. Owner lcore. */
vireo_inline void
vq_table_give(struct vq_drv *q, uint16_t handle)
{
	struct vq_pool *p = &q->pools[0];

	if (handle >= q->pools[1].first)
		p = handle >= q->pools[2].first ? &q->pools[2] : &q->pools[1];
	p->stack[p->nb_free++] = handle;
}

#endif /* VIREO_VQ_POOL_H */
