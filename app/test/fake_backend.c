/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fake_backend.h"

#define POLL_MS 10
#define CONNECT_TRIES 200
#define MAX_FDS 32

struct fake_map {
	void *base;
	size_t len;
};

struct fake_backend {
	pthread_t thread;
	pthread_mutex_t lock; /* state, maps and the descriptors */
	struct fake_conf conf;
	struct fake_state state;
	struct fake_map maps[FAKE_REGIONS];
	char path[108];
	int listen_fd;
	int conn_fd;
	int channel_fd; /* back-end channel */
	bool stopping;
};

struct fake_msg {
	struct vhost_user_hdr hdr;
	union vhost_user_payload payload;
	int fds[MAX_FDS];
	uint32_t nb_fds;
};

/* --- Bytes ------------------------------------------------------------------ */

static bool
read_all(int fd, void *to, size_t len)
{
	ssize_t got;

	while (len > 0) {
		got = read(fd, to, len);
		if (got <= 0)
			return false;
		to = (uint8_t *)to + got;
		len -= (size_t)got;
	}
	return true;
}

static bool
receive(int fd, struct fake_msg *msg)
{
	uint8_t control[CMSG_SPACE(sizeof(int) * MAX_FDS)] __rte_aligned(sizeof(size_t));
	struct iovec iov = { .iov_base = &msg->hdr, .iov_len = sizeof(msg->hdr) };
	struct msghdr mh = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;

	msg->nb_fds = 0;
	if (recvmsg(fd, &mh, MSG_WAITALL | MSG_CMSG_CLOEXEC) != sizeof(msg->hdr))
		return false;
	cmsg = CMSG_FIRSTHDR(&mh);
	if (cmsg != NULL && cmsg->cmsg_type == SCM_RIGHTS) {
		msg->nb_fds = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(msg->fds, CMSG_DATA(cmsg), msg->nb_fds * sizeof(int));
	}
	return msg->hdr.size_bytes <= sizeof(msg->payload) &&
		read_all(fd, &msg->payload, msg->hdr.size_bytes);
}

static void
transmit(int fd, const void *hdr, const void *payload, size_t payload_len, const int *fds,
	 uint32_t nb_fds)
{
	uint8_t control[CMSG_SPACE(sizeof(int) * MAX_FDS)] __rte_aligned(sizeof(size_t));
	struct iovec iov[2] = {
		{ .iov_base = (void *)(uintptr_t)hdr, .iov_len = sizeof(struct vhost_user_hdr) },
		{ .iov_base = (void *)(uintptr_t)payload, .iov_len = payload_len },
	};
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 2 };
	struct cmsghdr *cmsg;
	ssize_t ret;

	if (nb_fds > 0) {
		memset(control, 0, sizeof(control));
		mh.msg_control = control;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * nb_fds);
		cmsg = CMSG_FIRSTHDR(&mh);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * nb_fds);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * nb_fds);
	}
	ret = sendmsg(fd, &mh, MSG_NOSIGNAL);
	RTE_SET_USED(ret);
}

/* Answer with what is in msg, or with what the fault makes of it. @return false: close. */
static bool
reply(struct fake_backend *fb, struct fake_msg *msg, const int *fds, uint32_t nb_fds)
{
	static const uint8_t garbage[] = "this is no vhost-user message, whatever you expected";
	int extra[MAX_FDS];
	uint32_t i;

	msg->hdr.flags = VHOST_USER_FLAG_VERSION | VHOST_USER_FLAG_REPLY;
	switch (fb->conf.at_request == msg->hdr.request ? fb->conf.fault : FAKE_HONEST) {
	case FAKE_CLOSES:
		return false;
	case FAKE_CLOSES_MIDWAY:
		transmit(fb->conn_fd, &msg->hdr, &msg->payload, 4, NULL, 0);
		return false;
	case FAKE_SILENT:
		return true;
	case FAKE_GARBAGE:
		return write(fb->conn_fd, garbage, sizeof(garbage)) > 0;
	case FAKE_HUGE:
		msg->hdr.size_bytes = 0x7fffffff;
		break;
	case FAKE_WRONG_REQUEST:
		msg->hdr.request ^= 1;
		break;
	case FAKE_WRONG_SIZE:
		msg->hdr.size_bytes -= 4;
		break;
	case FAKE_EXTRA_FDS:
	case FAKE_MANY_FDS:
		nb_fds = fb->conf.fault == FAKE_MANY_FDS ? 20 : 2;
		for (i = 0; i < nb_fds; i++)
			extra[i] = STDERR_FILENO;
		fds = extra;
		break;
	case FAKE_REFUSES:
		msg->payload.u64 = 1;
		break;
	case FAKE_HONEST:
		break;
	}
	transmit(fb->conn_fd, &msg->hdr, &msg->payload,
		 RTE_MIN(msg->hdr.size_bytes, (uint32_t)sizeof(msg->payload)), fds, nb_fds);
	return true;
}

