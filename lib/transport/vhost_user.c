/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/log.h"
#include "../wire/net_abi.h"
#include "vhost_user.h"

RTE_LOG_REGISTER(vhost_user_logtype, lib.vireo.transport.vhost_user, NOTICE);
#define LOG(level, fmt, ...)                                                                       \
	VIREO_LOG(level, vhost_user_logtype, "vhost-user", "%s: " fmt, vu->path, ##__VA_ARGS__)

/* A bit of vhost itself (dirty-page logging) that is no device feature. */
#define F_LOG_ALL (1ULL << 26)

/* An eventfd carries no data, there is no reset message, and nobody serves an IOTLB. */
#define F_NOT_CARRIED                                                                              \
	(VIREO_F_NOTIFICATION_DATA | VIREO_F_RING_RESET | VIREO_F_ACCESS_PLATFORM |                \
	 VIREO_F_VHOST_USER_PROTOCOL | F_LOG_ALL)

/* Need a control queue, which vhost-user peers do not serve. */
#define F_NET_NOT_CARRIED                                                                          \
	(VIREO_NET_F_CTRL_VLAN | VIREO_NET_F_RSS | VIREO_NET_F_HASH_REPORT |                       \
	 VIREO_NET_F_GUEST_ANNOUNCE | VIREO_NET_F_CTRL_GUEST_OFFLOADS)

/* Answered by ctrl() in place of the peer, which is never told of them. */
#define F_NET_EMULATED (VIREO_NET_F_CTRL_VQ | VIREO_NET_F_CTRL_RX | VIREO_NET_F_CTRL_MAC_ADDR)

/* Mean fields of config space. */
#define F_NET_CONFIG                                                                               \
	(VIREO_NET_F_MAC | VIREO_NET_F_STATUS | VIREO_NET_F_MTU | VIREO_NET_F_SPEED_DUPLEX)

/* A file for in-flight descriptors that is larger than this is no honest answer. */
#define INFLIGHT_MAX_BYTES (1ULL << 30)

static bool
has_protocol(const struct vhost_user *vu, uint64_t feature)
{
	return (vu->protocol & feature) != 0;
}

static bool
is_net(const struct vhost_user *vu)
{
	return vu->conf.device_id == VIREO_NET_DEVICE_ID;
}

/*
 * A back end that locks its memory touches every page of ours when it maps it: that takes
 * seconds for gigabytes.
 */
static uint32_t
wait_ms(const struct vhost_user *vu, uint32_t request)
{
	if (request == VHOST_USER_REQ_SET_MEM_TABLE || request == VHOST_USER_REQ_ADD_MEM_REG)
		return vu->conf.timeout_ms * VHOST_USER_MEM_PATIENCE;
	return vu->conf.timeout_ms;
}

static int
report_failure(struct vhost_user *vu, uint32_t request, int err)
{
	LOG(ERR, "%s: %s%s", vhost_user_request_str(request), strerror(-err),
	    err == -ETIMEDOUT ? " while waiting for the peer's answer" : "");
	return vhost_user_break(vu, err);
}

int
vhost_user_call(struct vhost_user *vu, struct vhost_user_msg *msg, uint32_t reply_bytes,
		uint32_t reply_fds)
{
	uint32_t request = msg->hdr.request;
	int ret;

	if (vu->conn_fd < 0 || vu->broken)
		return -ENOTCONN;
	msg->hdr.flags |= VHOST_USER_FLAG_VERSION;
	ret = vhost_user_msg_call(vu->conn_fd, msg, reply_bytes, reply_fds, vu->conf.timeout_ms);
	return ret < 0 ? report_failure(vu, request, ret) : 0;
}

/*
 * For a peer without REPLY_ACK: messages are done in order, so the reply to this one comes
 * after the given request is done.
 */
static int
fence(struct vhost_user *vu, uint32_t request)
{
	struct vhost_user_msg msg = { .hdr = { .request = VHOST_USER_REQ_GET_FEATURES,
					       .flags = VHOST_USER_FLAG_VERSION } };
	int ret;

	if (vu->broken)
		return -ENOTCONN;
	ret = vhost_user_msg_call(vu->conn_fd, &msg, sizeof(uint64_t), 0, wait_ms(vu, request));
	return ret < 0 ? report_failure(vu, request, ret) : 0;
}

int
vhost_user_post(struct vhost_user *vu, struct vhost_user_msg *msg)
{
	int ret;

	if (vu->conn_fd < 0 || vu->broken)
		return -ENOTCONN;
	msg->hdr.flags |= VHOST_USER_FLAG_VERSION;
	if (has_protocol(vu, VHOST_USER_PROTOCOL_REPLY_ACK))
		msg->hdr.flags |= VHOST_USER_FLAG_NEED_REPLY;
	ret = vhost_user_msg_send(vu->conn_fd, msg, vu->conf.timeout_ms);
	if (ret < 0) {
		LOG(ERR, "cannot send %s: %s", vhost_user_request_str(msg->hdr.request),
		    strerror(-ret));
		return vhost_user_break(vu, ret);
	}
	vu->posted[vu->nb_posted++] = msg->hdr.request;
	return 0;
}

/* The acknowledgement of one request. */
static int
take_ack(struct vhost_user *vu, uint32_t request)
{
	struct vhost_user_msg msg;
	int ret;

	if (vu->broken)
		return -ENOTCONN;
	ret = vhost_user_msg_reply(vu->conn_fd, &msg, request, sizeof(msg.payload.u64), 0,
				   wait_ms(vu, request));
	if (ret < 0)
		return report_failure(vu, request, ret);
	if (msg.payload.u64 == 0)
		return 0;
	LOG(ERR, "the peer refused %s", vhost_user_request_str(request));
	return -EIO;
}

int
vhost_user_collect(struct vhost_user *vu)
{
	uint32_t i, nb = vu->nb_posted;
	int ret = 0, err = 0;

	vu->nb_posted = 0;
	if (!has_protocol(vu, VHOST_USER_PROTOCOL_REPLY_ACK))
		return nb > 0 ? fence(vu, vu->posted[nb - 1]) : 0;
	/* All of them, whatever the first says: the next reply must be to the next request. */
	for (i = 0; i < nb; i++) {
		ret = take_ack(vu, vu->posted[i]);
		if (err == 0)
			err = ret;
	}
	return err;
}

int
vhost_user_tell(struct vhost_user *vu, struct vhost_user_msg *msg)
{
	int ret = vhost_user_post(vu, msg);

	return ret < 0 ? ret : vhost_user_collect(vu);
}

int
vhost_user_tell_u64(struct vhost_user *vu, uint32_t request, uint64_t value)
{
	struct vhost_user_msg msg = {
		.hdr = { .request = request, .size_bytes = sizeof(value) },
		.payload.u64 = value,
	};

	return vhost_user_tell(vu, &msg);
}

int
vhost_user_get_u64(struct vhost_user *vu, uint32_t request, uint64_t *value)
{
	struct vhost_user_msg msg = { .hdr.request = request };
	int ret;

	ret = vhost_user_call(vu, &msg, sizeof(*value), 0);
	if (ret == 0)
		*value = msg.payload.u64;
	return ret;
}

static bool
is_connected(const struct transport *t)
{
	const struct vhost_user *vu = container_of(t, const struct vhost_user, t);

	return vu->up && !vu->broken;
}

static uint64_t
features_mask(const struct transport *t)
{
	const struct vhost_user *vu = container_of(t, const struct vhost_user, t);

	return ~(F_NOT_CARRIED | (is_net(vu) ? F_NET_NOT_CARRIED : 0));
}

static void
abort_connection(struct transport *t)
{
	vhost_user_break(container_of(t, struct vhost_user, t), 0);
}

/* Features of the peer, as a driver may see them. */
static uint64_t
visible_features(const struct vhost_user *vu)
{
	uint64_t features = vu->offered & features_mask(&vu->t);

	if (!is_net(vu))
		return features;
	if (!has_protocol(vu, VHOST_USER_PROTOCOL_CONFIG))
		features &= ~F_NET_CONFIG;
	if (!has_protocol(vu, VHOST_USER_PROTOCOL_MQ))
		features &= ~VIREO_NET_F_MQ;
	return features | F_NET_EMULATED;
}

static int
features_get(struct transport *t, uint64_t *features)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);
	int ret;

	ret = vhost_user_get_u64(vu, VHOST_USER_REQ_GET_FEATURES, &vu->offered);
	if (ret == 0)
		*features = visible_features(vu);
	return ret;
}

