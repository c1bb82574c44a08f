/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef NET_TX_TMPL_H
#define NET_TX_TMPL_H

/*
 * Transmit: one template, instantiated in rxtx.c for each set of constant flags f. Runs on
 * the lcore that owns the queue, inside its gate.
 *
 * One segment with room for the header in front: one descriptor. Everything else (several
 * segments, clones, external buffers, no headroom) goes through tx_multi(): an indirect
 * table where the policy and the pools allow one, a direct chain otherwise.
 */

#include <rte_prefetch.h>

#include "offload.h"
#include "rxtx.h"

#define NET_TX_FREE 64 /* mbufs given back in one go */
#define NET_TX_RECLAIM_MIN 32 /* packets that a burst takes back when it must */

/* refcnt 1 and nb_segs 1 in the word that begins with data_off and ends with the port. */
#define NET_TX_PLAIN_MASK 0x0000ffffffff0000u
#define NET_TX_PLAIN_WORD 0x0000000100010000u

VIREO_STATIC_ASSERT(offsetof(struct rte_mbuf, refcnt) == offsetof(struct rte_mbuf, data_off) + 2,
		    "mbuf layout");
VIREO_STATIC_ASSERT(offsetof(struct rte_mbuf, nb_segs) == offsetof(struct rte_mbuf, data_off) + 4,
		    "mbuf layout");

/* A packet on its way into the ring: what the chain and table writers need. */
struct net_tx_plan {
	uint16_t nb_desc; /* segments, plus one when the header has its own */
	bool push; /* header goes into the first segment's headroom */
	uint64_t hdr_addr; /* else: where it lies */
};

/** Table for nb_desc descriptors from the mempool or malloc: tx.c. */
struct vq_table net_tx_ext_table(struct net_txq *txq, uint16_t nb_desc);
/** Free a table of net_tx_ext_table(): tx.c. */
void net_tx_ext_free(void *table, void *txq);
/** Free packets that the device has used, in bulk; one_pool: FAST_FREE's promise holds: tx.c. */
void net_tx_free(struct rte_mbuf **mbufs, uint16_t nb, bool one_pool);
/** Packets that can never be sent: free and count: tx.c. */
vireo_cold void net_tx_drop(struct net_txq *txq, struct rte_mbuf *m, uint64_t *reason);
/** check_mem: does all of m lie in memory that the device has? tx.c. */
vireo_cold bool net_tx_mem_ok(const struct rte_mbuf *m);

/*
 * Take used packets back, at most max, and free them. FAST_FREE promises one pool and
 * refcnt 1; a packet of one slot and no table is one mbuf then, and is not even looked at.
 *
 * @return how many packets.
 */
vireo_inline uint32_t
tx_reclaim(struct net_txq *txq, uint32_t max, const uint32_t f)
{
	bool fast = (txq->offloads & NET_TX_FAST_FREE) != 0, one_pool = fast;
	struct rte_mbuf *batch[NET_TX_FREE];
	struct vq_drv *q = &txq->vq;
	uint32_t n = 0, nb = 0;
	struct vq_done done;
	struct vq_reap r;

	if (unlikely(vq_reap_begin(q, &r, f) != 0))
		return 0;
	while (n < max && vq_reap_next(q, &r, &done, f) > 0) {
		n++;
		if (unlikely(done.table == VQ_TABLE_EXT))
			net_tx_ext_free(q->ext_table[done.id], txq);
		/* More than one segment: FAST_FREE's short cut ends here, for the whole batch. */
		one_pool &= done.single;
		batch[nb++] = done.cookie;
		if (nb == NET_TX_FREE) {
			net_tx_free(batch, nb, one_pool);
			one_pool = fast;
			nb = 0;
		}
	}
	if (nb != 0)
		net_tx_free(batch, nb, one_pool);
	vq_reap_end(q, &r, f | (q->flags & NET_RUNTIME_FLAGS));
	return n;
}

/* A header in two words; in the headroom it lies at any address. */
struct tx_hdr_words {
	uint64_t first;
	uint32_t last;
} __attribute__((packed, may_alias));

VIREO_STATIC_ASSERT(sizeof(struct tx_hdr_words) == sizeof(struct net_hdr), "header in two words");

/*
 * Write the header. Most are all zero and were before: looking is cheaper than writing, for
 * a write takes the line away from the device's core.
 */
vireo_inline void
tx_hdr_write(struct rte_mbuf *m, void *to, uint16_t hdr_bytes, const uint32_t f)
{
	struct tx_hdr_words *w = to;

	if ((f & NET_F_OFFLOAD) &&
	    (m->ol_flags & (RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_TCP_SEG)) != 0) {
		struct net_hdr hdr;

		net_tx_hdr_fill(m, &hdr);
		memcpy(to, &hdr, sizeof(hdr));
	} else {
		if (w->first != 0)
			w->first = 0;
		if (w->last != 0)
			w->last = 0;
	}
	if (unlikely(hdr_bytes > sizeof(struct net_hdr)))
		memset(RTE_PTR_ADD(to, sizeof(struct net_hdr)), 0,
		       hdr_bytes - sizeof(struct net_hdr));
}

