/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_memzone.h>

#include "ethdev.h"
#include "log.h"

/* How long a burst may take before control work says that its lcore hangs. */
#define GATE_TIMEOUT_US 1000000
#define DEFAULT_FREE_THRESH 32
/* Tx headers beside the ring: net_hdr or net_hdr_hash, rounded up to a power of two. */
#define TX_HDR_BYTES 16
#define TX_HDR_HASH_BYTES 32
/* indirect=mempool: tables that an lcore may keep in its cache. */
#define TABLE_CACHE 64

/* --- ring memory ------------------------------------------------------------ */

/* What a queue's ring memory consists of; rebuilt when other features are negotiated. */
struct ring_alloc {
	char name[RTE_MEMZONE_NAMESIZE];
	struct vq_conf conf;
	int socket_id;
	size_t extra_bytes; /* shared memory behind the ring */
};

static const struct rte_memzone *
reserve_shared(const struct ring_alloc *ra, size_t len)
{
	const struct rte_memzone *mz;

	mz = rte_memzone_reserve_aligned(ra->name, len, ra->socket_id, 0, VIREO_CACHE_LINE);
	if (mz == NULL && ra->socket_id != SOCKET_ID_ANY) {
		mz = rte_memzone_reserve_aligned(ra->name, len, SOCKET_ID_ANY, 0, VIREO_CACHE_LINE);
		if (mz != NULL)
			LOG(WARNING, "%s: no memory on node %d, the ring lies on node %d", ra->name,
			    ra->socket_id, mz->socket_id);
	}
	if (mz == NULL)
		LOG(ERR, "%s: cannot reserve %zu bytes of ring memory: %s", ra->name, len,
		    rte_strerror(rte_errno));
	return mz;
}

/* Zeroed memory on a node, or on any when there is none on it. */
static void *
zalloc_near(const char *name, size_t len, int socket_id)
{
	void *mem = rte_zmalloc_socket(name, len, VIREO_CACHE_LINE, socket_id);

	if (mem == NULL)
		mem = rte_zmalloc(name, len, VIREO_CACHE_LINE);
	if (mem == NULL)
		LOG(ERR, "%s: cannot allocate %zu bytes", name, len);
	return mem;
}

/* Reserve and lay out; *extra is where the extra bytes begin. */
static int
build_ring(struct vq_drv *vq, const struct ring_alloc *ra, const struct rte_memzone **mz,
	   void **priv, uint64_t *extra)
{
	struct vq_mem_size need;
	size_t shared_bytes;
	int ret;

	ret = vireo_vq_mem_size(&ra->conf, &need);
	if (ret != 0) {
		LOG(ERR, "%s: no legal ring: size %u, limit %u", ra->name, ra->conf.size,
		    ra->conf.limit);
		return ret;
	}
	shared_bytes = RTE_ALIGN_CEIL(need.shared_bytes, VIREO_CACHE_LINE);
	*mz = reserve_shared(ra, shared_bytes + ra->extra_bytes);
	if (*mz == NULL)
		return -ENOMEM;
	*priv = zalloc_near(ra->name, need.private_bytes, ra->socket_id);
	if (*priv == NULL) {
		ret = -ENOMEM;
		goto free_mz;
	}
	memset((*mz)->addr, 0, (*mz)->len);
	ret = vireo_vq_drv_init(vq, &ra->conf, (*mz)->addr, (uintptr_t)(*mz)->addr, *priv);
	if (ret != 0)
		goto free_priv;
	*extra = (uintptr_t)(*mz)->addr + shared_bytes;
	return 0;

free_priv:
	rte_free(*priv);
	*priv = NULL;
free_mz:
	rte_memzone_free(*mz);
	*mz = NULL;
	return ret;
}

static void
free_ring(const struct rte_memzone **mz, void **priv)
{
	rte_memzone_free(*mz);
	*mz = NULL;
	rte_free(*priv);
	*priv = NULL;
}

/* Design: queue_size when given, else nb_desc rounded up to what the layout allows. */
static uint32_t
ring_size(const struct net_port *port, uint16_t nb_desc)
{
	if (port->args.queue_size != 0)
		return port->args.queue_size;
	return port->negotiated & VIREO_F_RING_PACKED ? nb_desc : rte_align32pow2(nb_desc);
}

