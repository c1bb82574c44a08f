/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_VQ_DEVICE_H
#define VIREO_VQ_DEVICE_H

/*
 * The device end's data path: take a buffer, translate it, use it, publish a burst.
 * Templates as in vq_driver.h; all on the owner lcore.
 *
 *	while (vq_dev_next(q, &t, chain, f) > 0) {
 *		... read chain's out part, write its in part ...
 *		vq_dev_use(q, chain->id, chain->nb_slots, written, f);
 *	}
 *	vq_dev_publish(q, f);			one release store
 *	if (vq_call_needed(q, f)) call
 *
 * Everything read from the ring is the driver's and not to be trusted: each descriptor is
 * read once, checked, translated for its whole length, and bounded in number.
 */

#include "layout.h"

/* A piece of a buffer in this process's addresses. */
struct vq_iov {
	void *base;
	uint32_t len;
};

/* One buffer as the device sees it: nb_out readable pieces, then nb_in writable ones. */
struct vq_chain {
	uint16_t id;
	uint16_t nb_slots; /* ring slots taken */
	uint16_t nb_out;
	uint16_t nb_in;
	uint32_t out_bytes;
	uint32_t in_bytes;
	uint16_t max; /* pieces that iov holds; set by the caller */
	struct vq_iov iov[];
};

/** The other side broke the ring: remember why, once. */
vireo_cold void vireo_vq_dev_break(struct vq_dev *q, enum vq_violation v);

/**
 * Translate [addr, addr + *len) of the driver's memory: the first piece that is contiguous
 * here, *len cut down to it.
 *
 * @return its virtual address, or NULL: not in the driver's memory.
 */
vireo_inline void *
vq_dev_translate(struct vq_regions *rs, uint64_t addr, uint64_t *len)
{
	const struct vq_region *r;
	uint32_t i;

	if (rs == NULL)
		return (void *)(uintptr_t)addr;
	/* The table may have become shorter, down to nothing. */
	if (unlikely(rs->last >= rs->nb)) {
		if (rs->nb == 0)
			return NULL;
		rs->last = 0;
	}
	r = &rs->region[rs->last];
	for (i = 0; i <= rs->nb; i++) {
		uint64_t offset = addr - r->addr;

		if (likely(addr >= r->addr && offset < r->len_bytes)) {
			if (unlikely(*len > r->len_bytes - offset))
				*len = r->len_bytes - offset;
			rs->last = r - rs->region;
			return (void *)(r->va + offset);
		}
		if (i < rs->nb)
			r = &rs->region[i];
	}
	return NULL;
}

/* Add one descriptor's buffer to the chain. @return 0 or a violation. */
vireo_inline int
vq_chain_add(struct vq_dev *q, struct vq_chain *ch, const struct vq_desc *d)
{
	uint64_t addr = d->addr;
	uint32_t left = d->len;
	bool in = (d->flags & VIREO_DESC_F_WRITE) != 0;

	if (unlikely(!in && ch->nb_in != 0))
		return VQ_BAD_DESC_ORDER;
	if (in)
		ch->in_bytes += left;
	else
		ch->out_bytes += left;
	/* Lengths of a chain must not wrap: section 2.7.5 bounds the total at 2^32. */
	if (unlikely((in ? ch->in_bytes : ch->out_bytes) < left || addr + left < addr))
		return VQ_BAD_DESC_ADDR;
	while (left != 0) {
		uint64_t len = left;
		void *va = vq_dev_translate(q->regions, addr, &len);

		if (unlikely(va == NULL))
			return VQ_BAD_DESC_ADDR;
		if (unlikely(ch->nb_out + ch->nb_in == ch->max))
			return VQ_BAD_CHAIN_LEN;
		ch->iov[ch->nb_out + ch->nb_in] =
			(struct vq_iov){ .base = va, .len = (uint32_t)len };
		if (in)
			ch->nb_in++;
		else
			ch->nb_out++;
		addr += len;
		left -= len;
	}
	return 0;
}

/*
 * Sections 2.7.5.3.1 and 2.8.7: an indirect table. It lies in one piece here; a table that
 * straddles regions is refused. In a split table the links are followed, in a packed
 * one every entry counts.
 */
