/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_TRANSPORT_H
#define VIREO_TRANSPORT_H

/*
 * The only border between the virtio device as its driver sees it (lib/dev) and the
 * ways of reaching one (lib/transport): one ops table.
 *
 * All ops but close are control work, called under the device's lock. When something
 * happens on the other side, a transport calls wakeup() from its own context (EAL's
 * interrupt thread) without holding any lock; the device then takes its lock and asks
 * process() what it was. Every wait is bounded by timeout_ms and reported as -ETIMEDOUT
 * with a log line that names what was waited for. A transport that meets a violation of
 * its protocol answers -EPROTO, then -ENOTCONN, and process() reports the disconnection.
 */

#include "../base/vireo_base.h"
#include "../vq/vq.h"

#ifdef __cplusplus
extern "C" {
#endif

struct transport;

/* How a transport is made. */
struct transport_conf {
	const char *path; /* copied */
	bool server;
	uint16_t device_id; /* what the feature bits and control commands mean */
	uint16_t nb_queues_max; /* that the driver may use */
	uint32_t timeout_ms;
};

/* What a queue tells the device at start. */
struct transport_queue {
	uint16_t idx;
	uint32_t size;
	struct vq_ring_mem ring;
	uint16_t avail_base; /* where to start; 0 after a reset (packed: 0x8000) */
	int kick_fd; /* eventfd the driver writes; -1: none */
	int call_fd; /* eventfd the device writes; -1: polled for ever */
};

/* What process() found; bits. */
#define TRANSPORT_EV_CONNECTED 0x1 /* a peer is there and answers */
#define TRANSPORT_EV_DISCONNECTED 0x2 /* the peer that was there has gone */
#define TRANSPORT_EV_CONFIG 0x4 /* config space has changed */

struct transport_ops {
	const char *name;
	/*
	 * Start. Client: connect now, -errno when that fails; server: listen, return at
	 * once. wakeup(arg) may be called from now on.
	 */
	int (*open)(struct transport *t, void (*wakeup)(void *arg), void *arg);
	/*
	 * Stop for good and free; called without the device's lock. No wakeup runs during
	 * the end of it or after; fds are closed, the socket file is removed.
	 */
	void (*close)(struct transport *t);
	/*
	 * Look at what happened. Returns TRANSPORT_EV_* bits, or -errno when a new peer
	 * was dropped because it failed to answer as it must.
	 */
	int (*process)(struct transport *t);
	/*
	 * Drop a peer that was just reported as connected and is of no use; the transport
	 * goes on listening or trying to connect, less and less often.
	 */
	void (*disconnect)(struct transport *t);
	/* Break the connection; process() reports the disconnection afterwards. */
	void (*abort)(struct transport *t);
	bool (*is_connected)(const struct transport *t);
	/* Device feature bits that this transport can carry, whatever the peer. */
	uint64_t (*features_mask)(const struct transport *t);
	/* The peer's feature bits; those that the transport cannot carry are masked here. */
	int (*features_get)(struct transport *t, uint64_t *features);
	int (*features_set)(struct transport *t, uint64_t features);
	/* VIRTIO status byte; 0 is reset. Kept locally where the peer has no such message. */
	int (*status_set)(struct transport *t, uint8_t status);
	int (*status_get)(struct transport *t, uint8_t *status);
	/* Config space, section 2.5; -ENOTSUP when the peer has none. */
	int (*config_read)(struct transport *t, uint32_t offset, void *data, uint32_t len_bytes);
	int (*config_write)(struct transport *t, uint32_t offset, const void *data,
			    uint32_t len_bytes);
	/* How many queues the device has at most. */
	int (*queue_max)(struct transport *t, uint16_t *nb_queues);
	/* Largest ring of a queue. */
	int (*queue_size_max)(struct transport *t, uint16_t idx, uint32_t *size);
	/*
	 * Tell the device what memory there is; again whenever it changes. Called with
	 * EAL's memory lock held (for reading, or for writing in a memory event).
	 * [gone, gone + gone_bytes) is still listed by EAL, but about to be freed.
	 */
	int (*mem_set)(struct transport *t, const void *gone, size_t gone_bytes);
	int (*queue_set)(struct transport *t, const struct transport_queue *q);
	/* Run or pause one queue that was set; indices are kept while paused. */
	int (*queue_enable)(struct transport *t, uint16_t idx, bool enable);
	/* Final stop of one queue (device stop): afterwards the device touches it no more. */
	int (*queue_stop)(struct transport *t, uint16_t idx);
	/* RING_RESET of one queue, section 2.6.1; -ENOTSUP where it cannot be carried. */
	int (*queue_reset)(struct transport *t, uint16_t idx);
	/*
	 * A control command, section 5.1.6.5; returns VIREO_NET_ACK_* or -errno. NULL: the
	 * device has a control queue of its own, which lib/dev/ctrl.c drives.
	 */
	int (*ctrl)(struct transport *t, uint8_t class_id, uint8_t cmd, const void *data,
		    uint32_t len_bytes);
};

struct transport {
	const struct transport_ops *ops;
};

/**
 * Constructors of lib/transport. The transport does nothing before open(); close() frees
 * it. Control thread.
 *
 * @return 0 and *t, -EINVAL (a path that is too long or empty), -ENOMEM.
 */
int transport_vhost_user_create(const struct transport_conf *conf, struct transport **t);
int transport_loopback_create(const struct transport_conf *conf, struct transport **t);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_TRANSPORT_H */
