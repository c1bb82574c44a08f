/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <rte_ether.h>

#include "net_frames.h"

const char *const net_variants[] = {
	"mrg_rxbuf=1",
	"mrg_rxbuf=0,in_order=1",
	"mrg_rxbuf=1,in_order=0,indirect=pool",
	"mrg_rxbuf=0,in_order=0,indirect=off",
	"packed_vq=1,mrg_rxbuf=1",
	"packed_vq=1,mrg_rxbuf=0,in_order=1,indirect=pool",
	"packed_vq=1,mrg_rxbuf=1,in_order=0,indirect=off",
	"packed_vq=1,mrg_rxbuf=1,in_order=0,event_idx=1,indirect=malloc",
	"mrg_rxbuf=1,in_order=1,event_idx=1,indirect=mempool",
	NULL,
};

static uint8_t
byte_of(uint32_t seed, uint32_t i)
{
	return (seed * 31 + i * 7 + (i >> 8)) & 0xff;
}

void
net_frame_write(const struct net_fixture *f, uint8_t *frame, uint32_t len, uint32_t seed)
{
	struct rte_ether_hdr eth = {
		.src_addr = { { 2, 0, 0, 0, 0, 0xee } },
		.ether_type = RTE_BE16(0x88b5), /* for local experiments */
	};
	uint32_t i;

	rte_eth_macaddr_get(f->port_id, &eth.dst_addr);
	for (i = 0; i < len; i++)
		frame[i] = byte_of(seed, i);
	memcpy(frame, &eth, RTE_MIN((size_t)len, sizeof(eth)));
}

int
net_frame_check(const struct net_fixture *f, const uint8_t *frame, uint32_t len, uint32_t want_len,
		uint32_t seed)
{
	static uint8_t want[NET_FRAME_MAX];
	uint32_t i;

	TEST_ASSERT_EQUAL(len, want_len, "frame %u", seed);
	net_frame_write(f, want, want_len, seed);
	for (i = 0; i < len; i++)
		TEST_ASSERT(frame[i] == want[i], "byte %u of %u of frame %u is 0x%02x, not 0x%02x",
			    i, len, seed, frame[i], want[i]);
	return TEST_SUCCESS;
}

static struct rte_mbuf *
segment(struct rte_mempool *mp, const uint8_t *data, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(mp);
	char *to = m == NULL ? NULL : rte_pktmbuf_append(m, len);

	if (to == NULL) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	memcpy(to, data, len);
	return m;
}

struct rte_mbuf *
net_frame_mbuf(const struct net_fixture *f, struct rte_mempool *mp, uint32_t len, uint16_t nb_segs,
	       uint32_t seed)
{
	static uint8_t frame[NET_FRAME_MAX];
	struct rte_mbuf *head = NULL, *seg, *last = NULL;
	uint32_t at = 0;
	uint16_t i;

	net_frame_write(f, frame, len, seed);
	for (i = 0; i < nb_segs; i++) {
		uint32_t n = (len - at) / (nb_segs - i);

		seg = segment(mp, frame + at, n);
		if (seg == NULL) {
			rte_pktmbuf_free(head);
			return NULL;
		}
		at += n;
		if (head == NULL) {
			head = seg;
		} else {
			last->next = seg;
			head->nb_segs++;
			head->pkt_len += n;
		}
		last = seg;
	}
	return head;
}

int
net_frame_check_mbuf(const struct net_fixture *f, const struct rte_mbuf *m, uint32_t want_len,
		     uint32_t seed)
{
	static uint8_t frame[NET_FRAME_MAX];
	const char *reason = NULL;
	const uint8_t *data;

	TEST_ASSERT(rte_mbuf_check(m, 1, &reason) == 0, "%s", reason);
	TEST_ASSERT_EQUAL(m->port, f->port_id);
	TEST_ASSERT_EQUAL(rte_pktmbuf_pkt_len(m), want_len, "frame %u", seed);
	data = rte_pktmbuf_read(m, 0, want_len, frame);
	TEST_ASSERT_NOT_NULL(data, "a chain shorter than pkt_len");
	return net_frame_check(f, data, want_len, want_len, seed);
}

int
net_frame_take(struct net_fixture *f, uint16_t pair, uint32_t want_len, uint32_t seed,
	       struct net_hdr *hdr)
{
	static uint8_t frame[NET_FRAME_MAX];
	struct net_hdr own;
	int len;

	len = vireo_loopback_tx_take(f->lb, pair, frame, sizeof(frame), hdr != NULL ? hdr : &own);
	TEST_ASSERT(len > 0, "frame %u did not come: %d", seed, len);
	return net_frame_check(f, frame, len, want_len, seed);
}

int
net_pool_check(const struct rte_mempool *mp)
{
	TEST_ASSERT_EQUAL(rte_mempool_avail_count(mp), mp->size, "mbufs were lost");
	return TEST_SUCCESS;
}

int
net_run_on(const char *devargs, enum vireo_loopback_mode mode, uint16_t nb_queues, uint16_t nb_desc,
	   const struct rte_eth_conf *conf, int (*fn)(struct net_fixture *f))
{
	struct vireo_loopback_conf lb = { .mode = mode, .nb_pairs = nb_queues };
	char all_devargs[128];
	struct net_fixture f;
	int ret;

	snprintf(all_devargs, sizeof(all_devargs), "queues=%u,%s", nb_queues, devargs);
	ret = net_fixture_open(&f, &lb, all_devargs);
	if (ret == 0)
		ret = net_fixture_start(&f, nb_queues, nb_desc, conf);
	if (ret == 0)
		ret = fn(&f);
	if (ret == 0 && rte_eth_dev_stop(f.port_id) == 0)
		ret = net_pool_check(f.mp);
	net_fixture_close(&f);
	TEST_ASSERT_SUCCESS(ret, "%s", all_devargs);
	return TEST_SUCCESS;
}

int
net_over_variants(enum vireo_loopback_mode mode, uint16_t nb_queues, uint16_t nb_desc,
		  const struct rte_eth_conf *conf, int (*fn)(struct net_fixture *f))
{
	const char *const *v;

	for (v = net_variants; *v != NULL; v++)
		TEST_ASSERT_SUCCESS(net_run_on(*v, mode, nb_queues, nb_desc, conf, fn));
	return TEST_SUCCESS;
}
