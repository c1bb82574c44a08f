/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <stdio.h>
#include <string.h>

#include "ethdev.h"

/*
 * Statistics. The lcore that owns a queue counts, in shared memory; everybody else only
 * reads. A reset notes the present values as base instead of writing counters that are
 * not its own. So all of this works in secondary processes as well.
 */

struct xstat_def {
	const char *name; /* behind rx_qN_ or tx_qN_ */
	size_t offset; /* of a uint64_t in the queue */
};

#define RX(name, field)                                                                            \
	{                                                                                          \
		name, offsetof(struct net_rxq, field)                                              \
	}
#define TX(name, field)                                                                            \
	{                                                                                          \
		name, offsetof(struct net_txq, field)                                              \
	}

/* Names are stock's where it has them. The first three entries also make the basic statistics. */
static const struct xstat_def rx_defs[] = {
	RX("good_packets", stats.packets),
	RX("good_bytes", stats.bytes),
	RX("errors", stats.errors),
	RX("nobuf", nobuf),
	RX("multicast_packets", stats.multicast),
	RX("broadcast_packets", stats.broadcast),
	RX("undersize_packets", stats.size_bins[0]),
	RX("size_64_packets", stats.size_bins[1]),
	RX("size_65_127_packets", stats.size_bins[2]),
	RX("size_128_255_packets", stats.size_bins[3]),
	RX("size_256_511_packets", stats.size_bins[4]),
	RX("size_512_1023_packets", stats.size_bins[5]),
	RX("size_1024_1518_packets", stats.size_bins[6]),
	RX("size_1519_max_packets", stats.size_bins[7]),
	RX("checksum_bad_packets", csum_bad),
	RX("lro_packets", lro),
	RX("kicks", vq.nb_kicks),
	RX("broken", vq.nb_violations),
	RX("turned_away", gate.turned_away),
};

static const struct xstat_def tx_defs[] = {
	TX("good_packets", stats.packets),
	TX("good_bytes", stats.bytes),
	TX("errors", stats.errors),
	TX("multicast_packets", stats.multicast),
	TX("broadcast_packets", stats.broadcast),
	TX("undersize_packets", stats.size_bins[0]),
	TX("size_64_packets", stats.size_bins[1]),
	TX("size_65_127_packets", stats.size_bins[2]),
	TX("size_128_255_packets", stats.size_bins[3]),
	TX("size_256_511_packets", stats.size_bins[4]),
	TX("size_512_1023_packets", stats.size_bins[5]),
	TX("size_1024_1518_packets", stats.size_bins[6]),
	TX("size_1519_max_packets", stats.size_bins[7]),
	TX("indirect_packets", indirect_packets),
	TX("indirect_pool_empty", indirect_pool_empty),
	TX("indirect_too_long", indirect_too_long),
	TX("dropped_too_long", dropped_too_long),
	TX("dropped_no_mem", dropped_no_mem),
	TX("kicks", vq.nb_kicks),
	TX("broken", vq.nb_violations),
	TX("turned_away", gate.turned_away),
};

enum { STAT_PACKETS, STAT_BYTES, STAT_ERRORS, STAT_NOBUF };

#define NB_RX RTE_DIM(rx_defs)
#define NB_TX RTE_DIM(tx_defs)

VIREO_STATIC_ASSERT(NB_RX <= NET_XSTATS_MAX, "room for an Rx queue's bases");
VIREO_STATIC_ASSERT(NB_TX <= NET_XSTATS_MAX, "room for a Tx queue's bases");

static uint64_t
raw_value(const void *queue, const struct xstat_def *def)
{
	return __atomic_load_n((const uint64_t *)RTE_PTR_ADD(queue, def->offset), __ATOMIC_RELAXED);
}

static uint64_t
rx_value(const struct rte_eth_dev *eth_dev, uint16_t queue_id, unsigned int stat)
{
	const struct net_rxq *rxq = eth_dev->data->rx_queues[queue_id];

	return rxq == NULL ? 0 : raw_value(rxq, &rx_defs[stat]) - rxq->base.value[stat];
}

static uint64_t
tx_value(const struct rte_eth_dev *eth_dev, uint16_t queue_id, unsigned int stat)
{
	const struct net_txq *txq = eth_dev->data->tx_queues[queue_id];

	return txq == NULL ? 0 : raw_value(txq, &tx_defs[stat]) - txq->base.value[stat];
}

static void
sum_queues(const struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats)
{
	uint16_t i;

	for (i = 0; i < eth_dev->data->nb_rx_queues; i++) {
		stats->ipackets += rx_value(eth_dev, i, STAT_PACKETS);
		stats->ibytes += rx_value(eth_dev, i, STAT_BYTES);
		stats->ierrors += rx_value(eth_dev, i, STAT_ERRORS);
		stats->rx_nombuf += rx_value(eth_dev, i, STAT_NOBUF);
	}
	for (i = 0; i < eth_dev->data->nb_tx_queues; i++) {
		stats->opackets += tx_value(eth_dev, i, STAT_PACKETS);
		stats->obytes += tx_value(eth_dev, i, STAT_BYTES);
		stats->oerrors += tx_value(eth_dev, i, STAT_ERRORS);
	}
}

