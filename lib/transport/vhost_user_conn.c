/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../base/log.h"
#include "vhost_user.h"

RTE_LOG_REGISTER(vhost_user_conn_logtype, lib.vireo.transport.conn, NOTICE);
#define LOG(level, fmt, ...)                                                                       \
	VIREO_LOG(level, vhost_user_conn_logtype, "vhost-user", "%s: " fmt, vu->path, ##__VA_ARGS__)

/* What Vireo makes use of, when the peer offers it. */
#define PROTOCOL_WANTED                                                                            \
	(VHOST_USER_PROTOCOL_MQ | VHOST_USER_PROTOCOL_REPLY_ACK | VHOST_USER_PROTOCOL_CONFIG |     \
	 VHOST_USER_PROTOCOL_BACKEND_REQ | VHOST_USER_PROTOCOL_INFLIGHT_SHMFD |                    \
	 VHOST_USER_PROTOCOL_CONFIGURE_MEM_SLOTS | VHOST_USER_PROTOCOL_STATUS)

/* A peer that offers more memory slots than this gets no more. */
#define MEM_SLOTS_MAX 4096

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int
watch(struct vhost_user *vu, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP, .data.fd = fd };

	return epoll_ctl(vu->epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0 ? 0 : -errno;
}

static void
unwatch(struct vhost_user *vu, int fd)
{
	epoll_ctl(vu->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void
retry_later(struct vhost_user *vu)
{
	struct itimerspec when = {
		.it_value.tv_sec = vu->retry_ms / 1000,
		.it_value.tv_nsec = (long)(vu->retry_ms % 1000) * 1000000,
	};

	timerfd_settime(vu->timer_fd, 0, &when, NULL);
}

/* Forget the peer and all that it was told. */
static void
drop_peer(struct vhost_user *vu)
{
	close_fd(&vu->conn_fd);
	close_fd(&vu->backend_fd);
	close_fd(&vu->inflight_fd);
	vu->up = false;
	vu->broken = false;
	vu->protocol = 0;
	vu->offered = 0;
	vu->nb_peer_queues = 0;
	vu->status = 0;
	vu->nb_pairs = 0;
	vu->nb_posted = 0;
	vu->mem_sent = false;
	shared_mem_clear(&vu->mem);
	memset(vu->queues, 0, sizeof(vu->queues));
}

static void
back_off(struct vhost_user *vu)
{
	vu->retry_ms = RTE_MIN(vu->retry_ms * 2, (uint32_t)VHOST_USER_RETRY_MAX_MS);
}

/* The way to the next peer: listen again, or try again. */
static void
seek_peer(struct vhost_user *vu)
{
	drop_peer(vu);
	if (vu->conf.server)
		watch(vu, vu->listen_fd);
	else
		retry_later(vu);
}

void
vhost_user_disconnect(struct transport *t)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);

	back_off(vu);
	seek_peer(vu);
}

int
vhost_user_break(struct vhost_user *vu, int err)
{
	if (!vu->broken && vu->conn_fd >= 0) {
		vu->broken = true;
		/* The hang-up wakes the interrupt thread, which reports it by process(). */
		shutdown(vu->conn_fd, SHUT_RDWR);
	}
	return err;
}

static int
get_protocol(struct vhost_user *vu)
{
	uint64_t offered;
	int ret;

	ret = vhost_user_get_u64(vu, VHOST_USER_REQ_GET_PROTOCOL_FEATURES, &offered);
	if (ret < 0)
		return ret;
	offered &= PROTOCOL_WANTED;
	/* The channel is of use for changes of config space only. */
	if ((offered & VHOST_USER_PROTOCOL_CONFIG) == 0)
		offered &= ~VHOST_USER_PROTOCOL_BACKEND_REQ;
	ret = vhost_user_tell_u64(vu, VHOST_USER_REQ_SET_PROTOCOL_FEATURES, offered);
	if (ret < 0)
		return ret;
	vu->protocol = offered;
	return 0;
}

static int
open_backend_channel(struct vhost_user *vu)
{
	struct vhost_user_msg msg = { .hdr.request = VHOST_USER_REQ_SET_BACKEND_REQ_FD };
	int pair[2];
	int ret;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	msg.fds[0] = pair[1];
	msg.nb_fds = 1;
	ret = vhost_user_tell(vu, &msg);
	close(pair[1]);
	if (ret == 0)
		ret = watch(vu, pair[0]);
	if (ret < 0) {
		close(pair[0]);
		return ret;
	}
	vu->backend_fd = pair[0];
	return 0;
}

static int
get_limits(struct vhost_user *vu)
{
	uint64_t slots;
	int ret;

	if (vu->protocol & VHOST_USER_PROTOCOL_MQ) {
		ret = vhost_user_get_u64(vu, VHOST_USER_REQ_GET_QUEUE_NUM, &vu->nb_peer_queues);
		if (ret < 0)
			return ret;
	}
	vu->max_regions = VHOST_USER_MEM_REGIONS_MAX;
	if (vu->protocol & VHOST_USER_PROTOCOL_CONFIGURE_MEM_SLOTS) {
		ret = vhost_user_get_u64(vu, VHOST_USER_REQ_GET_MAX_MEM_SLOTS, &slots);
		if (ret < 0)
			return ret;
		vu->max_regions = RTE_MIN(slots, MEM_SLOTS_MAX);
	}
	return 0;
}

/* vhost-user.rst, "Feature bits" and "Ring states": the messages that come first. */
static int
greet(struct vhost_user *vu)
{
	struct vhost_user_msg msg = { .hdr.request = VHOST_USER_REQ_SET_OWNER };
	int ret;

	ret = vhost_user_get_u64(vu, VHOST_USER_REQ_GET_FEATURES, &vu->offered);
	if (ret < 0)
		return ret;
	if (vu->offered & VIREO_F_VHOST_USER_PROTOCOL) {
		ret = get_protocol(vu);
		if (ret < 0)
			return ret;
	}
	ret = vhost_user_tell(vu, &msg);
	if (ret < 0)
		return ret;
	ret = get_limits(vu);
	if (ret < 0)
		return ret;
	if (vu->protocol & VHOST_USER_PROTOCOL_BACKEND_REQ)
		return open_backend_channel(vu);
	return 0;
}

/* A new socket: find out whether there is a back end behind it. */
static int
adopt_peer(struct vhost_user *vu, int fd)
{
	int ret;

	vu->conn_fd = fd;
	ret = greet(vu);
	if (ret == 0)
		ret = watch(vu, fd);
	if (ret < 0) {
		LOG(ERR, "the peer is no usable vhost-user back end: %s%s", strerror(-ret),
		    ret == -ETIMEDOUT ? " (it did not answer)" : "");
		drop_peer(vu);
		back_off(vu);
		return ret == -ECONNRESET ? -EPROTO : ret;
	}
	vu->up = true;
	LOG(INFO, "connected; protocol features 0x%" PRIx64, vu->protocol);
	return 0;
}

static void
fill_address(const struct vhost_user *vu, struct sockaddr_un *sa)
{
	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	memcpy(sa->sun_path, vu->path, sizeof(sa->sun_path));
}

/* @return a connected socket, or -errno. */
static int
connect_once(const struct vhost_user *vu)
{
	struct sockaddr_un sa;
	int fd, ret;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	fill_address(vu, &sa);
	if (connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) == 0)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

static int
open_client(struct vhost_user *vu)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	uint32_t waited_ms = 0;
	int fd;

	/* A full backlog (-EAGAIN) is the one failure that is "not now". */
	while ((fd = connect_once(vu)) == -EAGAIN && waited_ms < vu->conf.timeout_ms) {
		nanosleep(&pause, NULL);
		waited_ms += 10;
	}
	if (fd == -EAGAIN)
		fd = -ETIMEDOUT;
	if (fd < 0) {
		LOG(ERR, "cannot connect: %s; expected a vhost-user back end listening there",
		    strerror(-fd));
		return fd;
	}
	return adopt_peer(vu, fd);
}

