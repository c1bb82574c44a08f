/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_NET_FIXTURE_H
#define VIREO_NET_FIXTURE_H

/*
 * A net_vireo port on a loopback device, for tests: one thread plays application and
 * device in turn, so that every run is the same. Only public ethdev calls are used.
 */

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "backend/loopback.h"

#define NET_FIXTURE_MBUFS 8191
#define NET_FIXTURE_WAIT_MS 3000

struct net_fixture {
	struct vireo_loopback *lb;
	struct vireo_loopback_conf lb_conf;
	struct rte_mempool *mp;
	char lb_name[32];
	char vdev_name[32];
	bool probed;
	uint16_t port_id;
	/* Written by the interrupt thread. */
	unsigned int nb_lsc;
	unsigned int nb_reset;
};

/**
 * Create the device (conf's name is chosen here) and probe a port with these devargs behind
 * path=. @return 0 or -errno; net_fixture_close() is needed in both cases.
 */
int net_fixture_open(struct net_fixture *f, const struct vireo_loopback_conf *conf,
		     const char *devargs);

/** Configure, set up nb_queues pairs of nb_desc descriptors and start. conf may be NULL. */
int net_fixture_start(struct net_fixture *f, uint16_t nb_queues, uint16_t nb_desc,
		      const struct rte_eth_conf *conf);

/** Undo everything; harmless when nothing was opened. */
void net_fixture_close(struct net_fixture *f);

/** The device goes away, or comes back under the same name. */
void net_fixture_device_gone(struct net_fixture *f);
int net_fixture_device_back(struct net_fixture *f);

/** An Ethernet frame of len bytes, from mp, for the port; NULL: no mbuf. */
struct rte_mbuf *net_fixture_frame(struct net_fixture *f, uint16_t len);

/** Send nb frames of len bytes on a queue. @return how many were taken; the rest is freed. */
uint16_t net_fixture_send(struct net_fixture *f, uint16_t queue_id, uint16_t nb, uint16_t len);

/** The same with frames of nb_segs mbufs, len bytes each. */
uint16_t net_fixture_send_chains(struct net_fixture *f, uint16_t queue_id, uint16_t nb,
				 uint16_t nb_segs, uint16_t len);

/** Let the device work and receive (and free) until want frames came. @return how many came. */
uint32_t net_fixture_receive(struct net_fixture *f, uint16_t queue_id, uint32_t want);

/** Send and receive in bursts until nb frames went round. @return how many came back. */
uint32_t net_fixture_round(struct net_fixture *f, uint16_t queue_id, uint32_t nb, uint16_t len);

/** Wait until *counter has reached want; bounded. */
bool net_fixture_wait(const unsigned int *counter, unsigned int want);

/** Value of an extended statistic; UINT64_MAX: there is none of that name. */
uint64_t net_fixture_xstat(const struct net_fixture *f, const char *name);

#endif /* VIREO_NET_FIXTURE_H */
