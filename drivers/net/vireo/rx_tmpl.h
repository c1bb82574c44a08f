/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef NET_RX_TMPL_H
#define NET_RX_TMPL_H

/*
 * Receive: one template, instantiated in rxtx.c for each set of constant flags f. Runs on
 * the lcore that owns the queue, inside its gate.
 *
 * A burst takes runs of used buffers that came in order (lengths into a small array), turns
 * them into packets, then posts fresh buffers in bulk. What is rare (another order, an
 * IN_ORDER batch, a violation) goes buffer by buffer through rx_take_one().
 */

#include <rte_ether.h>
#include <rte_prefetch.h>

#include "../../../lib/vq/vq_driver.h"
#include "net_vireo.h"
#include "offload.h"
#include "rxtx.h"

#define NET_RX_RUN 64 /* buffers taken in one go */
#define NET_REFILL_MAX 64 /* and posted */

/* The mbuf words that a received packet sets, as 8-byte stores. */
VIREO_STATIC_ASSERT(offsetof(struct rte_mbuf, ol_flags) == offsetof(struct rte_mbuf, data_off) + 8,
		    "mbuf layout");
VIREO_STATIC_ASSERT(offsetof(struct rte_mbuf, pkt_len) ==
			    offsetof(struct rte_mbuf, packet_type) + 4,
		    "mbuf layout");
VIREO_STATIC_ASSERT(offsetof(struct rte_mbuf, data_len) ==
			    offsetof(struct rte_mbuf, packet_type) + 8,
		    "mbuf layout");

/** One buffer out of the ordinary: rx.c. @return 1, 0 none, -EPROTO broken. */
vireo_cold int net_rx_take_one(struct net_rxq *rxq, struct vq_reap *r, struct vq_done *d);
/** A packet of several buffers, from its first on or continued: rx.c. @return packet or NULL. */
struct rte_mbuf *net_rx_gather(struct net_rxq *rxq, struct rte_mbuf *m, uint32_t len);
/** Header, VLAN and hash work of the offload variants: rx.c. @return false: dropped. */
bool net_rx_offload(struct net_rxq *rxq, struct rte_mbuf *m, const void *hdr);
/** A used buffer that holds no packet: rx.c. */
vireo_cold void net_rx_drop(struct net_rxq *rxq, struct rte_mbuf *m);
/** Refill when bulk allocation failed: rx.c. */
vireo_cold void net_rx_refill_slow(struct net_rxq *rxq, uint16_t nb);

vireo_inline void
rx_mbuf_set(struct rte_mbuf *m, uint64_t rearm, uint32_t len)
{
	uint64_t *word = (uint64_t *)(void *)&m->data_off;

	word[0] = rearm;
	word[1] = 0; /* ol_flags */
	word = (uint64_t *)(void *)&m->packet_type;
	word[0] = (uint64_t)len << 32; /* packet_type 0, pkt_len */
	word[1] = (uint16_t)len; /* data_len, vlan_tci 0, hash.rss 0 */
}

/* One used buffer. @return the packet that it completes, or NULL. */
vireo_inline struct rte_mbuf *
rx_one(struct net_rxq *rxq, struct rte_mbuf *m, uint32_t used, uint64_t rearm, uint16_t hdr_bytes,
       const uint32_t f)
{
	const struct net_hdr *hdr;

	if ((f & NET_F_MRG) && unlikely(rxq->pkt_missing != 0))
		return net_rx_gather(rxq, m, used);
	if (unlikely(used < hdr_bytes)) {
		net_rx_drop(rxq, m);
		return NULL;
	}
	rx_mbuf_set(m, rearm, used - hdr_bytes);
	if (f & (NET_F_MRG | NET_F_OFFLOAD)) {
		hdr = rte_pktmbuf_mtod_offset(m, const struct net_hdr *, -(int)hdr_bytes);
		if ((f & NET_F_MRG) && unlikely(vireo_load_relaxed(&hdr->num_buffers) != 1))
			return net_rx_gather(rxq, m, used);
		if ((f & NET_F_OFFLOAD) && !net_rx_offload(rxq, m, hdr))
			return NULL;
	}
	return m;
}

/* Turn nb used buffers into packets. @return how many packets. */
vireo_inline uint16_t
rx_run(struct net_rxq *rxq, void **cookies, const uint32_t *lens, uint16_t nb,
       struct rte_mbuf **pkts, const uint32_t f)
{
	uint64_t rearm = rxq->rearm, bytes = 0;
	struct net_size_run sizes = { 0 };
	uint16_t hdr_bytes = rxq->hdr_bytes;
	uint16_t i, nb_rx = 0;

