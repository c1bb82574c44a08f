/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/* Receive: what the template leaves out of line, and what control does with a queue. */

#include <unistd.h>

#include "rx_tmpl.h"

int
net_rx_take_one(struct net_rxq *rxq, struct vq_reap *r, struct vq_done *d)
{
	return vq_reap_next(&rxq->vq, r, d, rxq->vq.flags);
}

void
net_rx_drop(struct net_rxq *rxq, struct rte_mbuf *m)
{
	rxq->stats.errors++;
	rte_mbuf_raw_free(m);
}

static void
gather_drop(struct net_rxq *rxq)
{
	rxq->stats.errors++;
	rte_pktmbuf_free(rxq->pkt_first);
	rxq->pkt_first = NULL;
	rxq->pkt_missing = 0;
}

static struct rte_mbuf *
gather_done(struct net_rxq *rxq)
{
	struct rte_mbuf *m = rxq->pkt_first;
	const void *hdr = rte_pktmbuf_mtod_offset(m, const void *, -(int)rxq->hdr_bytes);

	rxq->pkt_first = NULL;
	/* A plain header passes at the cost of a look; the plain variants never ask for more. */
	if (rxq->offloads != 0 && !net_rx_offload(rxq, m, hdr))
		return NULL;
	return m;
}

/*
 * Section 5.1.6.4: num_buffers in the first buffer's header says how many there are; the
 * others hold data from their first byte on. The rest may come in a later burst.
 */
struct rte_mbuf *
net_rx_gather(struct net_rxq *rxq, struct rte_mbuf *m, uint32_t len)
{
	uint16_t hdr_bytes = rxq->hdr_bytes;

	if (rxq->pkt_missing == 0) {
		const struct net_hdr *hdr =
			rte_pktmbuf_mtod_offset(m, const struct net_hdr *, -(int)hdr_bytes);
		uint16_t nb = vireo_load_relaxed(&hdr->num_buffers);

		rxq->pkt_first = m;
		rxq->pkt_last = m;
		if (nb == 0 || nb > rxq->vq.size) {
			/* What follows cannot be told apart any more. */
			vireo_vq_drv_break(&rxq->vq, VQ_BAD_CHAIN_LEN);
			gather_drop(rxq);
			return NULL;
		}
		rxq->pkt_missing = nb - 1;
	} else {
		rx_mbuf_set(m, rxq->rearm, len);
		m->data_off -= hdr_bytes;
		rxq->pkt_last->next = m;
		rxq->pkt_last = m;
		rxq->pkt_first->nb_segs++;
		rxq->pkt_first->pkt_len += len;
		rxq->pkt_missing--;
	}
	return rxq->pkt_missing == 0 ? gather_done(rxq) : NULL;
}

bool
net_rx_offload(struct net_rxq *rxq, struct rte_mbuf *m, const void *hdr)
{
	/* One copy: what is checked is what is used. */
	struct net_hdr_hash h = { 0 };

	memcpy(&h, hdr, rxq->hdr_bytes);
	if (net_rx_hdr_parse(rxq, m, &h.hdr) != 0) {
		rxq->stats.errors++;
		rte_pktmbuf_free(m);
		return false;
	}
	if (rxq->offloads & NET_RX_HASH)
		net_rx_hash_parse(m, &h);
	if (rxq->offloads & NET_RX_VLAN_STRIP)
		rte_vlan_strip(m);
	return true;
}

void
net_count_macs(struct net_counters *stats, struct rte_mbuf **pkts, uint16_t nb)
{
	uint16_t i;

	for (i = 0; i < nb; i++) {
		const struct rte_ether_addr *dst =
			rte_pktmbuf_mtod(pkts[i], const struct rte_ether_addr *);

		if (likely(!rte_is_multicast_ether_addr(dst)))
			continue;
		if (rte_is_broadcast_ether_addr(dst))
			stats->broadcast++;
		else
			stats->multicast++;
	}
}