static void
init_alloc(struct ring_alloc *ra, const struct net_port *port, const char *kind, uint16_t queue_id,
	   uint16_t nb_desc, int socket_id)
{
	memset(ra, 0, sizeof(*ra));
	snprintf(ra->name, sizeof(ra->name), "vireo_port%u_%s%u", port->port_id, kind, queue_id);
	ra->socket_id = socket_id;
	ra->conf.size = ring_size(port, nb_desc);
	ra->conf.limit = RTE_MIN(nb_desc, ra->conf.size);
	ra->conf.flags = vq_flags_of_features(port->negotiated);
}

static int
build_rxq(struct net_rxq *rxq, const struct net_port *port)
{
	struct ring_alloc ra;
	uint64_t unused;
	int ret;

	init_alloc(&ra, port, "rx", rxq->queue_id, rxq->nb_desc, rxq->socket_id);
	rxq->hdr_bytes = port->hdr_bytes;
	rxq->buf_bytes =
		rte_pktmbuf_data_room_size(rxq->mp) - RTE_PKTMBUF_HEADROOM + rxq->hdr_bytes;
	ra.conf.flags |= VQ_F_SINGLE;
	ra.conf.buf_bytes = rxq->buf_bytes;
	ret = build_ring(&rxq->vq, &ra, &rxq->mz, &rxq->priv, &unused);
	rxq->built = port->negotiated;
	return ret;
}

/*
 * auto: short chains go direct. A table is one more line that the device has to fetch before it
 * knows where the data is, and DPDK's vhost leaves its quick path for it; measured, pool beats
 * direct chains against no peer up to 8 descriptors. Longer ones, and all when slots run
 * short, take a table.
 */
#define AUTO_DIRECT_MAX 8

static void
choose_indirect(const struct net_port *port, struct net_txq *txq)
{
	txq->indirect = port->args.indirect;
	txq->direct_max = 1;
	if (txq->indirect == NET_INDIRECT_AUTO) {
		txq->indirect = NET_INDIRECT_POOL;
		txq->direct_max = AUTO_DIRECT_MAX;
	}
	if (!(port->negotiated & VIREO_F_INDIRECT_DESC))
		txq->indirect = NET_INDIRECT_OFF;
}

static void
choose_classes(const struct net_port *port, struct vq_conf *conf)
{
	uint32_t n = conf->size;

	if (port->args.classes[0].nb_desc != 0) {
		memcpy(conf->classes, port->args.classes, sizeof(conf->classes));
		return;
	}
	conf->classes[0] = (struct vq_pool_class){ 4, n };
	conf->classes[1] = (struct vq_pool_class){ 16, RTE_MAX(n / 4, 1u) };
	conf->classes[2] = (struct vq_pool_class){ NET_TABLE_DESC_MAX, RTE_MAX(n / 16, 1u) };
}

static int
create_table_pool(struct net_txq *txq, const char *name)
{
	uint32_t nb_tables = txq->vq.size + 2 * TABLE_CACHE;

	txq->table_mp =
		rte_mempool_create(name, nb_tables, NET_TABLE_DESC_MAX * sizeof(struct ring_desc),
				   TABLE_CACHE, 0, NULL, NULL, NULL, NULL, txq->socket_id, 0);
	if (txq->table_mp == NULL) {
		LOG(ERR, "%s: cannot create %u indirect tables: %s", name, nb_tables,
		    rte_strerror(rte_errno));
		return -ENOMEM;
	}
	return 0;
}

static void
free_txq_ring(struct net_txq *txq)
{
	net_limbo_destroy(txq);
	rte_mempool_free(txq->table_mp);
	txq->table_mp = NULL;
	free_ring(&txq->mz, &txq->priv);
}

