/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_eal_memconfig.h>
#include <rte_errno.h>
#include <rte_memory.h>

#include "../base/log.h"
#include "../wire/net_abi.h"
#include "dev_priv.h"

RTE_LOG_REGISTER(dev_logtype, lib.vireo.dev, NOTICE);

#define DEFAULT_TIMEOUT_MS 5000
#define CONFIG_READ_TRIES 8
#define MEM_EVENT_NAME "vireo_dev"

/*
 * Lock order: EAL's memory lock, then the device's. A memory event comes with the former
 * held for writing and takes the latter, so whoever lists memory takes them in that order
 * too, and nobody allocates EAL memory while holding the device's lock.
 */
static void
lock_with_memory(struct vireo_dev *dev)
{
	rte_mcfg_mem_read_lock();
	pthread_mutex_lock(&dev->lock);
}

static void
unlock_with_memory(struct vireo_dev *dev)
{
	pthread_mutex_unlock(&dev->lock);
	rte_mcfg_mem_read_unlock();
}

/* --- Events ----------------------------------------------------------------- */

/* What the driver is told once the lock is free again. */
struct news {
	bool link;
	bool link_up;
	bool config;
};

static void
process_locked(struct vireo_dev *dev, struct news *news)
{
	int events = dev->t->ops->process(dev->t);
	bool was_up = dev->up;

	if (events < 0) {
		dev_fail(dev, events, "a new peer was dropped: %s", strerror(-events));
		return;
	}
	if ((events & TRANSPORT_EV_DISCONNECTED) && was_up)
		dev_lose_peer(dev);
	if ((events & TRANSPORT_EV_CONNECTED) && dev_meet_peer(dev) < 0)
		dev->t->ops->disconnect(dev->t);
	news->link = dev->up != was_up;
	news->link_up = dev->up;
	news->config = (events & TRANSPORT_EV_CONFIG) != 0;
}

/* From the transport, in EAL's interrupt thread. */
static void
on_wakeup(void *arg)
{
	struct vireo_dev *dev = arg;
	struct news news = { 0 };

	lock_with_memory(dev);
	process_locked(dev, &news);
	unlock_with_memory(dev);
	if (news.link && dev->cb.link != NULL)
		dev->cb.link(dev->arg, news.link_up);
	if (news.config && dev->cb.config != NULL)
		dev->cb.config(dev->arg);
}

/* From the thread that allocates or frees memory; EAL's memory lock is held for writing. */
static void
on_memory(enum rte_mem_event type, const void *addr, size_t len, void *arg)
{
	const struct rte_memseg_list *msl = rte_mem_virt2memseg_list(addr);
	struct vireo_dev *dev = arg;
	bool started;
	int ret;

	if (msl == NULL || msl->external)
		return;
	pthread_mutex_lock(&dev->lock);
	if (!dev->up || !dev->mem_told) {
		pthread_mutex_unlock(&dev->lock);
		return;
	}
	started = dev->started && !dev->quiesced;
	dev_quiesce(dev);
	if (type == RTE_MEM_EVENT_FREE)
		ret = dev->t->ops->mem_set(dev->t, addr, len);
	else
		ret = dev->t->ops->mem_set(dev->t, NULL, 0);
	if (ret == 0) {
		if (started)
			dev_resume(dev);
	} else {
		dev_fail(dev, ret, "the device cannot follow a change of memory: %s; disconnecting",
			 strerror(-ret));
		dev->t->ops->abort(dev->t);
	}
	pthread_mutex_unlock(&dev->lock);
}

/* --- Create and destroy ----------------------------------------------------- */

static int
check_conf(const struct vireo_dev_conf *conf)
{
	if (conf->path == NULL || conf->path[0] == '\0' || conf->nb_queues_max == 0 ||
	    (conf->required & ~conf->wanted) != 0 ||
	    (conf->transport != VIREO_DEV_VHOST_USER && conf->transport != VIREO_DEV_LOOPBACK)) {
		VIREO_LOG(ERR, dev_logtype, "dev",
			  "bad configuration: expected a path, at least one queue, required"
			  " features among the wanted ones, and a known transport");
		return -EINVAL;
	}
	return 0;
}

