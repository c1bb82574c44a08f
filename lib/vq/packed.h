/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_VQ_PACKED_H
#define VIREO_VQ_PACKED_H

/*
 * Packed ring primitives, VIRTIO 1.3 section 2.8: the twin of split.h, function by
 * function; layout.h chooses between them.
 */

#include "../base/barrier.h"
#include "cursor.h"
#include "vq.h"

#define PACKED_BITS (VIREO_DESC_F_AVAIL | VIREO_DESC_F_USED)

/* Section 2.8.13: len, id and flags lie in one word behind the address. */
vireo_inline uint64_t
packed_desc_word(uint32_t len, uint16_t id, uint16_t flags)
{
	return (uint64_t)len | (uint64_t)id << 32 | (uint64_t)flags << 48;
}

/* The word of a descriptor: one load, so that flags, id and length belong together. */
vireo_inline uint64_t
packed_word_load(const struct ring_packed_desc *d)
{
	/* Pairs with the release in packed_post_publish() or packed_used_publish(). */
	return vireo_load_acquire((const uint64_t *)(const void *)&d->len);
}

/*
 * The slot n further on; at the ring's end it starts again and *wrap, the bits of a state, turns
 * over.
 */
vireo_inline uint16_t
packed_wrap_add(uint16_t slot, uint16_t n, uint16_t size, uint16_t *wrap)
{
	uint32_t next = (uint32_t)slot + n;

	if (unlikely(next >= size)) {
		next -= size;
		*wrap ^= PACKED_BITS;
	}
	return next;
}

/* --- Driver side ------------------------------------------------------------------ */

/* As split_next_id(); a packed chain has one id and no links. */
vireo_inline uint16_t
packed_next_id(struct vq_drv *q, uint16_t id)
{
	(void)q;
	return id;
}

/*
 * Section 2.8.21.1: fill the next slot. The first one of a burst keeps a state that is
 * not available until publish; all the others may show their flags at once, since the
 * device takes descriptors in ring order.
 */
vireo_inline void
packed_put(struct vq_drv *q, struct vq_post *c, uint16_t id, uint16_t head_id, uint64_t addr,
	   uint32_t len, uint16_t flags, uint16_t next)
{
	struct ring_packed_desc *d = &q->ring.pdesc[c->slot];

	(void)id;
	(void)next;
	flags |= c->wrap;
	if (c->slot == c->first_slot) {
		c->first_flags = flags;
		flags ^= PACKED_BITS;
	}
	vireo_store_relaxed(&d->addr, addr);
	/* Release: behind the first, flags are seen only with what they stand for. */
	vireo_store_release((uint64_t *)(void *)&d->len, packed_desc_word(len, head_id, flags));
	c->slot = packed_wrap_add(c->slot, 1, q->size, &c->wrap);
}

/* As split_put_head(); a packed ring has no heads, so that only the count moves. */
vireo_inline void
packed_put_head(struct vq_drv *q, struct vq_post *c, uint16_t head_id)
{
	(void)q;
	(void)head_id;
	c->avail_idx++;
}

/* Show a burst to the device: its first descriptor, which packed_put() held back. */
vireo_inline void
packed_post_publish(struct vq_drv *q, const struct vq_post *c, const uint32_t f)
{
	if (f & VQ_F_ORDER_PLATFORM)
		vireo_platform_wmb();
	/* Section 2.8.21.2; pairs with the acquire in packed_word_load() of the device. */
	vireo_store_release(&q->ring.pdesc[c->first_slot].flags, c->first_flags);
}

/*
 * Section 2.8.10: does the other side want to hear of the `since` slots that end before
 * new_slot? wrap is the wrap counter at new_slot.
 */
vireo_inline bool
packed_event_reached(const struct ring_event *ev, uint16_t new_slot, bool wrap, uint16_t since,
		     uint16_t size, const uint32_t f)
{
	uint32_t word = vireo_load_relaxed((const uint32_t *)(const void *)ev);
	uint16_t flags = word >> 16;
	int32_t distance;

	if ((f & VQ_F_EVENT_IDX) == 0 || flags != VIREO_EVENT_F_DESC)
		return flags != VIREO_EVENT_F_DISABLE;
	distance = (int32_t)new_slot - (int32_t)(word & VIREO_EVENT_OFF_MASK);
	/* Another wrap counter: the event's slot lies one lap back. */
	if (((word >> VIREO_EVENT_WRAP_BIT) & 1) != wrap)
		distance += size;
	return distance >= 1 && distance <= since;
}

/* Section 2.8.21.3: must the device be kicked? The caller has fenced. */
vireo_inline bool
packed_kick_needed(struct vq_drv *q, const uint32_t f)
{
	uint16_t since = q->since_kick;

	q->since_kick = 0;
	return packed_event_reached(q->ring.dev_event, q->head,
				    (q->avail_wrap & VIREO_DESC_F_AVAIL) != 0, since, q->size, f);
}

