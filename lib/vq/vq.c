/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <string.h>

#include "vq.h"
#include "vq_device.h"
#include "vq_driver.h"

/* Offsets of a driver queue's parts in its two blocks of memory. */
struct drv_parts {
	size_t desc, avail, used, hdrs, tables[VQ_NB_CLASSES], shared_bytes;
	size_t cookie, ext, meta, ids, links, stack, private_bytes;
};

static const char *const violation_text[VQ_NB_VIOLATIONS] = {
	[VQ_OK] = "none",
	[VQ_BAD_USED_IDX] = "used index beyond what is in flight",
	[VQ_BAD_USED_ID] = "used id that is not in flight or out of order",
	[VQ_BAD_USED_LEN] = "used length above the buffer's",
	[VQ_BAD_AVAIL_IDX] = "avail index beyond the ring",
	[VQ_BAD_DESC_IDX] = "descriptor index outside of its table, or a loop",
	[VQ_BAD_DESC_ADDR] = "buffer outside of the shared memory",
	[VQ_BAD_DESC_ORDER] = "readable descriptor behind a writable one",
	[VQ_BAD_INDIRECT] = "malformed indirect descriptor",
	[VQ_BAD_CHAIN_LEN] = "chain of too many descriptors",
};

VIREO_EXPORT const char *
vireo_vq_violation_str(enum vq_violation v)
{
	return (unsigned int)v < VQ_NB_VIOLATIONS ? violation_text[v] : "unknown";
}

static size_t
part_take(size_t *total, size_t bytes)
{
	size_t at = *total;

	*total += RTE_ALIGN_CEIL(bytes, (size_t)VIREO_CACHE_LINE);
	return at;
}

static bool
size_is_legal(uint32_t size, uint32_t flags)
{
	if (size == 0 || size > VIREO_RING_SIZE_MAX)
		return false;
	return (flags & VQ_F_PACKED) != 0 || (size & (size - 1)) == 0;
}

static int
conf_check(const struct vq_conf *conf)
{
	uint32_t nb_tables = 0;
	uint16_t smaller = 1;
	int c;

	if (!size_is_legal(conf->size, conf->flags) || conf->limit > conf->size)
		return -EINVAL;
	for (c = 0; c < VQ_NB_CLASSES; c++) {
		const struct vq_pool_class *cl = &conf->classes[c];

		if (cl->nb_tables == 0)
			continue;
		if (cl->nb_desc <= smaller)
			return -EINVAL;
		smaller = cl->nb_desc;
		nb_tables += cl->nb_tables;
	}
	return nb_tables < VQ_TABLE_EXT ? 0 : -EINVAL;
}

/* Section 2.7 and 2.8.10.1; the parts that different sides write share no cache line. */
static void
parts_of(const struct vq_conf *conf, struct drv_parts *p)
{
	size_t n = conf->size, nb_tables = 0;
	int c;

	memset(p, 0, sizeof(*p));
	p->desc = part_take(&p->shared_bytes, n * sizeof(struct ring_desc));
	if (conf->flags & VQ_F_PACKED) {
		p->avail = part_take(&p->shared_bytes, sizeof(struct ring_event));
		p->used = part_take(&p->shared_bytes, sizeof(struct ring_event));
	} else {
		p->avail = part_take(&p->shared_bytes,
				     sizeof(struct ring_avail) + (n + 1) * sizeof(uint16_t));
		p->used = part_take(&p->shared_bytes,
				    sizeof(struct ring_used) + n * sizeof(struct ring_used_elem) +
					    sizeof(uint16_t));
	}
	p->hdrs = part_take(&p->shared_bytes, n * conf->hdr_bytes);
	for (c = 0; c < VQ_NB_CLASSES; c++) {
		const struct vq_pool_class *cl = &conf->classes[c];

		nb_tables += cl->nb_tables;
		p->tables[c] =
			part_take(&p->shared_bytes,
				  (size_t)cl->nb_tables * cl->nb_desc * sizeof(struct ring_desc));
	}
	p->cookie = part_take(&p->private_bytes, n * sizeof(void *));
	p->ext = part_take(&p->private_bytes, n * sizeof(void *));
	p->meta = part_take(&p->private_bytes, n * sizeof(struct vq_meta));
	p->ids = part_take(&p->private_bytes, n * sizeof(uint16_t));
	p->links = part_take(&p->private_bytes, n * sizeof(uint16_t));
	p->stack = part_take(&p->private_bytes, nb_tables * sizeof(uint16_t));
}

VIREO_EXPORT int
vireo_vq_mem_size(const struct vq_conf *conf, struct vq_mem_size *out)
{
	struct drv_parts p;
	int rc = conf_check(conf);

	if (rc != 0)
		return rc;
	parts_of(conf, &p);
	out->shared_bytes = p.shared_bytes;
	out->private_bytes = p.private_bytes;
	return 0;
}

