/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/log.h"
#include "../wire/net_abi.h"
#include "dev_priv.h"

RTE_LOG_REGISTER(dev_peer_logtype, lib.vireo.dev.peer, NOTICE);
#define LOG(level, fmt, ...)                                                                       \
	VIREO_LOG(level, dev_peer_logtype, "dev", "%s: " fmt, dev->path, ##__VA_ARGS__)

/*
 * Features that a driver in use survives the loss of, when a new peer does not offer them:
 * fields of config space, things the device may do to received packets, and commands.
 */
#define NET_SOFT                                                                                   \
	(VIREO_NET_F_MAC | VIREO_NET_F_STATUS | VIREO_NET_F_MTU | VIREO_NET_F_SPEED_DUPLEX |       \
	 VIREO_NET_F_GUEST_CSUM | VIREO_NET_F_GUEST_TSO4 | VIREO_NET_F_GUEST_TSO6 |                \
	 VIREO_NET_F_GUEST_ECN | VIREO_NET_F_GUEST_UFO | VIREO_NET_F_GUEST_ANNOUNCE |              \
	 VIREO_NET_F_CTRL_VQ | VIREO_NET_F_CTRL_RX | VIREO_NET_F_CTRL_VLAN |                       \
	 VIREO_NET_F_CTRL_MAC_ADDR | VIREO_NET_F_CTRL_GUEST_OFFLOADS)

int
dev_fail(struct vireo_dev *dev, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(dev->last_error, sizeof(dev->last_error), fmt, ap);
	va_end(ap);
	LOG(ERR, "%s", dev->last_error);
	if (err == -ETIMEDOUT)
		dev->nb_timeouts++;
	return err;
}

void
dev_quiesce(struct vireo_dev *dev)
{
	if (!dev->started || dev->quiesced)
		return;
	dev->quiesced = true;
	if (dev->cb.quiesce != NULL)
		dev->cb.quiesce(dev->arg);
}

void
dev_resume(struct vireo_dev *dev)
{
	if (!dev->quiesced)
		return;
	dev->quiesced = false;
	if (dev->cb.resume != NULL)
		dev->cb.resume(dev->arg);
}

/* --- Features and status, section 3.1.1 ------------------------------------- */

static int
add_status(struct vireo_dev *dev, uint8_t bits)
{
	int ret = dev->t->ops->status_set(dev->t, dev->status | bits);

	if (ret < 0)
		return dev_fail(dev, ret, "setting device status 0x%x failed: %s",
				dev->status | bits, strerror(-ret));
	dev->status |= bits;
	return 0;
}

/* Steps 1 to 3: reset, ACKNOWLEDGE, DRIVER. */
int
dev_begin_status(struct vireo_dev *dev)
{
	int ret;

	dev->features_ok = false;
	dev->status = 0;
	ret = dev->t->ops->status_set(dev->t, 0);
	if (ret < 0)
		return dev_fail(dev, ret, "resetting the device failed: %s", strerror(-ret));
	ret = add_status(dev, VIREO_STATUS_ACKNOWLEDGE);
	if (ret < 0)
		return ret;
	return add_status(dev, VIREO_STATUS_DRIVER);
}

/* Steps 4 to 6: write the features, FEATURES_OK, and see whether the device keeps it. */
int
dev_write_features(struct vireo_dev *dev)
{
	uint8_t status;
	int ret;

	ret = dev->t->ops->features_set(dev->t, dev->negotiated);
	if (ret < 0)
		return dev_fail(dev, ret, "the device refused features 0x%" PRIx64 ": %s",
				dev->negotiated, strerror(-ret));
	ret = add_status(dev, VIREO_STATUS_FEATURES_OK);
	if (ret < 0)
		return ret;
	ret = dev->t->ops->status_get(dev->t, &status);
	if (ret < 0)
		return dev_fail(dev, ret, "reading the device status failed: %s", strerror(-ret));
	if ((status & VIREO_STATUS_FEATURES_OK) == 0) {
		add_status(dev, VIREO_STATUS_FAILED);
		return dev_fail(dev, -ENOTSUP,
				"the device did not keep FEATURES_OK (status 0x%x) for 0x%" PRIx64,
				status, dev->negotiated);
	}
	dev->features_ok = true;
	return 0;
}

/* What the driver cannot do without. */
int
dev_check_required(struct vireo_dev *dev, uint64_t offered)
{
	uint64_t missing = dev->conf.required & ~offered;

	if (missing == 0)
		return 0;
	return dev_fail(dev, -ENOTSUP,
			"the device offers 0x%" PRIx64 " and lacks required features 0x%" PRIx64,
			offered, missing);
}

/* A new peer told its features: what changes in what is negotiated? */
static int
adopt_features(struct vireo_dev *dev, uint64_t offered)
{
	uint64_t soft = dev->conf.device_id == VIREO_NET_DEVICE_ID ? NET_SOFT : 0;
	uint64_t missing = dev->negotiated & ~offered;
	int ret;

	ret = dev_check_required(dev, offered);
	if (ret < 0)
		return ret;
	if (!dev->chosen) {
		dev->negotiated = dev->conf.wanted & offered;
	} else if ((missing & ~soft) != 0) {
		return dev_fail(dev, -ENOTSUP,
				"the new peer offers 0x%" PRIx64
				" and lacks features in use 0x%" PRIx64 "; refused",
				offered, missing & ~soft);
	} else if (missing != 0) {
		LOG(NOTICE, "the new peer lacks features 0x%" PRIx64 "; going on without", missing);
		dev->negotiated &= offered;
	}
	dev->offered = offered;
	return 0;
}

static int
agree(struct vireo_dev *dev)
{
	uint64_t offered;
	int ret;

	ret = dev_begin_status(dev);
	if (ret < 0)
		return ret;
	ret = dev->t->ops->features_get(dev->t, &offered);
	if (ret < 0)
		return dev_fail(dev, ret, "reading the device's features failed: %s",
				strerror(-ret));
	ret = adopt_features(dev, offered);
	if (ret < 0)
		return ret;
	return dev_write_features(dev);
}

/* --- Queues ----------------------------------------------------------------- */

void
dev_kick(int fd)
{
	const uint64_t one = 1;
	ssize_t ret = write(fd, &one, sizeof(one));

	/* A full counter is as good as one more kick. */
	RTE_SET_USED(ret);
}

static int
set_one(struct vireo_dev *dev, uint16_t idx, const struct vq_drv *vq, int kick_fd, int call_fd)
{
	struct transport_queue tq = {
		.idx = idx,
		.size = vq->size,
		.ring = vq->ring,
		/* Sections 2.7 and 2.8.1: rings start at zero, packed with wrap counter 1. */
		.avail_base = (vq->flags & VQ_F_PACKED) ? 0x8000 : 0,
		.kick_fd = kick_fd,
		.call_fd = call_fd,
	};
	uint32_t size_max;
	int ret;

	ret = dev->t->ops->queue_size_max(dev->t, idx, &size_max);
	if (ret == 0 && vq->size > size_max)
		return dev_fail(dev, -EINVAL, "queue %u has %u entries, the device takes %u", idx,
				vq->size, size_max);
	if (ret == 0)
		ret = dev->t->ops->queue_set(dev->t, &tq);
	if (ret < 0)
		return dev_fail(dev, ret, "setting up queue %u failed: %s", idx, strerror(-ret));
	return 0;
}

int
dev_set_queue(struct vireo_dev *dev, uint16_t idx)
{
	struct dev_queue *dq = &dev->queues[idx];
	int ret;

	ret = set_one(dev, idx, dq->q.vq, dq->kick_fd, dq->q.want_call ? dq->call_fd : -1);
	if (ret < 0)
		return ret;
	dq->set = true;
	if (!dq->enabled)
		return 0;
	ret = dev->t->ops->queue_enable(dev->t, idx, true);
	if (ret < 0)
		return dev_fail(dev, ret, "enabling queue %u failed: %s", idx, strerror(-ret));
	return 0;
}

static int
set_ctrl_queue(struct vireo_dev *dev)
{
	uint16_t idx = 2;
	int ret;

	if (dev->ctrl == NULL || (dev->negotiated & VIREO_NET_F_CTRL_VQ) == 0)
		return 0;
	/* Section 5.1.2: it comes after the last pair that the device has. */
	if (dev->negotiated & (VIREO_NET_F_MQ | VIREO_NET_F_RSS))
		idx = dev->peer_queues & ~1;
	ret = ctrl_queue_init(dev->ctrl, dev->negotiated);
	if (ret == 0)
		ret = set_one(dev, idx, ctrl_queue_vq(dev->ctrl), ctrl_queue_kick_fd(dev->ctrl),
			      -1);
	if (ret == 0)
		ret = dev->t->ops->queue_enable(dev->t, idx, true);
	if (ret < 0)
		return ret;
	dev->ctrl_set = true;
	dev->ctrl_idx = idx;
	return 0;
}

static int
set_all_queues(struct vireo_dev *dev)
{
	uint16_t i;
	int ret;

	for (i = 0; i < dev->conf.nb_queues_max; i++) {
		if (!dev->queues[i].in_use)
			continue;
		if (i >= dev->peer_queues)
			return dev_fail(dev, -EINVAL, "queue %u is in use, the device has %u", i,
					dev->peer_queues);
		ret = dev_set_queue(dev, i);
		if (ret < 0)
			return ret;
	}
	return set_ctrl_queue(dev);
}

static int
share_memory(struct vireo_dev *dev)
{
	int ret = dev->t->ops->mem_set(dev->t, NULL, 0);

	if (ret < 0)
		return dev_fail(dev, ret, "sharing memory with the device failed: %s",
				strerror(-ret));
	dev->mem_told = true;
	return 0;
}

/* Steps 7 and 8: memory and queues, DRIVER_OK. */
int
dev_bring_up(struct vireo_dev *dev)
{
	uint16_t i;
	int ret;

	if (!dev->features_ok) {
		ret = dev_begin_status(dev);
		if (ret == 0)
			ret = dev_write_features(dev);
		if (ret < 0)
			return ret;
	}
	ret = share_memory(dev);
	if (ret == 0)
		ret = set_all_queues(dev);
	if (ret < 0)
		return ret;
	ret = add_status(dev, VIREO_STATUS_DRIVER_OK);
	if (ret < 0)
		return ret;
	/* A device that sleeps must find what was posted before it was there. */
	for (i = 0; i < dev->conf.nb_queues_max; i++)
		if (dev->queues[i].set && dev->queues[i].enabled)
			dev_kick(dev->queues[i].kick_fd);
	return 0;
}

void
dev_forget_peer_queues(struct vireo_dev *dev)
{
	uint16_t i;

	for (i = 0; i < dev->conf.nb_queues_max; i++)
		dev->queues[i].set = false;
	dev->ctrl_set = false;
}

/* --- Connections ------------------------------------------------------------ */

int
dev_meet_peer(struct vireo_dev *dev)
{
	int ret;

	dev->mem_told = false;
	dev_forget_peer_queues(dev);
	ret = dev->t->ops->queue_max(dev->t, &dev->peer_queues);
	if (ret < 0)
		return dev_fail(dev, ret, "asking for the number of queues failed: %s",
				strerror(-ret));
	ret = agree(dev);
	if (ret == 0)
		ret = share_memory(dev);
	if (ret < 0)
		return ret;
	if (dev->started) {
		/* The data path is out since the last peer went, or since the start. */
		ret = dev->cb.restart != NULL ? dev->cb.restart(dev->arg) : 0;
		if (ret < 0)
			return dev_fail(dev, ret, "restarting the queues failed: %s",
					strerror(-ret));
		ret = dev_bring_up(dev);
		if (ret < 0)
			return ret;
	}
	dev->up = true;
	dev->nb_connects++;
	dev->last_error[0] = '\0';
	dev_resume(dev);
	return 0;
}

void
dev_lose_peer(struct vireo_dev *dev)
{
	dev_quiesce(dev);
	dev->up = false;
	dev->features_ok = false;
	dev->mem_told = false;
	dev->status = 0;
	dev_forget_peer_queues(dev);
	dev->nb_disconnects++;
}
