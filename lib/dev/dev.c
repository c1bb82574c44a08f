/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_eal_memconfig.h>
#include <rte_errno.h>
#include <rte_memory.h>

#include "../base/log.h"
#include "../wire/net_abi.h"
#include "ctrl.h"
#include "transport.h"
#include "vireo_dev.h"

RTE_LOG_REGISTER(dev_logtype, lib.vireo.dev, NOTICE);
#define LOG(level, fmt, ...)                                                                       \
	VIREO_LOG(level, dev_logtype, "dev", "%s: " fmt, dev->path, ##__VA_ARGS__)

#define DEFAULT_TIMEOUT_MS 2000
#define CONFIG_READ_TRIES 8
#define MEM_EVENT_NAME "vireo_dev"

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

struct dev_queue {
	struct vireo_dev_queue q;
	bool in_use; /* given to vireo_dev_start() */
	bool set; /* the peer has its rings */
	bool enabled; /* should run */
	int kick_fd;
	int call_fd;
};

struct vireo_dev {
	pthread_mutex_t lock; /* recursive; everything below but the fds is under it */
	struct transport *t;
	struct vireo_dev_conf conf;
	struct vireo_dev_cb cb;
	void *arg;
	char *path;
	struct ctrl_queue *ctrl; /* NULL: the transport answers commands */
	bool ctrl_set;
	uint16_t ctrl_idx;
	uint64_t offered;
	uint64_t negotiated;
	bool chosen; /* the driver was told what is negotiated, and leans on it */
	bool up; /* peer connected, features agreed */
	bool features_ok; /* status of the peer is at FEATURES_OK */
	bool started;
	bool quiesced;
	bool mem_told;
	bool mem_events;
	uint8_t status;
	uint16_t peer_queues;
	uint64_t nb_connects;
	uint64_t nb_disconnects;
	uint64_t nb_timeouts;
	char last_error[192];
	struct dev_queue *queues; /* conf.nb_queues_max */
};

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

__rte_format_printf(3, 4) static int fail(struct vireo_dev *dev, int err, const char *fmt, ...)
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

static void
quiesce(struct vireo_dev *dev)
{
	if (!dev->started || dev->quiesced)
		return;
	dev->quiesced = true;
	if (dev->cb.quiesce != NULL)
		dev->cb.quiesce(dev->arg);
}

static void
resume(struct vireo_dev *dev)
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
		return fail(dev, ret, "setting device status 0x%x failed: %s", dev->status | bits,
			    strerror(-ret));
	dev->status |= bits;
	return 0;
}

/* Steps 1 to 3: reset, ACKNOWLEDGE, DRIVER. */
static int
begin_status(struct vireo_dev *dev)
{
	int ret;

	dev->features_ok = false;
	dev->status = 0;
	ret = dev->t->ops->status_set(dev->t, 0);
	if (ret < 0)
		return fail(dev, ret, "resetting the device failed: %s", strerror(-ret));
	ret = add_status(dev, VIREO_STATUS_ACKNOWLEDGE);
	if (ret < 0)
		return ret;
	return add_status(dev, VIREO_STATUS_DRIVER);
}

/* Steps 4 to 6: write the features, FEATURES_OK, and see whether the device keeps it. */
static int
write_features(struct vireo_dev *dev)
{
	uint8_t status;
	int ret;

	ret = dev->t->ops->features_set(dev->t, dev->negotiated);
	if (ret < 0)
		return fail(dev, ret, "the device refused features 0x%" PRIx64 ": %s",
			    dev->negotiated, strerror(-ret));
	ret = add_status(dev, VIREO_STATUS_FEATURES_OK);
	if (ret < 0)
		return ret;
	ret = dev->t->ops->status_get(dev->t, &status);
	if (ret < 0)
		return fail(dev, ret, "reading the device status failed: %s", strerror(-ret));
	if ((status & VIREO_STATUS_FEATURES_OK) == 0) {
		add_status(dev, VIREO_STATUS_FAILED);
		return fail(dev, -ENOTSUP,
			    "the device did not keep FEATURES_OK (status 0x%x) for 0x%" PRIx64,
			    status, dev->negotiated);
	}
	dev->features_ok = true;
	return 0;
}

