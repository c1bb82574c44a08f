/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_thread.h>
#include <rte_version.h>

#include "../base/log.h"
#include "loopback_priv.h"

RTE_LOG_REGISTER(loopback_dev_logtype, lib.vireo.backend.loopback, NOTICE);
#define LOG(level, fmt, ...)                                                                       \
	VIREO_LOG(level, loopback_dev_logtype, "loopback device", "%s: " fmt, lb->name,            \
		  ##__VA_ARGS__)

#define DEFAULT_MTU 9710
#define PAIRS_MAX VIREO_NET_PAIRS_MAX
#define SERVICE_BUDGET 64
#define SERVICE_PAUSE_US 50
/* Turns without work before the service thread pauses. */
#define SERVICE_SPINS 64

#define ALL_FEATURES                                                                               \
	(VIREO_F_INDIRECT_DESC | VIREO_F_EVENT_IDX | VIREO_F_VERSION_1 | VIREO_F_ACCESS_PLATFORM | \
	 VIREO_F_RING_PACKED | VIREO_F_IN_ORDER | VIREO_F_ORDER_PLATFORM |                         \
	 VIREO_F_NOTIFICATION_DATA | VIREO_F_RING_RESET | VIREO_NET_F_CSUM |                       \
	 VIREO_NET_F_GUEST_CSUM | VIREO_NET_F_CTRL_GUEST_OFFLOADS | VIREO_NET_F_MTU |              \
	 VIREO_NET_F_MAC | VIREO_NET_F_GUEST_TSO4 | VIREO_NET_F_GUEST_TSO6 |                       \
	 VIREO_NET_F_GUEST_ECN | VIREO_NET_F_GUEST_UFO | VIREO_NET_F_HOST_TSO4 |                   \
	 VIREO_NET_F_HOST_TSO6 | VIREO_NET_F_HOST_ECN | VIREO_NET_F_HOST_UFO |                     \
	 VIREO_NET_F_MRG_RXBUF | VIREO_NET_F_STATUS | VIREO_NET_F_CTRL_VQ | VIREO_NET_F_CTRL_RX |  \
	 VIREO_NET_F_CTRL_VLAN | VIREO_NET_F_GUEST_ANNOUNCE | VIREO_NET_F_MQ |                     \
	 VIREO_NET_F_CTRL_MAC_ADDR | VIREO_NET_F_HASH_REPORT | VIREO_NET_F_RSS |                   \
	 VIREO_NET_F_SPEED_DUPLEX)

#define HASH_TYPES                                                                                 \
	(VIREO_NET_HASH_TYPE_IPV4 | VIREO_NET_HASH_TYPE_TCPV4 | VIREO_NET_HASH_TYPE_UDPV4 |        \
	 VIREO_NET_HASH_TYPE_IPV6 | VIREO_NET_HASH_TYPE_TCPV6 | VIREO_NET_HASH_TYPE_UDPV6)

/* Section 5.1.3.1: bits that mean nothing without another. */
static const struct {
	uint64_t bits;
	uint64_t need; /* any of these */
} requirements[] = {
	{ VIREO_NET_F_GUEST_TSO4 | VIREO_NET_F_GUEST_TSO6 | VIREO_NET_F_GUEST_UFO,
	  VIREO_NET_F_GUEST_CSUM },
	{ VIREO_NET_F_GUEST_ECN, VIREO_NET_F_GUEST_TSO4 | VIREO_NET_F_GUEST_TSO6 },
	{ VIREO_NET_F_HOST_TSO4 | VIREO_NET_F_HOST_TSO6 | VIREO_NET_F_HOST_UFO, VIREO_NET_F_CSUM },
	{ VIREO_NET_F_HOST_ECN, VIREO_NET_F_HOST_TSO4 | VIREO_NET_F_HOST_TSO6 },
	{ VIREO_NET_F_CTRL_RX | VIREO_NET_F_CTRL_VLAN | VIREO_NET_F_GUEST_ANNOUNCE |
		  VIREO_NET_F_MQ | VIREO_NET_F_CTRL_MAC_ADDR | VIREO_NET_F_RSS |
		  VIREO_NET_F_HASH_REPORT | VIREO_NET_F_CTRL_GUEST_OFFLOADS,
	  VIREO_NET_F_CTRL_VQ },
};

uint16_t
lb_ctrl_idx(const struct vireo_loopback *lb)
{
	return (uint16_t)(lb_nb_pairs(lb) * 2);
}

/* --- Queues ----------------------------------------------------------------- */

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void
unset_queue(struct vireo_loopback *lb, struct lb_queue *q)
{
	if (q->set)
		lb->state.nb_violations += q->vq.nb_violations;
	q->set = false;
	q->enabled = false;
	q->fault = VIREO_LOOPBACK_FAULT_NONE;
	q->nb_held = 0;
	q->nb_done = 0;
	close_fd(&q->kick_fd);
	close_fd(&q->call_fd);
}

/* Status 0, or a driver that has gone. */
static void
reset_device(struct vireo_loopback *lb)
{
	uint16_t i;

	for (i = 0; i < lb->nb_queues; i++)
		unset_queue(lb, &lb->queues[i]);
	lb->features = 0;
	lb->status = 0;
	lb_ctrl_reset(lb);
}

static void
wake(struct vireo_loopback *lb)
{
	const uint64_t one = 1;
	ssize_t ret = write(lb->wake_fd, &one, sizeof(one));

	RTE_SET_USED(ret);
}

/* --- The pair's ops, called by the driver's transport ----------------------- */

static int
op_features_get(void *arg, uint64_t *features)
{
	struct vireo_loopback *lb = arg;

	*features = lb->conf.features;
	return 0;
}

static bool
features_are_sound(const struct vireo_loopback *lb, uint64_t features)
{
	unsigned int i;

	if ((features & ~lb->conf.features) != 0)
		return false;
	for (i = 0; i < RTE_DIM(requirements); i++)
		if ((features & requirements[i].bits) != 0 &&
		    (features & requirements[i].need) == 0)
			return false;
	return true;
}

static int
op_features_set(void *arg, uint64_t features)
{
	struct vireo_loopback *lb = arg;

	pthread_mutex_lock(&lb->lock);
	lb->features = features;
	pthread_mutex_unlock(&lb->lock);
	return 0;
}

/* Sections 2.1 and 2.2.2. */
static int
op_status_set(void *arg, uint8_t status)
{
	struct vireo_loopback *lb = arg;

	pthread_mutex_lock(&lb->lock);
	if (status == 0)
		reset_device(lb);
	if ((status & VIREO_STATUS_FEATURES_OK) && !features_are_sound(lb, lb->features)) {
		LOG(ERR, "features 0x%" PRIx64 " of 0x%" PRIx64 " do not go together", lb->features,
		    lb->conf.features);
		status &= (uint8_t)~VIREO_STATUS_FEATURES_OK;
	}
	lb->status = status;
	pthread_mutex_unlock(&lb->lock);
	wake(lb);
	return 0;
}

static int
op_status_get(void *arg, uint8_t *status)
{
	struct vireo_loopback *lb = arg;

	pthread_mutex_lock(&lb->lock);
	*status = lb->status;
	pthread_mutex_unlock(&lb->lock);
	return 0;
}

static int
op_config_read(void *arg, uint32_t offset, void *data, uint32_t len_bytes)
{
	struct vireo_loopback *lb = arg;

	if (len_bytes > sizeof(lb->config) || offset > sizeof(lb->config) - len_bytes)
		return -EINVAL;
	pthread_mutex_lock(&lb->lock);
	memcpy(data, (const uint8_t *)&lb->config + offset, len_bytes);
	pthread_mutex_unlock(&lb->lock);
	return 0;
}

/* Section 5.1.4: the driver may write mac, and that only without the command for it. */
static int
op_config_write(void *arg, uint32_t offset, const void *data, uint32_t len_bytes)
{
	struct vireo_loopback *lb = arg;
	int ret = 0;

	if (len_bytes > sizeof(lb->config.mac) || offset > sizeof(lb->config.mac) - len_bytes)
		return -EINVAL;
	pthread_mutex_lock(&lb->lock);
	if (lb->features & VIREO_NET_F_CTRL_MAC_ADDR)
		ret = -EPERM;
	else
		memcpy(lb->config.mac + offset, data, len_bytes);
	pthread_mutex_unlock(&lb->lock);
	return ret;
}

static int
op_queue_max(void *arg, uint16_t *nb_queues)
{
	struct vireo_loopback *lb = arg;

	*nb_queues = (uint16_t)(lb->conf.nb_pairs * 2);
	return 0;
}

static int
op_queue_size_max(void *arg, uint16_t idx, uint32_t *size)
{
	struct vireo_loopback *lb = arg;

	if (idx >= lb->nb_queues)
		return -EINVAL;
	*size = lb->conf.ring_size_max;
	return 0;
}

static int
set_locked(struct vireo_loopback *lb, struct lb_queue *q, const struct pair_queue *pq)
{
	struct vq_regions *regions = NULL;
	int ret;

	if (q->set)
		return -EBUSY;
	if (lb->conf.addr_offset != 0 && (lb->features & VIREO_F_ACCESS_PLATFORM)) {
		regions = q->regions;
		regions->nb = 1;
		regions->last = 0;
		regions->region[0].addr = lb->conf.addr_offset;
		regions->region[0].len_bytes = UINT64_MAX - lb->conf.addr_offset;
		regions->region[0].va = 0;
	}
	ret = vireo_vq_dev_init(&q->vq, &pq->ring, pq->size, vq_flags_of_features(lb->features),
				regions, pq->avail_base, pq->avail_base);
	if (ret < 0)
		return ret;
	q->kick_fd = pq->kick_fd < 0 ? -1 : dup(pq->kick_fd);
	q->call_fd = pq->call_fd < 0 ? -1 : dup(pq->call_fd);
	q->set = true;
	/* The thread sleeps on the control queue's kick only; others are polled. */
	if (pq->idx == lb_ctrl_idx(lb))
		vq_dev_arm(&q->vq, q->vq.flags);
	return 0;
}

static int
op_queue_set(void *arg, const struct pair_queue *pq)
{
	struct vireo_loopback *lb = arg;
	int ret;

	if (pq->idx >= lb->nb_queues || pq->size > lb->conf.ring_size_max)
		return -EINVAL;
	pthread_mutex_lock(&lb->lock);
	ret = set_locked(lb, &lb->queues[pq->idx], pq);
	pthread_mutex_unlock(&lb->lock);
	wake(lb);
	return ret;
}

static int
op_queue_enable(void *arg, uint16_t idx, bool enable)
{
	struct vireo_loopback *lb = arg;
	int ret = 0;

	pthread_mutex_lock(&lb->lock);
	if (idx >= lb->nb_queues || !lb->queues[idx].set)
		ret = -EINVAL;
	else
		lb->queues[idx].enabled = enable;
	pthread_mutex_unlock(&lb->lock);
	wake(lb);
	return ret;
}

static int
op_queue_stop(void *arg, uint16_t idx)
{
	struct vireo_loopback *lb = arg;
	int ret = 0;

	pthread_mutex_lock(&lb->lock);
	if (idx >= lb->nb_queues || !lb->queues[idx].set)
		ret = -EINVAL;
	else
		unset_queue(lb, &lb->queues[idx]);
	pthread_mutex_unlock(&lb->lock);
	wake(lb);
	return ret;
}

static int
op_queue_reset(void *arg, uint16_t idx)
{
	struct vireo_loopback *lb = arg;

	return lb->features & VIREO_F_RING_RESET ? op_queue_stop(arg, idx) : -ENOTSUP;
}

static void
op_left(void *arg)
{
	struct vireo_loopback *lb = arg;

	pthread_mutex_lock(&lb->lock);
	reset_device(lb);
	pthread_mutex_unlock(&lb->lock);
	if (lb->own)
		vireo_loopback_destroy(lb);
}

static const struct pair_dev_ops loopback_ops = {
	.features_get = op_features_get,
	.features_set = op_features_set,
	.status_set = op_status_set,
	.status_get = op_status_get,
	.config_read = op_config_read,
	.config_write = op_config_write,
	.queue_max = op_queue_max,
	.queue_size_max = op_queue_size_max,
	.queue_set = op_queue_set,
	.queue_enable = op_queue_enable,
	.queue_stop = op_queue_stop,
	.queue_reset = op_queue_reset,
	.left = op_left,
};

/* --- The device's own thread ------------------------------------------------ */

/* Sleep until the driver kicks the control queue or something changed. */
static void
sleep_until_woken(struct vireo_loopback *lb)
{
	struct pollfd fds[2] = {
		{ .fd = lb->wake_fd, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
	};
	uint64_t count;
	ssize_t ret;
	unsigned int i;

	pthread_mutex_lock(&lb->lock);
	/* A copy of its own, because the queue's is closed when the driver stops. */
	if (lb->queues[lb_ctrl_idx(lb)].kick_fd >= 0)
		fds[1].fd = dup(lb->queues[lb_ctrl_idx(lb)].kick_fd);
	pthread_mutex_unlock(&lb->lock);
	poll(fds, 2, -1);
	for (i = 0; i < RTE_DIM(fds); i++) {
		if (fds[i].fd < 0 || (fds[i].revents & POLLIN) == 0)
			continue;
		ret = read(fds[i].fd, &count, sizeof(count));
		RTE_SET_USED(ret);
	}
	if (fds[1].fd >= 0)
		close(fds[1].fd);
}

/* @return false: the device is being destroyed. *polls: there are data queues to poll. */
static bool
serve_ctrl(struct vireo_loopback *lb, bool *polls)
{
	bool stopping;

	pthread_mutex_lock(&lb->lock);
	lb_ctrl_serve(lb);
	stopping = lb->stopping;
	*polls = lb->conf.service && (lb->status & VIREO_STATUS_DRIVER_OK) != 0;
	pthread_mutex_unlock(&lb->lock);
	return !stopping;
}

static void
run_service(struct vireo_loopback *lb)
{
	const struct timespec pause = { .tv_nsec = SERVICE_PAUSE_US * 1000 };
	uint32_t idle = 0;
	bool polls;

	while (serve_ctrl(lb, &polls)) {
		if (!polls) {
			sleep_until_woken(lb);
			continue;
		}
		if (vireo_loopback_poll(lb, SERVICE_BUDGET) != 0)
			idle = 0;
		else if (++idle > SERVICE_SPINS)
			nanosleep(&pause, NULL);
	}
}

#if RTE_VERSION >= RTE_VERSION_NUM(23, 7, 0, 0)
static uint32_t
thread_main(void *arg)
{
	run_service(arg);
	return 0;
}

static int
start_thread(struct vireo_loopback *lb)
{
	rte_thread_t id;
	int ret = rte_thread_create_control(&id, "vireo-loop", thread_main, lb);

	lb->thread = (pthread_t)id.opaque_id;
	return ret > 0 ? -ret : ret;
}
#else
static void *
thread_main(void *arg)
{
	run_service(arg);
	return NULL;
}

static int
start_thread(struct vireo_loopback *lb)
{
	int ret = rte_ctrl_thread_create(&lb->thread, "vireo-loop", NULL, thread_main, lb);

	return ret > 0 ? -ret : ret;
}
#endif

/* --- Create and destroy ----------------------------------------------------- */

static void
fill_config(struct vireo_loopback *lb)
{
	static const uint8_t mac[6] = { 0x02, 0, 0, 0, 0, 0x01 };
	static const uint8_t none[6];
	struct net_config *config = &lb->config;

	memcpy(config->mac, memcmp(lb->conf.mac, none, 6) == 0 ? mac : lb->conf.mac, 6);
	config->status = VIREO_NET_S_LINK_UP;
	config->max_virtqueue_pairs = lb->conf.nb_pairs;
	config->mtu = lb->conf.mtu;
	config->speed = lb->conf.speed != 0 ? lb->conf.speed : VIREO_NET_SPEED_UNKNOWN;
	config->duplex = lb->conf.speed != 0 ? VIREO_NET_DUPLEX_FULL : VIREO_NET_DUPLEX_UNKNOWN;
	config->rss_max_key_size = VIREO_NET_RSS_KEY_BYTES;
	config->rss_max_indirection_table_length = VIREO_NET_RSS_TABLE_MAX;
	config->supported_hash_types = HASH_TYPES;
}

static int
check_conf(const struct vireo_loopback_conf *conf)
{
	if (conf->name == NULL || conf->name[0] == '\0' || strlen(conf->name) >= PAIR_NAME_MAX ||
	    conf->nb_pairs > PAIRS_MAX || (conf->features & ~ALL_FEATURES) != 0 ||
	    conf->ring_size_max > VIREO_RING_SIZE_MAX || conf->reorder > LB_HELD_MAX ||
	    conf->mode > VIREO_LOOPBACK_HOOK) {
		VIREO_LOG(ERR, loopback_dev_logtype, "loopback device",
			  "bad configuration: expected a name of 1 to %d bytes, at most %d pairs,"
			  " rings of at most %d entries, reorder at most %d, and known features",
			  PAIR_NAME_MAX - 1, PAIRS_MAX, VIREO_RING_SIZE_MAX, LB_HELD_MAX);
		return -EINVAL;
	}
	return 0;
}

static int
alloc_queues(struct vireo_loopback *lb)
{
	struct lb_queue *q;
	uint16_t i;

	lb->nb_queues = (uint16_t)(lb->conf.nb_pairs * 2 + 1);
	lb->queues = calloc(lb->nb_queues, sizeof(*lb->queues));
	if (lb->queues == NULL)
		return -ENOMEM;
	for (i = 0; i < lb->nb_queues; i++) {
		lb->queues[i].kick_fd = -1;
		lb->queues[i].call_fd = -1;
	}
	for (i = 0; i < lb->nb_queues; i++) {
		q = &lb->queues[i];
		q->held = calloc(LB_HELD_MAX, sizeof(*q->held));
		q->done = calloc(LB_HELD_MAX, sizeof(*q->done));
		q->regions = calloc(1, sizeof(*q->regions) + sizeof(q->regions->region[0]));
		if (q->held == NULL || q->done == NULL || q->regions == NULL)
			return -ENOMEM;
	}
	return 0;
}

static int
alloc_buffers(struct vireo_loopback *lb)
{
	lb->frame = malloc(LB_FRAME_MAX);
	lb->chain = malloc(sizeof(*lb->chain) + LB_TX_IOV * sizeof(lb->chain->iov[0]));
	lb->rx_chain = malloc(sizeof(*lb->rx_chain) + LB_HELD_IOV * sizeof(lb->chain->iov[0]));
	lb->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (lb->wake_fd < 0)
		return -errno;
	return lb->frame == NULL || lb->chain == NULL || lb->rx_chain == NULL ? -ENOMEM : 0;
}

static void
free_device(struct vireo_loopback *lb)
{
	uint16_t i;

	for (i = 0; lb->queues != NULL && i < lb->nb_queues; i++) {
		unset_queue(lb, &lb->queues[i]);
		free(lb->queues[i].held);
		free(lb->queues[i].done);
		free(lb->queues[i].regions);
	}
	close_fd(&lb->wake_fd);
	pthread_mutex_destroy(&lb->lock);
	free(lb->queues);
	free(lb->frame);
	free(lb->chain);
	free(lb->rx_chain);
	free(lb);
}

static void
stop_thread(struct vireo_loopback *lb)
{
	pthread_mutex_lock(&lb->lock);
	lb->stopping = true;
	pthread_mutex_unlock(&lb->lock);
	wake(lb);
	pthread_join(lb->thread, NULL);
}

static int
create(const struct vireo_loopback_conf *conf, bool own, struct vireo_loopback **lb_out)
{
	struct vireo_loopback *lb;
	int ret;

	ret = check_conf(conf);
	if (ret < 0)
		return ret;
	lb = calloc(1, sizeof(*lb));
	if (lb == NULL)
		return -ENOMEM;
	pthread_mutex_init(&lb->lock, NULL);
	lb->wake_fd = -1;
	lb->own = own;
	lb->conf = *conf;
	memcpy(lb->name, conf->name, strlen(conf->name) + 1);
	lb->conf.name = lb->name;
	lb->conf.nb_pairs = RTE_MAX(conf->nb_pairs, (uint16_t)1);
	lb->conf.features = conf->features != 0 ? conf->features : ALL_FEATURES;
	lb->conf.mtu = conf->mtu != 0 ? conf->mtu : DEFAULT_MTU;
	lb->conf.ring_size_max =
		conf->ring_size_max != 0 ? conf->ring_size_max : VIREO_RING_SIZE_MAX;
	fill_config(lb);
	lb_ctrl_reset(lb);
	ret = alloc_queues(lb);
	if (ret == 0)
		ret = alloc_buffers(lb);
	if (ret == 0)
		ret = start_thread(lb);
	if (ret < 0) {
		free_device(lb);
		return ret;
	}
	*lb_out = lb;
	ret = pair_offer(lb->name, &loopback_ops, lb, &lb->pair);
	if (ret < 0) {
		stop_thread(lb);
		free_device(lb);
	}
	return ret;
}

VIREO_EXPORT int
vireo_loopback_create(const struct vireo_loopback_conf *conf, struct vireo_loopback **lb)
{
	return create(conf, false, lb);
}

VIREO_EXPORT void
vireo_loopback_destroy(struct vireo_loopback *lb)
{
	if (lb == NULL)
		return;
	pair_withdraw(lb->pair);
	if (lb->crossed != NULL)
		vireo_loopback_cross(lb, NULL);
	stop_thread(lb);
	free_device(lb);
}

/* For a driver that names a device which nobody made: one that reflects, by its own thread. */
static int
make_default(const char *name)
{
	const struct vireo_loopback_conf conf = {
		.name = name,
		.mode = VIREO_LOOPBACK_REFLECT,
		.nb_pairs = 8,
		.service = true,
	};
	struct vireo_loopback *lb;

	return create(&conf, true, &lb);
}

RTE_INIT(loopback_register_maker)
{
	pair_set_maker(make_default);
}

/* --- For tests and measuring ------------------------------------------------ */

static void
set_crossed(struct vireo_loopback *lb, struct vireo_loopback *to)
{
	pthread_mutex_lock(&lb->lock);
	lb->crossed = to;
	pthread_mutex_unlock(&lb->lock);
}

VIREO_EXPORT void
vireo_loopback_cross(struct vireo_loopback *a, struct vireo_loopback *b)
{
	if (a->crossed != NULL)
		set_crossed(a->crossed, NULL);
	set_crossed(a, b);
	if (b != NULL)
		set_crossed(b, a);
}

VIREO_EXPORT void
vireo_loopback_fault(struct vireo_loopback *lb, uint16_t queue_idx, enum vireo_loopback_fault fault)
{
	pthread_mutex_lock(&lb->lock);
	if (queue_idx == UINT16_MAX)
		queue_idx = lb_ctrl_idx(lb);
	if (queue_idx < lb->nb_queues)
		lb->queues[queue_idx].fault = fault;
	pthread_mutex_unlock(&lb->lock);
	wake(lb);
}

/* Section 5.1.4: set and clear bits of config's status and tell the driver. */
static void
change_status(struct vireo_loopback *lb, uint16_t set, uint16_t clear)
{
	pthread_mutex_lock(&lb->lock);
	lb->config.status = (uint16_t)((lb->config.status & ~clear) | set);
	pthread_mutex_unlock(&lb->lock);
	pair_notify(lb->pair, PAIR_EV_CONFIG);
}

VIREO_EXPORT void
vireo_loopback_link_set(struct vireo_loopback *lb, bool up)
{
	change_status(lb, up ? VIREO_NET_S_LINK_UP : 0, up ? 0 : VIREO_NET_S_LINK_UP);
}

VIREO_EXPORT void
vireo_loopback_announce(struct vireo_loopback *lb)
{
	change_status(lb, VIREO_NET_S_ANNOUNCE, 0);
}

VIREO_EXPORT void
vireo_loopback_state_get(struct vireo_loopback *lb, struct vireo_loopback_state *state)
{
	uint16_t i;

	pthread_mutex_lock(&lb->lock);
	*state = lb->state;
	state->status = lb->status;
	state->features = lb->features;
	memcpy(state->mac, lb->config.mac, sizeof(state->mac));
	state->nb_unicast = lb->unicast.nb;
	state->nb_multicast = lb->multicast.nb;
	state->rss_table_len = lb->rss.table_len;
	state->hash_types = lb->rss.hash_types;
	for (i = 0; i < lb->nb_queues; i++)
		if (lb->queues[i].set)
			state->nb_violations += lb->queues[i].vq.nb_violations;
	pthread_mutex_unlock(&lb->lock);
}