static int
features_set(struct transport *t, uint64_t features)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);

	if ((features & ~visible_features(vu)) != 0)
		return -EINVAL;
	if (is_net(vu))
		features &= ~F_NET_EMULATED;
	/* Once set, this bit means that rings start disabled: "Ring states". */
	features |= vu->offered & VIREO_F_VHOST_USER_PROTOCOL;
	return vhost_user_tell_u64(vu, VHOST_USER_REQ_SET_FEATURES, features);
}

static int
status_set(struct transport *t, uint8_t status)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);

	vu->status = status;
	if (!has_protocol(vu, VHOST_USER_PROTOCOL_STATUS))
		return vu->broken || !vu->up ? -ENOTCONN : 0;
	return vhost_user_tell_u64(vu, VHOST_USER_REQ_SET_STATUS, status);
}

static int
status_get(struct transport *t, uint8_t *status)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);
	uint64_t value = 0;
	int ret;

	if (!has_protocol(vu, VHOST_USER_PROTOCOL_STATUS)) {
		*status = vu->status;
		return vu->broken || !vu->up ? -ENOTCONN : 0;
	}
	ret = vhost_user_get_u64(vu, VHOST_USER_REQ_GET_STATUS, &value);
	if (ret < 0)
		return ret;
	if (value > UINT8_MAX) {
		LOG(ERR, "GET_STATUS answered 0x%" PRIx64 ", expected 8 bits", value);
		return vhost_user_break(vu, -EPROTO);
	}
	*status = (uint8_t)value;
	return 0;
}

