/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_DEV_PRIV_H
#define VIREO_DEV_PRIV_H

/*
 * Shared by the parts of the device: dev.c (the API, life, memory events) and dev_peer.c (what
 * is said to a peer: status, features, queues). Everything is under the device's lock.
 */

#include <pthread.h>

#include "ctrl.h"
#include "transport.h"
#include "vireo_dev.h"

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

/** Log an error, keep it as last_error, count time-outs. @return err. */
int dev_fail(struct vireo_dev *dev, int err, const char *fmt, ...) __rte_format_printf(3, 4);

/** Get the data path of a started device out, once; let it in again. */
void dev_quiesce(struct vireo_dev *dev);
void dev_resume(struct vireo_dev *dev);

/** What the driver cannot do without. @return 0, -ENOTSUP. */
int dev_check_required(struct vireo_dev *dev, uint64_t offered);

/** Section 3.1.1, steps 1 to 3, and 4 to 6. @return 0, -ENOTSUP, errors of the transport. */
int dev_begin_status(struct vireo_dev *dev);
int dev_write_features(struct vireo_dev *dev);

/** Section 3.1.1, steps 7 and 8, with EAL's memory lock held. @return as dev_write_features(). */
int dev_bring_up(struct vireo_dev *dev);

/** Set one queue up at the peer, and run it if it should. @return 0, -EINVAL, transport's. */
int dev_set_queue(struct vireo_dev *dev, uint16_t idx);

/** Kick a queue, so that a device which sleeps looks at it. */
void dev_kick(int kick_fd);

/** The peer has no queues any more. */
void dev_forget_peer_queues(struct vireo_dev *dev);

/** A new peer, with EAL's memory lock held: agree on features, start what is started. */
int dev_meet_peer(struct vireo_dev *dev);
void dev_lose_peer(struct vireo_dev *dev);

#endif /* VIREO_DEV_PRIV_H */