static bool
reply_u64(struct fake_backend *fb, struct fake_msg *msg, uint64_t value)
{
	msg->hdr.size_bytes = sizeof(value);
	msg->payload.u64 = value;
	return reply(fb, msg, NULL, 0);
}

/* --- Memory ----------------------------------------------------------------- */

static void
add_region(struct fake_backend *fb, const struct vhost_user_mem_region *r, int fd)
{
	uint32_t i = fb->state.nb_regions;
	struct fake_map *map = &fb->maps[i];

	if (i == FAKE_REGIONS)
		return;
	map->len = r->mmap_offset + r->len_bytes;
	map->base = mmap(NULL, map->len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map->base == MAP_FAILED)
		return;
	fb->state.regions[i] = *r;
	fb->state.nb_regions++;
}

static void
remove_region(struct fake_backend *fb, const struct vhost_user_mem_region *r)
{
	uint32_t i, last = fb->state.nb_regions - 1;

	for (i = 0; i < fb->state.nb_regions; i++) {
		if (memcmp(&fb->state.regions[i], r, sizeof(*r)) != 0)
			continue;
		munmap(fb->maps[i].base, fb->maps[i].len);
		fb->state.regions[i] = fb->state.regions[last];
		fb->maps[i] = fb->maps[last];
		fb->state.nb_regions--;
		return;
	}
}

static void
remove_all_regions(struct fake_backend *fb)
{
	while (fb->state.nb_regions > 0)
		remove_region(fb, &fb->state.regions[0]);
}

bool
fake_read(struct fake_backend *fb, uint64_t addr, void *to, uint32_t len_bytes)
{
	const struct vhost_user_mem_region *r;
	bool found = false;
	uint32_t i;

	pthread_mutex_lock(&fb->lock);
	for (i = 0; i < fb->state.nb_regions && !found; i++) {
		r = &fb->state.regions[i];
		if (addr < r->user_addr || addr + len_bytes > r->user_addr + r->len_bytes)
			continue;
		memcpy(to, (uint8_t *)fb->maps[i].base + r->mmap_offset + (addr - r->user_addr),
		       len_bytes);
		found = true;
	}
	pthread_mutex_unlock(&fb->lock);
	return found;
}

/* --- Requests --------------------------------------------------------------- */

/* Requests with a reply of their own. @return 1: answered, 0: not one of them, -1: close. */
static int
answer(struct fake_backend *fb, struct fake_msg *msg)
{
	struct vhost_user_config *config = &msg->payload.config;
	int fd;
	bool ok;

	switch (msg->hdr.request) {
	case VHOST_USER_REQ_GET_FEATURES:
		return reply_u64(fb, msg, fb->conf.features) ? 1 : -1;
	case VHOST_USER_REQ_GET_PROTOCOL_FEATURES:
		return reply_u64(fb, msg, fb->conf.protocol) ? 1 : -1;
	case VHOST_USER_REQ_GET_QUEUE_NUM:
		return reply_u64(fb, msg, fb->conf.nb_queues) ? 1 : -1;
	case VHOST_USER_REQ_GET_MAX_MEM_SLOTS:
		return reply_u64(fb, msg, fb->conf.mem_slots) ? 1 : -1;
	case VHOST_USER_REQ_GET_STATUS:
		return reply_u64(fb, msg, fb->state.status) ? 1 : -1;
	case VHOST_USER_REQ_GET_VRING_BASE:
		fb->state.rings[msg->payload.state.idx % FAKE_QUEUES].nb_get_base++;
		return reply(fb, msg, NULL, 0) ? 1 : -1;
	case VHOST_USER_REQ_GET_CONFIG:
		if (config->offset + config->size_bytes <= sizeof(fb->state.config))
			memcpy(config->data, fb->state.config + config->offset, config->size_bytes);
		else
			msg->hdr.size_bytes = 0;
		return reply(fb, msg, NULL, 0) ? 1 : -1;
	case VHOST_USER_REQ_GET_INFLIGHT_FD:
		fd = memfd_create("inflight", MFD_CLOEXEC);
		msg->payload.inflight.mmap_size_bytes = 4096;
		msg->payload.inflight.mmap_offset = 0;
		ok = ftruncate(fd, 4096) == 0 && reply(fb, msg, &fd, 1);
		close(fd);
		return ok ? 1 : -1;
	default:
		return 0;
	}
}