static int
config_read(struct transport *t, uint32_t offset, void *data, uint32_t len_bytes)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);
	struct vhost_user_msg msg = { .hdr.request = VHOST_USER_REQ_GET_CONFIG };
	struct vhost_user_config *config = &msg.payload.config;
	int ret;

	if (!has_protocol(vu, VHOST_USER_PROTOCOL_CONFIG))
		return -ENOTSUP;
	if (len_bytes > VHOST_USER_CONFIG_MAX_BYTES ||
	    offset > VHOST_USER_CONFIG_MAX_BYTES - len_bytes)
		return -EINVAL;
	config->offset = offset;
	config->size_bytes = len_bytes;
	msg.hdr.size_bytes = VHOST_USER_CONFIG_HDR_BYTES + len_bytes;
	ret = vhost_user_call(vu, &msg, UINT32_MAX, 0);
	if (ret < 0)
		return ret;
	/* An empty answer is the peer's way to say no. */
	if (msg.hdr.size_bytes == 0 ||
	    (msg.hdr.size_bytes == VHOST_USER_CONFIG_HDR_BYTES && config->size_bytes == 0))
		return -EIO;
	if (msg.hdr.size_bytes != VHOST_USER_CONFIG_HDR_BYTES + len_bytes ||
	    config->offset != offset || config->size_bytes != len_bytes) {
		LOG(ERR, "GET_CONFIG answered %u bytes at %u, expected %u at %u",
		    config->size_bytes, config->offset, len_bytes, offset);
		return vhost_user_break(vu, -EPROTO);
	}
	memcpy(data, config->data, len_bytes);
	return 0;
}

