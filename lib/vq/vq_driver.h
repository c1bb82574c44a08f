/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_VQ_DRIVER_H
#define VIREO_VQ_DRIVER_H

/*
 * The driver end's data path: post buffers, publish a burst, take used ones back.
 * Templates: f is a constant set of VQ_F_*. All functions run on the owner lcore, inside
 * the queue's turnstile.
 *
 *	vq_post_begin(q, &c);
 *	while (... && room) vq_post_single(q, &c, addr, len, flags, cookie, f);
 *	vq_post_end(q, &c, f);			one release store
 *	if (vq_kick_needed(q, f)) kick
 *
 *	vq_reap_begin(q, &r, f)			one acquire load
 *	while (vq_reap_next(q, &r, &done, f) > 0) ...
 *	vq_reap_end(q, &r, f);
 *
 * Room is counted in slots: q->nb_free - c.taken may be posted.
 */

#include "layout.h"
#include "vq_pool.h"

/** The other side broke the ring: remember why, once. The queue is used no more. */
vireo_cold void vireo_vq_drv_break(struct vq_drv *q, enum vq_violation v);

/**
 * First completion out of order: from now on ids come from a stack and cookies say what
 * is in flight. r is the state of the running reap. O(size), once in a queue's life.
 */
vireo_cold void vireo_vq_drv_scramble(struct vq_drv *q, const struct vq_reap *r);

/* --- Posting ---------------------------------------------------------------------- */

/** Begin a burst: c, a local, moves ahead of the queue until the burst is published. */
vireo_inline void
vq_post_begin(const struct vq_drv *q, struct vq_post *c)
{
	c->slot = q->head;
	c->taken = 0;
	c->avail_idx = q->avail_idx;
	c->wrap = q->avail_wrap;
	c->first_slot = q->head;
	c->first_flags = 0;
}

/** Slots that may still be posted in this burst. */
vireo_inline uint16_t
vq_post_room(const struct vq_drv *q, const struct vq_post *c)
{
	return q->nb_free - c->taken;
}

/* The id of the next buffer: its first slot, or one from the stack. */
vireo_inline uint16_t
vq_post_id(struct vq_drv *q, const struct vq_post *c)
{
	return likely(q->scrambled == 0) ? c->slot : q->ids[--q->nb_ids];
}

/**
 * Remember what the completion of a buffer must be checked against; VQ_F_SINGLE queues need none.
 */
vireo_inline void
vq_post_meta(struct vq_drv *q, uint16_t id, uint32_t len, uint16_t nb_desc, uint16_t table,
	     const uint32_t f)
{
	if ((f & VQ_F_SINGLE) == 0)
		q->meta[id] = (struct vq_meta){ .len = len, .nb_desc = nb_desc, .table = table };
}

/**
 * Post one buffer as one descriptor. dflags: 0 (the device reads) or VIREO_DESC_F_WRITE.
 * Room for one slot must have been checked.
 */
vireo_inline void
vq_post_single(struct vq_drv *q, struct vq_post *c, uint64_t addr, uint32_t len, uint16_t dflags,
	       void *cookie, const uint32_t f)
{
	uint16_t id = vq_post_id(q, c);

	q->cookie[id] = cookie;
	vq_post_meta(q, id, dflags != 0 ? len : 0, 1, VQ_TABLE_NONE, f);
	VQ_LAYOUT(f, put, q, c, id, id, addr, len, dflags, 0);
	VQ_LAYOUT(f, put_head, q, c, id);
	c->taken++;
}

/**
 * As vq_post_single(), for an unscrambled queue whose cookie the caller has put into
 * q->cookie[c->slot] already (bulk refill).
 */
vireo_inline void
vq_post_placed(struct vq_drv *q, struct vq_post *c, uint64_t addr, uint32_t len, uint16_t dflags,
	       const uint32_t f)
{
	uint16_t id = c->slot;

	vq_post_meta(q, id, dflags != 0 ? len : 0, 1, VQ_TABLE_NONE, f);
	VQ_LAYOUT(f, put, q, c, id, id, addr, len, dflags, 0);
	VQ_LAYOUT(f, put_head, q, c, id);
	c->taken++;
}

