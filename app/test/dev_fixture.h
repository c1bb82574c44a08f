/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_DEV_FIXTURE_H
#define VIREO_DEV_FIXTURE_H

/*
 * A small driver on vireo_dev: queues in shared memory, counted callbacks, and a way to send
 * and receive frames one at a time. For the tests of dev and of the transports.
 */

#include "../../lib/dev/vireo_dev.h"
#include "../../lib/vq/vq_driver.h"
#include "../../lib/wire/net_abi.h"
#include "test.h"

#define FIX_RING_SIZE 64
#define FIX_BUF_BYTES 2048
#define FIX_PAIRS_MAX 4
#define FIX_QUEUES_MAX (2 * FIX_PAIRS_MAX)
/* Long enough for a machine that is busy with other things. */
#define FIX_TIMEOUT_MS 10000
/* How long a test waits for what must happen. */
#define WAIT_MS 15000

struct fix_queue {
	struct vq_drv vq;
	uint8_t *shared;
	void *priv;
	uint8_t *bufs; /* FIX_RING_SIZE of FIX_BUF_BYTES */
};

struct fix {
	struct vireo_dev *dev;
	uint64_t features; /* negotiated */
	uint32_t hdr_bytes;
	uint64_t addr_offset; /* address in descriptors - virtual address */
	uint16_t nb_queues;
	struct fix_queue queues[FIX_QUEUES_MAX];
	/* Callbacks so far; written by EAL's interrupt thread. */
	uint32_t nb_quiesce;
	uint32_t nb_resume;
	uint32_t nb_restart;
	uint32_t nb_link_up;
	uint32_t nb_link_down;
	uint32_t nb_config;
	int restart_ret; /* what restart() answers */
};

/** Defaults of a configuration: net, both rings' features, FIX_TIMEOUT_MS, one pair. */
void fix_conf(struct vireo_dev_conf *conf, enum vireo_dev_transport transport, const char *path);

/** vireo_dev_create() with the fixture's callbacks. @return its result. */
int fix_create(struct fix *fix, const struct vireo_dev_conf *conf);

/** Choose features, lay the queues out and post all Rx buffers. @return 0 or -errno. */
int fix_setup(struct fix *fix, uint64_t wanted, uint16_t nb_pairs);

/** vireo_dev_start() with all queues enabled. */
int fix_start(struct fix *fix);

/** Stop, destroy and free what fix_create() and fix_setup() made. */
void fix_destroy(struct fix *fix);

/** Send a frame from a pair's Tx queue. @return 0, -EAGAIN: the ring is full, -EPROTO: broken. */
int fix_send(struct fix *fix, uint16_t pair, const void *frame, uint32_t len_bytes,
	     const struct net_hdr *hdr);

/** Take back Tx buffers that were used. @return how many, or -EPROTO. */
int fix_reclaim(struct fix *fix, uint16_t pair);

/**
 * Receive one frame on a pair, of at most 16 merged buffers, and post them again.
 * @return its length, 0: none, -EPROTO: broken.
 */
int fix_receive(struct fix *fix, uint16_t pair, void *frame, uint32_t size_bytes,
		struct net_hdr_hash *hdr);

/** Wait, at most timeout_ms, until *count is at least value. */
bool fix_wait(const uint32_t *count, uint32_t value, uint32_t timeout_ms);

/** File descriptors that are open in this process. */
uint32_t fix_nb_fds(void);

#endif /* VIREO_DEV_FIXTURE_H */