static int
config_write(struct transport *t, uint32_t offset, const void *data, uint32_t len_bytes)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);
	struct vhost_user_msg msg = { .hdr.request = VHOST_USER_REQ_SET_CONFIG };
	struct vhost_user_config *config = &msg.payload.config;

	if (!has_protocol(vu, VHOST_USER_PROTOCOL_CONFIG))
		return -ENOTSUP;
	if (len_bytes > VHOST_USER_CONFIG_MAX_BYTES ||
	    offset > VHOST_USER_CONFIG_MAX_BYTES - len_bytes)
		return -EINVAL;
	config->offset = offset;
	config->size_bytes = len_bytes;
	memcpy(config->data, data, len_bytes);
	msg.hdr.size_bytes = VHOST_USER_CONFIG_HDR_BYTES + len_bytes;
	return vhost_user_tell(vu, &msg);
}

static int
queue_max(struct transport *t, uint16_t *nb_queues)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);
	uint64_t nb = vu->nb_peer_queues;

	if (!vu->up)
		return -ENOTCONN;
	/* Network back ends count pairs, all others queues. */
	if (is_net(vu))
		nb = nb == 0 ? 2 : RTE_MIN(nb, (uint64_t)VHOST_USER_QUEUES_MAX / 2) * 2;
	else if (nb == 0)
		nb = vu->conf.nb_queues_max;
	*nb_queues = (uint16_t)RTE_MIN(nb, (uint64_t)VHOST_USER_QUEUES_MAX);
	return 0;
}

static int
queue_size_max(struct transport *t __rte_unused, uint16_t idx __rte_unused, uint32_t *size)
{
	*size = VIREO_RING_SIZE_MAX;
	return 0;
}

/* --- Memory ----------------------------------------------------------------- */

/* Virtual addresses of this process take the place of guest-physical ones. */
static void
fill_region(struct vhost_user_mem_region *region, const struct shared_range *r)
{
	region->guest_addr = r->va;
	region->user_addr = r->va;
	region->len_bytes = r->len_bytes;
	region->mmap_offset = r->offset;
}

static int
send_table(struct vhost_user *vu, const struct shared_mem *mem)
{
	struct vhost_user_msg msg = { .hdr.request = VHOST_USER_REQ_SET_MEM_TABLE };
	uint32_t i;

	msg.payload.mem.nb_regions = mem->nb;
	for (i = 0; i < mem->nb; i++) {
		fill_region(&msg.payload.mem.regions[i], &mem->ranges[i]);
		msg.fds[i] = mem->ranges[i].fd;
	}
	msg.nb_fds = mem->nb;
	msg.hdr.size_bytes = offsetof(struct vhost_user_mem_table, regions) +
		mem->nb * sizeof(struct vhost_user_mem_region);
	return vhost_user_tell(vu, &msg);
}

static int
send_region(struct vhost_user *vu, uint32_t request, const struct shared_range *r)
{
	struct vhost_user_msg msg = {
		.hdr = { .request = request, .size_bytes = sizeof(msg.payload.mem_single) },
	};

	fill_region(&msg.payload.mem_single.region, r);
	if (request == VHOST_USER_REQ_ADD_MEM_REG) {
		msg.fds[0] = r->fd;
		msg.nb_fds = 1;
	}
	return vhost_user_tell(vu, &msg);
}

/* Regions of which nothing is left go; one that shrank stays as it is, since rings may
 * lie in its rest, and a ring's memory must not vanish for a moment.
 */
static int
remove_regions(struct vhost_user *vu, const struct shared_mem *now)
{
	uint32_t i, nb = 0;
	int ret;

	for (i = 0; i < vu->mem.nb; i++) {
		if (shared_mem_overlaps(now, &vu->mem.ranges[i])) {
			vu->mem.ranges[nb++] = vu->mem.ranges[i];
			continue;
		}
		ret = send_region(vu, VHOST_USER_REQ_REM_MEM_REG, &vu->mem.ranges[i]);
		if (ret < 0)
			return ret;
	}
	vu->mem.nb = nb;
	return 0;
}

static int
add_region(struct vhost_user *vu, const struct shared_range *piece)
{
	int ret;

	if (vu->mem.nb >= vu->max_regions)
		return -E2BIG;
	ret = send_region(vu, VHOST_USER_REQ_ADD_MEM_REG, piece);
	/* The peer counts it as a region of its own, and so must we: never merged. */
	return ret < 0 ? ret : shared_mem_append(&vu->mem, piece);
}

