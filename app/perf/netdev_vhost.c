/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * Control side of the null device. rte_vhost hands out rings and memory and then
 * changes them under their users; so every message that may do so closes the
 * turnstiles of all queues first, and they open again only once everything was fetched
 * anew. A message that fails leaves them closed until a later one succeeds.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_vhost.h>

#include "netdev.h"

/* How long a poller may take to leave its burst. */
#define GATE_TIMEOUT_US 1000000

/* Requests of the vhost-user protocol that change nothing a poller uses. */
enum {
	MSG_GET_FEATURES = 1,
	MSG_GET_PROTOCOL_FEATURES = 15,
	MSG_GET_QUEUE_NUM = 17,
	MSG_SEND_RARP = 19,
	MSG_GET_CONFIG = 24,
	MSG_GET_STATUS = 40,
};

/* Callbacks name a device by number only; there is one device in the process. */
static struct netdev *the_dev;

static int
close_gates(struct netdev *dev)
{
	uint32_t i;
	int rc = 0;

	if (dev->gates_closed)
		return 0;
	for (i = 0; i < dev->nb_queues; i++)
		if (vireo_turnstile_close(&dev->queues[i].gate, GATE_TIMEOUT_US) < 0)
			rc = -ETIMEDOUT;
	dev->gates_closed = true;
	if (rc < 0)
		fprintf(stderr, "netdev: a poller did not stop within %u ms\n",
			GATE_TIMEOUT_US / 1000);
	return rc;
}

static void
open_gates(struct netdev *dev)
{
	uint32_t i;

	if (!dev->gates_closed)
		return;
	dev->gates_closed = false;
	for (i = 0; i < dev->nb_queues; i++)
		vireo_turnstile_open(&dev->queues[i].gate);
}

static struct netdev_ring *
ring_of(struct netdev *dev, uint16_t vring_idx)
{
	struct netdev_queue *queue = &dev->queues[vring_idx / 2];

	return vring_idx % 2 == 0 ? &queue->rx : &queue->tx;
}

static int
fetch_regions(struct netdev *dev)
{
	struct rte_vhost_memory *memory;
	struct vq_regions *regions;
	uint32_t i;

	if (rte_vhost_get_mem_table(dev->vid, &memory) < 0)
		return -ENODEV;
	regions = calloc(1, sizeof(*regions) + memory->nregions * sizeof(regions->region[0]));
	if (regions != NULL) {
		regions->nb = memory->nregions;
		for (i = 0; i < memory->nregions; i++) {
			regions->region[i].addr = memory->regions[i].guest_phys_addr;
			regions->region[i].len_bytes = memory->regions[i].size;
			regions->region[i].va = (uintptr_t)memory->regions[i].host_user_addr;
		}
		free(dev->regions);
		dev->regions = regions;
	}
	free(memory);
	return regions != NULL ? 0 : -ENOMEM;
}

/*
 * This device only polls: tell the driver so. Written directly, since rte_vhost's call
 * for it takes a lock that it holds itself during messages.
 */
static void
silence_driver(struct netdev_ring *ring)
{
	if (ring->packed)
		ring->mem.dev_event->flags = VIREO_EVENT_F_DISABLE;
	else
		ring->mem.used->flags = VIREO_USED_F_NO_NOTIFY;
}

/* Where the ring lies now; false when the driver has not set it up. */
static bool
fetch_ring(struct netdev *dev, uint16_t vring_idx)
{
	struct netdev_ring *ring = ring_of(dev, vring_idx);
	struct rte_vhost_vring vring;

	memset(&vring, 0, sizeof(vring));
	if (rte_vhost_get_vhost_vring(dev->vid, vring_idx, &vring) < 0 || vring.desc == NULL ||
	    vring.avail == NULL || vring.used == NULL || vring.size == 0)
		return false;
	ring->mem.desc = (struct ring_desc *)vring.desc;
	ring->mem.avail = (struct ring_avail *)vring.avail;
	ring->mem.used = (struct ring_used *)vring.used;
	ring->size = vring.size;
	ring->mask = (uint16_t)(vring.size - 1);
	ring->packed = (dev->features & VIREO_F_RING_PACKED) != 0;
	ring->in_order = (dev->features & VIREO_F_IN_ORDER) != 0;
	ring->regions = dev->regions;
	ring->fill_bytes = dev->fill_bytes;
	silence_driver(ring);
	return true;
}

