/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <dirent.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <rte_malloc.h>

#include "dev_fixture.h"

#define WAIT_STEP_US 500

static void
count(uint32_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
}

static void
on_quiesce(void *arg)
{
	count(&((struct fix *)arg)->nb_quiesce);
}

static void
on_resume(void *arg)
{
	count(&((struct fix *)arg)->nb_resume);
}

static void
on_link(void *arg, bool up)
{
	struct fix *fix = arg;

	count(up ? &fix->nb_link_up : &fix->nb_link_down);
}

static void
on_config(void *arg)
{
	count(&((struct fix *)arg)->nb_config);
}

static uint64_t
addr_of(const struct fix *fix, const void *p)
{
	return (uint64_t)(uintptr_t)p + fix->addr_offset;
}

static void
post_all(struct fix *fix, struct fix_queue *q)
{
	const uint32_t f = q->vq.flags;
	struct vq_post c;
	uint8_t *buf;

	vq_post_begin(&q->vq, &c);
	while (vq_post_room(&q->vq, &c) > 0) {
		buf = q->bufs + (size_t)c.slot * FIX_BUF_BYTES;
		vq_post_single(&q->vq, &c, addr_of(fix, buf), FIX_BUF_BYTES, VIREO_DESC_F_WRITE,
			       buf, f);
	}
	vq_post_end(&q->vq, &c, f);
}

static int
on_restart(void *arg)
{
	struct fix *fix = arg;
	uint16_t i;

	for (i = 0; i < fix->nb_queues; i++) {
		vireo_vq_drv_drain(&fix->queues[i].vq, NULL, NULL, NULL);
		vireo_vq_drv_reset(&fix->queues[i].vq);
		if (i % 2 == 0)
			post_all(fix, &fix->queues[i]);
	}
	count(&fix->nb_restart);
	return __atomic_load_n(&fix->restart_ret, __ATOMIC_SEQ_CST);
}

void
fix_conf(struct vireo_dev_conf *conf, enum vireo_dev_transport transport, const char *path)
{
	memset(conf, 0, sizeof(*conf));
	conf->transport = transport;
	conf->path = path;
	conf->device_id = VIREO_NET_DEVICE_ID;
	conf->timeout_ms = FIX_TIMEOUT_MS;
	conf->wanted = VIREO_F_VERSION_1 | VIREO_F_RING_PACKED | VIREO_F_INDIRECT_DESC |
		VIREO_NET_F_MRG_RXBUF | VIREO_NET_F_CTRL_VQ | VIREO_NET_F_CTRL_RX |
		VIREO_NET_F_STATUS | VIREO_NET_F_MAC;
	conf->required = VIREO_F_VERSION_1;
	conf->nb_queues_max = 2;
}

int
fix_create(struct fix *fix, const struct vireo_dev_conf *conf)
{
	const struct vireo_dev_cb cb = {
		.quiesce = on_quiesce,
		.resume = on_resume,
		.restart = on_restart,
		.link = on_link,
		.config = on_config,
	};

	memset(fix, 0, sizeof(*fix));
	return vireo_dev_create(conf, &cb, fix, &fix->dev);
}

static int
lay_out(struct fix *fix, uint16_t idx)
{
	struct vq_conf conf = {
		.size = FIX_RING_SIZE,
		.flags = vq_flags_of_features(fix->features),
	};
	struct fix_queue *q = &fix->queues[idx];
	struct vq_mem_size size;
	int ret;

	/* The lengths of used Tx buffers mean nothing. */
	if (idx % 2 == 1)
		conf.flags |= VQ_F_NO_LEN;
	ret = vireo_vq_mem_size(&conf, &size);
	if (ret < 0)
		return ret;
	q->shared = rte_zmalloc("fixture", size.shared_bytes, VIREO_CACHE_LINE);
	q->bufs = rte_zmalloc("fixture", FIX_RING_SIZE * FIX_BUF_BYTES, VIREO_CACHE_LINE);
	q->priv = aligned_alloc(VIREO_CACHE_LINE,
				RTE_ALIGN_CEIL(size.private_bytes, VIREO_CACHE_LINE));
	if (q->shared == NULL || q->bufs == NULL || q->priv == NULL)
		return -ENOMEM;
	ret = vireo_vq_drv_init(&q->vq, &conf, q->shared, addr_of(fix, q->shared), q->priv);
	if (ret == 0 && idx % 2 == 0)
		post_all(fix, q);
	return ret;
}