/* vhost-user.rst, CONFIGURE_MEM_SLOTS: tell the differences only. */
static int
send_differences(struct vhost_user *vu, const struct shared_mem *now)
{
	struct shared_range piece;
	uint64_t at;
	uint32_t i;
	int ret;

	ret = remove_regions(vu, now);
	if (ret < 0)
		return ret;
	for (i = 0; i < now->nb; i++) {
		at = 0;
		while (shared_mem_uncovered(&vu->mem, &now->ranges[i], &at, &piece)) {
			ret = add_region(vu, &piece);
			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

static int
mem_set(struct transport *t, const void *gone, size_t gone_bytes)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);
	struct shared_mem now = { 0 };
	uint32_t nb_files;
	int ret;

	ret = shared_mem_walk(&now, gone, gone_bytes);
	nb_files = now.nb;
	if (ret == 0)
		ret = shared_mem_limit(&now, vu->max_regions);
	if (ret == 0)
		ret = has_protocol(vu, VHOST_USER_PROTOCOL_CONFIGURE_MEM_SLOTS)
			? send_differences(vu, &now)
			: send_table(vu, &now);
	if (ret == -E2BIG)
		LOG(ERR,
		    "the peer takes %u memory regions, this process has %u: start it with"
		    " --single-file-segments (or with fewer, larger hugepages)",
		    vu->max_regions, nb_files);
	if (ret == 0)
		vu->mem_sent = true;
	shared_mem_clear(&now);
	return ret;
}

/* --- Queues ----------------------------------------------------------------- */

static int
post_state(struct vhost_user *vu, uint32_t request, uint16_t idx, uint32_t num)
{
	struct vhost_user_msg msg = {
		.hdr = { .request = request, .size_bytes = sizeof(msg.payload.state) },
		.payload.state = { .idx = idx, .num = num },
	};

	return vhost_user_tell(vu, &msg);
}

static int
post_fd(struct vhost_user *vu, uint32_t request, uint16_t idx, int fd)
{
	struct vhost_user_msg msg = {
		.hdr = { .request = request, .size_bytes = sizeof(msg.payload.u64) },
		.payload.u64 = idx | (fd < 0 ? VHOST_USER_VRING_NOFD : 0),
		.fds[0] = fd,
		.nb_fds = fd < 0 ? 0 : 1,
	};

	return vhost_user_post(vu, &msg);
}

static int
post_addr(struct vhost_user *vu, const struct transport_queue *q)
{
	struct vhost_user_msg msg = {
		.hdr = {.request = VHOST_USER_REQ_SET_VRING_ADDR,
			.size_bytes = sizeof(msg.payload.addr)},
		.payload.addr = {
			.idx = q->idx,
			.desc = (uint64_t)(uintptr_t)q->ring.desc,
			.avail = (uint64_t)(uintptr_t)q->ring.avail,
			.used = (uint64_t)(uintptr_t)q->ring.used,
		},
	};

	return vhost_user_post(vu, &msg);
}

/*
 * vhost-user.rst, "Inflight I/O tracking": a back end that offers it wants the file before
 * the rings start. Rings restart from zero at each connection, so each peer gets a fresh
 * file of its own and finds nothing in flight.
 */
static int
set_inflight(struct vhost_user *vu, uint32_t queue_size)
{
	struct vhost_user_msg msg = {
		.hdr = { .request = VHOST_USER_REQ_GET_INFLIGHT_FD,
			 .size_bytes = VHOST_USER_INFLIGHT_BYTES },
		.payload.inflight = { .nb_queues = vu->conf.nb_queues_max,
				      .queue_size = (uint16_t)queue_size },
	};
	int ret;

	ret = vhost_user_call(vu, &msg, VHOST_USER_INFLIGHT_BYTES, 1);
	if (ret < 0)
		return ret;
	vu->inflight_fd = msg.fds[0];
	if (msg.payload.inflight.mmap_size_bytes == 0 ||
	    msg.payload.inflight.mmap_size_bytes > INFLIGHT_MAX_BYTES) {
		LOG(ERR, "GET_INFLIGHT_FD answered a file of %" PRIu64 " bytes",
		    msg.payload.inflight.mmap_size_bytes);
		return vhost_user_break(vu, -EPROTO);
	}
	msg.hdr.request = VHOST_USER_REQ_SET_INFLIGHT_FD;
	msg.hdr.flags = 0;
	msg.nb_fds = 1;
	return vhost_user_tell(vu, &msg);
}

/* vhost-user.rst, "Starting and stopping rings": the kick descriptor comes last. */
static int
queue_set(struct transport *t, const struct transport_queue *q)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);
	int ret = 0, ack;

	if (q->idx >= VHOST_USER_QUEUES_MAX)
		return -EINVAL;
	if (vu->inflight_fd < 0 && has_protocol(vu, VHOST_USER_PROTOCOL_INFLIGHT_SHMFD))
		ret = set_inflight(vu, q->size);
	if (ret == 0)
		ret = post_state(vu, VHOST_USER_REQ_SET_VRING_NUM, q->idx, q->size);
	if (ret == 0)
		ret = post_state(vu, VHOST_USER_REQ_SET_VRING_BASE, q->idx, q->avail_base);
	if (ret == 0)
		ret = post_addr(vu, q);
	if (ret == 0)
		ret = post_fd(vu, VHOST_USER_REQ_SET_VRING_CALL, q->idx, q->call_fd);
	if (ret == 0)
		ret = post_fd(vu, VHOST_USER_REQ_SET_VRING_KICK, q->idx, q->kick_fd);
	ack = vhost_user_collect(vu);
	if (ret == 0)
		ret = ack;
	if (ret < 0)
		return ret;
	vu->queues[q->idx].set = true;
	vu->queues[q->idx].want = false;
	/* Without protocol features a ring runs from the start. */
	vu->queues[q->idx].running = (vu->offered & VIREO_F_VHOST_USER_PROTOCOL) == 0;
	return 0;
}

