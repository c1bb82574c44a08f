/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * The invariants checker: everything that must hold of a queue between bursts. Tests
 * call it after each step, debug builds after each burst.
 */

#include "packed.h"
#include "vq.h"

/* What is in flight, counted one by one. */
struct inflight {
	uint32_t buffers;
	uint32_t slots;
	uint32_t tables;
};

static const char *
check_one(const struct vq_drv *q, uint32_t id, struct inflight *sum)
{
	uint16_t nb_desc = 1, table = VQ_TABLE_NONE;

	if ((q->flags & VQ_F_SINGLE) == 0) {
		nb_desc = q->meta[id].nb_desc;
		table = q->meta[id].table;
	}
	if (q->cookie[id] == NULL)
		return "a buffer in flight has no cookie";
	if (nb_desc == 0 || nb_desc > q->size)
		return "a buffer in flight takes an impossible number of slots";
	sum->buffers++;
	sum->slots += nb_desc;
	if (table < VQ_TABLE_EXT)
		sum->tables++;
	return NULL;
}

static const char *
check_inflight(const struct vq_drv *q, struct inflight *sum)
{
	uint16_t nb = q->avail_idx - q->used_idx;
	const char *bad = NULL;
	uint32_t i, id;

	if (q->scrambled) {
		for (id = 0; id < q->size && bad == NULL; id++)
			if (q->cookie[id] != NULL)
				bad = check_one(q, id, sum);
	} else {
		for (i = 0, id = q->tail; i < nb && bad == NULL; i++) {
			bad = check_one(q, id, sum);
			if (bad == NULL)
				id = (id + ((q->flags & VQ_F_SINGLE) ? 1 : q->meta[id].nb_desc)) %
					q->size;
		}
		if (bad == NULL && id != q->head)
			bad = "what is in flight does not end at the head";
	}
	if (bad == NULL && sum->buffers != nb)
		bad = "the buffers in flight are not as many as the indices say";
	return bad;
}

static const char *
check_pools(const struct vq_drv *q, uint32_t tables_inflight)
{
	uint32_t c, i, k, free = 0, all = 0;

	for (c = 0; c < VQ_NB_CLASSES; c++) {
		const struct vq_pool *p = &q->pools[c];

		if (p->nb_free > p->nb_tables)
			return "a pool has more free tables than tables";
		for (i = 0; i < p->nb_free; i++) {
			if (p->stack[i] < p->first || p->stack[i] >= p->first + p->nb_tables)
				return "a table lies in the pool of another class";
			for (k = 0; k < i; k++)
				if (p->stack[k] == p->stack[i])
					return "a table is free twice";
		}
		free += p->nb_free;
		all += p->nb_tables;
	}
	return free + tables_inflight == all ? NULL : "tables were lost or given back twice";
}

static const char *
check_ids(const struct vq_drv *q, const struct inflight *sum)
{
	uint32_t used = (q->flags & VQ_F_PACKED) ? sum->buffers : sum->slots;
	uint32_t i;

	if (!q->scrambled)
		return NULL;
	if (q->nb_ids + used != q->size)
		return "free ids and ids in flight do not add up";
	for (i = 0; i < q->nb_ids; i++)
		if (q->ids[i] >= q->size || q->cookie[q->ids[i]] != NULL)
			return "an id on the stack is in flight";
	return NULL;
}

VIREO_EXPORT const char *
vireo_vq_drv_check(const struct vq_drv *q)
{
	struct inflight sum = { 0 };
	const char *bad;
	bool one_lap;

	if (q->head >= q->size || q->tail >= q->size)
		return "head or tail outside of the ring";
	bad = check_inflight(q, &sum);
	if (bad == NULL)
		bad = check_pools(q, sum.tables);
	if (bad == NULL)
		bad = check_ids(q, &sum);
	if (bad != NULL)
		return bad;
	if (q->nb_free + sum.slots != q->limit)
		return "free slots and slots in flight do not add up";
	if ((q->flags & VQ_F_PACKED) == 0)
		return NULL;
	if (q->avail_wrap != VIREO_DESC_F_AVAIL && q->avail_wrap != VIREO_DESC_F_USED)
		return "impossible avail wrap bits";
	if (q->used_wrap != PACKED_BITS && q->used_wrap != 0)
		return "impossible used wrap bits";
	/* Both counters agree unless the head is one lap ahead. */
	one_lap = (q->avail_wrap == VIREO_DESC_F_AVAIL) == (q->used_wrap != 0);
	if (sum.slots != 0 && sum.slots != q->size && one_lap != (q->head > q->tail))
		return "wrap counters do not fit head and tail";
	if (sum.slots == 0 && !one_lap)
		return "wrap counters differ in an empty ring";
	return NULL;
}

VIREO_EXPORT const char *
vireo_vq_dev_check(const struct vq_dev *q)
{
	uint32_t taken;

	if ((q->flags & VQ_F_PACKED) == 0) {
		taken = (uint16_t)(q->avail_idx - q->used_idx);
		return taken == q->nb_inflight ? NULL : "taken and used do not add up";
	}
	if (q->avail_idx >= q->size || q->used_idx >= q->size)
		return "position outside of the ring";
	taken = (uint32_t)(q->avail_idx + q->size - q->used_idx) % q->size;
	if (taken != q->nb_inflight % q->size)
		return "taken and used do not add up";
	return NULL;
}
