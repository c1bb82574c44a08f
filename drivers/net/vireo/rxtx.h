/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef NET_RXTX_H
#define NET_RXTX_H

/* What both directions of the data path share: template flags, counters, the kick. */

#include "../../../lib/vq/vq_driver.h"
#include "net_vireo.h"

/* Net flags of a template, above the VQ_F_* ones. */
#define NET_F_MRG 0x100u /* MRG_RXBUF: a packet may take several buffers */
#define NET_F_OFFLOAD 0x200u /* the header's contents matter, or VLAN is stripped */

/* Negotiated features that cost a branch a burst, tested at run time: no variants for them. */
#define NET_RUNTIME_FLAGS (VQ_F_EVENT_IDX | VQ_F_ORDER_PLATFORM)

/** Notify the device: one write to an eventfd. Out of line, owner lcore. */
vireo_cold void net_queue_kick(struct net_queue_local *local, struct vq_drv *q);

/** Count destination addresses (devarg mac_stats: reads a line of every packet). */
void net_count_macs(struct net_counters *stats, struct rte_mbuf **pkts, uint16_t nb);

vireo_inline void
net_count_size(struct net_counters *stats, uint32_t len, uint32_t nb)
{
	uint32_t bin;

	/* Bins: below 64, 64, 65 .. 127, 128 .. 255, ..., 1024 .. 1518, above. */
	if (len == 64)
		bin = 1;
	else if (len > 64 && len < 1024)
		bin = 32 - __builtin_clz(len) - 5;
	else if (len < 64)
		bin = 0;
	else
		bin = len < 1519 ? 6 : 7;
	stats->size_bins[bin] += nb;
}

/* Packets of one length behind each other are counted at once: most traffic comes so. */
struct net_size_run {
	uint32_t len;
	uint32_t nb;
};

vireo_inline void
net_size_run_add(struct net_size_run *run, struct net_counters *stats, uint32_t len)
{
	if (unlikely(len != run->len)) {
		net_count_size(stats, run->len, run->nb);
		run->len = len;
		run->nb = 0;
	}
	run->nb++;
}

#endif /* NET_RXTX_H */