/* Bring one queue into the state that queue_enable() and MQ_VQ_PAIRS_SET ask for. */
static int
apply_enable(struct vhost_user *vu, uint16_t idx)
{
	struct vhost_user_queue *q = &vu->queues[idx];
	bool run = q->want && (vu->nb_pairs == 0 || idx / 2 < vu->nb_pairs);
	int ret;

	if (!q->set || q->running == run)
		return 0;
	if ((vu->offered & VIREO_F_VHOST_USER_PROTOCOL) == 0)
		return -ENOTSUP;
	ret = post_state(vu, VHOST_USER_REQ_SET_VRING_ENABLE, idx, run);
	if (ret == 0)
		ret = vhost_user_collect(vu);
	if (ret == 0)
		q->running = run;
	return ret;
}

static int
queue_enable(struct transport *t, uint16_t idx, bool enable)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);

	if (idx >= VHOST_USER_QUEUES_MAX || !vu->queues[idx].set)
		return -EINVAL;
	vu->queues[idx].want = enable;
	return apply_enable(vu, idx);
}

static int
queue_stop(struct transport *t, uint16_t idx)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);
	struct vhost_user_msg msg = {
		.hdr = { .request = VHOST_USER_REQ_GET_VRING_BASE,
			 .size_bytes = sizeof(msg.payload.state) },
		.payload.state = { .idx = idx },
	};
	int ret;

	if (idx >= VHOST_USER_QUEUES_MAX || !vu->queues[idx].set)
		return -EINVAL;
	ret = vhost_user_call(vu, &msg, sizeof(msg.payload.state), 0);
	if (ret < 0)
		return ret;
	memset(&vu->queues[idx], 0, sizeof(vu->queues[idx]));
	if (msg.payload.state.idx != idx) {
		LOG(ERR, "GET_VRING_BASE of queue %u answered for queue %u", idx,
		    msg.payload.state.idx);
		return vhost_user_break(vu, -EPROTO);
	}
	if (vu->inflight_fd >= 0) {
		close(vu->inflight_fd);
		vu->inflight_fd = -1;
	}
	return 0;
}

