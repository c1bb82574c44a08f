/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_FAKE_BACKEND_H
#define VIREO_FAKE_BACKEND_H

/*
 * A vhost-user back end that is only protocol: a thread that answers a front end, keeps what
 * it was told, and breaks the rules where a test wants it to. It shares no code with Vireo's
 * codec, so that a mistake there is not made twice.
 *
 * Threads: the functions are the test's; what they return is copied under the back end's lock.
 */

#include "../../lib/wire/vhost_user_abi.h"
#include "test.h"

struct fake_backend;

/* What goes wrong, at fake_conf.at_request. */
enum fake_fault {
	FAKE_HONEST,
	FAKE_CLOSES, /* closes instead of answering */
	FAKE_CLOSES_MIDWAY, /* closes after half a reply */
	FAKE_SILENT, /* never answers */
	FAKE_GARBAGE, /* answers with bytes that are no message */
	FAKE_HUGE, /* answers with a size that no message has */
	FAKE_WRONG_REQUEST, /* answers another request */
	FAKE_WRONG_SIZE, /* answers with four bytes too few */
	FAKE_EXTRA_FDS, /* answers with file descriptors nobody asked for */
	FAKE_MANY_FDS, /* the same, with more than any message has */
	FAKE_REFUSES, /* answers that it failed */
};

struct fake_conf {
	uint64_t features;
	uint64_t protocol;
	uint64_t nb_queues; /* answer to GET_QUEUE_NUM */
	uint64_t mem_slots;
	enum fake_fault fault;
	uint32_t at_request;
	bool connects; /* be the client */
};

#define FAKE_QUEUES 8
#define FAKE_REGIONS 64
#define FAKE_REQUESTS 64

struct fake_ring {
	uint32_t num;
	uint32_t base;
	struct vhost_user_vring_addr addr;
	bool has_kick;
	bool has_call;
	bool enabled;
	uint32_t nb_get_base;
};

/* What the front end has told so far. */
struct fake_state {
	uint32_t count[FAKE_REQUESTS]; /* messages of each request */
	uint32_t nb_connections;
	bool connected;
	uint64_t features;
	uint64_t protocol;
	uint8_t status;
	uint32_t nb_regions;
	struct vhost_user_mem_region regions[FAKE_REGIONS];
	struct fake_ring rings[FAKE_QUEUES];
	struct vhost_user_inflight inflight;
	bool has_inflight_fd;
	uint8_t config[64];
	uint32_t nb_config_acks; /* replies on the back-end channel */
};

/**
 * Listen on path (or connect to it, and go on trying for 2 s).
 * @return NULL when that failed.
 */
struct fake_backend *fake_start(const char *path, const struct fake_conf *conf);

/** Close everything and end the thread. The socket file stays, as a killed process's would. */
void fake_stop(struct fake_backend *fb);

void fake_get(struct fake_backend *fb, struct fake_state *state);

/**
 * Read memory of the front end at its address through the regions it shared.
 * @return false when no region has all of it.
 */
bool fake_read(struct fake_backend *fb, uint64_t addr, void *to, uint32_t len_bytes);

/** Say on the back-end channel that config space has changed. @return false: no channel. */
bool fake_config_changed(struct fake_backend *fb);

/** Send a message that nobody asked for on the connection. */
void fake_send_unasked(struct fake_backend *fb);

#endif /* VIREO_FAKE_BACKEND_H */