vireo_inline int
vq_chain_add_table(struct vq_dev *q, struct vq_chain *ch, const struct vq_desc *ind,
		   const uint32_t f)
{
	uint64_t len = ind->len;
	uint32_t n = ind->len / sizeof(struct ring_desc);
	uint32_t i, idx = 0;
	const void *table;

	if (unlikely((f & VQ_F_INDIRECT) == 0 || (ind->flags & VIREO_DESC_F_NEXT) != 0 || n == 0 ||
		     ind->len % sizeof(struct ring_desc) != 0 || (ind->addr & 7) != 0))
		return VQ_BAD_INDIRECT;
	table = vq_dev_translate(q->regions, ind->addr, &len);
	if (unlikely(table == NULL || len != ind->len))
		return VQ_BAD_DESC_ADDR;
	for (i = 0; i < n; i++) {
		struct vq_desc d;
		int rc;

		VQ_LAYOUT(f, desc_read, table, idx, &d);
		if (unlikely(d.flags & VIREO_DESC_F_INDIRECT))
			return VQ_BAD_INDIRECT;
		rc = vq_chain_add(q, ch, &d);
		if (unlikely(rc != 0))
			return rc;
		if (f & VQ_F_PACKED) {
			idx++;
			continue;
		}
		if ((d.flags & VIREO_DESC_F_NEXT) == 0)
			return 0;
		idx = d.next;
		if (unlikely(idx >= n))
			return VQ_BAD_DESC_IDX;
	}
	/* A split chain that has not ended after n links loops. */
	return (f & VQ_F_PACKED) ? 0 : VQ_BAD_DESC_IDX;
}

/*
 * Walk the chain at head. Split: links, at most ring size of them; direct descriptors may
 * be followed by one INDIRECT. Packed: consecutive slots, the id is the last one's, and a
 * list is of one kind.
 */
vireo_inline int
vq_chain_walk(struct vq_dev *q, struct vq_chain *ch, uint16_t head, const uint32_t f)
{
	uint32_t i, idx = head;

	if (unlikely(head >= q->size))
		return VQ_BAD_DESC_IDX;
	for (i = 0; i < q->size; i++) {
		struct vq_desc d;
		int rc;

		VQ_LAYOUT(f, desc_read, q->ring.desc, idx, &d);
		if (d.flags & VIREO_DESC_F_INDIRECT) {
			if ((f & VQ_F_PACKED) && unlikely(i != 0))
				return VQ_BAD_INDIRECT;
			rc = vq_chain_add_table(q, ch, &d, f);
			d.flags &= ~VIREO_DESC_F_NEXT;
		} else {
			rc = vq_chain_add(q, ch, &d);
		}
		if (unlikely(rc != 0))
			return rc;
		if ((d.flags & VIREO_DESC_F_NEXT) == 0) {
			ch->id = (f & VQ_F_PACKED) ? d.next : head;
			ch->nb_slots = i + 1;
			return 0;
		}
		if (f & VQ_F_PACKED)
			idx = idx + 1 == q->size ? 0 : idx + 1;
		else
			idx = d.next;
		if (unlikely(idx >= q->size))
			return VQ_BAD_DESC_IDX;
	}
	return (f & VQ_F_PACKED) ? VQ_BAD_CHAIN_LEN : VQ_BAD_DESC_IDX;
}

/**
 * Begin a burst: see what the driver has made available (one acquire load).
 *
 * @return 1 something is there, 0 nothing, -EPROTO broken.
 */
vireo_inline int
vq_dev_begin(struct vq_dev *q, struct vq_take *t, const uint32_t f)
{
	int rc;

	t->ready = 0;
	if (unlikely(q->broken))
		return -EPROTO;
	rc = VQ_LAYOUT(f, avail_ready, q, t, f);
	if (unlikely(rc < 0)) {
		vireo_vq_dev_break(q, (enum vq_violation) - rc);
		return -EPROTO;
	}
	return rc;
}

/**
 * Take the next buffer. ch->max pieces are there for it.
 *
 * @return 1, 0: none, -EPROTO: the driver broke the ring; nothing was taken.
 */
