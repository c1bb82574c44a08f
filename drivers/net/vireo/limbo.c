/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "ethdev.h"
#include "tx_tmpl.h"

/*
 * Packets that were in flight when a peer was lost are taken out of the ring while the
 * device holds EAL's memory lock, where nothing may be given back to EAL's heap: not by us
 * (indirect=malloc), and not by what an application does when an external buffer is freed.
 * So they wait here, and are freed by the interrupt thread once all locks are open.
 */

int
net_limbo_create(struct net_txq *txq)
{
	txq->limbo =
		rte_zmalloc_socket("vireo_limbo", txq->vq.size * sizeof(void *), 0, txq->socket_id);
	if (txq->limbo == NULL)
		txq->limbo = rte_zmalloc("vireo_limbo", txq->vq.size * sizeof(void *), 0);
	return txq->limbo == NULL ? -ENOMEM : 0;
}

static void
park_packet(void *cookie, void *arg)
{
	struct net_txq *txq = arg;

	/* Two lost peers before one flush: there is room for the packets of one. */
	if (txq->nb_limbo == txq->vq.size)
		rte_pktmbuf_free(cookie);
	else
		txq->limbo[txq->nb_limbo++] = cookie;
}

static void
park_table(void *table, void *arg)
{
	struct net_txq *txq = arg;

	if (txq->indirect != NET_INDIRECT_MALLOC) {
		net_tx_ext_free(table, txq);
		return;
	}
	*(void **)table = txq->limbo_tables;
	txq->limbo_tables = table;
}

void
net_limbo_drain(struct net_txq *txq)
{
	vireo_vq_drv_drain(&txq->vq, park_packet, park_table, txq);
	vireo_vq_drv_reset(&txq->vq);
}

static void
free_tables(void *table)
{
	while (table != NULL) {
		void *next = *(void **)table;

		rte_free(table);
		table = next;
	}
}

/* Taken out under the mutex, freed without it: freeing may end in a quiesce that takes it. */
static void
flush_txq(struct net_local *local, unsigned int i)
{
	struct rte_mbuf **pkts = NULL;
	struct net_txq *txq;
	uint32_t nb = 0, k;
	void *tables = NULL;

	pthread_mutex_lock(&local->mutex);
	txq = local->txqs[i];
	if (txq != NULL && txq->nb_limbo != 0) {
		pkts = malloc(txq->nb_limbo * sizeof(void *));
		if (pkts != NULL) {
			nb = txq->nb_limbo;
			memcpy(pkts, txq->limbo, nb * sizeof(void *));
			txq->nb_limbo = 0;
		}
	}
	if (txq != NULL) {
		tables = txq->limbo_tables;
		txq->limbo_tables = NULL;
	}
	pthread_mutex_unlock(&local->mutex);
	for (k = 0; k < nb; k++)
		rte_pktmbuf_free(pkts[k]);
	free(pkts);
	free_tables(tables);
}

void
net_limbo_flush(struct net_local *local)
{
	unsigned int i;

	for (i = 0; i < VIREO_NET_PAIRS_MAX; i++)
		flush_txq(local, i);
}

void
net_limbo_destroy(struct net_txq *txq)
{
	uint32_t k;

	for (k = 0; k < txq->nb_limbo; k++)
		rte_pktmbuf_free(txq->limbo[k]);
	txq->nb_limbo = 0;
	free_tables(txq->limbo_tables);
	txq->limbo_tables = NULL;
	rte_free(txq->limbo);
	txq->limbo = NULL;
}
