/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/* Transmit: what the template leaves out of line, and what control does with a queue. */

#include <rte_malloc.h>
#include <rte_memory.h>

#include "tx_tmpl.h"

static uint64_t
table_addr(const struct net_txq *txq, void *table)
{
	if (txq->addr_off == offsetof(struct rte_mbuf, buf_addr))
		return (uintptr_t)table;
	return rte_mem_virt2iova(table);
}

/*
 * The gate of the queue that this thread allocates or frees a table for, from inside the
 * gate. EAL may change its memory under that call and tell the device, which closes all
 * gates, in this very thread.
 */
static __thread const struct turnstile *allocating;

bool
net_tx_is_allocating(const struct turnstile *gate)
{
	return allocating == gate;
}

struct vq_table
net_tx_ext_table(struct net_txq *txq, uint16_t nb_desc)
{
	struct vq_table t = { .handle = VQ_TABLE_EXT };

	if (txq->indirect == NET_INDIRECT_MALLOC) {
		/* The seed's "before": an allocation for each packet. */
		allocating = &txq->gate;
		t.mem = rte_malloc(NULL, (size_t)nb_desc * sizeof(struct ring_desc),
				   VIREO_CACHE_LINE);
		allocating = NULL;
	} else if (nb_desc <= NET_TABLE_DESC_MAX && rte_mempool_get(txq->table_mp, &t.mem) != 0) {
		t.mem = NULL;
	}
	if (t.mem != NULL)
		t.addr = table_addr(txq, t.mem);
	return t;
}

void
net_tx_ext_free(void *table, void *arg)
{
	struct net_txq *txq = arg;

	if (txq->indirect != NET_INDIRECT_MALLOC) {
		rte_mempool_put(txq->table_mp, table);
		return;
	}
	allocating = &txq->gate;
	rte_free(table);
	allocating = NULL;
}

/* mbufs of one pool on their way back to it. */
struct free_batch {
	struct rte_mempool *pool;
	uint32_t nb;
	void *mbufs[NET_TX_FREE];
};

static void
batch_flush(struct free_batch *b)
{
	if (b->nb != 0)
		rte_mempool_put_bulk(b->pool, b->mbufs, b->nb);
	b->nb = 0;
}

vireo_inline void
batch_add(struct free_batch *b, struct rte_mbuf *seg)
{
	seg = rte_pktmbuf_prefree_seg(seg);
	if (unlikely(seg == NULL))
		return;
	if (unlikely(seg->pool != b->pool || b->nb == NET_TX_FREE)) {
		batch_flush(b);
		b->pool = seg->pool;
	}
	b->mbufs[b->nb++] = seg;
}

static void
free_mixed(struct rte_mbuf **mbufs, uint16_t nb)
{
	struct free_batch b = { .nb = 0 };
	uint16_t i;

	for (i = 0; i < nb; i++) {
		struct rte_mbuf *seg = mbufs[i];

		/* It went out a ring's length ago; both of its lines are needed. */
		if (i + 2 < nb) {
			rte_prefetch0(mbufs[i + 2]);
			rte_prefetch0(&mbufs[i + 2]->next);
		}
		do {
			struct rte_mbuf *next = seg->next;

			batch_add(&b, seg);
			seg = next;
		} while (seg != NULL);
	}
	batch_flush(&b);
}

void
net_tx_free(struct rte_mbuf **mbufs, uint16_t nb, bool one_pool)
{
	if (one_pool)
		rte_mempool_put_bulk(mbufs[0]->pool, (void **)mbufs, nb);
	else
		free_mixed(mbufs, nb);
}

void
net_tx_drop(struct net_txq *txq, struct rte_mbuf *m, uint64_t *reason)
{
	(*reason)++;
	txq->stats.errors++;
	rte_pktmbuf_free(m);
}

bool
net_tx_mem_ok(const struct rte_mbuf *m)
{
	for (; m != NULL; m = m->next) {
		const struct rte_memseg_list *msl = rte_mem_virt2memseg_list(m->buf_addr);

		/* Memory that the application registered has no fd to be shared by. */
		if (msl == NULL || msl->external)
			return false;
	}
	return true;
}

static void
free_cookie(void *cookie, void *arg)
{
	(void)arg;
	rte_pktmbuf_free(cookie);
}

void
net_txq_drain(struct net_txq *txq)
{
	/* One callback argument serves both: packets need none, tables their queue. */
	vireo_vq_drv_drain(&txq->vq, free_cookie, net_tx_ext_free, txq);
	vireo_vq_drv_reset(&txq->vq);
}

int
net_tx_done_cleanup(void *queue, uint32_t free_cnt)
{
	struct net_txq *txq = queue;
	uint32_t n;

	if (!turnstile_enter(&txq->gate))
		return -EBUSY;
	n = tx_reclaim(txq, free_cnt != 0 ? free_cnt : UINT32_MAX, txq->vq.flags);
	turnstile_leave(&txq->gate);
	return n;
}

int
net_tx_descriptor_status(void *queue, uint16_t offset)
{
	struct net_txq *txq = queue;
	struct vq_drv *q = &txq->vq;
	uint32_t slot, id, len, n = 0;
	struct vq_reap r;

	if (offset >= q->limit)
		return -EINVAL;
	/* Offset counts from the next slot to be posted: free slots are done. */
	if (offset < q->nb_free)
		return RTE_ETH_TX_DESC_DONE;
	if (vq_reap_begin(q, &r, q->flags) != 0)
		return RTE_ETH_TX_DESC_UNAVAIL;
	/* Of those in flight, the oldest come next; the device may have used some. */
	slot = offset - q->nb_free;
	while (n <= slot && VQ_LAYOUT(q->flags, used_get, q, &r, &id, &len) > 0) {
		uint16_t nb_desc = id < q->size ? q->meta[id].nb_desc : 1;

		n += nb_desc;
		VQ_LAYOUT(q->flags, used_taken, q, &r, nb_desc);
	}
	return slot < n ? RTE_ETH_TX_DESC_DONE : RTE_ETH_TX_DESC_FULL;
}