	if (f & (NET_F_MRG | NET_F_OFFLOAD)) {
		/* The device wrote these lines last: fetch all before the first is needed. */
		for (i = 0; i < nb; i++) {
			const struct rte_mbuf *m = cookies[i];

			rte_prefetch0((const char *)m->buf_addr + RTE_PKTMBUF_HEADROOM - hdr_bytes);
		}
	}
	for (i = 0; i < nb; i++) {
		struct rte_mbuf *m = rx_one(rxq, cookies[i], lens[i], rearm, hdr_bytes, f);

		if ((f & (NET_F_MRG | NET_F_OFFLOAD)) && m == NULL)
			continue;
		if (unlikely(m == NULL))
			continue;
		bytes += m->pkt_len;
		net_size_run_add(&sizes, &rxq->stats, m->pkt_len);
		pkts[nb_rx++] = m;
	}
	net_count_size(&rxq->stats, sizes.len, sizes.nb);
	rxq->stats.packets += nb_rx;
	rxq->stats.bytes += bytes;
	return nb_rx;
}

/* Post nb buffers that lie one behind the other in the ring; mbufs go straight into place. */
vireo_inline void
rx_refill_run(struct net_rxq *rxq, uint16_t nb, const uint32_t f)
{
	struct vq_drv *q = &rxq->vq;
	void **cookies = &q->cookie[q->head];
	uint64_t offset = RTE_PKTMBUF_HEADROOM - rxq->hdr_bytes;
	uint16_t addr_off = rxq->addr_off;
	uint32_t len = rxq->buf_bytes;
	struct vq_post c;
	uint16_t i;

	if (unlikely(rte_mempool_get_bulk(rxq->mp, cookies, nb) != 0)) {
		net_rx_refill_slow(rxq, nb);
		return;
	}
	vq_post_begin(q, &c);
	for (i = 0; i < nb; i++) {
		uint64_t addr = *(uint64_t *)((char *)cookies[i] + addr_off) + offset;

		vq_post_placed(q, &c, addr, len, VIREO_DESC_F_WRITE, f);
	}
	vq_post_end(q, &c, f | (q->flags & VQ_F_ORDER_PLATFORM));
}

vireo_inline void
rx_refill(struct net_rxq *rxq, const uint32_t f)
{
	struct vq_drv *q = &rxq->vq;

	if (q->nb_free < rxq->free_thresh)
		return;
	if (unlikely(q->scrambled)) {
		net_rx_refill_slow(rxq, q->nb_free);
		return;
	}
	do {
		uint16_t nb = RTE_MIN(q->nb_free, (uint16_t)NET_REFILL_MAX);
		uint16_t before = q->nb_free;

		nb = RTE_MIN(nb, (uint16_t)(q->size - q->head));
		rx_refill_run(rxq, nb, f);
		if (q->nb_free == before)
			break;
	} while (q->nb_free >= rxq->free_thresh);
}

vireo_inline uint16_t
rx_burst(struct net_rxq *rxq, struct rte_mbuf **pkts, uint16_t nb_pkts, const uint32_t f)
{
	struct vq_drv *q = &rxq->vq;
	uint32_t lens[NET_RX_RUN];
	uint16_t nb_rx = 0, n;
	struct vq_done done;
	struct vq_reap r;
	void **cookies;

	if (unlikely(vq_reap_begin(q, &r, f | (q->flags & VQ_F_ORDER_PLATFORM)) != 0))
		return 0;
	while (nb_rx < nb_pkts) {
		uint16_t max = RTE_MIN((uint16_t)(nb_pkts - nb_rx), (uint16_t)NET_RX_RUN);

		n = vq_reap_run(q, &r, &cookies, lens, max, f);
		if (n == 0) {
			if (net_rx_take_one(rxq, &r, &done) <= 0)
				break;
			cookies = &done.cookie;
			lens[0] = done.len;
			n = 1;
		}
		nb_rx += rx_run(rxq, cookies, lens, n, pkts + nb_rx, f);
	}
	vq_reap_end(q, &r, f | (q->flags & VQ_F_EVENT_IDX));
	if (unlikely(rxq->mac_stats) && nb_rx != 0)
		net_count_macs(&rxq->stats, pkts, nb_rx);
	rx_refill(rxq, f);
	if (vq_kick_needed(q, f | (q->flags & VQ_F_EVENT_IDX)))
		net_queue_kick(rxq->local, q);
	return nb_rx;
}

#endif /* NET_RX_TMPL_H */