vireo_inline uint64_t
tx_addr(const struct net_txq *txq, const struct rte_mbuf *m)
{
	return *(const uint64_t *)((const char *)m + txq->addr_off) + m->data_off;
}

vireo_inline bool
tx_can_push(const struct rte_mbuf *m, uint16_t hdr_bytes)
{
	return rte_mbuf_refcnt_read(m) == 1 && RTE_MBUF_DIRECT(m) && m->data_off >= hdr_bytes;
}

/*
 * Where the header goes when it cannot go in front of the data: the constant zero one that
 * all plain packets share, or the one kept for the id that this packet will have.
 */
vireo_inline void
tx_plan(struct net_txq *txq, struct rte_mbuf *m, struct net_tx_plan *p)
{
	p->push = tx_can_push(m, txq->hdr_bytes);
	p->nb_desc = m->nb_segs + (p->push ? 0 : 1);
	p->hdr_addr = txq->zero_hdr_addr;
}

/* Write all descriptors of a packet through put(i, addr, len, last). */
#define TX_FOR_EACH_DESC(txq, m, p, put)                                                           \
	do {                                                                                       \
		const struct rte_mbuf *seg_ = (m);                                                 \
		uint16_t i_ = 0, hdr_ = (txq)->hdr_bytes;                                          \
		if (!(p)->push) {                                                                  \
			put(i_, (p)->hdr_addr, hdr_, false);                                       \
			i_++;                                                                      \
			hdr_ = 0;                                                                  \
		}                                                                                  \
		for (; seg_ != NULL; seg_ = seg_->next, i_++) {                                    \
			put(i_, tx_addr(txq, seg_) - hdr_, (uint32_t)seg_->data_len + hdr_,        \
			    seg_->next == NULL);                                                   \
			hdr_ = 0;                                                                  \
		}                                                                                  \
	} while (0)

/* The header of a packet that cannot have it in front: written for the id to come. */
vireo_inline void
tx_hdr_apart(struct net_txq *txq, struct vq_post *c, struct rte_mbuf *m, struct net_tx_plan *p,
	     const uint32_t f)
{
	struct vq_drv *q = &txq->vq;
	uint16_t id;

	if ((f & NET_F_OFFLOAD) == 0)
		return;
	id = q->scrambled ? q->ids[q->nb_ids - 1] : c->slot;
	p->hdr_addr = q->hdrs_addr + (uint64_t)id * q->hdr_bytes;
	tx_hdr_write(m, q->hdrs + (uint32_t)id * q->hdr_bytes, txq->hdr_bytes, f);
}

vireo_inline bool
tx_indirect(struct net_txq *txq, struct vq_post *c, struct rte_mbuf *m, const struct net_tx_plan *p,
	    const uint32_t f)
{
	struct vq_drv *q = &txq->vq;
	struct vq_table t;

	if (txq->indirect == NET_INDIRECT_POOL) {
		t = vq_table_take(q, p->nb_desc);
	} else {
		t = net_tx_ext_table(txq, p->nb_desc);
	}
	if (t.mem == NULL) {
		if (p->nb_desc > NET_TABLE_DESC_MAX)
			txq->indirect_too_long++;
		else
			txq->indirect_pool_empty++;
		return false;
	}
#define PUT_TABLE(i, addr, len, last) vq_table_seg(t.mem, i, addr, len, 0, last, f)
	TX_FOR_EACH_DESC(txq, m, p, PUT_TABLE);
#undef PUT_TABLE
	vq_post_indirect(q, c, t.addr, p->nb_desc, t.handle, t.mem, 0, m, f);
	txq->indirect_packets++;
	return true;
}

/**
 * A packet of several descriptors.
 * @return 1 posted, 0 no room now, -1 dropped (it can never be sent).
 */
