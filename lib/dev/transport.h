/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_TRANSPORT_H
#define VIREO_TRANSPORT_H

/*
 * The only border between the virtio device as its driver sees it (lib/dev) and the
 * ways of reaching one (lib/transport): one ops table.
 *
 * All ops are control work, called under the device's lock. A transport calls back
 * through struct transport_events from its own context (EAL's interrupt thread), without
 * holding locks of its own that an op takes. Every wait is bounded by
 * timeout_ms of the transport's options and reported as -ETIMEDOUT with a log line that
 * names what was waited for.
 */

#include "../base/vireo_base.h"
#include "../vq/vq.h"

struct transport;

/* What a queue tells the device at start. */
struct transport_queue {
	uint16_t idx;
	uint32_t size;
	struct vq_ring_mem ring;
	uint16_t avail_base; /* where to start; 0 after a reset (packed: 0x8000) */
	int kick_fd; /* eventfd the driver writes; -1: none */
	int call_fd; /* eventfd the device writes; -1: polled for ever */
};

/* From the transport to its device; each may come from EAL's interrupt thread. */
struct transport_events {
	/* The peer is there and answers: features_get and all other ops work. */
	void (*connected)(void *arg);
	/* The peer has gone (or broke the protocol); ops answer -ENOTCONN until connected. */
	void (*disconnected)(void *arg);
	/* Config space has changed. */
	void (*config_changed)(void *arg);
};

struct transport_ops {
	const char *name;
	/* Start: client: connect now, -errno when that fails; server: listen, return at once. */
	int (*open)(struct transport *t, const struct transport_events *ev, void *arg);
	/* Stop for good: no callback runs during or after; fds closed, socket file removed. */
	void (*close)(struct transport *t);
	bool (*is_connected)(const struct transport *t);
	/* Device feature bits that this transport can carry (others are masked here). */
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
	/* Tell the device what memory there is; again whenever it changes. */
	int (*mem_set)(struct transport *t);
	int (*queue_set)(struct transport *t, const struct transport_queue *q);
	/* Run or pause one queue that was set; indices are kept while paused. */
	int (*queue_enable)(struct transport *t, uint16_t idx, bool enable);
	/* Final stop of one queue (device stop): afterwards the device touches it no more. */
	int (*queue_stop)(struct transport *t, uint16_t idx);
	/* RING_RESET of one queue, section 2.6.1; -ENOTSUP where it cannot be carried. */
	int (*queue_reset)(struct transport *t, uint16_t idx);
	/* A control command, section 5.1.6.5; returns VIREO_NET_ACK_* or -errno. */
	int (*ctrl)(struct transport *t, uint8_t class_id, uint8_t cmd, const void *data,
		    uint32_t len_bytes);
};

struct transport {
	const struct transport_ops *ops;
};

#endif /* VIREO_TRANSPORT_H */
