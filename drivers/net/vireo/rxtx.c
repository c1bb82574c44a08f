/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * The burst functions: one line of the lists below is one instance of a template with its
 * constant flags; chosen once, at dev_start.
 */

#include "rx_tmpl.h"
#include "tx_tmpl.h"

/* name, template flags, text for burst_mode_get */
#define NET_RX_VARIANTS(X)                                                                         \
	X(split, 0, "split")                                                                       \
	X(split_mrg, NET_F_MRG, "split mergeable")                                                 \
	X(split_off, NET_F_OFFLOAD, "split offload")                                               \
	X(split_mrg_off, NET_F_MRG | NET_F_OFFLOAD, "split mergeable offload")                     \
	X(packed, VQ_F_PACKED, "packed")                                                           \
	X(packed_mrg, VQ_F_PACKED | NET_F_MRG, "packed mergeable")                                 \
	X(packed_off, VQ_F_PACKED | NET_F_OFFLOAD, "packed offload")                               \
	X(packed_mrg_off, VQ_F_PACKED | NET_F_MRG | NET_F_OFFLOAD, "packed mergeable offload")

#define NET_TX_VARIANTS(X)                                                                         \
	X(split, 0, "split")                                                                       \
	X(split_ord, VQ_F_IN_ORDER, "split in-order")                                              \
	X(split_off, NET_F_OFFLOAD, "split offload")                                               \
	X(split_ord_off, VQ_F_IN_ORDER | NET_F_OFFLOAD, "split in-order offload")                  \
	X(packed, VQ_F_PACKED, "packed")                                                           \
	X(packed_ord, VQ_F_PACKED | VQ_F_IN_ORDER, "packed in-order")                              \
	X(packed_off, VQ_F_PACKED | NET_F_OFFLOAD, "packed offload")                               \
	X(packed_ord_off, VQ_F_PACKED | VQ_F_IN_ORDER | NET_F_OFFLOAD, "packed in-order offload")

#define NET_RX_DEFINE(name, flags, text)                                                           \
	static uint16_t rx_##name(void *queue, struct rte_mbuf **pkts, uint16_t nb)                \
	{                                                                                          \
		struct net_rxq *rxq = queue;                                                       \
		uint16_t n;                                                                        \
                                                                                                   \
		if (unlikely(!turnstile_enter(&rxq->gate)))                                        \
			return 0;                                                                  \
		n = rx_burst(rxq, pkts, nb, VQ_F_SINGLE | (flags));                                \
		turnstile_leave(&rxq->gate);                                                       \
		return n;                                                                          \
	}

#define NET_TX_DEFINE(name, flags, text)                                                           \
	static uint16_t tx_##name(void *queue, struct rte_mbuf **pkts, uint16_t nb)                \
	{                                                                                          \
		struct net_txq *txq = queue;                                                       \
		uint16_t n;                                                                        \
                                                                                                   \
		if (unlikely(!turnstile_enter(&txq->gate)))                                        \
			return 0;                                                                  \
		n = tx_burst(txq, pkts, nb, VQ_F_NO_LEN | (flags));                                \
		turnstile_leave(&txq->gate);                                                       \
		return n;                                                                          \
	}

NET_RX_VARIANTS(NET_RX_DEFINE)
NET_TX_VARIANTS(NET_TX_DEFINE)

struct rx_variant {
	uint32_t flags;
	eth_rx_burst_t fn;
	const char *text;
};

struct tx_variant {
	uint32_t flags;
	eth_tx_burst_t fn;
	const char *text;
};

#define NET_RX_ENTRY(name, flags, text) { flags, rx_##name, text },
#define NET_TX_ENTRY(name, flags, text) { flags, tx_##name, text },

static const struct rx_variant rx_variants[] = { NET_RX_VARIANTS(NET_RX_ENTRY) };
static const struct tx_variant tx_variants[] = { NET_TX_VARIANTS(NET_TX_ENTRY) };

/* The flags of a port's variants: queues differ in nothing that a template tests. */
static uint32_t
rx_flags(const struct rte_eth_dev *eth_dev)
{
	const struct net_port *port = eth_dev->data->dev_private;
	uint32_t flags = vq_flags_of_features(port->negotiated) & VQ_F_PACKED;
	uint16_t i;

	if (port->negotiated & VIREO_NET_F_MRG_RXBUF)
		flags |= NET_F_MRG;
	for (i = 0; i < eth_dev->data->nb_rx_queues; i++) {
		const struct net_rxq *rxq = eth_dev->data->rx_queues[i];

		if (rxq != NULL && rxq->offloads != 0)
			flags |= NET_F_OFFLOAD;
	}
	return flags;
}

static uint32_t
tx_flags(const struct rte_eth_dev *eth_dev)
{
	const struct net_port *port = eth_dev->data->dev_private;
	uint32_t flags = vq_flags_of_features(port->negotiated) & (VQ_F_PACKED | VQ_F_IN_ORDER);
	uint16_t i;

	for (i = 0; i < eth_dev->data->nb_tx_queues; i++) {
		const struct net_txq *txq = eth_dev->data->tx_queues[i];

		if (txq != NULL && (txq->offloads & (NET_TX_CSUM | NET_TX_TSO)) != 0)
			flags |= NET_F_OFFLOAD;
	}
	return flags;
}

static const struct rx_variant *
rx_variant_of(const struct rte_eth_dev *eth_dev)
{
	uint32_t i, flags = rx_flags(eth_dev);

	for (i = 0; i < RTE_DIM(rx_variants); i++)
		if (rx_variants[i].flags == flags)
			return &rx_variants[i];
	return NULL;
}

static const struct tx_variant *
tx_variant_of(const struct rte_eth_dev *eth_dev)
{
	uint32_t i, flags = tx_flags(eth_dev);

	for (i = 0; i < RTE_DIM(tx_variants); i++)
		if (tx_variants[i].flags == flags)
			return &tx_variants[i];
	return NULL;
}

void
net_rxtx_select(struct rte_eth_dev *eth_dev)
{
	/* The lists hold every combination: neither lookup can fail. */
	eth_dev->rx_pkt_burst = rx_variant_of(eth_dev)->fn;
	eth_dev->tx_pkt_burst = tx_variant_of(eth_dev)->fn;
	eth_dev->tx_pkt_prepare = net_tx_prepare;
	eth_dev->rx_queue_count = net_rx_queue_count;
	eth_dev->rx_descriptor_status = net_rx_descriptor_status;
	eth_dev->tx_descriptor_status = net_tx_descriptor_status;
}

int
net_rx_burst_mode_get(struct rte_eth_dev *eth_dev, uint16_t queue_id,
		      struct rte_eth_burst_mode *mode)
{
	(void)queue_id;
	snprintf(mode->info, sizeof(mode->info), "%s", rx_variant_of(eth_dev)->text);
	return 0;
}

int
net_tx_burst_mode_get(struct rte_eth_dev *eth_dev, uint16_t queue_id,
		      struct rte_eth_burst_mode *mode)
{
	(void)queue_id;
	snprintf(mode->info, sizeof(mode->info), "%s", tx_variant_of(eth_dev)->text);
	return 0;
}