static void
note_ring(struct fake_backend *fb, const struct fake_msg *msg)
{
	struct fake_ring *ring = &fb->state.rings[msg->payload.state.idx % FAKE_QUEUES];
	struct fake_ring *by_u64 = &fb->state.rings[(msg->payload.u64 & 0xff) % FAKE_QUEUES];

	switch (msg->hdr.request) {
	case VHOST_USER_REQ_SET_VRING_NUM:
		ring->num = msg->payload.state.num;
		break;
	case VHOST_USER_REQ_SET_VRING_BASE:
		ring->base = msg->payload.state.num;
		break;
	case VHOST_USER_REQ_SET_VRING_ENABLE:
		ring->enabled = msg->payload.state.num != 0;
		break;
	case VHOST_USER_REQ_SET_VRING_ADDR:
		ring->addr = msg->payload.addr;
		break;
	case VHOST_USER_REQ_SET_VRING_KICK:
		by_u64->has_kick = msg->nb_fds == 1;
		break;
	case VHOST_USER_REQ_SET_VRING_CALL:
		by_u64->has_call = msg->nb_fds == 1;
		break;
	default:
		break;
	}
}

static void
note(struct fake_backend *fb, struct fake_msg *msg)
{
	const struct vhost_user_config *config = &msg->payload.config;
	uint32_t i;

	switch (msg->hdr.request) {
	case VHOST_USER_REQ_SET_FEATURES:
		fb->state.features = msg->payload.u64;
		break;
	case VHOST_USER_REQ_SET_PROTOCOL_FEATURES:
		fb->state.protocol = msg->payload.u64;
		break;
	case VHOST_USER_REQ_SET_STATUS:
		fb->state.status = (uint8_t)msg->payload.u64;
		break;
	case VHOST_USER_REQ_SET_MEM_TABLE:
		remove_all_regions(fb);
		for (i = 0; i < msg->payload.mem.nb_regions && i < msg->nb_fds; i++)
			add_region(fb, &msg->payload.mem.regions[i], msg->fds[i]);
		break;
	case VHOST_USER_REQ_ADD_MEM_REG:
		if (msg->nb_fds == 1)
			add_region(fb, &msg->payload.mem_single.region, msg->fds[0]);
		break;
	case VHOST_USER_REQ_REM_MEM_REG:
		remove_region(fb, &msg->payload.mem_single.region);
		break;
	case VHOST_USER_REQ_SET_CONFIG:
		if (config->offset + config->size_bytes <= sizeof(fb->state.config))
			memcpy(fb->state.config + config->offset, config->data, config->size_bytes);
		break;
	case VHOST_USER_REQ_SET_INFLIGHT_FD:
		fb->state.inflight = msg->payload.inflight;
		fb->state.has_inflight_fd = msg->nb_fds == 1;
		break;
	case VHOST_USER_REQ_SET_BACKEND_REQ_FD:
		if (msg->nb_fds == 1)
			fb->channel_fd = dup(msg->fds[0]);
		break;
	default:
		note_ring(fb, msg);
		break;
	}
}

/* @return false: close the connection. */
static bool
serve(struct fake_backend *fb)
{
	struct fake_msg msg;
	bool ok = true;
	uint32_t i;
	int ret;

	if (!receive(fb->conn_fd, &msg))
		return false;
	if (msg.hdr.request < FAKE_REQUESTS)
		fb->state.count[msg.hdr.request]++;
	ret = answer(fb, &msg);
	if (ret < 0)
		ok = false;
	if (ret == 0) {
		note(fb, &msg);
		if (msg.hdr.flags & VHOST_USER_FLAG_NEED_REPLY)
			ok = reply_u64(fb, &msg, 0);
		else if (fb->conf.at_request == msg.hdr.request &&
			 (fb->conf.fault == FAKE_CLOSES || fb->conf.fault == FAKE_REFUSES))
			ok = false;
	}
	for (i = 0; i < msg.nb_fds; i++)
		close(msg.fds[i]);
	return ok;
}

/* --- The thread ------------------------------------------------------------- */

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void
hang_up(struct fake_backend *fb)
{
	close_fd(&fb->conn_fd);
	close_fd(&fb->channel_fd);
	remove_all_regions(fb);
	fb->state.connected = false;
}