/* What the driver cannot do without. */
static int
check_required(struct vireo_dev *dev, uint64_t offered)
{
	uint64_t missing = dev->conf.required & ~offered;

	if (missing == 0)
		return 0;
	return fail(dev, -ENOTSUP,
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

	ret = check_required(dev, offered);
	if (ret < 0)
		return ret;
	if (!dev->chosen) {
		dev->negotiated = dev->conf.wanted & offered;
	} else if ((missing & ~soft) != 0) {
		return fail(dev, -ENOTSUP,
			    "the new peer offers 0x%" PRIx64 " and lacks features in use 0x%" PRIx64
			    "; refused",
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

	ret = begin_status(dev);
	if (ret < 0)
		return ret;
	ret = dev->t->ops->features_get(dev->t, &offered);
	if (ret < 0)
		return fail(dev, ret, "reading the device's features failed: %s", strerror(-ret));
	ret = adopt_features(dev, offered);
	if (ret < 0)
		return ret;
	return write_features(dev);
}

/* --- Queues ----------------------------------------------------------------- */

static void
kick_once(int fd)
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
		return fail(dev, -EINVAL, "queue %u has %u entries, the device takes %u", idx,
			    vq->size, size_max);
	if (ret == 0)
		ret = dev->t->ops->queue_set(dev->t, &tq);
	if (ret < 0)
		return fail(dev, ret, "setting up queue %u failed: %s", idx, strerror(-ret));
	return 0;
}

static int
set_queue(struct vireo_dev *dev, uint16_t idx)
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
		return fail(dev, ret, "enabling queue %u failed: %s", idx, strerror(-ret));
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
			return fail(dev, -EINVAL, "queue %u is in use, the device has %u", i,
				    dev->peer_queues);
		ret = set_queue(dev, i);
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
		return fail(dev, ret, "sharing memory with the device failed: %s", strerror(-ret));
	dev->mem_told = true;
	return 0;
}

/* Steps 7 and 8: memory and queues, DRIVER_OK. */
static int
bring_up(struct vireo_dev *dev)
{
	uint16_t i;
	int ret;

	if (!dev->features_ok) {
		ret = begin_status(dev);
		if (ret == 0)
			ret = write_features(dev);
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
			kick_once(dev->queues[i].kick_fd);
	return 0;
}

static void
forget_peer_queues(struct vireo_dev *dev)
{
	uint16_t i;

	for (i = 0; i < dev->conf.nb_queues_max; i++)
		dev->queues[i].set = false;
	dev->ctrl_set = false;
}

/* --- Connections ------------------------------------------------------------ */

static int
meet_peer(struct vireo_dev *dev)
{
	int ret;

	dev->mem_told = false;
	forget_peer_queues(dev);
	ret = dev->t->ops->queue_max(dev->t, &dev->peer_queues);
	if (ret < 0)
		return fail(dev, ret, "asking for the number of queues failed: %s", strerror(-ret));
	ret = agree(dev);
	if (ret == 0)
		ret = share_memory(dev);
	if (ret < 0)
		return ret;
	if (dev->started) {
		/* The data path is out since the last peer went, or since the start. */
		ret = dev->cb.restart != NULL ? dev->cb.restart(dev->arg) : 0;
		if (ret < 0)
			return fail(dev, ret, "restarting the queues failed: %s", strerror(-ret));
		ret = bring_up(dev);
		if (ret < 0)
			return ret;
	}
	dev->up = true;
	dev->nb_connects++;
	dev->last_error[0] = '\0';
	resume(dev);
	return 0;
}

static void
lose_peer(struct vireo_dev *dev)
{
	quiesce(dev);
	dev->up = false;
	dev->features_ok = false;
	dev->mem_told = false;
	dev->status = 0;
	forget_peer_queues(dev);
	dev->nb_disconnects++;
}

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
		fail(dev, events, "a new peer was dropped: %s", strerror(-events));
		return;
	}
	if ((events & TRANSPORT_EV_DISCONNECTED) && was_up)
		lose_peer(dev);
	if ((events & TRANSPORT_EV_CONNECTED) && meet_peer(dev) < 0)
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
	quiesce(dev);
	if (type == RTE_MEM_EVENT_FREE)
		ret = dev->t->ops->mem_set(dev->t, addr, len);
	else
		ret = dev->t->ops->mem_set(dev->t, NULL, 0);
	if (ret == 0) {
		if (started)
			resume(dev);
	} else {
		fail(dev, ret, "the device cannot follow a change of memory: %s; disconnecting",
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
			ret = meet_peer(dev);
		} else {
			dev->offered = dev->conf.wanted & dev->t->ops->features_mask(dev->t);
			dev->negotiated = dev->offered;
			dev->peer_queues = dev->conf.nb_queues_max;
			ret = check_required(dev, dev->offered);
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
	ret = check_required(dev, wanted & dev->offered);
	if (ret < 0)
		goto unlock;
	dev->negotiated = wanted & dev->offered;
	dev->chosen = true;
	if (dev->up && (before != dev->negotiated || !dev->features_ok)) {
		ret = begin_status(dev);
		if (ret == 0)
			ret = write_features(dev);
	}
	/* The peer is just going: the next one is told. */
	if (ret == -ENOTCONN)
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
			return fail(dev, -EINVAL,
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

/* The peer has gone, or is about to be found gone. */
static bool
is_lost(int err)
{
	return err == -ENOTCONN || err == -ECONNRESET || err == -EPIPE;
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
	ret = dev->up ? bring_up(dev) : -ENOTCONN;
	if (ret == 0) {
		dev->started = true;
	} else if (is_lost(ret)) {
		/* Everything is done when a peer comes. */
		dev->started = true;
		quiesce(dev);
		ret = 0;
	} else {
		forget_peer_queues(dev);
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
	fail(dev, ret, "stopping failed: %s; disconnecting", strerror(-ret));
	ops->abort(dev->t);
}

VIREO_EXPORT void
vireo_dev_stop(struct vireo_dev *dev)
{
	pthread_mutex_lock(&dev->lock);
	if (dev->started) {
		if (dev->up)
			stop_at_peer(dev);
		forget_peer_queues(dev);
		dev->features_ok = false;
		dev->status = 0;
		dev->started = false;
		resume(dev);
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
		ret = enable ? set_queue(dev, idx) : 0;
	} else if (dev->up) {
		ret = dev->t->ops->queue_enable(dev->t, idx, enable);
	}
	if (ret == 0 || is_lost(ret)) {
		dq->enabled = enable;
		ret = 0;
	}
	if (ret == 0 && enable)
		kick_once(dq->kick_fd);

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