/* As split_used_ready(); here packed_used_get() looks at each descriptor itself. @return 0. */
vireo_inline int
packed_used_ready(struct vq_drv *q, struct vq_reap *r, const uint32_t f)
{
	(void)q;
	(void)r;
	(void)f;
	return 0;
}

/* Section 2.8.22: the next used descriptor, read once. @return 1, or 0 when there is none. */
vireo_inline int
packed_used_get(struct vq_drv *q, struct vq_reap *r, uint32_t *id, uint32_t *len)
{
	uint64_t word;

	if (r->used_idx == q->avail_idx)
		return 0;
	word = packed_word_load(&q->ring.pdesc[r->tail]);
	if (((word >> 48) & PACKED_BITS) != r->used_wrap)
		return 0;
	*id = (uint16_t)(word >> 32);
	/* Section 2.8.5: without WRITE the length is reserved. */
	*len = ((word >> 48) & VIREO_DESC_F_WRITE) != 0 ? (uint32_t)word : 0;
	return 1;
}

/* Move behind the buffer that packed_used_get() returned; it held nb_desc slots. */
vireo_inline void
packed_used_taken(struct vq_drv *q, struct vq_reap *r, uint16_t nb_desc)
{
	r->used_idx++;
	r->tail = packed_wrap_add(r->tail, nb_desc, q->size, &r->used_wrap);
	r->freed += nb_desc;
}

/* As split_used_run(). */
vireo_inline uint16_t
packed_used_run(struct vq_drv *q, struct vq_reap *r, uint32_t *lens, uint16_t max)
{
	const struct ring_packed_desc *d = &q->ring.pdesc[r->tail];
	uint16_t n = RTE_MIN(max, (uint16_t)(q->avail_idx - r->used_idx));
	uint16_t i;

	n = RTE_MIN(n, (uint16_t)(q->size - r->tail));
	for (i = 0; i < n; i++) {
		uint64_t word = packed_word_load(&d[i]);

		if (((word >> 48) & PACKED_BITS) != r->used_wrap)
			break;
		if (unlikely((uint16_t)(word >> 32) != (uint16_t)(r->tail + i) ||
			     (uint32_t)word > q->buf_bytes))
			break;
		lens[i] = (uint32_t)word;
	}
	r->used_idx += i;
	r->tail = packed_wrap_add(r->tail, i, q->size, &r->used_wrap);
	r->freed += i;
	return i;
}

/* Give back the id of a chain once scrambled: one, however long the chain was. */
vireo_inline void
packed_free_ids(struct vq_drv *q, uint16_t id, uint16_t nb_desc)
{
	(void)nb_desc;
	q->ids[q->nb_ids++] = id;
}

/* Section 2.8.14: both halves of an event structure in one store. */
vireo_inline void
packed_event_store(struct ring_event *ev, uint16_t off_wrap, uint16_t flags)
{
	vireo_store_relaxed((uint32_t *)(void *)ev, (uint32_t)off_wrap | (uint32_t)flags << 16);
}

/* Section 2.8.10: ask for an interrupt at the next used descriptor, or for none. */
vireo_inline void
packed_drv_arm(struct vq_drv *q, const uint32_t f)
{
	uint16_t wrap = (q->used_wrap & VIREO_DESC_F_USED) != 0;

	if (f & VQ_F_EVENT_IDX)
		packed_event_store(q->ring.drv_event,
				   q->tail | (uint16_t)(wrap << VIREO_EVENT_WRAP_BIT),
				   VIREO_EVENT_F_DESC);
	else
		packed_event_store(q->ring.drv_event, 0, VIREO_EVENT_F_ENABLE);
}

/* Ask for no interrupt, for ever: packed rings can say so with EVENT_IDX too. */
vireo_inline void
packed_drv_disarm(struct vq_drv *q, const uint32_t f)
{
	(void)f;
	packed_event_store(q->ring.drv_event, 0, VIREO_EVENT_F_DISABLE);
}

/* As split_drv_park(); nothing to keep ahead. */
vireo_inline void
packed_drv_park(struct vq_drv *q)
{
	(void)q;
}

/* --- Device side ------------------------------------------------------------------ */

/* Is a buffer there? @return 1 or 0. */
vireo_inline int
packed_avail_ready(struct vq_dev *q, struct vq_take *t, const uint32_t f)
{
	uint64_t word = packed_word_load(&q->ring.pdesc[q->avail_idx]);

	(void)t;
	if (f & VQ_F_ORDER_PLATFORM)
		vireo_platform_rmb();
	return ((word >> 48) & PACKED_BITS) == q->avail_wrap;
}