/* Somebody's socket file is in the way: remove it if nobody listens there any more. */
static int
remove_dead_socket(struct vhost_user *vu)
{
	struct stat st;
	int fd;

	if (lstat(vu->path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode)) {
		LOG(ERR, "exists and is no socket; expected a free path or a dead socket");
		return -EADDRINUSE;
	}
	fd = connect_once(vu);
	if (fd != -ECONNREFUSED) {
		if (fd >= 0)
			close(fd);
		LOG(ERR, "another process listens there; choose another path or stop it");
		return -EADDRINUSE;
	}
	LOG(NOTICE, "removing a socket file that nobody listens on");
	return unlink(vu->path) == 0 || errno == ENOENT ? 0 : -errno;
}

static int
open_server(struct vhost_user *vu)
{
	struct sockaddr_un sa;
	struct stat st;
	int ret;

	ret = remove_dead_socket(vu);
	if (ret < 0)
		return ret;
	vu->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (vu->listen_fd < 0)
		return -errno;
	fill_address(vu, &sa);
	if (bind(vu->listen_fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    lstat(vu->path, &st) < 0 || listen(vu->listen_fd, 1) < 0) {
		ret = -errno;
		LOG(ERR, "cannot listen: %s", strerror(-ret));
		return ret;
	}
	vu->bound = true;
	vu->sock_dev = st.st_dev;
	vu->sock_ino = st.st_ino;
	return watch(vu, vu->listen_fd);
}

static void
on_interrupt(void *arg)
{
	struct vhost_user *vu = arg;

	vu->wakeup(vu->wakeup_arg);
}

static int
open_events(struct vhost_user *vu)
{
	vu->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (vu->epoll_fd < 0)
		return -errno;
	vu->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (vu->timer_fd < 0)
		return -errno;
	return watch(vu, vu->timer_fd);
}

static int
register_events(struct vhost_user *vu)
{
	vu->intr = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	if (vu->intr == NULL)
		return -ENOMEM;
	if (rte_intr_fd_set(vu->intr, vu->epoll_fd) != 0 ||
	    rte_intr_type_set(vu->intr, RTE_INTR_HANDLE_EXT) != 0)
		return -EINVAL;
	return rte_intr_callback_register(vu->intr, on_interrupt, vu);
}

int
vhost_user_open(struct transport *t, void (*wakeup)(void *arg), void *arg)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);
	int ret;

	vu->wakeup = wakeup;
	vu->wakeup_arg = arg;
	vu->retry_ms = VHOST_USER_RETRY_MS;
	ret = open_events(vu);
	if (ret < 0)
		return ret;
	ret = vu->conf.server ? open_server(vu) : open_client(vu);
	if (ret < 0)
		return ret;
	return register_events(vu);
}