/* A buffer of several direct descriptors under way. */
struct vq_chain_post {
	uint16_t head_id;
	uint16_t id; /* of the descriptor to be written next */
};

/**
 * Begin a direct chain of nb_desc (at least 1) descriptors; in_len: bytes that the device
 * may write. Then vq_chain_seg() exactly nb_desc times, last with more == false.
 */
vireo_inline void
vq_chain_begin(struct vq_drv *q, struct vq_post *c, struct vq_chain_post *ch, uint16_t nb_desc,
	       uint32_t in_len, void *cookie, const uint32_t f)
{
	ch->head_id = vq_post_id(q, c);
	ch->id = ch->head_id;
	q->cookie[ch->head_id] = cookie;
	vq_post_meta(q, ch->head_id, in_len, nb_desc, VQ_TABLE_NONE, f);
	VQ_LAYOUT(f, put_head, q, c, ch->head_id);
	c->taken += nb_desc;
}

/** Write the next descriptor of a direct chain; more: another one follows. */
vireo_inline void
vq_chain_seg(struct vq_drv *q, struct vq_post *c, struct vq_chain_post *ch, uint64_t addr,
	     uint32_t len, uint16_t dflags, bool more, const uint32_t f)
{
	uint16_t next = 0;

	if (more) {
		next = VQ_LAYOUT(f, next_id, q, ch->id);
		dflags |= VIREO_DESC_F_NEXT;
	}
	VQ_LAYOUT(f, put, q, c, ch->id, ch->head_id, addr, len, dflags, next);
	ch->id = next;
}

/** Write entry i of an indirect table; last: no NEXT in a split table. */
vireo_inline void
vq_table_seg(void *table, uint16_t i, uint64_t addr, uint32_t len, uint16_t dflags, bool last,
	     const uint32_t f)
{
	struct ring_desc *d = (struct ring_desc *)table + i;

	/* Both kinds of descriptor have the address first; a packed table has no links. */
	if (f & VQ_F_PACKED) {
		split_desc_write(d, addr, packed_desc_word(len, 0, dflags));
		return;
	}
	if (!last)
		dflags |= VIREO_DESC_F_NEXT;
	split_desc_write(d, addr, split_desc_word(len, dflags, i + 1));
}

/**
 * Post a buffer whose nb_desc descriptors were written into a table (section 2.7.5.3 and
 * 2.8.7). handle: of the pools, or VQ_TABLE_EXT with ext its memory.
 */
vireo_inline void
vq_post_indirect(struct vq_drv *q, struct vq_post *c, uint64_t table_addr, uint16_t nb_desc,
		 uint16_t handle, void *ext, uint32_t in_len, void *cookie, const uint32_t f)
{
	uint16_t id = vq_post_id(q, c);

	q->cookie[id] = cookie;
	vq_post_meta(q, id, in_len, 1, handle, f);
	if (handle == VQ_TABLE_EXT)
		q->ext_table[id] = ext;
	VQ_LAYOUT(f, put, q, c, id, id, table_addr, (uint32_t)nb_desc * sizeof(struct ring_desc),
		  VIREO_DESC_F_INDIRECT, 0);
	VQ_LAYOUT(f, put_head, q, c, id);
	c->taken++;
}

/** Publish what was posted since vq_post_begin(), if anything: one release store. */
vireo_inline void
vq_post_end(struct vq_drv *q, const struct vq_post *c, const uint32_t f)
{
	if (c->taken == 0)
		return;
	q->since_kick += (f & VQ_F_PACKED) ? c->taken : (uint16_t)(c->avail_idx - q->avail_idx);
	q->head = c->slot;
	q->nb_free -= c->taken;
	q->avail_idx = c->avail_idx;
	q->avail_wrap = c->wrap;
	VQ_LAYOUT(f, post_publish, q, c, f);
}

/**
 * Must the device be kicked for what was published since the last call? Costs a full
 * fence: what was published must be visible before the device's wish is read; pairs
 * with the fence in vq_dev_arm().
 */