/* One buffer at a time: the pool is nearly empty, or ids come from the stack. */
void
net_rx_refill_slow(struct net_rxq *rxq, uint16_t nb)
{
	const uint32_t f = rxq->vq.flags;
	struct vq_post c;

	vq_post_begin(&rxq->vq, &c);
	while (nb-- != 0) {
		struct rte_mbuf *m;
		uint64_t addr;

		if (rte_mempool_get(rxq->mp, (void **)&m) != 0) {
			rxq->nobuf++;
			break;
		}
		addr = *(uint64_t *)((char *)m + rxq->addr_off) + RTE_PKTMBUF_HEADROOM -
			rxq->hdr_bytes;
		vq_post_single(&rxq->vq, &c, addr, rxq->buf_bytes, VIREO_DESC_F_WRITE, m, f);
	}
	vq_post_end(&rxq->vq, &c, f);
}

int
net_rxq_fill(struct net_rxq *rxq)
{
	net_rx_refill_slow(rxq, rxq->vq.nb_free);
	return rxq->vq.avail_idx == rxq->vq.used_idx ? -ENOMEM : 0;
}

static void
free_cookie(void *cookie, void *arg)
{
	(void)arg;
	rte_mbuf_raw_free(cookie);
}

void
net_rxq_drain(struct net_rxq *rxq)
{
	vireo_vq_drv_drain(&rxq->vq, free_cookie, NULL, NULL);
	vireo_vq_drv_reset(&rxq->vq);
	if (rxq->pkt_first != NULL)
		rte_pktmbuf_free(rxq->pkt_first);
	rxq->pkt_first = NULL;
	rxq->pkt_missing = 0;
}

net_queue_count_t
net_rx_queue_count(void *queue)
{
	struct net_rxq *rxq = queue;
	struct vq_drv *q = &rxq->vq;
	uint32_t id, len, n = 0;
	struct vq_reap r;

	if (vq_reap_begin(q, &r, q->flags) != 0)
		return 0;
	if ((q->flags & VQ_F_PACKED) == 0)
		return r.ready;
	while (packed_used_get(q, &r, &id, &len) > 0) {
		packed_used_taken(q, &r, 1);
		n++;
	}
	return n;
}

int
net_rx_descriptor_status(void *queue, uint16_t offset)
{
	struct net_rxq *rxq = queue;
	uint16_t inflight = rxq->vq.avail_idx - rxq->vq.used_idx;

	if (offset >= rxq->vq.limit)
		return -EINVAL;
	if (offset < net_rx_queue_count(queue))
		return RTE_ETH_RX_DESC_DONE;
	return offset < inflight ? RTE_ETH_RX_DESC_AVAIL : RTE_ETH_RX_DESC_UNAVAIL;
}

int
net_rxq_arm(struct net_rxq *rxq)
{
	return vq_drv_arm(&rxq->vq, rxq->vq.flags);
}

void
net_rxq_disarm(struct net_rxq *rxq)
{
	vq_drv_disarm(&rxq->vq, rxq->vq.flags);
}

/* Sleep only while the word still says that nothing was used. */
static int
monitor_split(const uint64_t value, const uint64_t opaque[RTE_POWER_MONITOR_OPAQUE_SZ])
{
	return (uint16_t)value != (uint16_t)opaque[0] ? -1 : 0;
}

static int
monitor_packed(const uint64_t value, const uint64_t opaque[RTE_POWER_MONITOR_OPAQUE_SZ])
{
	return ((uint16_t)value & PACKED_BITS) == (uint16_t)opaque[0] ? -1 : 0;
}

int
net_rx_monitor_addr(void *queue, struct rte_power_monitor_cond *cond)
{
	struct net_rxq *rxq = queue;
	struct vq_drv *q = &rxq->vq;

	cond->size = sizeof(uint16_t);
	if (q->flags & VQ_F_PACKED) {
		cond->addr = &q->ring.pdesc[q->tail].flags;
		cond->opaque[0] = q->used_wrap;
		cond->fn = monitor_packed;
	} else {
		cond->addr = &q->ring.used->idx;
		cond->opaque[0] = q->used_idx;
		cond->fn = monitor_split;
	}
	return 0;
}

void
net_queue_kick(struct net_queue_local *local, struct vq_drv *q)
{
	const uint64_t one = 1;

	q->nb_kicks++;
	/* An eventfd write fails only at 2^64 - 1 unread kicks: the device has one to come. */
	if (write(local->kick_fd, &one, sizeof(one)) != sizeof(one))
		return;
}