static int
init_lock(struct vireo_dev *dev)
{
	pthread_mutexattr_t attr;
	int ret;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	ret = pthread_mutex_init(&dev->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return -ret;
}

static int
alloc_queues(struct vireo_dev *dev)
{
	uint16_t i;

	dev->queues = calloc(dev->conf.nb_queues_max, sizeof(*dev->queues));
	if (dev->queues == NULL)
		return -ENOMEM;
	for (i = 0; i < dev->conf.nb_queues_max; i++) {
		dev->queues[i].kick_fd = -1;
		dev->queues[i].call_fd = -1;
	}
	return 0;
}

static int
open_eventfds(struct vireo_dev *dev)
{
	uint16_t i;

	for (i = 0; i < dev->conf.nb_queues_max; i++) {
		dev->queues[i].kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		dev->queues[i].call_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (dev->queues[i].kick_fd < 0 || dev->queues[i].call_fd < 0)
			return -errno;
	}
	return 0;
}

static int
make_transport(struct vireo_dev *dev)
{
	const struct transport_conf tconf = {
		.path = dev->path,
		.server = dev->conf.server,
		.device_id = dev->conf.device_id,
		.nb_queues_max = dev->conf.nb_queues_max,
		.timeout_ms = dev->conf.timeout_ms,
	};
	int ret;

	if (dev->conf.transport == VIREO_DEV_LOOPBACK)
		ret = transport_loopback_create(&tconf, &dev->t);
	else
		ret = transport_vhost_user_create(&tconf, &dev->t);
	if (ret == 0 && dev->t->ops->ctrl == NULL && dev->conf.device_id == VIREO_NET_DEVICE_ID)
		ret = ctrl_queue_create(&dev->ctrl);
	return ret;
}

static void
free_dev(struct vireo_dev *dev)
{
	uint16_t i;

	if (dev->mem_events)
		rte_mem_event_callback_unregister(MEM_EVENT_NAME, dev);
	if (dev->t != NULL)
		dev->t->ops->close(dev->t);
	ctrl_queue_destroy(dev->ctrl);
	for (i = 0; dev->queues != NULL && i < dev->conf.nb_queues_max; i++) {
		if (dev->queues[i].kick_fd >= 0)
			close(dev->queues[i].kick_fd);
		if (dev->queues[i].call_fd >= 0)
			close(dev->queues[i].call_fd);
	}
	pthread_mutex_destroy(&dev->lock);
	free(dev->queues);
	free(dev->path);
	free(dev);
}

/* Connect or listen; what a server's first peer will offer is not known yet. */
static int
open_transport(struct vireo_dev *dev)
{
	int ret;

	lock_with_memory(dev);
	ret = dev->t->ops->open(dev->t, on_wakeup, dev);
	if (ret == 0) {
		if (dev->t->ops->is_connected(dev->t)) {
			ret = dev_meet_peer(dev);
		} else {
			dev->offered = dev->conf.wanted & dev->t->ops->features_mask(dev->t);
			dev->negotiated = dev->offered;
			dev->peer_queues = dev->conf.nb_queues_max;
			ret = dev_check_required(dev, dev->offered);
		}
	}
	unlock_with_memory(dev);
	return ret;
}

static int
listen_to_memory(struct vireo_dev *dev)
{
	if (rte_mem_event_callback_register(MEM_EVENT_NAME, on_memory, dev) == 0) {
		dev->mem_events = true;
		return 0;
	}
	/* Memory that never changes (--legacy-mem, --no-huge) needs no events. */
	return rte_errno == ENOTSUP ? 0 : -rte_errno;
}

static int
fill_dev(struct vireo_dev *dev, const struct vireo_dev_conf *conf, const struct vireo_dev_cb *cb,
	 void *arg)
{
	int ret;

	dev->conf = *conf;
	if (conf->timeout_ms == 0)
		dev->conf.timeout_ms = DEFAULT_TIMEOUT_MS;
	if (cb != NULL)
		dev->cb = *cb;
	dev->arg = arg;
	dev->path = strdup(conf->path);
	if (dev->path == NULL)
		return -ENOMEM;
	dev->conf.path = dev->path;
	ret = alloc_queues(dev);
	return ret < 0 ? ret : open_eventfds(dev);
}

VIREO_EXPORT int
vireo_dev_create(const struct vireo_dev_conf *conf, const struct vireo_dev_cb *cb, void *arg,
		 struct vireo_dev **dev_out)
{
	struct vireo_dev *dev;
	int ret;

	ret = check_conf(conf);
	if (ret < 0)
		return ret;
	dev = calloc(1, sizeof(*dev));
	if (dev == NULL)
		return -ENOMEM;
	ret = init_lock(dev);
	if (ret < 0) {
		free(dev);
		return ret;
	}
	ret = fill_dev(dev, conf, cb, arg);
	if (ret == 0)
		ret = make_transport(dev);
	if (ret == 0)
		ret = listen_to_memory(dev);
	if (ret == 0)
		ret = open_transport(dev);
	if (ret < 0) {
		free_dev(dev);
		return ret;
	}
	*dev_out = dev;
	return 0;
}

VIREO_EXPORT void
vireo_dev_destroy(struct vireo_dev *dev)
{
	if (dev == NULL)
		return;
	vireo_dev_stop(dev);
	free_dev(dev);
}

/* The peer has gone, or is about to be found gone. */
static bool
is_lost(int err)
{
	return err == -ENOTCONN || err == -ECONNRESET || err == -EPIPE;
}

VIREO_EXPORT int
vireo_dev_negotiate(struct vireo_dev *dev, uint64_t wanted, uint64_t *negotiated)
{
	uint64_t before;
	int ret;

	pthread_mutex_lock(&dev->lock);
	before = dev->negotiated;
	if (dev->started) {
		ret = -EBUSY;
		goto unlock;
	}
	ret = dev_check_required(dev, wanted & dev->offered);
	if (ret < 0)
		goto unlock;
	dev->negotiated = wanted & dev->offered;
	dev->chosen = true;
	if (dev->up && (before != dev->negotiated || !dev->features_ok)) {
		ret = dev_begin_status(dev);
		if (ret == 0)
			ret = dev_write_features(dev);
	}
	/* The peer is just going: the next one is told. */
	if (is_lost(ret))
		ret = 0;
	*negotiated = dev->negotiated;

unlock:
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

/* --- Start and stop --------------------------------------------------------- */

static int
take_queues(struct vireo_dev *dev, const struct vireo_dev_queue *queues, uint16_t nb_queues)
{
	struct dev_queue *dq;
	uint16_t i;

	for (i = 0; i < dev->conf.nb_queues_max; i++)
		dev->queues[i].in_use = false;
	for (i = 0; i < nb_queues; i++) {
		if (queues[i].idx >= dev->conf.nb_queues_max || queues[i].vq == NULL ||
		    dev->queues[queues[i].idx].in_use)
			return dev_fail(dev, -EINVAL,
					"queue %u: expected an index below %u, once, with a ring",
					queues[i].idx, dev->conf.nb_queues_max);
		dq = &dev->queues[queues[i].idx];
		dq->q = queues[i];
		dq->enabled = queues[i].enabled;
		dq->set = false;
		dq->in_use = true;
	}
	return 0;
}

VIREO_EXPORT int
vireo_dev_start(struct vireo_dev *dev, const struct vireo_dev_queue *queues, uint16_t nb_queues)
{
	int ret;

	lock_with_memory(dev);
	ret = dev->started ? -EBUSY : take_queues(dev, queues, nb_queues);
	if (ret < 0)
		goto unlock;
	dev->chosen = true;
	ret = dev->up ? dev_bring_up(dev) : -ENOTCONN;
	if (ret == 0) {
		dev->started = true;
	} else if (is_lost(ret)) {
		/* Everything is done when a peer comes. */
		dev->started = true;
		dev_quiesce(dev);
		ret = 0;
	} else {
		dev_forget_peer_queues(dev);
		dev->features_ok = false;
	}

unlock:
	unlock_with_memory(dev);
	return ret;
}

/* vhost-user: no queue before all were paused; the last message is the reset. */
static void
stop_at_peer(struct vireo_dev *dev)
{
	const struct transport_ops *ops = dev->t->ops;
	uint16_t i;
	int ret = 0;

	for (i = 0; i < dev->conf.nb_queues_max; i++)
		if (dev->queues[i].set && dev->queues[i].enabled)
			ops->queue_enable(dev->t, i, false);
	for (i = 0; i < dev->conf.nb_queues_max && ret == 0; i++)
		if (dev->queues[i].set)
			ret = ops->queue_stop(dev->t, i);
	if (dev->ctrl_set && ret == 0)
		ret = ops->queue_stop(dev->t, dev->ctrl_idx);
	if (ret == 0)
		ret = ops->status_set(dev->t, 0);
	if (ret == 0 || is_lost(ret))
		return;
	/* It may still use our buffers: at least it must not find us here again. */
	dev_fail(dev, ret, "stopping failed: %s; disconnecting", strerror(-ret));
	ops->abort(dev->t);
}

VIREO_EXPORT void
vireo_dev_stop(struct vireo_dev *dev)
{
	pthread_mutex_lock(&dev->lock);
	if (dev->started) {
		if (dev->up)
			stop_at_peer(dev);
		dev_forget_peer_queues(dev);
		dev->features_ok = false;
		dev->status = 0;
		dev->started = false;
		dev_resume(dev);
	}
	pthread_mutex_unlock(&dev->lock);
}

VIREO_EXPORT int
vireo_dev_queue_enable(struct vireo_dev *dev, uint16_t idx, bool enable)
{
	struct dev_queue *dq;
	int ret = 0;

	pthread_mutex_lock(&dev->lock);
	if (idx >= dev->conf.nb_queues_max || !dev->started || !dev->queues[idx].in_use) {
		ret = -EINVAL;
		goto unlock;
	}
	dq = &dev->queues[idx];
	/* Without a peer it is remembered for the next one. */
	if (dev->up && !dq->set) {
		dq->enabled = enable;
		ret = enable ? dev_set_queue(dev, idx) : 0;
	} else if (dev->up) {
		ret = dev->t->ops->queue_enable(dev->t, idx, enable);
	}
	if (ret == 0 || is_lost(ret)) {
		dq->enabled = enable;
		ret = 0;
	}
	if (ret == 0 && enable)
		dev_kick(dq->kick_fd);

unlock:
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

VIREO_EXPORT int
vireo_dev_queue_reset(struct vireo_dev *dev, uint16_t idx)
{
	int ret;

	pthread_mutex_lock(&dev->lock);
	if (idx >= dev->conf.nb_queues_max || !dev->started || !dev->queues[idx].in_use)
		ret = -EINVAL;
	else if ((dev->negotiated & VIREO_F_RING_RESET) == 0)
		ret = -ENOTSUP;
	else if (!dev->up || !dev->queues[idx].set)
		ret = 0;
	else
		ret = dev->t->ops->queue_reset(dev->t, idx);
	if (ret == 0) {
		dev->queues[idx].set = false;
		dev->queues[idx].enabled = false;
	}
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

/* --- The rest --------------------------------------------------------------- */

VIREO_EXPORT int
vireo_dev_kick_fd(const struct vireo_dev *dev, uint16_t idx)
{
	return idx < dev->conf.nb_queues_max ? dev->queues[idx].kick_fd : -EINVAL;
}

VIREO_EXPORT int
vireo_dev_call_fd(const struct vireo_dev *dev, uint16_t idx)
{
	return idx < dev->conf.nb_queues_max ? dev->queues[idx].call_fd : -EINVAL;
}

/*
 * Section 2.5.3: a read of several fields is torn when config space changes meanwhile. Not
 * every transport has the generation count, two equal reads in a row are as good.
 */
static int
read_config_twice(struct vireo_dev *dev, uint32_t offset, void *data, uint32_t len_bytes)
{
	uint8_t again[256];
	int tries, ret;

	if (len_bytes > sizeof(again))
		return -EINVAL;
	ret = dev->t->ops->config_read(dev->t, offset, data, len_bytes);
	for (tries = 0; ret == 0 && tries < CONFIG_READ_TRIES; tries++) {
		ret = dev->t->ops->config_read(dev->t, offset, again, len_bytes);
		if (ret < 0 || memcmp(again, data, len_bytes) == 0)
			return ret;
		memcpy(data, again, len_bytes);
	}
	return ret < 0 ? ret : -EAGAIN;
}

VIREO_EXPORT int
vireo_dev_config_read(struct vireo_dev *dev, uint32_t offset, void *data, uint32_t len_bytes)
{
	int ret;

	pthread_mutex_lock(&dev->lock);
	ret = dev->up ? read_config_twice(dev, offset, data, len_bytes) : -ENOTCONN;
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

VIREO_EXPORT int
vireo_dev_config_write(struct vireo_dev *dev, uint32_t offset, const void *data, uint32_t len_bytes)
{
	int ret;

	pthread_mutex_lock(&dev->lock);
	ret = dev->up ? dev->t->ops->config_write(dev->t, offset, data, len_bytes) : -ENOTCONN;
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

static int
exec_ctrl(struct vireo_dev *dev, uint8_t class_id, uint8_t cmd, const void *data,
	  uint32_t len_bytes)
{
	if (!dev->up)
		return -ENOTCONN;
	if (dev->t->ops->ctrl != NULL)
		return dev->t->ops->ctrl(dev->t, class_id, cmd, data, len_bytes);
	if (dev->ctrl == NULL || (dev->negotiated & VIREO_NET_F_CTRL_VQ) == 0)
		return -ENOTSUP;
	/* Section 3.1.1: no command before DRIVER_OK. */
	if (!dev->ctrl_set)
		return -EAGAIN;
	return ctrl_queue_exec(dev->ctrl, class_id, cmd, data, len_bytes, dev->conf.timeout_ms);
}

VIREO_EXPORT int
vireo_dev_ctrl(struct vireo_dev *dev, uint8_t class_id, uint8_t cmd, const void *data,
	       uint32_t len_bytes)
{
	int ret;

	pthread_mutex_lock(&dev->lock);
	ret = exec_ctrl(dev, class_id, cmd, data, len_bytes);
	if (ret == -ETIMEDOUT)
		dev->nb_timeouts++;
	pthread_mutex_unlock(&dev->lock);
	return ret > 0 ? -EIO : ret;
}

VIREO_EXPORT void
vireo_dev_info_get(struct vireo_dev *dev, struct vireo_dev_info *info)
{
	pthread_mutex_lock(&dev->lock);
	info->connected = dev->up;
	info->started = dev->started;
	info->offered = dev->offered;
	info->negotiated = dev->negotiated;
	info->status = dev->status;
	info->nb_queues = dev->peer_queues;
	info->nb_connects = dev->nb_connects;
	info->nb_disconnects = dev->nb_disconnects;
	info->nb_timeouts = dev->nb_timeouts;
	info->transport = dev->t->ops->name;
	info->last_error = dev->last_error;
	pthread_mutex_unlock(&dev->lock);
}