vireo_inline bool
vq_kick_needed(struct vq_drv *q, const uint32_t f)
{
	if (q->since_kick == 0)
		return false;
	vireo_full_fence();
	return VQ_LAYOUT(f, kick_needed, q, f);
}

/* --- Taking back ------------------------------------------------------------------ */

struct vq_done {
	void *cookie;
	uint32_t len; /* bytes the device wrote; 0 with VQ_F_NO_LEN */
	uint16_t id;
	uint16_t table; /* VQ_TABLE_EXT: the caller frees q->ext_table[id] */
	bool single; /* one direct descriptor */
};

/** @return 0, or -EPROTO when the queue is broken (now or before). */
vireo_inline int
vq_reap_begin(struct vq_drv *q, struct vq_reap *r, const uint32_t f)
{
	int rc;

	r->tail = q->tail;
	r->freed = 0;
	r->ready = 0;
	r->used_idx = q->used_idx;
	r->used_wrap = q->used_wrap;
	if (unlikely(q->broken))
		return -EPROTO;
	rc = VQ_LAYOUT(f, used_ready, q, r, f);
	if (unlikely(rc != 0)) {
		vireo_vq_drv_break(q, (enum vq_violation) - rc);
		return -EPROTO;
	}
	return 0;
}

/*
 * VIRTIO 1.3 section 2.7.11 and 2.8.6, IN_ORDER: one used element may stand for a batch of
 * buffers, its id being the last one's. Finds the next buffer's id and length.
 */
vireo_inline int
vq_reap_in_order(struct vq_drv *q, struct vq_reap *r, uint32_t *id, uint32_t *len, const uint32_t f)
{
	uint32_t used_id, used_len;
	int rc;

	if ((f & (VQ_F_PACKED | VQ_F_NO_LEN)) == VQ_F_NO_LEN) {
		/* Split: the index alone says how many came back, and from where. */
		*id = r->tail;
		*len = 0;
		return r->ready != 0;
	}
	if (q->in_batch == 0) {
		rc = VQ_LAYOUT(f, used_get, q, r, &used_id, &used_len);
		if (rc <= 0)
			return rc;
		if (unlikely(used_id >= q->size))
			return -VQ_BAD_USED_ID;
		q->batch_id = used_id;
		q->batch_len = used_len;
		q->in_batch = 1;
	}
	/* A batch that ends nowhere: the id named was not in flight behind the tail. */
	if (unlikely(r->used_idx == q->avail_idx || ((f & VQ_F_PACKED) == 0 && r->ready == 0)))
		return -VQ_BAD_USED_ID;
	*id = r->tail;
	if (r->tail == q->batch_id) {
		q->in_batch = 0;
		*len = q->batch_len;
	} else {
		/* Skipped buffers were used wholly; nothing else is known of them. */
		*len = (f & VQ_F_SINGLE) ? q->buf_bytes : q->meta[r->tail].len;
	}
	return 1;
}

/* Identify the next used buffer. @return 1, 0 (none), or -violation. */
vireo_inline int
vq_reap_identify(struct vq_drv *q, struct vq_reap *r, uint32_t *id, uint32_t *len, const uint32_t f)
{
	int rc;

	if (f & VQ_F_IN_ORDER)
		return vq_reap_in_order(q, r, id, len, f);
	rc = VQ_LAYOUT(f, used_get, q, r, id, len);
	if (rc <= 0)
		return rc;
	if (likely(*id == r->tail && q->scrambled == 0))
		return 1;
	if (unlikely(*id >= q->size))
		return -VQ_BAD_USED_ID;
	if (q->scrambled == 0)
		vireo_vq_drv_scramble(q, r);
	return likely(q->cookie[*id] != NULL) ? 1 : -VQ_BAD_USED_ID;
}

/**
 * Take the next used buffer back. Its pool table is given back here; an external one is the
 * caller's to free.
 *
 * @return 1 with *d filled, 0: no more, -EPROTO: the queue is broken; nothing was taken.
 */
