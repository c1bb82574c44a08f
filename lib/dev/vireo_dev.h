/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_DEV_H
#define VIREO_DEV_H

/*
 * The virtio device as its driver sees it: status machine, feature negotiation, config
 * space, queues, control commands and reconnection, whatever the transport.
 *
 * Threads: all calls are control work and take the device's lock, which is recursive.
 * Callbacks come from EAL's interrupt thread, from the thread that allocates EAL memory, or
 * from inside a call. The data path never comes here: it has its vq_drv and its kick fd.
 *
 * Lock order: EAL's memory lock, then the device's. Hence quiesce, resume and restart, which
 * run with both held, must neither allocate nor free EAL memory, nor start, stop, create or
 * destroy a device; reading state and config space, and control commands are fine there.
 *
 * Memory: a vireo_dev is process-local (it holds fds and function pointers) and is
 * never put into shared memory.
 */

#include "../base/vireo_base.h"
#include "../vq/vq.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vireo_dev;

enum vireo_dev_transport {
	VIREO_DEV_VHOST_USER, /* path is a UNIX socket */
	VIREO_DEV_LOOPBACK, /* path is a name; the other end is lib/backend/loopback.c */
};

struct vireo_dev_conf {
	enum vireo_dev_transport transport;
	const char *path;
	bool server; /* vhost-user: listen instead of connect */
	uint16_t device_id; /* VIREO_NET_DEVICE_ID, ... */
	uint32_t timeout_ms; /* bound of a wait; 0: 5000; 10 times that for mapping memory */
	uint64_t wanted; /* features the driver can use */
	uint64_t required; /* features without which it is refused */
	uint16_t nb_queues_max; /* queues the driver may use */
};

/*
 * What the device's user is told. quiesce, resume and restart: under the device's lock; link
 * and config: from EAL's interrupt thread without it (any call but destroy is allowed).
 */
struct vireo_dev_cb {
	/*
	 * Get every data path out (close the turnstiles). Pairs with resume. A started device
	 * without a peer is quiesced from its start, or the peer's end, until the next peer.
	 */
	void (*quiesce)(void *arg);
	void (*resume)(void *arg);
	/*
	 * A started device has a new peer (quiesced): rings restart from zero. Drain and
	 * reset each queue and post Rx buffers again; the device then sets the queues up
	 * with the peer. A negative return keeps the link down.
	 */
	int (*restart)(void *arg);
	/* A peer came (and, when started, has the queues) or went; not for create's own. */
	void (*link)(void *arg, bool up);
	/* Config space changed (link status bit, announce). */
	void (*config)(void *arg);
};

struct vireo_dev_info {
	bool connected;
	bool started;
	uint64_t offered; /* by the device at the last connection */
	uint64_t negotiated;
	uint8_t status;
	uint16_t nb_queues; /* that the device has */
	uint64_t nb_connects;
	uint64_t nb_disconnects;
	uint64_t nb_timeouts;
	const char *transport;
	const char *last_error; /* static or owned by the device; "" when none */
};

/**
 * Create a device and open its transport: a client connects and negotiates (first
 * connect must succeed), a server listens and returns at once.
 *
 * @return 0 and *dev; -EINVAL (bad conf), -ECONNREFUSED, -ENOENT, -EPROTO (the peer is
 * no vhost-user back end or broke the protocol), -ETIMEDOUT, -ENOTSUP (a required feature
 * is not offered), -E2BIG (more memory files than the peer takes: see the log),
 * -EADDRINUSE, -ENOMEM. A log line says what was expected.
 * Source: VIRTIO 1.3 section 3.1.1.
 */
int vireo_dev_create(const struct vireo_dev_conf *conf, const struct vireo_dev_cb *cb, void *arg,
		     struct vireo_dev **dev);

/** Stop, close the transport and free. No callback runs afterwards. */
void vireo_dev_destroy(struct vireo_dev *dev);

/**
 * Choose features again before start: wanted & offered is negotiated. Before the first
 * connection of a server all that the driver wants and the transport can carry counts as
 * offered. A peer that later lacks any of what was chosen here is refused with a log line,
 * save features that nothing breaks without (config space fields, what a device may do to
 * received packets, commands), which are dropped.
 *
 * @return 0 and the bits in *negotiated, -EBUSY when started, -ENOTSUP.
 */
int vireo_dev_negotiate(struct vireo_dev *dev, uint64_t wanted, uint64_t *negotiated);

/* A queue handed to the device; the ring's memory stays the caller's. */
struct vireo_dev_queue {
	uint16_t idx;
	struct vq_drv *vq;
	bool enabled; /* run it at start */
	bool want_call; /* an eventfd for interrupts is needed */
};

/**
 * Start: memory, queues, DRIVER_OK. With no peer connected yet (server) it returns 0
 * and everything is done at the connection. The queues must be freshly initialised and
 * Rx buffers may already be posted and published.
 *
 * @return 0, -EBUSY, -EINVAL, -ENOTCONN never, others as the transport's.
 * Source: VIRTIO 1.3 section 3.1.1 steps 7 and 8.
 */
int vireo_dev_start(struct vireo_dev *dev, const struct vireo_dev_queue *queues,
		    uint16_t nb_queues);

/** Stop all queues at the device; afterwards it touches no ring and no buffer. */
void vireo_dev_stop(struct vireo_dev *dev);

/**
 * Pause or run one queue while started (vhost-user: SET_VRING_ENABLE with REPLY_ACK).
 * Quiesces nothing: the caller closes the queue's turnstile. Without a peer it is kept
 * for the next one.
 * @return 0, -EINVAL, -ENOTSUP (a peer that cannot pause queues), -ETIMEDOUT.
 */
int vireo_dev_queue_enable(struct vireo_dev *dev, uint16_t idx, bool enable);

/**
 * RING_RESET of one queue: afterwards the device touches it no more. The caller, who keeps
 * the data path out, drains it, calls vireo_vq_drv_reset(), posts again, and has it set up and
 * run by vireo_dev_queue_enable(dev, idx, true).
 * @return 0, -EINVAL, -ENOTSUP when not negotiated, -ETIMEDOUT.
 * Source: VIRTIO 1.3 section 2.6.1.
 */
int vireo_dev_queue_reset(struct vireo_dev *dev, uint16_t idx);

/** eventfds of a queue: valid from vireo_dev_create() to vireo_dev_destroy(). */
int vireo_dev_kick_fd(const struct vireo_dev *dev, uint16_t idx);
int vireo_dev_call_fd(const struct vireo_dev *dev, uint16_t idx);

/** Config space, section 2.5; consistent against concurrent changes. -ENOTSUP: none. */
int vireo_dev_config_read(struct vireo_dev *dev, uint32_t offset, void *data, uint32_t len_bytes);
int vireo_dev_config_write(struct vireo_dev *dev, uint32_t offset, const void *data,
			   uint32_t len_bytes);

/**
 * One control command, data without the header; bounded by timeout_ms.
 * @return 0 acknowledged, -EIO refused by the device, -ENOTSUP, -ENOTCONN, -EAGAIN (a control
 * queue runs only while the device is started), -ETIMEDOUT, -EBUSY (an earlier command was
 * never answered; until the next start).
 * Source: VIRTIO 1.3 section 5.1.6.5.
 */
int vireo_dev_ctrl(struct vireo_dev *dev, uint8_t class_id, uint8_t cmd, const void *data,
		   uint32_t len_bytes);

/** State for info and telemetry. Any thread of the primary. */
void vireo_dev_info_get(struct vireo_dev *dev, struct vireo_dev_info *info);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DEV_H */