/* Begin at the first buffer that was not given back, whoever took it. */
static void
activate_ring(struct netdev *dev, uint16_t vring_idx)
{
	struct netdev_ring *ring = ring_of(dev, vring_idx);
	uint16_t avail_base, used_base;

	if (ring->active || !fetch_ring(dev, vring_idx) ||
	    rte_vhost_get_vring_base(dev->vid, vring_idx, &avail_base, &used_base) < 0)
		return;
	if (ring->packed) {
		ring->idx = used_base & VIREO_EVENT_OFF_MASK;
		ring->avail_bits = (used_base >> VIREO_EVENT_WRAP_BIT) ? VIREO_DESC_F_AVAIL
								       : VIREO_DESC_F_USED;
		if (ring->idx >= ring->size)
			return;
	} else {
		ring->idx = used_base;
	}
	ring->broken = VQ_OK;
	ring->active = true;
}

/* GET_VRING_BASE and whoever comes next want to know how far we got. */
static void
deactivate_ring(struct netdev *dev, uint16_t vring_idx)
{
	struct netdev_ring *ring = ring_of(dev, vring_idx);
	uint16_t base = ring->idx;

	if (!ring->active)
		return;
	ring->active = false;
	if (ring->packed && (ring->avail_bits & VIREO_DESC_F_AVAIL))
		base |= 1u << VIREO_EVENT_WRAP_BIT;
	rte_vhost_set_vring_base(dev->vid, vring_idx, base, base);
}

static int
fetch_all(struct netdev *dev)
{
	uint16_t i;
	int rc;

	rc = fetch_regions(dev);
	if (rc < 0)
		return rc;
	for (i = 0; i < dev->nb_queues * 2; i++) {
		if (ring_of(dev, i)->active)
			ring_of(dev, i)->active = fetch_ring(dev, i);
		else if (dev->enabled[i])
			activate_ring(dev, i);
	}
	return 0;
}

static bool
changes_nothing(const void *msg)
{
	uint32_t request;

	/* The structure is private to rte_vhost; every message begins with its number. */
	memcpy(&request, msg, sizeof(request));
	switch (request) {
	case MSG_GET_FEATURES:
	case MSG_GET_PROTOCOL_FEATURES:
	case MSG_GET_QUEUE_NUM:
	case MSG_SEND_RARP:
	case MSG_GET_CONFIG:
	case MSG_GET_STATUS:
		return true;
	default:
		return false;
	}
}

static enum rte_vhost_msg_result
before_message(int vid, void *msg)
{
	if (vid != the_dev->vid || changes_nothing(msg))
		return RTE_VHOST_MSG_RESULT_NOT_HANDLED;
	if (close_gates(the_dev) < 0)
		return RTE_VHOST_MSG_RESULT_ERR;
	return RTE_VHOST_MSG_RESULT_NOT_HANDLED;
}

static enum rte_vhost_msg_result
after_message(int vid, void *msg)
{
	if (vid != the_dev->vid || changes_nothing(msg) || !the_dev->running)
		return RTE_VHOST_MSG_RESULT_NOT_HANDLED;
	if (fetch_all(the_dev) == 0)
		open_gates(the_dev);
	return RTE_VHOST_MSG_RESULT_NOT_HANDLED;
}

static const struct rte_vhost_user_extern_ops extern_ops = {
	.pre_msg_handle = before_message,
	.post_msg_handle = after_message,
};

static int
on_new_connection(int vid)
{
	if (the_dev->vid >= 0) {
		fprintf(stderr, "netdev: a driver is connected already, another one is refused\n");
		return -1;
	}
	the_dev->vid = vid;
	return rte_vhost_extern_callback_register(vid, &extern_ops, NULL);
}

