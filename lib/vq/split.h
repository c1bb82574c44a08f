/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_VQ_SPLIT_H
#define VIREO_VQ_SPLIT_H

/*
 * Split ring primitives, VIRTIO 1.3 section 2.7: the twin of packed.h, function by
 * function; layout.h chooses between them. Cursors are kept in locals by the burst
 * functions and written back once a burst.
 */

#include "../base/barrier.h"
#include "cursor.h"
#include "vq.h"

/* Section 2.7.5: len, flags and next lie in one word behind the address. */
vireo_inline uint64_t
split_desc_word(uint32_t len, uint16_t flags, uint16_t next)
{
	return (uint64_t)len | (uint64_t)flags << 32 | (uint64_t)next << 48;
}

/* Write one descriptor of a ring or a table: two stores, ordered by the publish that follows. */
vireo_inline void
split_desc_write(struct ring_desc *d, uint64_t addr, uint64_t word)
{
	vireo_store_relaxed(&d->addr, addr);
	vireo_store_relaxed((uint64_t *)(void *)&d->len, word);
}

/* --- Driver side ------------------------------------------------------------------ */

/* The id that follows in a chain: the next slot, or one from the stack once scrambled. */
vireo_inline uint16_t
split_next_id(struct vq_drv *q, uint16_t id)
{
	uint16_t next;

	if (likely(q->scrambled == 0))
		return (id + 1) & q->mask;
	next = q->ids[--q->nb_ids];
	q->links[id] = next;
	return next;
}

/* Section 2.7.13.1: place one buffer; next is used when flags have NEXT. */
vireo_inline void
split_put(struct vq_drv *q, struct vq_post *c, uint16_t id, uint16_t head_id, uint64_t addr,
	  uint32_t len, uint16_t flags, uint16_t next)
{
	(void)head_id;
	split_desc_write(&q->ring.desc[id], addr, split_desc_word(len, flags, next));
	c->slot = (c->slot + 1) & q->mask;
}

/*
 * Section 2.7.13.2: the head goes into the next avail entry. In order it has the value
 * already, and the cache line that the device reads stays clean.
 */
vireo_inline void
split_put_head(struct vq_drv *q, struct vq_post *c, uint16_t head_id)
{
	uint16_t *entry = &q->ring.avail->ring[c->avail_idx & q->mask];

	if (unlikely(vireo_load_relaxed(entry) != head_id))
		vireo_store_relaxed(entry, head_id);
	c->avail_idx++;
}

/* Show a burst to the device: everything up to c->avail_idx. */
vireo_inline void
split_post_publish(struct vq_drv *q, const struct vq_post *c, const uint32_t f)
{
	if (f & VQ_F_ORDER_PLATFORM)
		vireo_platform_wmb();
	/* Section 2.7.13.3; pairs with the acquire in split_avail_ready() of the device. */
	vireo_store_release(&q->ring.avail->idx, c->avail_idx);
}

/* Section 2.7.13.4: must the device be kicked? The caller has fenced. */
vireo_inline bool
split_kick_needed(struct vq_drv *q, const uint32_t f)
{
	uint16_t since = q->since_kick;
	uint16_t event;

	q->since_kick = 0;
	if ((f & VQ_F_EVENT_IDX) == 0)
		return (vireo_load_relaxed(&q->ring.used->flags) & VIREO_USED_F_NO_NOTIFY) == 0;
	/* Section 2.7.10: kick when avail_event lies among the entries just published. */
	event = vireo_load_relaxed((uint16_t *)(void *)&q->ring.used->ring[q->size]);
	return (uint16_t)(q->avail_idx - event - 1) < since;
}

/* How many used elements are there; more than in flight is a violation. */
vireo_inline int
split_used_ready(struct vq_drv *q, struct vq_reap *r, const uint32_t f)
{
	uint16_t ready;

	/* Section 2.7.14; pairs with the release in split_used_publish() of the device. */
	ready = vireo_load_acquire(&q->ring.used->idx) - r->used_idx;
	if (f & VQ_F_ORDER_PLATFORM)
		vireo_platform_rmb();
	if (unlikely(ready > (uint16_t)(q->avail_idx - r->used_idx)))
		return -VQ_BAD_USED_IDX;
	r->ready = ready;
	return 0;
}

