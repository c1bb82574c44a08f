/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <rte_arp.h>

#include "../../../lib/vq/vq_driver.h"
#include "ethdev.h"
#include "log.h"
#include "rxtx.h"

/*
 * GUEST_ANNOUNCE, VIRTIO 1.3 section 5.1.6.5.4: after a migration the device asks the
 * driver to tell the network where its MAC address is now. The only packet that control
 * sends; it takes Tx queue 0 from its lcore for a moment.
 */

#define ANNOUNCE_GATE_US 100000

/*
 * The header has a descriptor of its own: reclaiming then does not take the packet for one of
 * the application's, which FAST_FREE lets it put back into a pool without a look.
 */
static bool
post_packet(struct net_txq *txq, struct rte_mbuf *m)
{
	struct vq_drv *q = &txq->vq;
	const uint32_t f = q->flags;
	struct vq_chain_post ch;
	struct vq_post c;

	vq_post_begin(q, &c);
	if (q->broken || vq_post_room(q, &c) < 2)
		return false;
	vq_chain_begin(q, &c, &ch, 2, 0, m, f);
	vq_chain_seg(q, &c, &ch, txq->zero_hdr_addr, txq->hdr_bytes, 0, true, f);
	vq_chain_seg(q, &c, &ch, *(uint64_t *)RTE_PTR_ADD(m, txq->addr_off) + m->data_off,
		     m->data_len, 0, false, f);
	vq_post_end(q, &c, f);
	if (vq_kick_needed(q, f))
		net_queue_kick(txq->local, q);
	return true;
}

static bool
send_packet(struct net_local *local, struct rte_mbuf *m)
{
	struct net_txq *txq;
	bool sent = false;

	pthread_mutex_lock(&local->mutex);
	txq = local->txqs[0];
	if (txq != NULL && txq->started && local->nb_quiesced == 0) {
		if (vireo_turnstile_close(&txq->gate, ANNOUNCE_GATE_US) == 0)
			sent = post_packet(txq, m);
		vireo_turnstile_open(&txq->gate);
	}
	pthread_mutex_unlock(&local->mutex);
	return sent;
}

void
net_announce(struct rte_eth_dev *eth_dev)
{
	struct net_local *local = net_local_of(eth_dev);
	struct rte_mempool *mp = NULL;
	struct rte_mbuf *m;

	pthread_mutex_lock(&local->mutex);
	if (local->rxqs[0] != NULL)
		mp = local->rxqs[0]->mp;
	pthread_mutex_unlock(&local->mutex);
	if (mp == NULL)
		return;
	m = rte_net_make_rarp_packet(mp, &eth_dev->data->mac_addrs[0]);
	if (m == NULL || !send_packet(local, m)) {
		rte_pktmbuf_free(m);
		LOG(NOTICE,
		    "port %u: announcement not sent: no mbuf, no room, or Tx queue 0 stopped",
		    eth_dev->data->port_id);
	}
	net_ctrl_send(eth_dev, VIREO_NET_CTRL_ANNOUNCE, VIREO_NET_CTRL_ANNOUNCE_ACK, NULL, 0);
}