vireo_inline int
tx_multi(struct net_txq *txq, struct vq_post *c, struct rte_mbuf *m, const uint32_t f)
{
	struct vq_drv *q = &txq->vq;
	struct vq_chain_post ch;
	struct net_tx_plan p;

	if (unlikely((txq->offloads & NET_TX_CHECK_MEM) && !net_tx_mem_ok(m))) {
		net_tx_drop(txq, m, &txq->dropped_no_mem);
		return -1;
	}
	if (vq_post_room(q, c) == 0)
		return 0;
	tx_plan(txq, m, &p);
	if (p.push)
		tx_hdr_write(m, rte_pktmbuf_mtod_offset(m, void *, -(int)txq->hdr_bytes),
			     txq->hdr_bytes, f);
	else
		tx_hdr_apart(txq, c, m, &p, f);
	if ((p.nb_desc > txq->direct_max || p.nb_desc > vq_post_room(q, c)) && p.nb_desc > 1 &&
	    txq->indirect != NET_INDIRECT_OFF && tx_indirect(txq, c, m, &p, f))
		return 1;
	if (p.nb_desc > vq_post_room(q, c)) {
		if (p.nb_desc <= q->limit)
			return 0;
		net_tx_drop(txq, m, &txq->dropped_too_long);
		return -1;
	}
	vq_chain_begin(q, c, &ch, p.nb_desc, 0, m, f);
#define PUT_CHAIN(i, addr, len, last) vq_chain_seg(q, c, &ch, addr, len, 0, !(last), f)
	TX_FOR_EACH_DESC(txq, m, &p, PUT_CHAIN);
#undef PUT_CHAIN
	return 1;
}

/**
 * One packet. @return as tx_multi().
 */
vireo_inline int
tx_one(struct net_txq *txq, struct vq_post *c, struct rte_mbuf *m, uint16_t hdr_bytes,
       const uint32_t f)
{
	uint64_t word = *(const uint64_t *)(const void *)&m->data_off;
	void *hdr;

	if (f & NET_F_OFFLOAD)
		net_tx_ipv4_cksum(m);
	if (unlikely((word & NET_TX_PLAIN_MASK) != NET_TX_PLAIN_WORD || !RTE_MBUF_DIRECT(m) ||
		     m->data_off < hdr_bytes))
		return tx_multi(txq, c, m, f);
	if (unlikely(vq_post_room(&txq->vq, c) == 0))
		return 0;
	hdr = rte_pktmbuf_mtod_offset(m, void *, -(int)hdr_bytes);
	tx_hdr_write(m, hdr, hdr_bytes, f);
	vq_post_single(&txq->vq, c, tx_addr(txq, m) - hdr_bytes, (uint32_t)m->data_len + hdr_bytes,
		       0, m, f);
	return 1;
}

/*
 * Take back about as many packets as are about to be posted, and only when slots run short:
 * what is taken back then was used long ago, so its lines are quiet; and the mempool's cache
 * sees as many mbufs come as go, instead of a thousand at once that spill into the common
 * pool and come back cold. A burst of 0 takes back all there is.
 */
vireo_inline void
tx_make_room(struct net_txq *txq, uint16_t nb_pkts, const uint32_t f)
{
	struct vq_drv *q = &txq->vq;

	if (unlikely(nb_pkts == 0))
		tx_reclaim(txq, UINT32_MAX, f);
	else if (q->nb_free < txq->free_thresh || q->nb_free < nb_pkts)
		tx_reclaim(txq, RTE_MAX(nb_pkts, (uint16_t)NET_TX_RECLAIM_MIN), f);
}

vireo_inline uint16_t
tx_burst(struct net_txq *txq, struct rte_mbuf **pkts, uint16_t nb_pkts, const uint32_t f)
{
	uint16_t nb_tx = 0, hdr_bytes = txq->hdr_bytes;
	struct vq_drv *q = &txq->vq;
	uint64_t bytes = 0, dropped = 0;
	struct net_size_run sizes = { 0 };
	struct vq_post c;

	tx_make_room(txq, nb_pkts, f);
	if (unlikely(q->broken))
		return 0;
	if (unlikely(txq->mac_stats))
		net_count_macs(&txq->stats, pkts, nb_pkts);
	vq_post_begin(q, &c);
	for (; nb_tx < nb_pkts; nb_tx++) {
		struct rte_mbuf *m = pkts[nb_tx];
		uint32_t len = m->pkt_len;
		int rc;

		rc = tx_one(txq, &c, m, hdr_bytes, f);
		if (unlikely(rc <= 0)) {
			if (rc < 0) {
				dropped++;
				continue;
			}
			/* A chain may want more slots than the threshold keeps free. */
			vq_post_end(q, &c, f | (q->flags & NET_RUNTIME_FLAGS));
			vq_post_begin(q, &c);
			if (tx_reclaim(txq, NET_TX_RECLAIM_MIN, f) == 0)
				break;
			nb_tx--;
			continue;
		}
		bytes += len;
		net_size_run_add(&sizes, &txq->stats, len);
	}
	vq_post_end(q, &c, f | (q->flags & NET_RUNTIME_FLAGS));
	net_count_size(&txq->stats, sizes.len, sizes.nb);
	txq->stats.packets += nb_tx - dropped;
	txq->stats.bytes += bytes;
	if (vq_kick_needed(q, f | (q->flags & NET_RUNTIME_FLAGS)))
		net_queue_kick(txq->local, q);
	return nb_tx;
}

#endif /* NET_TX_TMPL_H */
