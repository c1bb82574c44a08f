/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <numaif.h>

#include <rte_lcore.h>
#include <rte_memzone.h>

#include "ethdev.h"
#include "log.h"

int
net_numa_node_of(const void *addr)
{
	int node = -1;

	if (get_mempolicy(&node, NULL, 0, (void *)(uintptr_t)addr, MPOL_F_NODE | MPOL_F_ADDR) != 0)
		return -1;
	return node;
}

static bool
has_lcore_on(int node)
{
	unsigned int lcore;

	RTE_LCORE_FOREACH(lcore)
		if (rte_lcore_to_socket_id(lcore) == (unsigned int)node)
			return true;
	return false;
}

static void
report(struct net_port *port, const char *kind, unsigned int queue_id, const char *what, int node)
{
	if (port->numa_reported)
		return;
	port->numa_reported = 1;
	LOG(WARNING, "port %u: %s of %s queue %u on node %d, where no lcore of this process runs",
	    port->port_id, what, kind, queue_id, node);
}

void
net_numa_check(struct rte_eth_dev *eth_dev)
{
	struct net_port *port = net_port_of(eth_dev);
	unsigned int i;
	int node;

	for (i = 0; i < eth_dev->data->nb_rx_queues; i++) {
		const struct net_rxq *rxq = eth_dev->data->rx_queues[i];

		node = net_numa_node_of(rxq->mz->addr);
		if (node >= 0 && !has_lcore_on(node))
			report(port, "Rx", i, "the ring", node);
		if (rxq->mp->socket_id >= 0 && !has_lcore_on(rxq->mp->socket_id))
			report(port, "Rx", i, "the mbufs", rxq->mp->socket_id);
	}
	for (i = 0; i < eth_dev->data->nb_tx_queues; i++) {
		const struct net_txq *txq = eth_dev->data->tx_queues[i];

		node = net_numa_node_of(txq->mz->addr);
		if (node >= 0 && !has_lcore_on(node))
			report(port, "Tx", i, "the ring", node);
	}
}
