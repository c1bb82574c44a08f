/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * The loopback transport: the device is in this process and was found by name
 * (lib/vq/pair.h). Addresses are virtual, nothing is copied, everything can be carried.
 */

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_interrupts.h>

#include "../base/log.h"
#include "../dev/transport.h"
#include "../vq/pair.h"

RTE_LOG_REGISTER(loopback_logtype, lib.vireo.transport.loopback, NOTICE);
#define LOG(level, fmt, ...)                                                                       \
	VIREO_LOG(level, loopback_logtype, "loopback", "%s: " fmt, l->name, ##__VA_ARGS__)

struct loopback {
	struct transport t;
	struct pair *pair;
	char name[PAIR_NAME_MAX];
	bool wait;
	bool up; /* what the device above was told last */
	void (*wakeup)(void *arg);
	void *wakeup_arg;
	struct rte_intr_handle *intr;
	int event_fd;
	uint32_t events; /* PAIR_EV_* bits; atomic, any thread */
};

/* Call one of the device's ops, if it is there. */
#define DEVICE_CALL(t, op, ...)                                                                    \
	({                                                                                         \
		struct loopback *l_ = container_of(t, struct loopback, t);                         \
		const struct pair_dev_ops *ops_ = NULL;                                            \
		int ret_ = -ENOTCONN;                                                              \
		void *arg_;                                                                        \
		if (l_->up)                                                                        \
			ops_ = pair_enter(l_->pair, &arg_);                                        \
		if (ops_ != NULL) {                                                                \
			ret_ = ops_->op(arg_, ##__VA_ARGS__);                                      \
			pair_exit(l_->pair);                                                       \
		}                                                                                  \
		ret_;                                                                              \
	})

static void
on_notify(void *arg, uint32_t events)
{
	const uint64_t one = 1;
	struct loopback *l = arg;
	ssize_t ret;

	__atomic_fetch_or(&l->events, events, __ATOMIC_ACQ_REL);
	ret = write(l->event_fd, &one, sizeof(one));
	RTE_SET_USED(ret);
}

static void
on_interrupt(void *arg)
{
	struct loopback *l = arg;
	uint64_t count;
	ssize_t ret = read(l->event_fd, &count, sizeof(count));

	RTE_SET_USED(ret);
	l->wakeup(l->wakeup_arg);
}

static int
register_events(struct loopback *l)
{
	l->intr = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	if (l->intr == NULL)
		return -ENOMEM;
	if (rte_intr_fd_set(l->intr, l->event_fd) != 0 ||
	    rte_intr_type_set(l->intr, RTE_INTR_HANDLE_EXT) != 0)
		return -EINVAL;
	return rte_intr_callback_register(l->intr, on_interrupt, l);
}

static bool
device_is_there(struct loopback *l)
{
	void *arg;

	if (l->pair == NULL || pair_enter(l->pair, &arg) == NULL)
		return false;
	pair_exit(l->pair);
	return true;
}

static int
loopback_open(struct transport *t, void (*wakeup)(void *arg), void *arg)
{
	struct loopback *l = container_of(t, struct loopback, t);
	int ret;

	l->wakeup = wakeup;
	l->wakeup_arg = arg;
	l->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->event_fd < 0)
		return -errno;
	ret = register_events(l);
	if (ret < 0)
		return ret;
	ret = pair_join(l->name, l->wait, on_notify, l, &l->pair);
	if (ret < 0) {
		LOG(ERR,
		    "cannot join: %s; expected a loopback device of that name without a"
		    " driver",
		    strerror(-ret));
		return ret;
	}
	l->up = device_is_there(l);
	return 0;
}

static void
loopback_close(struct transport *t)
{
	struct loopback *l = container_of(t, struct loopback, t);

	if (l->pair != NULL)
		pair_leave(l->pair);
	if (l->intr != NULL) {
		rte_intr_callback_unregister_sync(l->intr, on_interrupt, l);
		rte_intr_instance_free(l->intr);
	}
	if (l->event_fd >= 0)
		close(l->event_fd);
	free(l);
}

static int
loopback_process(struct transport *t)
{
	struct loopback *l = container_of(t, struct loopback, t);
	uint32_t events = __atomic_exchange_n(&l->events, 0, __ATOMIC_ACQ_REL);
	int found = 0;

	if ((events & PAIR_EV_GONE) && l->up) {
		l->up = false;
		found |= TRANSPORT_EV_DISCONNECTED;
	}
	if (!l->up && (events & (PAIR_EV_COME | PAIR_EV_GONE)) && device_is_there(l)) {
		l->up = true;
		found |= TRANSPORT_EV_CONNECTED;
	}
	if (l->up && (events & PAIR_EV_CONFIG))
		found |= TRANSPORT_EV_CONFIG;
	return found;
}

/* A device that is of no use stays unused until another one takes the name. */
static void
loopback_disconnect(struct transport *t)
{
	container_of(t, struct loopback, t)->up = false;
}

static void
loopback_abort(struct transport *t)
{
	on_notify(container_of(t, struct loopback, t), PAIR_EV_GONE);
}

static bool
loopback_is_connected(const struct transport *t)
{
	return container_of(t, const struct loopback, t)->up;
}

static uint64_t
loopback_features_mask(const struct transport *t __rte_unused)
{
	return ~VIREO_F_VHOST_USER_PROTOCOL;
}

static int
loopback_features_get(struct transport *t, uint64_t *features)
{
	return DEVICE_CALL(t, features_get, features);
}

static int
loopback_features_set(struct transport *t, uint64_t features)
{
	return DEVICE_CALL(t, features_set, features);
}

static int
loopback_status_set(struct transport *t, uint8_t status)
{
	return DEVICE_CALL(t, status_set, status);
}

static int
loopback_status_get(struct transport *t, uint8_t *status)
{
	return DEVICE_CALL(t, status_get, status);
}

static int
loopback_config_read(struct transport *t, uint32_t offset, void *data, uint32_t len_bytes)
{
	return DEVICE_CALL(t, config_read, offset, data, len_bytes);
}

static int
loopback_config_write(struct transport *t, uint32_t offset, const void *data, uint32_t len_bytes)
{
	return DEVICE_CALL(t, config_write, offset, data, len_bytes);
}

static int
loopback_queue_max(struct transport *t, uint16_t *nb_queues)
{
	return DEVICE_CALL(t, queue_max, nb_queues);
}

static int
loopback_queue_size_max(struct transport *t, uint16_t idx, uint32_t *size)
{
	return DEVICE_CALL(t, queue_size_max, idx, size);
}

/* The device has our memory: it is the same process. */
static int
loopback_mem_set(struct transport *t, const void *gone __rte_unused, size_t gone_bytes __rte_unused)
{
	return loopback_is_connected(t) ? 0 : -ENOTCONN;
}

static int
loopback_queue_set(struct transport *t, const struct transport_queue *q)
{
	const struct pair_queue pq = {
		.idx = q->idx,
		.size = q->size,
		.ring = q->ring,
		.avail_base = q->avail_base,
		.kick_fd = q->kick_fd,
		.call_fd = q->call_fd,
	};

	return DEVICE_CALL(t, queue_set, &pq);
}

static int
loopback_queue_enable(struct transport *t, uint16_t idx, bool enable)
{
	return DEVICE_CALL(t, queue_enable, idx, enable);
}

static int
loopback_queue_stop(struct transport *t, uint16_t idx)
{
	return DEVICE_CALL(t, queue_stop, idx);
}

static int
loopback_queue_reset(struct transport *t, uint16_t idx)
{
	return DEVICE_CALL(t, queue_reset, idx);
}

static const struct transport_ops loopback_ops = {
	.name = "loopback",
	.open = loopback_open,
	.close = loopback_close,
	.process = loopback_process,
	.disconnect = loopback_disconnect,
	.abort = loopback_abort,
	.is_connected = loopback_is_connected,
	.features_mask = loopback_features_mask,
	.features_get = loopback_features_get,
	.features_set = loopback_features_set,
	.status_set = loopback_status_set,
	.status_get = loopback_status_get,
	.config_read = loopback_config_read,
	.config_write = loopback_config_write,
	.queue_max = loopback_queue_max,
	.queue_size_max = loopback_queue_size_max,
	.mem_set = loopback_mem_set,
	.queue_set = loopback_queue_set,
	.queue_enable = loopback_queue_enable,
	.queue_stop = loopback_queue_stop,
	.queue_reset = loopback_queue_reset,
};

int
transport_loopback_create(const struct transport_conf *conf, struct transport **t)
{
	size_t len = strlen(conf->path);
	struct loopback *l;

	if (len == 0 || len >= sizeof(l->name)) {
		VIREO_LOG(ERR, loopback_logtype, "loopback", "name of %zu bytes: expected 1 to %d",
			  len, PAIR_NAME_MAX - 1);
		return -EINVAL;
	}
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return -ENOMEM;
	memcpy(l->name, conf->path, len);
	l->t.ops = &loopback_ops;
	l->wait = conf->server;
	l->event_fd = -1;
	*t = &l->t;
	return 0;
}
