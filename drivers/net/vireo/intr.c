/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_interrupts.h>

#include "ethdev.h"
#include "log.h"

/*
 * Rx interrupts: ethdev's epoll loop waits on the eventfds that the device writes (call
 * fds), reads them empty when they fire, and the application polls the queue.
 */

static int
fill_handle(struct rte_eth_dev *eth_dev)
{
	struct net_local *local = net_local_of(eth_dev);
	struct rte_intr_handle *handle = eth_dev->intr_handle;
	uint16_t nb = eth_dev->data->nb_rx_queues, i;

	/* A vdev's handle has no fd of its own: link events come from the transport. */
	if (rte_intr_type_set(handle, RTE_INTR_HANDLE_VDEV) != 0 ||
	    rte_intr_efd_counter_size_set(handle, sizeof(uint64_t)) != 0 ||
	    rte_intr_nb_efd_set(handle, nb) != 0 || rte_intr_max_intr_set(handle, nb + 1) != 0 ||
	    rte_intr_vec_list_alloc(handle, "vireo_vec", nb) != 0)
		return -EIO;
	for (i = 0; i < nb; i++) {
		int fd = local->queues[VIREO_NET_RXQ_IDX(i)].call_fd;

		if (fd < 0 || rte_intr_efds_index_set(handle, i, fd) != 0 ||
		    rte_intr_vec_list_index_set(handle, i, RTE_INTR_VEC_RXTX_OFFSET + i) != 0)
			return -EIO;
	}
	return 0;
}

int
net_intr_setup(struct rte_eth_dev *eth_dev)
{
	int ret;

	net_intr_teardown(eth_dev);
	eth_dev->intr_handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	if (eth_dev->intr_handle == NULL)
		return -ENOMEM;
	ret = fill_handle(eth_dev);
	if (ret != 0) {
		LOG(ERR, "port %u: cannot set up Rx interrupts for %u queues: %s",
		    eth_dev->data->port_id, eth_dev->data->nb_rx_queues, rte_strerror(rte_errno));
		net_intr_teardown(eth_dev);
	}
	return ret;
}

void
net_intr_teardown(struct rte_eth_dev *eth_dev)
{
	if (eth_dev->intr_handle == NULL)
		return;
	rte_intr_vec_list_free(eth_dev->intr_handle);
	rte_intr_instance_free(eth_dev->intr_handle);
	eth_dev->intr_handle = NULL;
}

/* Called by the lcore that polls the queue, as ethdev's rules have it. */
int
net_rx_queue_intr_enable(struct rte_eth_dev *eth_dev, uint16_t queue_id)
{
	struct net_rxq *rxq = eth_dev->data->rx_queues[queue_id];
	const uint64_t one = 1;
	int waiting;

	if (eth_dev->intr_handle == NULL)
		return -ENOTSUP;
	if (!turnstile_enter(&rxq->gate))
		return 0;
	waiting = net_rxq_arm(rxq);
	turnstile_leave(&rxq->gate);
	/* Packets that came before arming bring no interrupt: wake the epoll loop ourselves. */
	if (waiting && write(rxq->local->call_fd, &one, sizeof(one)) != sizeof(one) &&
	    errno != EAGAIN)
		return -errno;
	return 0;
}

int
net_rx_queue_intr_disable(struct rte_eth_dev *eth_dev, uint16_t queue_id)
{
	struct net_rxq *rxq = eth_dev->data->rx_queues[queue_id];

	if (eth_dev->intr_handle == NULL)
		return -ENOTSUP;
	if (!turnstile_enter(&rxq->gate))
		return 0;
	net_rxq_disarm(rxq);
	turnstile_leave(&rxq->gate);
	return 0;
}