static void
serve_channel(struct fake_backend *fb)
{
	struct fake_msg msg;
	struct pollfd pfd = { .fd = fb->channel_fd, .events = POLLIN };

	if (fb->channel_fd < 0 || poll(&pfd, 1, 0) <= 0)
		return;
	if (!receive(fb->channel_fd, &msg))
		close_fd(&fb->channel_fd);
	else if ((msg.hdr.flags & VHOST_USER_FLAG_REPLY) && msg.payload.u64 == 0)
		fb->state.nb_config_acks++;
}

static void
meet(struct fake_backend *fb, int fd)
{
	fb->conn_fd = fd;
	fb->state.connected = true;
	fb->state.nb_connections++;
}

static void
run_once(struct fake_backend *fb)
{
	struct pollfd pfd = { .events = POLLIN };

	pthread_mutex_lock(&fb->lock);
	pfd.fd = fb->conn_fd >= 0 ? fb->conn_fd : fb->listen_fd;
	pthread_mutex_unlock(&fb->lock);
	if (poll(&pfd, 1, POLL_MS) > 0) {
		pthread_mutex_lock(&fb->lock);
		if (fb->conn_fd < 0)
			meet(fb, accept4(fb->listen_fd, NULL, NULL, SOCK_CLOEXEC));
		else if (!serve(fb))
			hang_up(fb);
		pthread_mutex_unlock(&fb->lock);
	}
	pthread_mutex_lock(&fb->lock);
	serve_channel(fb);
	pthread_mutex_unlock(&fb->lock);
}

static void *
run(void *arg)
{
	struct fake_backend *fb = arg;

	while (!__atomic_load_n(&fb->stopping, __ATOMIC_ACQUIRE))
		run_once(fb);
	return NULL;
}

static int
open_socket(struct fake_backend *fb)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int tries;

	memcpy(sa.sun_path, fb->path, sizeof(sa.sun_path));
	if (!fb->conf.connects) {
		unlink(fb->path);
		fb->listen_fd = fd;
		if (bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
			return -errno;
		return listen(fd, 4) == 0 ? 0 : -errno;
	}
	for (tries = 0; tries < CONNECT_TRIES; tries++) {
		if (connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) == 0) {
			meet(fb, fd);
			return 0;
		}
		usleep(POLL_MS * 1000);
	}
	close(fd);
	return -ETIMEDOUT;
}

struct fake_backend *
fake_start(const char *path, const struct fake_conf *conf)
{
	struct fake_backend *fb = calloc(1, sizeof(*fb));

	if (fb == NULL)
		return NULL;
	pthread_mutex_init(&fb->lock, NULL);
	fb->conf = *conf;
	fb->listen_fd = -1;
	fb->conn_fd = -1;
	fb->channel_fd = -1;
	snprintf(fb->path, sizeof(fb->path), "%s", path);
	if (open_socket(fb) < 0 || pthread_create(&fb->thread, NULL, run, fb) != 0) {
		hang_up(fb);
		close_fd(&fb->listen_fd);
		free(fb);
		return NULL;
	}
	return fb;
}

void
fake_stop(struct fake_backend *fb)
{
	if (fb == NULL)
		return;
	__atomic_store_n(&fb->stopping, true, __ATOMIC_RELEASE);
	pthread_join(fb->thread, NULL);
	hang_up(fb);
	close_fd(&fb->listen_fd);
	pthread_mutex_destroy(&fb->lock);
	free(fb);
}

void
fake_get(struct fake_backend *fb, struct fake_state *state)
{
	pthread_mutex_lock(&fb->lock);
	*state = fb->state;
	pthread_mutex_unlock(&fb->lock);
}

bool
fake_config_changed(struct fake_backend *fb)
{
	const struct vhost_user_hdr hdr = {
		.request = VHOST_USER_BACKEND_CONFIG_CHANGE_MSG,
		.flags = VHOST_USER_FLAG_VERSION | VHOST_USER_FLAG_NEED_REPLY,
	};
	bool there;

	pthread_mutex_lock(&fb->lock);
	fb->state.config[0]++;
	there = fb->channel_fd >= 0;
	if (there)
		transmit(fb->channel_fd, &hdr, NULL, 0, NULL, 0);
	pthread_mutex_unlock(&fb->lock);
	return there;
}

void
fake_send_unasked(struct fake_backend *fb)
{
	const struct vhost_user_hdr hdr = {
		.request = VHOST_USER_REQ_GET_FEATURES,
		.flags = VHOST_USER_FLAG_VERSION | VHOST_USER_FLAG_REPLY,
	};

	pthread_mutex_lock(&fb->lock);
	if (fb->conn_fd >= 0)
		transmit(fb->conn_fd, &hdr, NULL, 0, NULL, 0);
	pthread_mutex_unlock(&fb->lock);
}