static int
queue_reset(struct transport *t __rte_unused, uint16_t idx __rte_unused)
{
	return -ENOTSUP;
}

/* --- Control commands, section 5.1.6.5 -------------------------------------- */

static int
set_pairs(struct vhost_user *vu, const void *data, uint32_t len_bytes)
{
	uint16_t nb_pairs, idx;
	int ret;

	if (len_bytes != sizeof(nb_pairs))
		return -EINVAL;
	memcpy(&nb_pairs, data, sizeof(nb_pairs));
	if (nb_pairs == 0 || nb_pairs > VHOST_USER_QUEUES_MAX / 2)
		return -EINVAL;
	vu->nb_pairs = nb_pairs;
	for (idx = 0; idx < VHOST_USER_QUEUES_MAX; idx++) {
		ret = apply_enable(vu, idx);
		if (ret < 0)
			return ret;
	}
	return VIREO_NET_ACK_OK;
}

/*
 * The peer passes every frame and has no filter: promiscuous, allmulticast and addresses
 * are so already.
 */
static int
ctrl(struct transport *t, uint8_t class_id, uint8_t cmd, const void *data, uint32_t len_bytes)
{
	struct vhost_user *vu = container_of(t, struct vhost_user, t);

	if (!is_net(vu))
		return -ENOTSUP;
	switch (class_id) {
	case VIREO_NET_CTRL_RX:
		return cmd <= VIREO_NET_CTRL_RX_ALLMULTI ? VIREO_NET_ACK_OK : -ENOTSUP;
	case VIREO_NET_CTRL_MAC:
		return cmd <= VIREO_NET_CTRL_MAC_ADDR_SET ? VIREO_NET_ACK_OK : -ENOTSUP;
	case VIREO_NET_CTRL_MQ:
		if (cmd == VIREO_NET_CTRL_MQ_VQ_PAIRS_SET)
			return set_pairs(vu, data, len_bytes);
		return -ENOTSUP;
	default:
		return -ENOTSUP;
	}
}

static const struct transport_ops vhost_user_ops = {
	.name = "vhost-user",
	.open = vhost_user_open,
	.close = vhost_user_close,
	.process = vhost_user_process,
	.disconnect = vhost_user_disconnect,
	.abort = abort_connection,
	.is_connected = is_connected,
	.features_mask = features_mask,
	.features_get = features_get,
	.features_set = features_set,
	.status_set = status_set,
	.status_get = status_get,
	.config_read = config_read,
	.config_write = config_write,
	.queue_max = queue_max,
	.queue_size_max = queue_size_max,
	.mem_set = mem_set,
	.queue_set = queue_set,
	.queue_enable = queue_enable,
	.queue_stop = queue_stop,
	.queue_reset = queue_reset,
	.ctrl = ctrl,
};

int
transport_vhost_user_create(const struct transport_conf *conf, struct transport **t)
{
	struct vhost_user *vu;
	size_t len = strlen(conf->path);

	if (len == 0 || len >= sizeof(vu->path)) {
		VIREO_LOG(ERR, vhost_user_logtype, "vhost-user",
			  "path of %zu bytes: expected 1 to %zu", len, sizeof(vu->path) - 1);
		return -EINVAL;
	}
	vu = calloc(1, sizeof(*vu));
	if (vu == NULL)
		return -ENOMEM;
	vu->t.ops = &vhost_user_ops;
	vu->conf = *conf;
	memcpy(vu->path, conf->path, len);
	vu->conf.path = vu->path;
	vu->epoll_fd = -1;
	vu->listen_fd = -1;
	vu->conn_fd = -1;
	vu->backend_fd = -1;
	vu->timer_fd = -1;
	vu->inflight_fd = -1;
	*t = &vu->t;
	return 0;
}