int
fix_setup(struct fix *fix, uint64_t wanted, uint16_t nb_pairs)
{
	uint16_t i;
	int ret;

	ret = vireo_dev_negotiate(fix->dev, wanted, &fix->features);
	if (ret < 0)
		return ret;
	fix->hdr_bytes = fix->features & VIREO_NET_F_HASH_REPORT ? sizeof(struct net_hdr_hash)
								 : sizeof(struct net_hdr);
	fix->nb_queues = (uint16_t)(nb_pairs * 2);
	for (i = 0; i < fix->nb_queues; i++) {
		ret = lay_out(fix, i);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int
fix_start(struct fix *fix)
{
	struct vireo_dev_queue queues[FIX_QUEUES_MAX];
	uint16_t i;

	for (i = 0; i < fix->nb_queues; i++)
		queues[i] = (struct vireo_dev_queue){
			.idx = i,
			.vq = &fix->queues[i].vq,
			.enabled = true,
			.want_call = i % 2 == 0,
		};
	return vireo_dev_start(fix->dev, queues, fix->nb_queues);
}

void
fix_destroy(struct fix *fix)
{
	uint16_t i;

	vireo_dev_destroy(fix->dev);
	for (i = 0; i < FIX_QUEUES_MAX; i++) {
		rte_free(fix->queues[i].shared);
		rte_free(fix->queues[i].bufs);
		free(fix->queues[i].priv);
	}
	memset(fix, 0, sizeof(*fix));
}

int
fix_reclaim(struct fix *fix, uint16_t pair)
{
	struct vq_drv *vq = &fix->queues[VIREO_NET_TXQ_IDX(pair)].vq;
	const uint32_t f = vq->flags;
	struct vq_done done;
	struct vq_reap r;
	int nb = 0;

	if (vq_reap_begin(vq, &r, f) < 0)
		return -EPROTO;
	while (vq_reap_next(vq, &r, &done, f) > 0)
		nb++;
	vq_reap_end(vq, &r, f);
	return vq->broken ? -EPROTO : nb;
}

int
fix_send(struct fix *fix, uint16_t pair, const void *frame, uint32_t len_bytes,
	 const struct net_hdr *hdr)
{
	struct fix_queue *q = &fix->queues[VIREO_NET_TXQ_IDX(pair)];
	const uint64_t one = 1;
	const uint32_t f = q->vq.flags;
	struct vq_post c;
	uint8_t *buf;

	if (fix_reclaim(fix, pair) < 0)
		return -EPROTO;
	vq_post_begin(&q->vq, &c);
	if (vq_post_room(&q->vq, &c) == 0)
		return -EAGAIN;
	/* Buffers follow the slots; frames of a test are sent and taken one at a time. */
	buf = q->bufs + (size_t)c.slot * FIX_BUF_BYTES;
	memset(buf, 0, fix->hdr_bytes);
	if (hdr != NULL)
		memcpy(buf, hdr, sizeof(*hdr));
	memcpy(buf + fix->hdr_bytes, frame, len_bytes);
	vq_post_single(&q->vq, &c, addr_of(fix, buf), fix->hdr_bytes + len_bytes, 0, buf, f);
	vq_post_end(&q->vq, &c, f);
	if (vq_kick_needed(&q->vq, f) &&
	    write(vireo_dev_kick_fd(fix->dev, VIREO_NET_TXQ_IDX(pair)), &one, sizeof(one)) < 0)
		return -errno;
	return 0;
}

/* Post a buffer that was received again. */
static void
repost(struct fix *fix, struct fix_queue *q, void *buf)
{
	const uint32_t f = q->vq.flags;
	struct vq_post c;

	vq_post_begin(&q->vq, &c);
	vq_post_single(&q->vq, &c, addr_of(fix, buf), FIX_BUF_BYTES, VIREO_DESC_F_WRITE, buf, f);
	vq_post_end(&q->vq, &c, f);
}

int
fix_receive(struct fix *fix, uint16_t pair, void *frame, uint32_t size_bytes,
	    struct net_hdr_hash *hdr)
{
	struct fix_queue *q = &fix->queues[VIREO_NET_RXQ_IDX(pair)];
	const uint32_t f = q->vq.flags;
	struct net_hdr_hash h = { .hdr.num_buffers = 1 };
	struct vq_done done;
	struct vq_reap r;
	uint32_t len = 0, skip, n;
	uint16_t i;

	for (i = 0; i < h.hdr.num_buffers && i < 16; i++) {
		if (vq_reap_begin(&q->vq, &r, f) < 0)
			return -EPROTO;
		n = vq_reap_next(&q->vq, &r, &done, f) > 0;
		vq_reap_end(&q->vq, &r, f);
		if (n == 0)
			return q->vq.broken ? -EPROTO : 0;
		skip = i == 0 ? fix->hdr_bytes : 0;
		if (i == 0)
			memcpy(&h, done.cookie, fix->hdr_bytes);
		if (done.len < skip || len + done.len - skip > size_bytes)
			return -EPROTO;
		memcpy((uint8_t *)frame + len, (uint8_t *)done.cookie + skip, done.len - skip);
		len += done.len - skip;
		repost(fix, q, done.cookie);
	}
	if (hdr != NULL)
		*hdr = h;
	return (int)len;
}

static uint64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

bool
fix_wait(const uint32_t *counter, uint32_t value, uint32_t timeout_ms)
{
	uint64_t end_ms = now_ms() + timeout_ms;

	while (__atomic_load_n(counter, __ATOMIC_SEQ_CST) < value) {
		if (now_ms() > end_ms)
			return false;
		usleep(WAIT_STEP_US);
	}
	return true;
}

static uint32_t
count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint32_t nb = 0;

	if (dir == NULL)
		return 0;
	while (readdir(dir) != NULL)
		nb++;
	closedir(dir);
	return nb;
}

/* EAL's interrupt thread replaces its epoll descriptor now and then: the least of a few looks. */
uint32_t
fix_nb_fds(void)
{
	uint32_t nb = count_fds();
	int looks;

	for (looks = 0; looks < 8; looks++) {
		usleep(WAIT_STEP_US);
		nb = RTE_MIN(nb, count_fds());
	}
	return nb;
}
