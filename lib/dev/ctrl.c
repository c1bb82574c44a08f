/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_malloc.h>

#include "../base/log.h"
#include "../vq/vq_driver.h"
#include "../wire/net_abi.h"
#include "ctrl.h"

RTE_LOG_REGISTER(ctrl_logtype, lib.vireo.ctrl, NOTICE);
#define LOG(level, ...) VIREO_LOG(level, ctrl_logtype, "ctrl", __VA_ARGS__)

/* A command takes at most three descriptors, and one is in flight at a time. */
#define CTRL_RING_SIZE 64
#define CTRL_PAUSE_US 20

/* What the device reads and writes, in memory that it can reach. */
struct ctrl_cmd {
	struct net_ctrl_hdr hdr;
	uint8_t ack;
	uint8_t data[CTRL_DATA_MAX_BYTES];
};

struct ctrl_queue {
	struct vq_drv vq;
	void *shared;
	void *priv;
	struct ctrl_cmd *cmd;
	int kick_fd;
	bool stuck; /* a command was not answered: its memory is the device's */
};

static void
fill_conf(struct vq_conf *conf, uint64_t features)
{
	memset(conf, 0, sizeof(*conf));
	conf->size = CTRL_RING_SIZE;
	conf->flags = vq_flags_of_features(features);
}

/* The layout is not known yet: room for the larger of both. */
static int
max_sizes(struct vq_mem_size *max)
{
	const uint64_t features[] = { 0, VIREO_F_RING_PACKED, VIREO_F_INDIRECT_DESC };
	struct vq_mem_size size;
	struct vq_conf conf;
	size_t i;
	int ret;

	memset(max, 0, sizeof(*max));
	for (i = 0; i < RTE_DIM(features); i++) {
		fill_conf(&conf, features[i]);
		ret = vireo_vq_mem_size(&conf, &size);
		if (ret < 0)
			return ret;
		max->shared_bytes = RTE_MAX(max->shared_bytes, size.shared_bytes);
		max->private_bytes = RTE_MAX(max->private_bytes, size.private_bytes);
	}
	return 0;
}

int
ctrl_queue_create(struct ctrl_queue **cq)
{
	struct vq_mem_size size;
	struct ctrl_queue *c;
	int ret;

	ret = max_sizes(&size);
	if (ret < 0)
		return ret;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	c->shared = rte_zmalloc("vireo_ctrl", size.shared_bytes, VIREO_CACHE_LINE);
	c->cmd = rte_zmalloc("vireo_ctrl_cmd", sizeof(*c->cmd), VIREO_CACHE_LINE);
	c->priv = aligned_alloc(VIREO_CACHE_LINE,
				RTE_ALIGN_CEIL(size.private_bytes, VIREO_CACHE_LINE));
	c->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = c->kick_fd < 0 ? -errno : -ENOMEM;
	if (c->shared == NULL || c->cmd == NULL || c->priv == NULL || c->kick_fd < 0) {
		ctrl_queue_destroy(c);
		return ret;
	}
	*cq = c;
	return 0;
}

void
ctrl_queue_destroy(struct ctrl_queue *cq)
{
	if (cq == NULL)
		return;
	if (cq->kick_fd >= 0)
		close(cq->kick_fd);
	rte_free(cq->shared);
	rte_free(cq->cmd);
	free(cq->priv);
	free(cq);
}

int
ctrl_queue_init(struct ctrl_queue *cq, uint64_t features)
{
	struct vq_conf conf;

	fill_conf(&conf, features);
	cq->stuck = false;
	return vireo_vq_drv_init(&cq->vq, &conf, cq->shared, (uint64_t)(uintptr_t)cq->shared,
				 cq->priv);
}

struct vq_drv *
ctrl_queue_vq(struct ctrl_queue *cq)
{
	return &cq->vq;
}

int
ctrl_queue_kick_fd(const struct ctrl_queue *cq)
{
	return cq->kick_fd;
}

static void
kick(struct ctrl_queue *cq)
{
	const uint64_t one = 1;
	ssize_t ret;

	if (!vq_kick_needed(&cq->vq, cq->vq.flags))
		return;
	/* A full counter (EAGAIN) has woken the device already. */
	ret = write(cq->kick_fd, &one, sizeof(one));
	RTE_SET_USED(ret);
}

static void
post(struct ctrl_queue *cq, uint32_t len_bytes)
{
	const uint32_t f = cq->vq.flags;
	struct ctrl_cmd *cmd = cq->cmd;
	struct vq_chain_post ch;
	struct vq_post c;

	vq_post_begin(&cq->vq, &c);
	vq_chain_begin(&cq->vq, &c, &ch, len_bytes > 0 ? 3 : 2, sizeof(cmd->ack), cmd, f);
	vq_chain_seg(&cq->vq, &c, &ch, (uint64_t)(uintptr_t)&cmd->hdr, sizeof(cmd->hdr), 0, true,
		     f);
	if (len_bytes > 0)
		vq_chain_seg(&cq->vq, &c, &ch, (uint64_t)(uintptr_t)cmd->data, len_bytes, 0, true,
			     f);
	vq_chain_seg(&cq->vq, &c, &ch, (uint64_t)(uintptr_t)&cmd->ack, sizeof(cmd->ack),
		     VIREO_DESC_F_WRITE, false, f);
	vq_post_end(&cq->vq, &c, f);
	kick(cq);
}

/* @return 1: answered, 0: not yet, -EPROTO. */
static int
reap(struct ctrl_queue *cq)
{
	const uint32_t f = cq->vq.flags;
	struct vq_done done;
	struct vq_reap r;
	int ret;

	ret = vq_reap_begin(&cq->vq, &r, f);
	if (ret < 0)
		return ret;
	ret = vq_reap_next(&cq->vq, &r, &done, f);
	vq_reap_end(&cq->vq, &r, f);
	return ret;
}

static uint64_t
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

int
ctrl_queue_exec(struct ctrl_queue *cq, uint8_t class_id, uint8_t cmd, const void *data,
		uint32_t len_bytes, uint32_t timeout_ms)
{
	const struct timespec pause = { .tv_nsec = CTRL_PAUSE_US * 1000 };
	uint64_t deadline_us = now_us() + (uint64_t)timeout_ms * 1000;
	int ret;

	if (len_bytes > CTRL_DATA_MAX_BYTES)
		return -EINVAL;
	if (cq->stuck)
		return -EBUSY;
	cq->cmd->hdr.class_id = class_id;
	cq->cmd->hdr.cmd = cmd;
	/* Neither OK nor ERR: a device that writes nothing has not answered. */
	cq->cmd->ack = UINT8_MAX;
	if (len_bytes > 0)
		memcpy(cq->cmd->data, data, len_bytes);
	post(cq, len_bytes);
	while ((ret = reap(cq)) == 0) {
		if (now_us() > deadline_us) {
			LOG(ERR, "command %u.%u was not answered within %u ms", class_id, cmd,
			    timeout_ms);
			cq->stuck = true;
			return -ETIMEDOUT;
		}
		nanosleep(&pause, NULL);
	}
	if (ret < 0) {
		LOG(ERR, "the device broke the control queue: %s",
		    vireo_vq_violation_str((enum vq_violation)cq->vq.broken));
		return ret;
	}
	return __atomic_load_n(&cq->cmd->ack, __ATOMIC_RELAXED);
}