static int
build_txq(struct net_txq *txq, const struct net_port *port)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	struct ring_alloc ra;
	int ret;

	init_alloc(&ra, port, "tx", txq->queue_id, txq->nb_desc, txq->socket_id);
	txq->hdr_bytes = port->hdr_bytes;
	choose_indirect(port, txq);
	ra.conf.flags |= VQ_F_NO_LEN;
	ra.conf.hdr_bytes = txq->hdr_bytes > TX_HDR_BYTES ? TX_HDR_HASH_BYTES : TX_HDR_BYTES;
	ra.extra_bytes = VIREO_CACHE_LINE;
	if (txq->indirect == NET_INDIRECT_POOL)
		choose_classes(port, &ra.conf);
	ret = build_ring(&txq->vq, &ra, &txq->mz, &txq->priv, &txq->zero_hdr_addr);
	if (ret != 0)
		return ret;
	txq->built = port->negotiated;
	ret = net_limbo_create(txq);
	if (ret == 0 && txq->indirect == NET_INDIRECT_MEMPOOL) {
		snprintf(name, sizeof(name), "vireo_p%utx%utab", port->port_id, txq->queue_id);
		ret = create_table_pool(txq, name);
	}
	if (ret != 0)
		free_txq_ring(txq);
	return ret;
}

/* --- offload bits ----------------------------------------------------------- */

static uint32_t
rx_bits(uint64_t offloads)
{
	uint32_t bits = 0;

	if (offloads & (RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM))
		bits |= NET_RX_CSUM;
	if (offloads & RTE_ETH_RX_OFFLOAD_TCP_LRO)
		bits |= NET_RX_LRO;
	if (offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP)
		bits |= NET_RX_VLAN_STRIP;
	if (offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH)
		bits |= NET_RX_HASH;
	return bits;
}

static uint32_t
tx_bits(uint64_t offloads)
{
	uint32_t bits = 0;

	if (offloads &
	    (RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
	     RTE_ETH_TX_OFFLOAD_TCP_CKSUM))
		bits |= NET_TX_CSUM;
	if (offloads & RTE_ETH_TX_OFFLOAD_TCP_TSO)
		bits |= NET_TX_TSO;
	if (offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT)
		bits |= NET_TX_VLAN;
	if (offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE)
		bits |= NET_TX_FAST_FREE;
	if (offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS)
		bits |= NET_TX_MULTI_SEG;
	return bits;
}

static void
set_rx_bits(struct net_rxq *rxq, const struct rte_eth_dev *eth_dev)
{
	rxq->offloads = rxq->conf_offloads | rx_bits(eth_dev->data->dev_conf.rxmode.offloads);
}

static void
set_tx_bits(struct net_txq *txq, const struct rte_eth_dev *eth_dev)
{
	txq->offloads = txq->conf_offloads | tx_bits(eth_dev->data->dev_conf.txmode.offloads);
	if (net_port_of(eth_dev)->args.check_mem)
		txq->offloads |= NET_TX_CHECK_MEM;
}

/* --- gates ------------------------------------------------------------------ */

static void
close_gate(struct turnstile *gate, uint16_t port_id, const char *kind, uint16_t queue_id)
{
	/* The poller is this thread, and does nothing else meanwhile: no use in waiting. */
	if (net_tx_is_allocating(gate)) {
		vireo_turnstile_close(gate, 0);
		return;
	}
	if (vireo_turnstile_close(gate, GATE_TIMEOUT_US) != 0)
		LOG(ERR, "port %u: the lcore of %s queue %u did not leave its burst within %u ms",
		    port_id, kind, queue_id, GATE_TIMEOUT_US / 1000);
}

static void
start_rxq(struct rte_eth_dev *eth_dev, struct net_rxq *rxq)
{
	if (rxq->started)
		return;
	rxq->started = 1;
	eth_dev->data->rx_queue_state[rxq->queue_id] = RTE_ETH_QUEUE_STATE_STARTED;
	vireo_turnstile_open(&rxq->gate);
}

static void
stop_rxq(struct rte_eth_dev *eth_dev, struct net_rxq *rxq)
{
	if (!rxq->started)
		return;
	close_gate(&rxq->gate, rxq->port_id, "Rx", rxq->queue_id);
	rxq->started = 0;
	eth_dev->data->rx_queue_state[rxq->queue_id] = RTE_ETH_QUEUE_STATE_STOPPED;
}

