/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef PERF_NETDEV_H
#define PERF_NETDEV_H

/*
 * The null vhost-user net device: netdev.c polls and reports, netdev_vhost.c is the
 * control side on rte_vhost, netdev_ring.h turns the rings.
 */

#include "../../lib/base/turnstile.h"
#include "netdev_ring.h"

#define NETDEV_QUEUES_MAX 64

/* A queue pair. Rings are named as the driver names them: it receives from rx. */
struct netdev_queue {
	struct turnstile gate;
	struct netdev_ring rx;
	struct netdev_ring tx;
	uint32_t nb_owed; /* reflect: buffers consumed and not yet answered; owner lcore */
	enum vq_violation reported; /* violation already told; reporter */
};

struct netdev {
	/* Written before the device is registered. */
	const char *socket_path;
	uint32_t nb_queues;
	uint32_t fill_bytes;
	bool client;
	/* Written by rte_vhost's thread, behind the turnstiles. */
	int vid; /* -1: no driver is connected */
	bool running;
	bool gates_closed;
	bool enabled[NETDEV_QUEUES_MAX * 2];
	uint64_t features;
	struct vq_regions *regions;
	struct netdev_queue *queues;
};

/**
 * Offer the device on its socket. Control thread; pollers may run already.
 *
 * @return 0 or negative errno, after saying why on stderr.
 */
int netdev_vhost_start(struct netdev *dev);

/** Take the device away; no callback runs afterwards. Control thread. */
void netdev_vhost_stop(struct netdev *dev);

#endif /* PERF_NETDEV_H */