void
vhost_user_close(struct transport *t)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);
	struct stat st;

	if (vu->intr != NULL) {
		rte_intr_callback_unregister_sync(vu->intr, on_interrupt, vu);
		rte_intr_instance_free(vu->intr);
	}
	drop_peer(vu);
	close_fd(&vu->listen_fd);
	close_fd(&vu->timer_fd);
	close_fd(&vu->epoll_fd);
	/* Not a file that somebody has put there since. */
	if (vu->bound && lstat(vu->path, &st) == 0 && st.st_dev == vu->sock_dev &&
	    st.st_ino == vu->sock_ino)
		unlink(vu->path);
	free(vu);
}

/* Nothing comes unasked on the connection: data is as much the end as its end is. */
static bool
peer_gone(struct vhost_user *vu)
{
	uint8_t byte;
	ssize_t got;

	if (vu->broken)
		return true;
	got = recv(vu->conn_fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT);
	if (got < 0)
		return errno != EAGAIN && errno != EINTR;
	if (got > 0)
		LOG(ERR, "the peer sent a message that was not asked for; disconnecting");
	return true;
}

/* A message on the back-end channel; vhost-user.rst, "Back-end message types". */
static int
process_backend(struct vhost_user *vu)
{
	struct vhost_user_msg msg;
	uint8_t byte;
	bool known;
	int ret;

	if (recv(vu->backend_fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) < 0 &&
	    (errno == EAGAIN || errno == EINTR))
		return 0;
	ret = vhost_user_msg_recv(vu->backend_fd, &msg, vu->conf.timeout_ms);
	if (ret < 0) {
		LOG(WARNING, "back-end channel closed: %s", strerror(-ret));
		close_fd(&vu->backend_fd);
		return 0;
	}
	vhost_user_msg_close_fds(&msg);
	known = msg.hdr.request == VHOST_USER_BACKEND_CONFIG_CHANGE_MSG;
	if (!known)
		LOG(WARNING, "unexpected request %u on the back-end channel", msg.hdr.request);
	if (msg.hdr.flags & VHOST_USER_FLAG_NEED_REPLY) {
		msg.hdr.flags = VHOST_USER_FLAG_VERSION | VHOST_USER_FLAG_REPLY;
		msg.hdr.size_bytes = sizeof(msg.payload.u64);
		msg.payload.u64 = known ? 0 : 1;
		if (vhost_user_msg_send(vu->backend_fd, &msg, 0) < 0)
			close_fd(&vu->backend_fd);
	}
	return known ? TRANSPORT_EV_CONFIG : 0;
}

static int
accept_peer(struct vhost_user *vu)
{
	int fd, ret;

	fd = accept4(vu->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
			return 0;
		/* No descriptor left, say: it stays readable, so look away for a while. */
		LOG(ERR, "cannot accept a peer: %s", strerror(errno));
		unwatch(vu, vu->listen_fd);
		retry_later(vu);
		return 0;
	}
	ret = adopt_peer(vu, fd);
	if (ret < 0)
		return ret;
	/* One peer at a time: the next waits in the backlog, without waking anybody. */
	unwatch(vu, vu->listen_fd);
	return TRANSPORT_EV_CONNECTED;
}

static bool
timer_expired(struct vhost_user *vu)
{
	uint64_t expired;

	return read(vu->timer_fd, &expired, sizeof(expired)) == sizeof(expired);
}

static int
retry_connect(struct vhost_user *vu)
{
	int fd, ret;

	fd = connect_once(vu);
	if (fd < 0) {
		retry_later(vu);
		return 0;
	}
	ret = adopt_peer(vu, fd);
	if (ret < 0) {
		retry_later(vu);
		return ret;
	}
	return TRANSPORT_EV_CONNECTED;
}

int
vhost_user_process(struct transport *t)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);
	int events = 0;

	if (vu->up && peer_gone(vu)) {
		LOG(NOTICE, "the peer has gone");
		vu->retry_ms = VHOST_USER_RETRY_MS;
		seek_peer(vu);
		/* A new one is found in the next turn, after this was dealt with. */
		return TRANSPORT_EV_DISCONNECTED;
	}
	if (vu->up) {
		if (vu->backend_fd >= 0)
			events |= process_backend(vu);
		return events;
	}
	if (!timer_expired(vu))
		return vu->conf.server ? accept_peer(vu) : 0;
	if (!vu->conf.server)
		return retry_connect(vu);
	watch(vu, vu->listen_fd);
	return 0;
}