/* The next used element, read once. @return 1, or 0 when there is none. */
vireo_inline int
split_used_get(struct vq_drv *q, struct vq_reap *r, uint32_t *id, uint32_t *len)
{
	const struct ring_used_elem *elem = &q->ring.used->ring[r->used_idx & q->mask];

	if (r->ready == 0)
		return 0;
	*id = vireo_load_relaxed(&elem->id);
	*len = vireo_load_relaxed(&elem->len);
	return 1;
}

/* Move behind the buffer that split_used_get() returned; it held nb_desc descriptors. */
vireo_inline void
split_used_taken(struct vq_drv *q, struct vq_reap *r, uint16_t nb_desc)
{
	r->ready--;
	r->used_idx++;
	r->tail = (r->tail + nb_desc) & q->mask;
	r->freed += nb_desc;
}

/*
 * Used elements from r->tail on that came in order, at most max and not beyond the
 * ring's end: their lengths into lens. Only for VQ_F_SINGLE queues, where the element of a
 * slot has the slot's number.
 */
vireo_inline uint16_t
split_used_run(struct vq_drv *q, struct vq_reap *r, uint32_t *lens, uint16_t max)
{
	const struct ring_used_elem *elem = &q->ring.used->ring[r->tail];
	uint16_t n = RTE_MIN(max, r->ready);
	uint16_t i;

	n = RTE_MIN(n, (uint16_t)(q->size - r->tail));
	for (i = 0; i < n; i++) {
		uint32_t len = vireo_load_relaxed(&elem[i].len);

		if (unlikely(vireo_load_relaxed(&elem[i].id) != (uint32_t)(r->tail + i) ||
			     len > q->buf_bytes))
			break;
		lens[i] = len;
	}
	r->ready -= i;
	r->used_idx += i;
	r->tail = (r->tail + i) & q->mask;
	r->freed += i;
	return i;
}

/* Give back the ids of a chain once scrambled. */
vireo_inline void
split_free_ids(struct vq_drv *q, uint16_t id, uint16_t nb_desc)
{
	q->ids[q->nb_ids++] = id;
	while (--nb_desc != 0) {
		id = q->links[id];
		q->ids[q->nb_ids++] = id;
	}
}

/* Section 2.7.7.1: ask for an interrupt at the next used buffer, or for none. */
vireo_inline void
split_drv_arm(struct vq_drv *q, const uint32_t f)
{
	if (f & VQ_F_EVENT_IDX)
		vireo_store_relaxed(&q->ring.avail->ring[q->size], q->used_idx);
	else
		vireo_store_relaxed(&q->ring.avail->flags, 0);
}

/* Ask for no interrupt. */
vireo_inline void
split_drv_disarm(struct vq_drv *q, const uint32_t f)
{
	/* With EVENT_IDX there is no "never": park the index far ahead. */
	if (f & VQ_F_EVENT_IDX)
		vireo_store_relaxed(&q->ring.avail->ring[q->size],
				    (uint16_t)(q->used_idx + 0x8000));
	else
		vireo_store_relaxed(&q->ring.avail->flags, VIREO_AVAIL_F_NO_INTERRUPT);
}

/* Keep a parked event index ahead of what is used. */
vireo_inline void
split_drv_park(struct vq_drv *q)
{
	uint16_t event = vireo_load_relaxed(&q->ring.avail->ring[q->size]);

	if ((uint16_t)(event - q->used_idx) < 0x4000 || (uint16_t)(event - q->used_idx) > 0x8000)
		split_drv_disarm(q, VQ_F_EVENT_IDX);
}

/* --- Device side ------------------------------------------------------------------ */

/* How many buffers are there, into t. @return 1, 0, or -VQ_BAD_AVAIL_IDX: more than can be. */
vireo_inline int
split_avail_ready(struct vq_dev *q, struct vq_take *t, const uint32_t f)
{
	uint16_t ready;

	/* Pairs with the release in split_post_publish() of the driver. */
	ready = vireo_load_acquire(&q->ring.avail->idx) - q->avail_idx;
	if (f & VQ_F_ORDER_PLATFORM)
		vireo_platform_rmb();
	/* A buffer takes a descriptor, so there are never more of them than the ring is long. */
	if (unlikely((uint32_t)ready + q->nb_inflight > q->size))
		return -VQ_BAD_AVAIL_IDX;
	t->ready = ready;
	return ready != 0;
}