static void
on_destroy_connection(int vid)
{
	if (vid == the_dev->vid)
		the_dev->vid = -1;
}

static int
on_new_device(int vid)
{
	struct netdev *dev = the_dev;

	if (vid != dev->vid || close_gates(dev) < 0)
		return -1;
	if (rte_vhost_get_negotiated_features(vid, &dev->features) < 0 || fetch_all(dev) < 0)
		return -1;
	dev->running = true;
	open_gates(dev);
	printf("netdev: driver connected, features 0x%" PRIx64 ", %s%s%s\n", dev->features,
	       (dev->features & VIREO_F_RING_PACKED) ? "packed" : "split",
	       (dev->features & VIREO_F_IN_ORDER) ? ", in order" : "",
	       (dev->features & VIREO_NET_F_MRG_RXBUF) ? ", mergeable" : "");
	return 0;
}

static void
on_destroy_device(int vid)
{
	struct netdev *dev = the_dev;
	uint16_t i;

	if (vid != dev->vid || !dev->running)
		return;
	close_gates(dev);
	for (i = 0; i < dev->nb_queues * 2; i++)
		deactivate_ring(dev, i);
	dev->running = false;
}

static int
on_vring_state(int vid, uint16_t vring_idx, int enable)
{
	struct netdev *dev = the_dev;

	if (vid != dev->vid)
		return 0;
	if (vring_idx >= dev->nb_queues * 2) {
		if (enable)
			fprintf(stderr,
				"netdev: the driver uses queue %u; give --queues %u or more\n",
				vring_idx / 2, vring_idx / 2 + 1);
		return 0;
	}
	if (close_gates(dev) < 0)
		return -1;
	dev->enabled[vring_idx] = enable != 0;
	if (!dev->running)
		return 0;
	if (enable)
		activate_ring(dev, vring_idx);
	else
		deactivate_ring(dev, vring_idx);
	open_gates(dev);
	return 0;
}

static const struct rte_vhost_device_ops device_ops = {
	.new_connection = on_new_connection,
	.destroy_connection = on_destroy_connection,
	.new_device = on_new_device,
	.destroy_device = on_destroy_device,
	.vring_state_changed = on_vring_state,
};

/*
 * What rte_vhost offers for a net device, without what this one would have to serve:
 * control queues, announcements, and a log of written pages. UFO is off, as in net_vhost.
 */
static const uint64_t features_off = VIREO_NET_F_CTRL_VQ | VIREO_NET_F_CTRL_RX |
	VIREO_NET_F_GUEST_ANNOUNCE | VIREO_NET_F_HOST_UFO | VIREO_NET_F_GUEST_UFO |
	(1ULL << VHOST_F_LOG_ALL);

int
netdev_vhost_start(struct netdev *dev)
{
	uint64_t flags = dev->client ? RTE_VHOST_USER_CLIENT : 0;

	the_dev = dev;
	dev->vid = -1;
	if (rte_vhost_driver_register(dev->socket_path, flags) < 0) {
		fprintf(stderr,
			"netdev: %s cannot be registered: expected a path in a folder that"
			" can be written, and no other device on it\n",
			dev->socket_path);
		return -EINVAL;
	}
	if (rte_vhost_driver_disable_features(dev->socket_path, features_off) < 0 ||
	    rte_vhost_driver_callback_register(dev->socket_path, &device_ops) < 0 ||
	    rte_vhost_driver_start(dev->socket_path) < 0) {
		fprintf(stderr, "netdev: cannot %s %s\n", dev->client ? "connect to" : "listen on",
			dev->socket_path);
		rte_vhost_driver_unregister(dev->socket_path);
		return -EIO;
	}
	return 0;
}

void
netdev_vhost_stop(struct netdev *dev)
{
	rte_vhost_driver_unregister(dev->socket_path);
	free(dev->regions);
	dev->regions = NULL;
}