vireo_inline int
vq_dev_next(struct vq_dev *q, struct vq_take *t, struct vq_chain *ch, const uint32_t f)
{
	uint16_t head;
	int rc;

	if (unlikely(q->broken))
		return -EPROTO;
	if (VQ_LAYOUT(f, avail_get, q, t, &head) == 0)
		return 0;
	ch->nb_out = 0;
	ch->nb_in = 0;
	ch->out_bytes = 0;
	ch->in_bytes = 0;
	rc = vq_chain_walk(q, ch, head, f);
	/* More slots in flight than the ring has: a packed driver that runs over itself. */
	if (rc == 0 && (f & VQ_F_PACKED) && unlikely(q->nb_inflight + ch->nb_slots > q->size))
		rc = VQ_BAD_CHAIN_LEN;
	if (unlikely(rc != 0)) {
		vireo_vq_dev_break(q, (enum vq_violation)rc);
		return -EPROTO;
	}
	VQ_LAYOUT(f, avail_taken, q, t, ch->nb_slots);
	return 1;
}

/**
 * Put the buffer taken last back, as if vq_dev_next() had not been called; only before any
 * other buffer is taken.
 */
vireo_inline void
vq_dev_untake(struct vq_dev *q, struct vq_take *t, const struct vq_chain *ch, const uint32_t f)
{
	VQ_LAYOUT(f, avail_untaken, q, t, ch->nb_slots);
}

/**
 * A buffer was used: written bytes of its in part. In any order, unless IN_ORDER was
 * negotiated. Published by vq_dev_publish().
 */
vireo_inline void
vq_dev_use(struct vq_dev *q, uint16_t id, uint16_t nb_slots, uint32_t written, const uint32_t f)
{
	VQ_LAYOUT(f, used_put, q, id, written, (f & VQ_F_PACKED) ? nb_slots : 1);
	q->nb_inflight -= (f & VQ_F_PACKED) ? nb_slots : 1;
}

/**
 * IN_ORDER: one used element for the nb_buffers oldest buffers, nb_slots slots in all; id and
 * written are the last one's, all others count as used wholly (section 2.7.11).
 */
vireo_inline void
vq_dev_use_batch(struct vq_dev *q, uint16_t id, uint16_t nb_buffers, uint16_t nb_slots,
		 uint32_t written, const uint32_t f)
{
	VQ_LAYOUT(f, used_put, q, id, written, (f & VQ_F_PACKED) ? nb_slots : nb_buffers);
	q->nb_inflight -= (f & VQ_F_PACKED) ? nb_slots : nb_buffers;
}

/** Publish what was used since the last call, if anything: one release store. */
vireo_inline void
vq_dev_publish(struct vq_dev *q, const uint32_t f)
{
	if (q->nb_pending == 0)
		return;
	VQ_LAYOUT(f, used_publish, q, f);
	q->since_call += q->nb_pending;
	q->nb_pending = 0;
	if ((f & VQ_F_EVENT_IDX) && q->armed == 0)
		VQ_LAYOUT(f, dev_park, q);
}

/**
 * Must the driver be interrupted for what was published since the last call? Costs a full
 * fence, which pairs with the one in vq_drv_arm().
 */
vireo_inline bool
vq_call_needed(struct vq_dev *q, const uint32_t f)
{
	if (q->since_call == 0)
		return false;
	vireo_full_fence();
	return VQ_LAYOUT(f, call_needed, q, f);
}

/**
 * Ask for a kick at the next available buffer, then look again.
 *
 * @return true when buffers are waiting already: do not sleep.
 */
vireo_inline bool
vq_dev_arm(struct vq_dev *q, const uint32_t f)
{
	struct vq_take t;

	q->armed = 1;
	VQ_LAYOUT(f, dev_arm, q, f);
	/* The wish must be visible before the look; pairs with the fence in vq_kick_needed(). */
	vireo_full_fence();
	return vq_dev_begin(q, &t, f) > 0;
}

/** Polling again: no kicks. */
vireo_inline void
vq_dev_disarm(struct vq_dev *q, const uint32_t f)
{
	q->armed = 0;
	VQ_LAYOUT(f, dev_disarm, q, f);
}

#endif /* VIREO_VQ_DEVICE_H */