static void
start_txq(struct rte_eth_dev *eth_dev, struct net_txq *txq)
{
	if (txq->started)
		return;
	txq->started = 1;
	eth_dev->data->tx_queue_state[txq->queue_id] = RTE_ETH_QUEUE_STATE_STARTED;
	vireo_turnstile_open(&txq->gate);
}

static void
stop_txq(struct rte_eth_dev *eth_dev, struct net_txq *txq)
{
	if (!txq->started)
		return;
	close_gate(&txq->gate, txq->port_id, "Tx", txq->queue_id);
	txq->started = 0;
	eth_dev->data->tx_queue_state[txq->queue_id] = RTE_ETH_QUEUE_STATE_STOPPED;
}

void
net_queues_quiesce(struct net_local *local)
{
	unsigned int i;

	pthread_mutex_lock(&local->mutex);
	local->nb_quiesced++;
	for (i = 0; i < VIREO_NET_PAIRS_MAX; i++) {
		if (local->rxqs[i] != NULL)
			close_gate(&local->rxqs[i]->gate, local->rxqs[i]->port_id, "Rx", i);
		if (local->txqs[i] != NULL)
			close_gate(&local->txqs[i]->gate, local->txqs[i]->port_id, "Tx", i);
	}
	pthread_mutex_unlock(&local->mutex);
}

void
net_queues_resume(struct net_local *local)
{
	unsigned int i;

	pthread_mutex_lock(&local->mutex);
	local->nb_quiesced--;
	for (i = 0; i < VIREO_NET_PAIRS_MAX; i++) {
		if (local->rxqs[i] != NULL)
			vireo_turnstile_open(&local->rxqs[i]->gate);
		if (local->txqs[i] != NULL)
			vireo_turnstile_open(&local->txqs[i]->gate);
	}
	pthread_mutex_unlock(&local->mutex);
}

/* --- set-up and release ----------------------------------------------------- */

/* Stock's rules, so that what is legal there is legal here. */
static int
check_rx_thresh(const struct net_port *port, uint16_t queue_id, uint32_t nb_desc, uint16_t *thresh)
{
	if (*thresh == 0)
		*thresh = RTE_ALIGN_FLOOR(RTE_MIN(nb_desc / 4, DEFAULT_FREE_THRESH), 4);
	if (*thresh % 4 != 0 || *thresh >= nb_desc) {
		LOG(ERR,
		    "port %u: rx_free_thresh %u of queue %u is refused: expected a multiple of 4"
		    " below %u",
		    port->port_id, *thresh, queue_id, nb_desc);
		return -EINVAL;
	}
	return 0;
}

static int
check_tx_thresh(const struct net_port *port, uint16_t queue_id, uint32_t nb_desc, uint16_t *thresh)
{
	if (*thresh == 0)
		*thresh = RTE_MAX(RTE_MIN(nb_desc / 4, DEFAULT_FREE_THRESH), 1u);
	if (*thresh + 3u > nb_desc) {
		LOG(ERR, "port %u: tx_free_thresh %u of queue %u is refused: expected at most %u",
		    port->port_id, *thresh, queue_id, nb_desc - 3);
		return -EINVAL;
	}
	return 0;
}

static uint16_t
clamp_desc(const struct net_port *port, const char *kind, uint16_t queue_id, uint16_t nb_desc)
{
	uint32_t size = ring_size(port, nb_desc);

	if (nb_desc > size) {
		LOG(NOTICE,
		    "port %u: %s queue %u has %u descriptors, not %u: devarg queue_size says so",
		    port->port_id, kind, queue_id, size, nb_desc);
		return size;
	}
	return nb_desc;
}

static uint32_t
frame_bytes(const struct rte_eth_dev *eth_dev)
{
	return eth_dev->data->mtu + RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN;
}

