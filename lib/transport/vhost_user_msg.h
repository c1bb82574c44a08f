/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_VHOST_USER_MSG_H
#define VIREO_VHOST_USER_MSG_H

/*
 * The codec of vhost-user: one message with its file descriptors out or in, bounded in
 * size and time. It trusts nothing that comes in: a wrong request, flag or size, a file
 * descriptor that was not asked for, or an end in the middle is -EPROTO with a log line,
 * and what was received is closed.
 *
 * Threads: any, one at a time for each socket. Sockets are non-blocking.
 * Source: vhost-user.rst, "Header", "Payload" and "Communication".
 */

#include "../base/vireo_base.h"
#include "../wire/vhost_user_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vhost_user_msg {
	struct vhost_user_hdr hdr;
	union vhost_user_payload payload;
	int fds[VHOST_USER_MEM_REGIONS_MAX]; /* received ones are the receiver's to close */
	uint32_t nb_fds;
};

/** Text of a request for logs: "SET_MEM_TABLE", or "unknown". */
const char *vhost_user_request_str(uint32_t request);

/** Close and forget the descriptors that came with a message. */
void vhost_user_msg_close_fds(struct vhost_user_msg *msg);

/**
 * Send one message whole, within timeout_ms.
 *
 * @return 0, -ETIMEDOUT, -EPIPE or -ECONNRESET (the peer has gone), -EINVAL (a payload
 * or more descriptors than a message can carry).
 */
int vhost_user_msg_send(int sock, const struct vhost_user_msg *msg, uint32_t timeout_ms);

/**
 * Receive one message whole, within timeout_ms.
 *
 * @return 0, -ETIMEDOUT, -ECONNRESET (closed between messages), -EPROTO (no message
 * of this protocol: version, size above what a payload can have, more descriptors than
 * any message has, closed in the middle). No descriptor is left open on failure.
 */
int vhost_user_msg_recv(int sock, struct vhost_user_msg *msg, uint32_t timeout_ms);

/**
 * Receive the reply to a request that was sent before.
 *
 * @param reply_bytes size that the reply must have; UINT32_MAX: any.
 * @param reply_fds how many descriptors the reply must carry.
 * @return 0, -EPROTO when the reply is not one to this request, else as recv.
 */
int vhost_user_msg_reply(int sock, struct vhost_user_msg *msg, uint32_t request,
			 uint32_t reply_bytes, uint32_t reply_fds, uint32_t timeout_ms);

/** Send a request and receive its reply, as above, into the same message. */
int vhost_user_msg_call(int sock, struct vhost_user_msg *msg, uint32_t reply_bytes,
			uint32_t reply_fds, uint32_t timeout_ms);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_VHOST_USER_MSG_H */