/* The chain starts at the slot itself; its id comes with the last descriptor. */
vireo_inline int
packed_avail_get(struct vq_dev *q, struct vq_take *t, uint16_t *head)
{
	uint64_t word = packed_word_load(&q->ring.pdesc[q->avail_idx]);

	(void)t;
	*head = q->avail_idx;
	return ((word >> 48) & PACKED_BITS) == q->avail_wrap;
}

/* Move behind the chain that packed_avail_get() returned; it held nb_slots slots. */
vireo_inline void
packed_avail_taken(struct vq_dev *q, struct vq_take *t, uint16_t nb_slots)
{
	(void)t;
	q->avail_idx = packed_wrap_add(q->avail_idx, nb_slots, q->size, &q->avail_wrap);
	q->nb_inflight += nb_slots;
}

/* Undo packed_avail_taken() of the last chain, before anything of it was used. */
vireo_inline void
packed_avail_untaken(struct vq_dev *q, struct vq_take *t, uint16_t nb_slots)
{
	(void)t;
	if (q->avail_idx < nb_slots) {
		q->avail_idx += q->size;
		q->avail_wrap ^= PACKED_BITS;
	}
	q->avail_idx -= nb_slots;
	q->nb_inflight -= nb_slots;
}

/* As split_desc_read(); here next is the buffer id. */
vireo_inline void
packed_desc_read(const void *table, uint32_t idx, struct vq_desc *out)
{
	const struct ring_packed_desc *d = (const struct ring_packed_desc *)table + idx;
	uint64_t word = packed_word_load(d);

	out->addr = vireo_load_relaxed(&d->addr);
	out->len = (uint32_t)word;
	out->next = word >> 32;
	out->flags = word >> 48;
}

/*
 * Section 2.8.22: write one used descriptor over nb_slots slots. The first of a burst is
 * held back: the driver reads in ring order and stops there.
 */
vireo_inline void
packed_used_put(struct vq_dev *q, uint16_t id, uint32_t len, uint16_t nb_slots)
{
	struct ring_packed_desc *d = &q->ring.pdesc[q->used_idx];
	uint16_t flags = q->used_wrap;

	/* Section 2.8.9: the length counts only with WRITE. */
	if (len != 0)
		flags |= VIREO_DESC_F_WRITE;
	if (q->nb_pending == 0) {
		q->pend_first = q->used_idx;
		q->pend_flags = flags;
		flags ^= VIREO_DESC_F_USED;
	}
	/* Release: behind the first, flags are seen only with the buffers they stand for. */
	vireo_store_release((uint64_t *)(void *)&d->len, packed_desc_word(len, id, flags));
	q->used_idx = packed_wrap_add(q->used_idx, nb_slots, q->size, &q->used_wrap);
	q->nb_pending += nb_slots;
}

/* Show a burst to the driver: its first used descriptor, which packed_used_put() held back. */
vireo_inline void
packed_used_publish(struct vq_dev *q, const uint32_t f)
{
	if (f & VQ_F_ORDER_PLATFORM)
		vireo_platform_wmb();
	/* Pairs with the acquire in packed_word_load() of the driver. */
	vireo_store_release(&q->ring.pdesc[q->pend_first].flags, q->pend_flags);
}

/* Section 2.8.10: must the driver be interrupted? The caller has fenced. */
vireo_inline bool
packed_call_needed(struct vq_dev *q, const uint32_t f)
{
	uint16_t since = q->since_call;

	q->since_call = 0;
	return packed_event_reached(q->ring.drv_event, q->used_idx,
				    (q->used_wrap & VIREO_DESC_F_USED) != 0, since, q->size, f);
}

/* Section 2.8.10: ask for a kick at the next available descriptor, or at any. */
vireo_inline void
packed_dev_arm(struct vq_dev *q, const uint32_t f)
{
	uint16_t wrap = (q->avail_wrap & VIREO_DESC_F_AVAIL) != 0;

	if (f & VQ_F_EVENT_IDX)
		packed_event_store(q->ring.dev_event,
				   q->avail_idx | (uint16_t)(wrap << VIREO_EVENT_WRAP_BIT),
				   VIREO_EVENT_F_DESC);
	else
		packed_event_store(q->ring.dev_event, 0, VIREO_EVENT_F_ENABLE);
}

/* Ask for no kick, for ever. */
vireo_inline void
packed_dev_disarm(struct vq_dev *q, const uint32_t f)
{
	(void)f;
	packed_event_store(q->ring.dev_event, 0, VIREO_EVENT_F_DISABLE);
}

/* As split_dev_park(); nothing to keep ahead. */
vireo_inline void
packed_dev_park(struct vq_dev *q)
{
	(void)q;
}

#endif /* VIREO_VQ_PACKED_H */