/* Head of the next chain. @return 1, or 0 when there is none. */
vireo_inline int
split_avail_get(struct vq_dev *q, struct vq_take *t, uint16_t *head)
{
	if (t->ready == 0)
		return 0;
	*head = vireo_load_relaxed(&q->ring.avail->ring[q->avail_idx & q->mask]);
	return 1;
}

/* Move behind the chain that split_avail_get() returned; it took one avail entry. */
vireo_inline void
split_avail_taken(struct vq_dev *q, struct vq_take *t, uint16_t nb_slots)
{
	(void)nb_slots;
	t->ready--;
	q->avail_idx++;
	q->nb_inflight++;
}

/* Undo split_avail_taken() of the last chain, before anything of it was used. */
vireo_inline void
split_avail_untaken(struct vq_dev *q, struct vq_take *t, uint16_t nb_slots)
{
	(void)nb_slots;
	t->ready++;
	q->avail_idx--;
	q->nb_inflight--;
}

/* Read one descriptor, once. In a ring or a table. */
vireo_inline void
split_desc_read(const void *table, uint32_t idx, struct vq_desc *out)
{
	const struct ring_desc *d = (const struct ring_desc *)table + idx;
	uint64_t word = vireo_load_relaxed((const uint64_t *)(const void *)&d->len);

	out->addr = vireo_load_relaxed(&d->addr);
	out->len = (uint32_t)word;
	out->flags = word >> 32;
	out->next = word >> 48;
}

/* Section 2.7.8.2: one used element; published later. */
vireo_inline void
split_used_put(struct vq_dev *q, uint16_t id, uint32_t len, uint16_t nb_buffers)
{
	struct ring_used_elem *elem = &q->ring.used->ring[q->used_idx & q->mask];

	vireo_store_relaxed(&elem->id, id);
	vireo_store_relaxed(&elem->len, len);
	q->used_idx += nb_buffers;
	q->nb_pending += nb_buffers;
}

/* Show a burst to the driver: everything up to q->used_idx. */
vireo_inline void
split_used_publish(struct vq_dev *q, const uint32_t f)
{
	if (f & VQ_F_ORDER_PLATFORM)
		vireo_platform_wmb();
	/* Pairs with the acquire in split_used_ready() of the driver. */
	vireo_store_release(&q->ring.used->idx, q->used_idx);
}

/* Section 2.7.7.2: must the driver be interrupted? The caller has fenced. */
vireo_inline bool
split_call_needed(struct vq_dev *q, const uint32_t f)
{
	uint16_t since = q->since_call;
	uint16_t event;

	q->since_call = 0;
	if ((f & VQ_F_EVENT_IDX) == 0)
		return (vireo_load_relaxed(&q->ring.avail->flags) & VIREO_AVAIL_F_NO_INTERRUPT) ==
			0;
	event = vireo_load_relaxed(&q->ring.avail->ring[q->size]);
	return (uint16_t)(q->used_idx - event - 1) < since;
}

/* Section 2.7.10: ask for a kick at the next available buffer, or at any. */
vireo_inline void
split_dev_arm(struct vq_dev *q, const uint32_t f)
{
	if (f & VQ_F_EVENT_IDX)
		vireo_store_relaxed((uint16_t *)(void *)&q->ring.used->ring[q->size], q->avail_idx);
	else
		vireo_store_relaxed(&q->ring.used->flags, 0);
}

/* Ask for no kick; with EVENT_IDX by parking the index far ahead, as split_drv_disarm(). */
vireo_inline void
split_dev_disarm(struct vq_dev *q, const uint32_t f)
{
	if (f & VQ_F_EVENT_IDX)
		vireo_store_relaxed((uint16_t *)(void *)&q->ring.used->ring[q->size],
				    (uint16_t)(q->avail_idx + 0x8000));
	else
		vireo_store_relaxed(&q->ring.used->flags, VIREO_USED_F_NO_NOTIFY);
}

/* Keep a parked event index ahead of what is available. */
vireo_inline void
split_dev_park(struct vq_dev *q)
{
	uint16_t event = vireo_load_relaxed((uint16_t *)(void *)&q->ring.used->ring[q->size]);

	if ((uint16_t)(event - q->avail_idx) < 0x4000 || (uint16_t)(event - q->avail_idx) > 0x8000)
		split_dev_disarm(q, VQ_F_EVENT_IDX);
}

#endif /* VIREO_VQ_SPLIT_H */