static void
pools_init(struct vq_drv *q, const struct vq_conf *conf, const struct drv_parts *p, uint8_t *shared,
	   uint64_t shared_addr, uint16_t *stack)
{
	uint32_t first = 0;
	int c;

	for (c = 0; c < VQ_NB_CLASSES; c++) {
		struct vq_pool *pool = &q->pools[c];

		pool->base = shared + p->tables[c];
		pool->addr = shared_addr + p->tables[c];
		pool->stack = stack + first;
		pool->nb_tables = conf->classes[c].nb_tables;
		pool->nb_desc = pool->nb_tables != 0 ? conf->classes[c].nb_desc : 0;
		pool->table_bytes = pool->nb_desc * sizeof(struct ring_desc);
		pool->first = first;
		first += pool->nb_tables;
	}
}

VIREO_EXPORT int
vireo_vq_drv_init(struct vq_drv *q, const struct vq_conf *conf, void *shared, uint64_t shared_addr,
		  void *priv)
{
	uint8_t *s = shared, *pr = priv;
	struct drv_parts p;
	int rc = conf_check(conf);

	if (rc != 0)
		return rc;
	parts_of(conf, &p);
	memset(q, 0, sizeof(*q));
	memset(pr, 0, p.private_bytes);
	q->ring.desc = (void *)(s + p.desc);
	q->ring.avail = (void *)(s + p.avail);
	q->ring.used = (void *)(s + p.used);
	q->cookie = (void *)(pr + p.cookie);
	q->ext_table = (void *)(pr + p.ext);
	q->meta = (void *)(pr + p.meta);
	q->ids = (void *)(pr + p.ids);
	q->links = (void *)(pr + p.links);
	q->size = conf->size;
	q->mask = conf->size - 1;
	q->flags = conf->flags;
	q->limit = conf->limit != 0 ? conf->limit : conf->size;
	q->buf_bytes = conf->buf_bytes;
	q->hdrs = s + p.hdrs;
	q->hdrs_addr = shared_addr + p.hdrs;
	q->hdr_bytes = conf->hdr_bytes;
	memset(q->hdrs, 0, conf->size * conf->hdr_bytes);
	pools_init(q, conf, &p, s, shared_addr, (void *)(pr + p.stack));
	vireo_vq_drv_reset(q);
	return 0;
}

static void
ring_reset_split(struct vq_drv *q)
{
	uint32_t i;

	memset(q->ring.used, 0,
	       sizeof(struct ring_used) + q->size * sizeof(struct ring_used_elem) +
		       sizeof(uint16_t));
	memset(q->ring.avail, 0, sizeof(struct ring_avail) + (q->size + 1) * sizeof(uint16_t));
	for (i = 0; i < q->size; i++) {
		q->ring.desc[i] = (struct ring_desc){ .next = (i + 1) & q->mask };
		q->ring.avail->ring[i] = i;
	}
}

static void
ring_reset_packed(struct vq_drv *q)
{
	/* Section 2.8.1: both wrap counters start at 1, no descriptor is available. */
	memset(q->ring.pdesc, 0, q->size * sizeof(struct ring_packed_desc));
	*q->ring.drv_event = (struct ring_event){ 0 };
	*q->ring.dev_event = (struct ring_event){ 0 };
}

VIREO_EXPORT void
vireo_vq_drv_reset(struct vq_drv *q)
{
	uint32_t c, i;

	q->head = 0;
	q->tail = 0;
	q->nb_free = q->limit;
	q->avail_idx = 0;
	q->used_idx = 0;
	q->avail_wrap = VIREO_DESC_F_AVAIL;
	q->used_wrap = PACKED_BITS;
	q->since_kick = 0;
	q->nb_ids = 0;
	q->in_batch = 0;
	q->scrambled = 0;
	q->broken = VQ_OK;
	q->armed = 0;
	for (c = 0; c < VQ_NB_CLASSES; c++) {
		struct vq_pool *pool = &q->pools[c];

		pool->nb_free = pool->nb_tables;
		/* The lowest address goes out first. */
		for (i = 0; i < pool->nb_tables; i++)
			pool->stack[i] = pool->first + pool->nb_tables - 1 - i;
	}
	if (q->flags & VQ_F_PACKED)
		ring_reset_packed(q);
	else
		ring_reset_split(q);
	VQ_LAYOUT(q->flags, drv_disarm, q, q->flags);
}

static void
drain_one(struct vq_drv *q, uint16_t id, void (*fn)(void *cookie, void *arg),
	  void (*ext_free)(void *table, void *arg), void *arg)
{
	uint16_t table = (q->flags & VQ_F_SINGLE) ? VQ_TABLE_NONE : q->meta[id].table;

	if (table == VQ_TABLE_EXT) {
		if (ext_free != NULL)
			ext_free(q->ext_table[id], arg);
	} else if (table != VQ_TABLE_NONE) {
		vq_table_give(q, table);
	}
	if (fn != NULL)
		fn(q->cookie[id], arg);
	q->cookie[id] = NULL;
}

static uint16_t
slots_of(const struct vq_drv *q, uint16_t id)
{
	return (q->flags & VQ_F_SINGLE) ? 1 : q->meta[id].nb_desc;
}

