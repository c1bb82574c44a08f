/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../base/log.h"
#include "vhost_user_msg.h"

RTE_LOG_REGISTER(vhost_user_msg_logtype, lib.vireo.transport.msg, NOTICE);
#define LOG(level, ...) VIREO_LOG(level, vhost_user_msg_logtype, "vhost-user", __VA_ARGS__)

/* The kernel's own bound (SCM_MAX_FD) is far above; a peer may send more than we keep. */
#define FDS_ROOM 64

const char *
vhost_user_request_str(uint32_t request)
{
	static const char *const names[] = {
		[VHOST_USER_REQ_GET_FEATURES] = "GET_FEATURES",
		[VHOST_USER_REQ_SET_FEATURES] = "SET_FEATURES",
		[VHOST_USER_REQ_SET_OWNER] = "SET_OWNER",
		[VHOST_USER_REQ_RESET_OWNER] = "RESET_OWNER",
		[VHOST_USER_REQ_SET_MEM_TABLE] = "SET_MEM_TABLE",
		[VHOST_USER_REQ_SET_LOG_BASE] = "SET_LOG_BASE",
		[VHOST_USER_REQ_SET_LOG_FD] = "SET_LOG_FD",
		[VHOST_USER_REQ_SET_VRING_NUM] = "SET_VRING_NUM",
		[VHOST_USER_REQ_SET_VRING_ADDR] = "SET_VRING_ADDR",
		[VHOST_USER_REQ_SET_VRING_BASE] = "SET_VRING_BASE",
		[VHOST_USER_REQ_GET_VRING_BASE] = "GET_VRING_BASE",
		[VHOST_USER_REQ_SET_VRING_KICK] = "SET_VRING_KICK",
		[VHOST_USER_REQ_SET_VRING_CALL] = "SET_VRING_CALL",
		[VHOST_USER_REQ_SET_VRING_ERR] = "SET_VRING_ERR",
		[VHOST_USER_REQ_GET_PROTOCOL_FEATURES] = "GET_PROTOCOL_FEATURES",
		[VHOST_USER_REQ_SET_PROTOCOL_FEATURES] = "SET_PROTOCOL_FEATURES",
		[VHOST_USER_REQ_GET_QUEUE_NUM] = "GET_QUEUE_NUM",
		[VHOST_USER_REQ_SET_VRING_ENABLE] = "SET_VRING_ENABLE",
		[VHOST_USER_REQ_SET_BACKEND_REQ_FD] = "SET_BACKEND_REQ_FD",
		[VHOST_USER_REQ_GET_CONFIG] = "GET_CONFIG",
		[VHOST_USER_REQ_SET_CONFIG] = "SET_CONFIG",
		[VHOST_USER_REQ_GET_INFLIGHT_FD] = "GET_INFLIGHT_FD",
		[VHOST_USER_REQ_SET_INFLIGHT_FD] = "SET_INFLIGHT_FD",
		[VHOST_USER_REQ_GET_MAX_MEM_SLOTS] = "GET_MAX_MEM_SLOTS",
		[VHOST_USER_REQ_ADD_MEM_REG] = "ADD_MEM_REG",
		[VHOST_USER_REQ_REM_MEM_REG] = "REM_MEM_REG",
		[VHOST_USER_REQ_SET_STATUS] = "SET_STATUS",
		[VHOST_USER_REQ_GET_STATUS] = "GET_STATUS",
	};

	if (request >= RTE_DIM(names) || names[request] == NULL)
		return "unknown";
	return names[request];
}

void
vhost_user_msg_close_fds(struct vhost_user_msg *msg)
{
	uint32_t i;

	for (i = 0; i < msg->nb_fds; i++)
		close(msg->fds[i]);
	msg->nb_fds = 0;
}

static uint64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Wait until the socket is ready for events or deadline_ms has come. */
static int
wait_ready(int sock, short events, uint64_t deadline_ms)
{
	struct pollfd pfd = { .fd = sock, .events = events };
	uint64_t now = now_ms();
	int ret;

	ret = poll(&pfd, 1, now >= deadline_ms ? 0 : (int)(deadline_ms - now));
	if (ret < 0)
		return errno == EINTR ? 0 : -errno;
	return ret == 0 ? -ETIMEDOUT : 0;
}

static int
gone(int err)
{
	return err == EPIPE || err == ECONNRESET ? -ECONNRESET : -err;
}