static int
check_rx_buffers(struct rte_eth_dev *eth_dev, uint16_t queue_id, struct rte_mempool *mp)
{
	uint32_t room = rte_pktmbuf_data_room_size(mp) - RTE_PKTMBUF_HEADROOM;
	bool scatter = (eth_dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;

	if (!scatter && frame_bytes(eth_dev) > room) {
		LOG(ERR,
		    "port %u: mbufs of Rx queue %u hold %u bytes: expected %u for MTU %u, or the"
		    " SCATTER offload",
		    eth_dev->data->port_id, queue_id, room, frame_bytes(eth_dev),
		    eth_dev->data->mtu);
		return -EINVAL;
	}
	eth_dev->data->scattered_rx = scatter && frame_bytes(eth_dev) > room;
	return 0;
}

bool
net_queues_take_frame(struct rte_eth_dev *eth_dev, uint32_t bytes)
{
	struct net_local *local = net_local_of(eth_dev);
	unsigned int i;
	bool fits = true;

	if (eth_dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_SCATTER)
		return true;
	pthread_mutex_lock(&local->mutex);
	for (i = 0; i < VIREO_NET_PAIRS_MAX; i++) {
		struct net_rxq *rxq = local->rxqs[i];

		if (rxq != NULL && bytes > rxq->buf_bytes - rxq->hdr_bytes)
			fits = false;
	}
	pthread_mutex_unlock(&local->mutex);
	return fits;
}

/* Fields of a new mbuf from data_off on, as one word: what refilling writes. */
static uint64_t
rearm_word(uint16_t port_id)
{
	struct rte_mbuf mb;
	uint64_t word;

	memset(&mb, 0, sizeof(mb));
	mb.data_off = RTE_PKTMBUF_HEADROOM;
	mb.nb_segs = 1;
	mb.port = port_id;
	rte_mbuf_refcnt_set(&mb, 1);
	memcpy(&word, (const uint8_t *)&mb + offsetof(struct rte_mbuf, data_off), sizeof(word));
	return word;
}

static uint16_t
addr_field(const struct net_port *port)
{
#ifdef RTE_ARCH_64
	if (!port->use_va)
		return offsetof(struct rte_mbuf, buf_iova);
#else
	RTE_SET_USED(port);
#endif
	return offsetof(struct rte_mbuf, buf_addr);
}

int
net_rx_queue_setup(struct rte_eth_dev *eth_dev, uint16_t queue_id, uint16_t nb_desc,
		   unsigned int socket_id, const struct rte_eth_rxconf *conf,
		   struct rte_mempool *mp)
{
	struct net_port *port = net_port_of(eth_dev);
	struct net_local *local = net_local_of(eth_dev);
	uint16_t thresh = conf->rx_free_thresh;
	struct net_rxq *rxq;
	int ret;

	nb_desc = clamp_desc(port, "Rx", queue_id, nb_desc);
	ret = check_rx_thresh(port, queue_id, nb_desc, &thresh);
	if (ret == 0)
		ret = check_rx_buffers(eth_dev, queue_id, mp);
	if (ret != 0)
		return ret;
	rxq = zalloc_near("vireo_rxq", sizeof(*rxq), socket_id);
	if (rxq == NULL)
		return -ENOMEM;
	rxq->mp = mp;
	rxq->rearm = rearm_word(port->port_id);
	rxq->addr_off = addr_field(port);
	rxq->port_id = port->port_id;
	rxq->queue_id = queue_id;
	rxq->deferred = conf->rx_deferred_start;
	rxq->mac_stats = port->args.mac_stats;
	rxq->nb_desc = nb_desc;
	rxq->socket_id = socket_id;
	rxq->free_thresh = thresh;
	rxq->conf_offloads = rx_bits(conf->offloads);
	rxq->local = &local->queues[VIREO_NET_RXQ_IDX(queue_id)];
	set_rx_bits(rxq, eth_dev);
	ret = build_rxq(rxq, port);
	if (ret != 0) {
		rte_free(rxq);
		return ret;
	}
	pthread_mutex_lock(&local->mutex);
	/* Closed until it is started, and by everybody who quiesces the port right now. */
	rxq->gate.closed = 1 + local->nb_quiesced;
	local->rxqs[queue_id] = rxq;
	pthread_mutex_unlock(&local->mutex);
	eth_dev->data->rx_queues[queue_id] = rxq;
	return 0;
}

int
net_tx_queue_setup(struct rte_eth_dev *eth_dev, uint16_t queue_id, uint16_t nb_desc,
		   unsigned int socket_id, const struct rte_eth_txconf *conf)
{
	struct net_port *port = net_port_of(eth_dev);
	struct net_local *local = net_local_of(eth_dev);
	uint16_t thresh = conf->tx_free_thresh;
	struct net_txq *txq;
	int ret;

	nb_desc = clamp_desc(port, "Tx", queue_id, nb_desc);
	ret = check_tx_thresh(port, queue_id, nb_desc, &thresh);
	if (ret != 0)
		return ret;
	txq = zalloc_near("vireo_txq", sizeof(*txq), socket_id);
	if (txq == NULL)
		return -ENOMEM;
	txq->addr_off = addr_field(port);
	txq->port_id = port->port_id;
	txq->queue_id = queue_id;
	txq->deferred = conf->tx_deferred_start;
	txq->mac_stats = port->args.mac_stats;
	txq->free_thresh = thresh;
	txq->nb_desc = nb_desc;
	txq->socket_id = socket_id;
	txq->conf_offloads = tx_bits(conf->offloads);
	txq->local = &local->queues[VIREO_NET_TXQ_IDX(queue_id)];
	set_tx_bits(txq, eth_dev);
	ret = build_txq(txq, port);
	if (ret != 0) {
		rte_free(txq);
		return ret;
	}
	pthread_mutex_lock(&local->mutex);
	txq->gate.closed = 1 + local->nb_quiesced;
	local->txqs[queue_id] = txq;
	pthread_mutex_unlock(&local->mutex);
	eth_dev->data->tx_queues[queue_id] = txq;
	return 0;
}

/* ethdev releases queues of stopped ports only: the device is off the ring. */
void
net_rx_queue_release(struct rte_eth_dev *eth_dev, uint16_t queue_id)
{
	struct net_local *local = net_local_of(eth_dev);
	struct net_rxq *rxq = local->rxqs[queue_id];

	if (rxq == NULL)
		return;
	pthread_mutex_lock(&local->mutex);
	local->rxqs[queue_id] = NULL;
	pthread_mutex_unlock(&local->mutex);
	net_rxq_drain(rxq);
	free_ring(&rxq->mz, &rxq->priv);
	rte_free(rxq);
}

void
net_tx_queue_release(struct rte_eth_dev *eth_dev, uint16_t queue_id)
{
	struct net_local *local = net_local_of(eth_dev);
	struct net_txq *txq = local->txqs[queue_id];

	if (txq == NULL)
		return;
	pthread_mutex_lock(&local->mutex);
	local->txqs[queue_id] = NULL;
	pthread_mutex_unlock(&local->mutex);
	net_txq_drain(txq);
	free_txq_ring(txq);
	rte_free(txq);
}

/* --- all queues ------------------------------------------------------------- */

static int
prepare_rxq(struct rte_eth_dev *eth_dev, struct net_rxq *rxq)
{
	struct net_port *port = net_port_of(eth_dev);
	int ret;

	if (rxq->built != port->negotiated) {
		net_rxq_drain(rxq);
		free_ring(&rxq->mz, &rxq->priv);
		ret = build_rxq(rxq, port);
		if (ret != 0)
			return ret;
	}
	rxq->reported = 0;
	set_rx_bits(rxq, eth_dev);
	ret = net_rxq_fill(rxq);
	if (ret != 0)
		LOG(ERR, "port %u: no mbuf for Rx queue %u in pool %s", port->port_id,
		    rxq->queue_id, rxq->mp->name);
	return ret;
}

static int
prepare_txq(struct rte_eth_dev *eth_dev, struct net_txq *txq)
{
	struct net_port *port = net_port_of(eth_dev);
	int ret;

	if (txq->built != port->negotiated) {
		net_txq_drain(txq);
		free_txq_ring(txq);
		ret = build_txq(txq, port);
		if (ret != 0)
			return ret;
	}
	txq->reported = 0;
	set_tx_bits(txq, eth_dev);
	return 0;
}

/*
 * The device is not started, so no callback looks at the queues: no lock, since allocating
 * EAL's memory under the mutex could meet a memory event that waits for it.
 */
int
net_queues_prepare(struct rte_eth_dev *eth_dev)
{
	struct net_local *local = net_local_of(eth_dev);
	unsigned int i;
	int ret = 0;

	for (i = 0; i < eth_dev->data->nb_rx_queues && ret == 0; i++)
		ret = local->rxqs[i] == NULL ? -EINVAL : prepare_rxq(eth_dev, local->rxqs[i]);
	for (i = 0; i < eth_dev->data->nb_tx_queues && ret == 0; i++)
		ret = local->txqs[i] == NULL ? -EINVAL : prepare_txq(eth_dev, local->txqs[i]);
	if (ret == -EINVAL)
		LOG(ERR, "port %u: expected %u Rx and %u Tx queues to be set up before start",
		    eth_dev->data->port_id, eth_dev->data->nb_rx_queues,
		    eth_dev->data->nb_tx_queues);
	if (ret != 0)
		net_queues_drain(local);
	return ret;
}

void
net_queues_open(struct rte_eth_dev *eth_dev)
{
	struct net_local *local = net_local_of(eth_dev);
	unsigned int i;

	pthread_mutex_lock(&local->mutex);
	for (i = 0; i < eth_dev->data->nb_rx_queues; i++)
		if (!local->rxqs[i]->deferred)
			start_rxq(eth_dev, local->rxqs[i]);
	for (i = 0; i < eth_dev->data->nb_tx_queues; i++)
		if (!local->txqs[i]->deferred)
			start_txq(eth_dev, local->txqs[i]);
	pthread_mutex_unlock(&local->mutex);
}

void
net_queues_close(struct rte_eth_dev *eth_dev)
{
	struct net_local *local = net_local_of(eth_dev);
	unsigned int i;

	pthread_mutex_lock(&local->mutex);
	for (i = 0; i < VIREO_NET_PAIRS_MAX; i++) {
		if (local->rxqs[i] != NULL)
			stop_rxq(eth_dev, local->rxqs[i]);
		if (local->txqs[i] != NULL)
			stop_txq(eth_dev, local->txqs[i]);
	}
	pthread_mutex_unlock(&local->mutex);
}

void
net_queues_drain(struct net_local *local)
{
	unsigned int i;

	pthread_mutex_lock(&local->mutex);
	for (i = 0; i < VIREO_NET_PAIRS_MAX; i++) {
		if (local->rxqs[i] != NULL)
			net_rxq_drain(local->rxqs[i]);
		if (local->txqs[i] != NULL)
			net_txq_drain(local->txqs[i]);
	}
	pthread_mutex_unlock(&local->mutex);
}

int
net_queues_restart(struct net_local *local)
{
	const struct rte_eth_dev_data *data = local->eth_dev->data;
	unsigned int i;
	int ret = 0;

	pthread_mutex_lock(&local->mutex);
	for (i = 0; i < VIREO_NET_PAIRS_MAX; i++) {
		if (local->rxqs[i] != NULL)
			net_rxq_drain(local->rxqs[i]);
		if (local->txqs[i] != NULL)
			net_limbo_drain(local->txqs[i]);
	}
	for (i = 0; i < data->nb_rx_queues && ret == 0; i++) {
		if (local->rxqs[i] == NULL)
			continue;
		local->rxqs[i]->reported = 0;
		ret = net_rxq_fill(local->rxqs[i]);
		if (ret != 0)
			LOG(ERR, "port %u: no mbuf for Rx queue %u: the link stays down",
			    data->port_id, i);
	}
	for (i = 0; i < data->nb_tx_queues; i++)
		if (local->txqs[i] != NULL)
			local->txqs[i]->reported = 0;
	pthread_mutex_unlock(&local->mutex);
	return ret;
}

void
net_queues_update_rx(struct rte_eth_dev *eth_dev)
{
	struct net_local *local = net_local_of(eth_dev);
	unsigned int i;

	pthread_mutex_lock(&local->mutex);
	for (i = 0; i < VIREO_NET_PAIRS_MAX; i++) {
		struct net_rxq *rxq = local->rxqs[i];

		if (rxq == NULL)
			continue;
		close_gate(&rxq->gate, rxq->port_id, "Rx", i);
		set_rx_bits(rxq, eth_dev);
		vireo_turnstile_open(&rxq->gate);
	}
	pthread_mutex_unlock(&local->mutex);
	if (!net_port_of(eth_dev)->started)
		return;
	/* ethdev copies the burst function at start only; either one is fine for a last burst. */
	net_rxtx_select(eth_dev);
	rte_eth_fp_ops[eth_dev->data->port_id].rx_pkt_burst = eth_dev->rx_pkt_burst;
}

/* --- one queue while running ------------------------------------------------- */

/* A peer that cannot pause queues finds its ring full or empty: the gate is enough. */
static int
enable_at_device(struct rte_eth_dev *eth_dev, uint16_t idx, bool enable)
{
	int ret = vireo_dev_queue_enable(net_local_of(eth_dev)->dev, idx, enable);

	if (ret == -ENOTSUP)
		return 0;
	if (ret != 0)
		LOG(ERR, "port %u: the device does not %s virtqueue %u: %s", eth_dev->data->port_id,
		    enable ? "enable" : "disable", idx, strerror(-ret));
	return ret;
}

int
net_rx_queue_start(struct rte_eth_dev *eth_dev, uint16_t queue_id)
{
	struct net_local *local = net_local_of(eth_dev);
	int ret;

	ret = enable_at_device(eth_dev, VIREO_NET_RXQ_IDX(queue_id), true);
	if (ret != 0)
		return ret;
	pthread_mutex_lock(&local->mutex);
	start_rxq(eth_dev, local->rxqs[queue_id]);
	pthread_mutex_unlock(&local->mutex);
	return 0;
}

int
net_rx_queue_stop(struct rte_eth_dev *eth_dev, uint16_t queue_id)
{
	struct net_local *local = net_local_of(eth_dev);

	pthread_mutex_lock(&local->mutex);
	stop_rxq(eth_dev, local->rxqs[queue_id]);
	pthread_mutex_unlock(&local->mutex);
	return enable_at_device(eth_dev, VIREO_NET_RXQ_IDX(queue_id), false);
}

int
net_tx_queue_start(struct rte_eth_dev *eth_dev, uint16_t queue_id)
{
	struct net_local *local = net_local_of(eth_dev);
	int ret;

	ret = enable_at_device(eth_dev, VIREO_NET_TXQ_IDX(queue_id), true);
	if (ret != 0)
		return ret;
	pthread_mutex_lock(&local->mutex);
	start_txq(eth_dev, local->txqs[queue_id]);
	pthread_mutex_unlock(&local->mutex);
	return 0;
}

int
net_tx_queue_stop(struct rte_eth_dev *eth_dev, uint16_t queue_id)
{
	struct net_local *local = net_local_of(eth_dev);

	pthread_mutex_lock(&local->mutex);
	stop_txq(eth_dev, local->txqs[queue_id]);
	pthread_mutex_unlock(&local->mutex);
	return enable_at_device(eth_dev, VIREO_NET_TXQ_IDX(queue_id), false);
}

void
net_rxq_info_get(struct rte_eth_dev *eth_dev, uint16_t queue_id, struct rte_eth_rxq_info *info)
{
	const struct net_rxq *rxq = eth_dev->data->rx_queues[queue_id];

	info->mp = rxq->mp;
	info->scattered_rx = eth_dev->data->scattered_rx;
	info->nb_desc = rxq->nb_desc;
	info->rx_buf_size = rxq->buf_bytes - rxq->hdr_bytes;
	info->conf.rx_free_thresh = rxq->free_thresh;
	info->conf.rx_deferred_start = rxq->deferred;
	info->conf.offloads = eth_dev->data->dev_conf.rxmode.offloads;
	if (rxq->offloads & NET_RX_VLAN_STRIP)
		info->conf.offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
}

void
net_txq_info_get(struct rte_eth_dev *eth_dev, uint16_t queue_id, struct rte_eth_txq_info *info)
{
	const struct net_txq *txq = eth_dev->data->tx_queues[queue_id];

	info->nb_desc = txq->nb_desc;
	info->conf.tx_free_thresh = txq->free_thresh;
	info->conf.tx_deferred_start = txq->deferred;
	info->conf.offloads = eth_dev->data->dev_conf.txmode.offloads;
}