vireo_inline int
vq_reap_next(struct vq_drv *q, struct vq_reap *r, struct vq_done *d, const uint32_t f)
{
	struct vq_meta meta = { .len = q->buf_bytes, .nb_desc = 1, .table = VQ_TABLE_NONE };
	uint32_t id, len;
	int rc;

	rc = vq_reap_identify(q, r, &id, &len, f);
	if (rc == 0)
		return 0;
	if (likely(rc > 0)) {
		if ((f & VQ_F_SINGLE) == 0)
			meta = q->meta[id];
		if ((f & VQ_F_NO_LEN) == 0 && unlikely(len > meta.len))
			rc = -VQ_BAD_USED_LEN;
	}
	if (unlikely(rc < 0)) {
		vireo_vq_drv_break(q, (enum vq_violation) - rc);
		return -EPROTO;
	}
	d->cookie = q->cookie[id];
	d->len = (f & VQ_F_NO_LEN) ? 0 : len;
	d->id = id;
	d->table = meta.table;
	d->single = meta.nb_desc == 1 && meta.table == VQ_TABLE_NONE;
	if (meta.table < VQ_TABLE_EXT)
		vq_table_give(q, meta.table);
	if (unlikely(q->scrambled != 0)) {
		q->cookie[id] = NULL;
		VQ_LAYOUT(f, free_ids, q, id, meta.nb_desc);
	}
	VQ_LAYOUT(f, used_taken, q, r, meta.nb_desc);
	return 1;
}

/**
 * The quick way for VQ_F_SINGLE queues: take back up to max buffers that lie one behind
 * the other and came in order. *cookies points at their cookies, lens gets their used
 * lengths. What ends the run early (ring end, another order, a violation, a batch) is left to
 * the next call or to vq_reap_next().
 *
 * @return how many, 0: use vq_reap_next().
 */
vireo_inline uint16_t
vq_reap_run(struct vq_drv *q, struct vq_reap *r, void ***cookies, uint32_t *lens, uint16_t max,
	    const uint32_t f)
{
	/* in_batch is ever set with IN_ORDER only; the template need not know. */
	if (unlikely((q->scrambled | q->in_batch) != 0))
		return 0;
	*cookies = &q->cookie[r->tail];
	return VQ_LAYOUT(f, used_run, q, r, lens, max);
}

/** Write the reap's state back: the slots are free again. */
vireo_inline void
vq_reap_end(struct vq_drv *q, const struct vq_reap *r, const uint32_t f)
{
	if (r->freed == 0)
		return;
	q->tail = r->tail;
	q->used_idx = r->used_idx;
	q->used_wrap = r->used_wrap;
	q->nb_free += r->freed;
	if ((f & VQ_F_EVENT_IDX) && q->armed == 0)
		VQ_LAYOUT(f, drv_park, q);
}

/* --- Sleeping --------------------------------------------------------------------- */

/** Is a used buffer waiting? Changes nothing. */
vireo_inline bool
vq_drv_pending(struct vq_drv *q, const uint32_t f)
{
	struct vq_reap r;
	uint32_t id, len;

	if (vq_reap_begin(q, &r, f) != 0)
		return false;
	if (q->in_batch)
		return true;
	return VQ_LAYOUT(f, used_get, q, &r, &id, &len) > 0;
}

/**
 * Ask for an interrupt at the next used buffer, then look again.
 *
 * @return true when buffers are waiting already: do not sleep.
 */
vireo_inline bool
vq_drv_arm(struct vq_drv *q, const uint32_t f)
{
	q->armed = 1;
	VQ_LAYOUT(f, drv_arm, q, f);
	/* The wish must be visible before the look; pairs with the fence in vq_call_needed(). */
	vireo_full_fence();
	return vq_drv_pending(q, f);
}

/** Polling again: no interrupts. */
vireo_inline void
vq_drv_disarm(struct vq_drv *q, const uint32_t f)
{
	q->armed = 0;
	VQ_LAYOUT(f, drv_disarm, q, f);
}

#endif /* VIREO_VQ_DRIVER_H */