/* Same fields, in rte_eth_stats until 25.07 and in eth_queue_stats since. */
#define FILL_QUEUES(eth_dev, to)                                                                   \
	do {                                                                                       \
		uint16_t i_;                                                                       \
		for (i_ = 0; i_ < RTE_ETHDEV_QUEUE_STAT_CNTRS; i_++) {                             \
			if (i_ < (eth_dev)->data->nb_rx_queues) {                                  \
				(to)->q_ipackets[i_] = rx_value(eth_dev, i_, STAT_PACKETS);        \
				(to)->q_ibytes[i_] = rx_value(eth_dev, i_, STAT_BYTES);            \
				(to)->q_errors[i_] = rx_value(eth_dev, i_, STAT_ERRORS);           \
			}                                                                          \
			if (i_ < (eth_dev)->data->nb_tx_queues) {                                  \
				(to)->q_opackets[i_] = tx_value(eth_dev, i_, STAT_PACKETS);        \
				(to)->q_obytes[i_] = tx_value(eth_dev, i_, STAT_BYTES);            \
			}                                                                          \
		}                                                                                  \
	} while (0)

#if NET_STATS_GET_QUEUES
int
net_stats_get(struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats,
	      struct eth_queue_stats *qstats)
{
	stats->rx_nombuf = 0;
	sum_queues(eth_dev, stats);
	if (qstats != NULL)
		FILL_QUEUES(eth_dev, qstats);
	return 0;
}
#else
int
net_stats_get(struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats)
{
	stats->rx_nombuf = 0;
	sum_queues(eth_dev, stats);
	FILL_QUEUES(eth_dev, stats);
	return 0;
}
#endif

int
net_stats_reset(struct rte_eth_dev *eth_dev)
{
	unsigned int stat;
	uint16_t i;

	for (i = 0; i < eth_dev->data->nb_rx_queues; i++) {
		struct net_rxq *rxq = eth_dev->data->rx_queues[i];

		for (stat = 0; rxq != NULL && stat < NB_RX; stat++)
			rxq->base.value[stat] = raw_value(rxq, &rx_defs[stat]);
	}
	for (i = 0; i < eth_dev->data->nb_tx_queues; i++) {
		struct net_txq *txq = eth_dev->data->tx_queues[i];

		for (stat = 0; txq != NULL && stat < NB_TX; stat++)
			txq->base.value[stat] = raw_value(txq, &tx_defs[stat]);
	}
	return 0;
}

/* Ids: all of rx_q0, rx_q1, ..., tx_q0, ... */
static unsigned int
nb_xstats(const struct rte_eth_dev *eth_dev)
{
	return eth_dev->data->nb_rx_queues * NB_RX + eth_dev->data->nb_tx_queues * NB_TX;
}

static uint64_t
xstat_value(const struct rte_eth_dev *eth_dev, unsigned int id)
{
	unsigned int nb_rx = eth_dev->data->nb_rx_queues * NB_RX;

	if (id < nb_rx)
		return rx_value(eth_dev, id / NB_RX, id % NB_RX);
	id -= nb_rx;
	return tx_value(eth_dev, id / NB_TX, id % NB_TX);
}

static void
xstat_name(const struct rte_eth_dev *eth_dev, unsigned int id, struct rte_eth_xstat_name *name)
{
	unsigned int nb_rx = eth_dev->data->nb_rx_queues * NB_RX;

	if (id < nb_rx) {
		snprintf(name->name, sizeof(name->name), "rx_q%zu_%s", id / NB_RX,
			 rx_defs[id % NB_RX].name);
		return;
	}
	id -= nb_rx;
	snprintf(name->name, sizeof(name->name), "tx_q%zu_%s", id / NB_TX,
		 tx_defs[id % NB_TX].name);
}

int
net_xstats_get(struct rte_eth_dev *eth_dev, struct rte_eth_xstat *xstats, unsigned int n)
{
	unsigned int nb = nb_xstats(eth_dev), id;

	if (xstats == NULL || n < nb)
		return nb;
	for (id = 0; id < nb; id++) {
		xstats[id].id = id;
		xstats[id].value = xstat_value(eth_dev, id);
	}
	return nb;
}

int
net_xstats_get_names(struct rte_eth_dev *eth_dev, struct rte_eth_xstat_name *names, unsigned int n)
{
	unsigned int nb = nb_xstats(eth_dev), id;

	if (names == NULL || n < nb)
		return nb;
	for (id = 0; id < nb; id++)
		xstat_name(eth_dev, id, &names[id]);
	return nb;
}

int
net_xstats_get_by_id(struct rte_eth_dev *eth_dev, const uint64_t *ids, uint64_t *values,
		     unsigned int n)
{
	unsigned int nb = nb_xstats(eth_dev), i;

	if (ids == NULL || values == NULL)
		return nb;
	for (i = 0; i < n; i++) {
		if (ids[i] >= nb)
			return -EINVAL;
		values[i] = xstat_value(eth_dev, ids[i]);
	}
	return n;
}

int
net_xstats_get_names_by_id(struct rte_eth_dev *eth_dev, const uint64_t *ids,
			   struct rte_eth_xstat_name *names, unsigned int n)
{
	unsigned int nb = nb_xstats(eth_dev), i;

	if (ids == NULL || names == NULL)
		return nb;
	for (i = 0; i < n; i++) {
		if (ids[i] >= nb)
			return -EINVAL;
		xstat_name(eth_dev, ids[i], &names[i]);
	}
	return n;
}

/* Per-queue statistics are always kept, so that any mapping is as good as another. */
int
net_queue_stats_mapping_set(struct rte_eth_dev *eth_dev __rte_unused,
			    uint16_t queue_id __rte_unused, uint8_t stat_idx __rte_unused,
			    uint8_t is_rx __rte_unused)
{
	return 0;
}
