/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_VHOST_USER_H
#define VIREO_VHOST_USER_H

/*
 * The state of a vhost-user front end, shared by its two halves: vhost_user_conn.c
 * (sockets: listening, connecting, hang-up, the first messages) and vhost_user.c (the
 * transport's ops once a peer is there).
 *
 * Everything here is under the device's lock. One epoll instance collects all that can
 * happen (listening socket, connection, back-end channel, retry timer); it alone is
 * registered with EAL's interrupt thread, so that sockets come and go without EAL.
 */

#include <sys/types.h>
#include <sys/un.h>

#include <rte_interrupts.h>

#include "../dev/transport.h"
#include "../wire/vhost_user_abi.h"
#include "shared_mem.h"
#include "vhost_user_msg.h"

/* First pause before a client tries again, and the longest when the peer misbehaves. */
#define VHOST_USER_RETRY_MS 100
#define VHOST_USER_RETRY_MAX_MS 1600

/* How many times the usual bound a back end has to map memory. */
#define VHOST_USER_MEM_PATIENCE 10

/* Requests that may be under way at once. */
#define VHOST_USER_POSTED_MAX 8

/* vhost-user numbers queues with 8 bits. */
#define VHOST_USER_QUEUES_MAX 256

struct vhost_user_queue {
	bool set; /* the peer has its rings */
	bool want; /* the driver wants it to run */
	bool running; /* what the peer was told last */
};

struct vhost_user {
	struct transport t;
	struct transport_conf conf;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	void (*wakeup)(void *arg);
	void *wakeup_arg;
	struct rte_intr_handle *intr;
	int epoll_fd;
	int listen_fd;
	int conn_fd;
	int backend_fd; /* our end of the back-end channel */
	int timer_fd;
	bool up; /* a peer answered all of the first messages */
	bool broken; /* it broke the protocol: process() will say so */
	bool bound; /* the socket file is ours */
	dev_t sock_dev; /* which file that is */
	ino_t sock_ino;
	uint32_t retry_ms;
	uint64_t offered; /* device features, as the peer has them */
	uint64_t protocol;
	uint64_t nb_peer_queues; /* answer to GET_QUEUE_NUM; 0: it has no such message */
	uint32_t max_regions;
	struct shared_mem mem; /* what the peer has been told */
	bool mem_sent;
	uint8_t status; /* kept here for a peer without STATUS */
	int inflight_fd;
	uint16_t nb_pairs; /* MQ_VQ_PAIRS_SET; 0: not limited */
	uint32_t posted[VHOST_USER_POSTED_MAX]; /* requests whose acknowledgement is due */
	uint32_t nb_posted;
	struct vhost_user_queue queues[VHOST_USER_QUEUES_MAX];
};

/** Open and close of transport_ops. */
int vhost_user_open(struct transport *t, void (*wakeup)(void *arg), void *arg);
void vhost_user_close(struct transport *t);
/** process() and disconnect() of transport_ops. */
int vhost_user_process(struct transport *t);
void vhost_user_disconnect(struct transport *t);

/**
 * The peer broke the protocol or has gone: answer -ENOTCONN from now on; process()
 * reports it. @return err, which the caller hands on.
 */
int vhost_user_break(struct vhost_user *vu, int err);

/**
 * Send a request that has a reply and receive that; parameters as vhost_user_msg_call().
 * @return 0, -ENOTCONN, -EPROTO, -ETIMEDOUT, -ECONNRESET; the connection is broken then.
 */
int vhost_user_call(struct vhost_user *vu, struct vhost_user_msg *msg, uint32_t reply_bytes,
		    uint32_t reply_fds);

/**
 * Send a request that has no reply of its own and wait until the peer has done it: by
 * REPLY_ACK, or else by a GET_FEATURES behind it.
 * @return as vhost_user_call(); -EIO: the peer answered that it failed.
 */
int vhost_user_tell(struct vhost_user *vu, struct vhost_user_msg *msg);

/**
 * The same in two halves, so that several requests cost one round trip: send up to
 * VHOST_USER_POSTED_MAX of them, then wait for all. No other call may come between.
 * @return as vhost_user_tell(); collect also when an earlier post failed.
 */
int vhost_user_post(struct vhost_user *vu, struct vhost_user_msg *msg);
int vhost_user_collect(struct vhost_user *vu);

/** vhost_user_tell() for a message whose payload is one u64; and one whose reply is one u64. */
int vhost_user_tell_u64(struct vhost_user *vu, uint32_t request, uint64_t value);
int vhost_user_get_u64(struct vhost_user *vu, uint32_t request, uint64_t *value);

#endif /* VIREO_VHOST_USER_H */