VIREO_EXPORT uint32_t
vireo_vq_drv_drain(struct vq_drv *q, void (*fn)(void *cookie, void *arg),
		   void (*ext_free)(void *table, void *arg), void *arg)
{
	uint16_t inflight = q->avail_idx - q->used_idx;
	uint32_t i, id = q->tail, n = 0;

	if (q->scrambled) {
		for (i = 0; i < q->size; i++) {
			if (q->cookie[i] == NULL)
				continue;
			drain_one(q, i, fn, ext_free, arg);
			n++;
		}
	} else {
		for (; n < inflight; n++) {
			uint16_t slots = slots_of(q, id);

			drain_one(q, id, fn, ext_free, arg);
			id = (id + slots) % q->size;
		}
	}
	q->used_idx = q->avail_idx;
	q->tail = q->head;
	q->nb_free = q->limit;
	return n;
}

VIREO_EXPORT void
vireo_vq_drv_break(struct vq_drv *q, enum vq_violation v)
{
	q->nb_violations++;
	/* The control thread reads this without a lock. */
	vireo_store_relaxed(&q->broken, (uint8_t)v);
}

VIREO_EXPORT void
vireo_vq_dev_break(struct vq_dev *q, enum vq_violation v)
{
	q->nb_violations++;
	vireo_store_relaxed(&q->broken, (uint8_t)v);
}

/*
 * In order, the buffers in flight lie one behind the other from the tail on. Split rings:
 * every slot of theirs is an id in use. Packed rings: only the first slot's is.
 */
VIREO_EXPORT void
vireo_vq_drv_scramble(struct vq_drv *q, const struct vq_reap *r)
{
	uint16_t inflight = q->avail_idx - r->used_idx;
	uint32_t slot = r->tail, taken = 0;
	uint16_t i, k;

	q->nb_ids = 0;
	for (i = 0; i < inflight; i++) {
		uint16_t head = slot, n = slots_of(q, head);

		for (k = 0; k < n; k++) {
			if (k != 0)
				q->cookie[slot] = NULL;
			if (k != 0 && (q->flags & VQ_F_PACKED))
				q->ids[q->nb_ids++] = slot;
			q->links[slot] = (slot + 1) % q->size;
			slot = (slot + 1) % q->size;
		}
		taken += n;
	}
	for (; taken < q->size; taken++) {
		q->cookie[slot] = NULL;
		q->ids[q->nb_ids++] = slot;
		slot = (slot + 1) % q->size;
	}
	q->scrambled = 1;
}

VIREO_EXPORT uint32_t
vireo_vq_nb_free_tables(const struct vq_drv *q)
{
	uint32_t c, n = 0;

	for (c = 0; c < VQ_NB_CLASSES; c++)
		n += q->pools[c].nb_free;
	return n;
}

static bool
ring_is_aligned(const struct vq_ring_mem *ring, uint32_t flags)
{
	size_t avail = (flags & VQ_F_PACKED) ? VIREO_EVENT_ALIGN : VIREO_AVAIL_ALIGN;
	size_t used = (flags & VQ_F_PACKED) ? VIREO_EVENT_ALIGN : VIREO_USED_ALIGN;

	return (uintptr_t)ring->desc % VIREO_DESC_ALIGN == 0 &&
		(uintptr_t)ring->avail % avail == 0 && (uintptr_t)ring->used % used == 0;
}

VIREO_EXPORT int
vireo_vq_dev_init(struct vq_dev *q, const struct vq_ring_mem *ring, uint32_t size, uint32_t flags,
		  struct vq_regions *regions, uint16_t avail_base, uint16_t used_base)
{
	if (!size_is_legal(size, flags) || !ring_is_aligned(ring, flags))
		return -EINVAL;
	if ((flags & VQ_F_PACKED) &&
	    ((avail_base & VIREO_EVENT_OFF_MASK) >= size ||
	     (used_base & VIREO_EVENT_OFF_MASK) >= size))
		return -EINVAL;
	memset(q, 0, sizeof(*q));
	q->ring = *ring;
	q->regions = regions;
	q->size = size;
	q->mask = size - 1;
	q->flags = flags;
	q->avail_idx = avail_base;
	q->used_idx = used_base;
	if (flags & VQ_F_PACKED) {
		q->avail_wrap = (avail_base >> VIREO_EVENT_WRAP_BIT) ? VIREO_DESC_F_AVAIL
								     : VIREO_DESC_F_USED;
		q->used_wrap = (used_base >> VIREO_EVENT_WRAP_BIT) ? PACKED_BITS : 0;
		q->avail_idx &= VIREO_EVENT_OFF_MASK;
		q->used_idx &= VIREO_EVENT_OFF_MASK;
	}
	VQ_LAYOUT(flags, dev_disarm, q, flags);
	return 0;
}

VIREO_EXPORT void
vireo_vq_dev_base(const struct vq_dev *q, uint16_t *avail_base, uint16_t *used_base)
{
	*avail_base = q->avail_idx;
	*used_base = q->used_idx;
	if (q->flags & VQ_F_PACKED) {
		*avail_base |= (q->avail_wrap == VIREO_DESC_F_AVAIL) << VIREO_EVENT_WRAP_BIT;
		*used_base |= (q->used_wrap != 0) << VIREO_EVENT_WRAP_BIT;
	}
}