int
vhost_user_msg_send(int sock, const struct vhost_user_msg *msg, uint32_t timeout_ms)
{
	uint8_t control[CMSG_SPACE(sizeof(int) * VHOST_USER_MEM_REGIONS_MAX)] __rte_aligned(
		sizeof(size_t));
	uint8_t buf[sizeof(msg->hdr) + sizeof(msg->payload)];
	size_t len = sizeof(msg->hdr) + msg->hdr.size_bytes;
	uint64_t deadline_ms = now_ms() + timeout_ms;
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;
	ssize_t sent;
	int ret;

	if (msg->hdr.size_bytes > sizeof(msg->payload) || msg->nb_fds > VHOST_USER_MEM_REGIONS_MAX)
		return -EINVAL;
	memcpy(buf, &msg->hdr, sizeof(msg->hdr));
	memcpy(buf + sizeof(msg->hdr), &msg->payload, msg->hdr.size_bytes);
	if (msg->nb_fds > 0) {
		memset(control, 0, sizeof(control));
		mh.msg_control = control;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * msg->nb_fds);
		cmsg = CMSG_FIRSTHDR(&mh);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * msg->nb_fds);
		memcpy(CMSG_DATA(cmsg), msg->fds, sizeof(int) * msg->nb_fds);
	}
	while (iov.iov_len > 0) {
		sent = sendmsg(sock, &mh, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent >= 0) {
			iov.iov_base = (uint8_t *)iov.iov_base + sent;
			iov.iov_len -= (size_t)sent;
			/* Descriptors went with the first byte. */
			mh.msg_control = NULL;
			mh.msg_controllen = 0;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return gone(errno);
		ret = wait_ready(sock, POLLOUT, deadline_ms);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Keep what fits of the descriptors that came with a read, close the rest. */
static int
take_fds(struct msghdr *mh, struct vhost_user_msg *msg)
{
	struct cmsghdr *cmsg;
	uint32_t i, nb;
	int ret = mh->msg_flags & MSG_CTRUNC ? -EPROTO : 0;
	int fd;

	for (cmsg = CMSG_FIRSTHDR(mh); cmsg != NULL; cmsg = CMSG_NXTHDR(mh, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		nb = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < nb; i++) {
			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
			if (msg->nb_fds < VHOST_USER_MEM_REGIONS_MAX) {
				msg->fds[msg->nb_fds++] = fd;
			} else {
				close(fd);
				ret = -EPROTO;
			}
		}
	}
	if (ret < 0)
		LOG(ERR, "the peer sent more file descriptors than any message has (%u)",
		    VHOST_USER_MEM_REGIONS_MAX);
	return ret;
}

/* Read exactly len_bytes; at: bytes of the message that came before (for errors only). */
static int
read_full(int sock, void *buf, size_t len_bytes, size_t at, struct vhost_user_msg *msg,
	  uint64_t deadline_ms)
{
	uint8_t control[CMSG_SPACE(sizeof(int) * FDS_ROOM)] __rte_aligned(sizeof(size_t));
	struct iovec iov = { .iov_base = buf, .iov_len = len_bytes };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t got;
	int ret;

	while (iov.iov_len > 0) {
		mh.msg_control = control;
		mh.msg_controllen = sizeof(control);
		got = recvmsg(sock, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (got < 0) {
			if (errno != EAGAIN && errno != EINTR)
				return gone(errno);
			ret = wait_ready(sock, POLLIN, deadline_ms);
			if (ret < 0)
				return ret;
			continue;
		}
		ret = take_fds(&mh, msg);
		if (ret < 0)
			return ret;
		if (got == 0) {
			if (at == 0 && iov.iov_len == len_bytes)
				return -ECONNRESET;
			LOG(ERR, "the peer closed the connection in the middle of a message");
			return -EPROTO;
		}
		iov.iov_base = (uint8_t *)iov.iov_base + got;
		iov.iov_len -= (size_t)got;
	}
	return 0;
}

int
vhost_user_msg_recv(int sock, struct vhost_user_msg *msg, uint32_t timeout_ms)
{
	uint64_t deadline_ms = now_ms() + timeout_ms;
	int ret;

	msg->nb_fds = 0;
	ret = read_full(sock, &msg->hdr, sizeof(msg->hdr), 0, msg, deadline_ms);
	if (ret < 0)
		goto close_fds;
	if ((msg->hdr.flags & VHOST_USER_FLAG_VERSION_MASK) != VHOST_USER_FLAG_VERSION ||
	    msg->hdr.size_bytes > sizeof(msg->payload)) {
		LOG(ERR,
		    "the peer sent no vhost-user message: request %u, flags 0x%x (expected"
		    " version 1), %u bytes (expected at most %zu)",
		    msg->hdr.request, msg->hdr.flags, msg->hdr.size_bytes, sizeof(msg->payload));
		ret = -EPROTO;
		goto close_fds;
	}
	ret = read_full(sock, &msg->payload, msg->hdr.size_bytes, sizeof(msg->hdr), msg,
			deadline_ms);
	if (ret < 0)
		goto close_fds;
	return 0;

close_fds:
	vhost_user_msg_close_fds(msg);
	return ret;
}

int
vhost_user_msg_reply(int sock, struct vhost_user_msg *msg, uint32_t request, uint32_t reply_bytes,
		     uint32_t reply_fds, uint32_t timeout_ms)
{
	int ret = vhost_user_msg_recv(sock, msg, timeout_ms);

	if (ret < 0)
		return ret;
	if (msg->hdr.request == request && (msg->hdr.flags & VHOST_USER_FLAG_REPLY) != 0 &&
	    (reply_bytes == UINT32_MAX || msg->hdr.size_bytes == reply_bytes) &&
	    msg->nb_fds == reply_fds)
		return 0;
	LOG(ERR,
	    "bad reply to %s: got request %u, flags 0x%x, %u bytes, %u file descriptors;"
	    " expected request %u, flag 0x%x, %d bytes, %u file descriptors",
	    vhost_user_request_str(request), msg->hdr.request, msg->hdr.flags, msg->hdr.size_bytes,
	    msg->nb_fds, request, VHOST_USER_FLAG_REPLY,
	    reply_bytes == UINT32_MAX ? -1 : (int)reply_bytes, reply_fds);
	vhost_user_msg_close_fds(msg);
	return -EPROTO;
}

int
vhost_user_msg_call(int sock, struct vhost_user_msg *msg, uint32_t reply_bytes, uint32_t reply_fds,
		    uint32_t timeout_ms)
{
	uint32_t request = msg->hdr.request;
	int ret;

	ret = vhost_user_msg_send(sock, msg, timeout_ms);
	if (ret < 0)
		return ret;
	return vhost_user_msg_reply(sock, msg, request, reply_bytes, reply_fds, timeout_ms);
}
