/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * net_vireo's transmit path over loopback: what the device takes is what was sent, byte by
 * byte, for every burst size, chains of any length, clones, external buffers and packets
 * without headroom; whatever happens, all mbufs come back.
 */

#include <rte_malloc.h>

#include "net_frames.h"

#define RING 256
#define HDR_BYTES 12

static const struct rte_eth_conf multi_segs = {
	.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
};

/* Send all of pkts, which must all be accepted. */
static int
send_all(struct net_fixture *f, struct rte_mbuf **pkts, uint16_t nb)
{
	uint16_t sent = rte_eth_tx_burst(f->port_id, 0, pkts, nb);

	rte_pktmbuf_free_bulk(&pkts[sent], nb - sent);
	TEST_ASSERT_EQUAL(sent, nb);
	return TEST_SUCCESS;
}

static int
send_one(struct net_fixture *f, struct rte_mbuf *m)
{
	TEST_ASSERT_NOT_NULL(m);
	return send_all(f, &m, 1);
}

static int
check_stats(struct net_fixture *f, uint64_t packets, uint64_t bytes, uint64_t errors)
{
	struct rte_eth_stats stats;

	TEST_ASSERT_SUCCESS(rte_eth_stats_get(f->port_id, &stats));
	TEST_ASSERT_EQUAL(stats.opackets, packets);
	TEST_ASSERT_EQUAL(stats.obytes, bytes);
	TEST_ASSERT_EQUAL(stats.oerrors, errors);
	return TEST_SUCCESS;
}

static int
run_bursts(struct net_fixture *f)
{
	uint32_t seed = 0, i, len;
	uint64_t bytes = 0;
	uint16_t nb;

	for (nb = 1; nb <= 70; nb++) {
		struct rte_mbuf *pkts[70];

		for (i = 0; i < nb; i++) {
			len = 60 + (seed + i) * 13 % 1455;
			bytes += len;
			pkts[i] = net_frame_mbuf(f, f->mp, len, 1, seed + i);
			TEST_ASSERT_NOT_NULL(pkts[i]);
		}
		TEST_ASSERT_SUCCESS(send_all(f, pkts, nb));
		for (i = 0; i < nb; i++, seed++)
			TEST_ASSERT_SUCCESS(
				net_frame_take(f, 0, 60 + seed * 13 % 1455, seed, NULL));
	}
	return check_stats(f, seed, bytes, 0);
}

static int
test_net_tx_every_burst_size(void)
{
	return net_over_variants(VIREO_LOOPBACK_HOOK, 1, RING, NULL, run_bursts);
}

static int
run_chains(struct net_fixture *f)
{
	uint64_t bytes = 0, packets = 0;
	uint16_t segs;
	uint32_t len;

	for (segs = 1; segs < RING; segs += segs < 40 ? 1 : 7) {
		len = RTE_MAX(60u, segs * (1 + segs % 23u));
		TEST_ASSERT_SUCCESS(send_one(f, net_frame_mbuf(f, f->mp, len, segs, segs)));
		TEST_ASSERT_SUCCESS(net_frame_take(f, 0, len, segs, NULL), "%u segments", segs);
		bytes += len;
		packets++;
	}
	return check_stats(f, packets, bytes, 0);
}

static int
test_net_tx_chains_of_every_length(void)
{
	return net_over_variants(VIREO_LOOPBACK_HOOK, 1, RING, &multi_segs, run_chains);
}

/* One that can never fit is dropped and counted; what stands behind it passes. */
static int
run_too_long(struct net_fixture *f)
{
	struct rte_mbuf *pkts[3];
	uint32_t lap;

	for (lap = 1; lap <= 5; lap++) {
		pkts[0] = net_frame_mbuf(f, f->mp, 100, 1, 1);
		pkts[1] = net_frame_mbuf(f, f->mp, 4 * RING, RING + 3, 2);
		pkts[2] = net_frame_mbuf(f, f->mp, 200, 2, 3);
		TEST_ASSERT(pkts[0] != NULL && pkts[1] != NULL && pkts[2] != NULL);
		TEST_ASSERT_SUCCESS(send_all(f, pkts, 3));
		TEST_ASSERT_SUCCESS(net_frame_take(f, 0, 100, 1, NULL));
		TEST_ASSERT_SUCCESS(net_frame_take(f, 0, 200, 3, NULL));
		TEST_ASSERT_SUCCESS(check_stats(f, 2 * lap, 300 * lap, lap));
		TEST_ASSERT_EQUAL(net_fixture_xstat(f, "tx_q0_dropped_too_long"), lap);
	}
	return TEST_SUCCESS;
}

static int
test_net_tx_too_long_is_dropped_and_counted(void)
{
	static const char *const devargs[] = {
		"indirect=pool,in_order=0",  "indirect=off,in_order=0",	 "indirect=mempool",
		"packed_vq=1,indirect=pool", "packed_vq=1,indirect=off",
	};
	size_t i;

	for (i = 0; i < RTE_DIM(devargs); i++)
		TEST_ASSERT_SUCCESS(net_run_on(devargs[i], VIREO_LOOPBACK_HOOK, 1, RING,
					       &multi_segs, run_too_long));
	return TEST_SUCCESS;
}

/* Many chains at once: tables run out, room runs out, nothing is lost or reordered. */
static int
run_backlog(struct net_fixture *f)
{
	uint32_t next = 0, taken = 0, lap;
	struct rte_mbuf *m;
	uint16_t segs;

	for (lap = 0; lap < 30; lap++) {
		for (;;) {
			segs = 1 + next % 9;
			m = net_frame_mbuf(f, f->mp, 200 + next % 100, segs, next);
			TEST_ASSERT_NOT_NULL(m, "the pool ran dry: nothing was given back");
			if (rte_eth_tx_burst(f->port_id, 0, &m, 1) == 0) {
				rte_pktmbuf_free(m);
				break;
			}
			next++;
		}
		TEST_ASSERT(next > taken, "no room although the device took everything");
		for (; taken < next; taken++)
			TEST_ASSERT_SUCCESS(net_frame_take(f, 0, 200 + taken % 100, taken, NULL));
	}
	return TEST_SUCCESS;
}

static int
test_net_tx_full_ring_goes_on(void)
{
	return net_over_variants(VIREO_LOOPBACK_HOOK, 1, RING, &multi_segs, run_backlog);
}

/* The same data in flight three times: original, clone, clone of the clone. */
static int
run_clones(struct net_fixture *f)
{
	struct rte_mbuf *pkts[3];
	uint32_t lap, len;
	uint16_t segs;

	for (lap = 0; lap < 100; lap++) {
		segs = 1 + lap % 6;
		len = 100 + lap * 7;
		pkts[0] = net_frame_mbuf(f, f->mp, len, segs, lap);
		TEST_ASSERT_NOT_NULL(pkts[0]);
		pkts[1] = rte_pktmbuf_clone(pkts[0], f->mp);
		TEST_ASSERT_NOT_NULL(pkts[1]);
		pkts[2] = rte_pktmbuf_clone(pkts[1], f->mp);
		TEST_ASSERT_NOT_NULL(pkts[2]);
		TEST_ASSERT_SUCCESS(send_all(f, pkts, 3));
		TEST_ASSERT_SUCCESS(net_frame_take(f, 0, len, lap, NULL));
		TEST_ASSERT_SUCCESS(net_frame_take(f, 0, len, lap, NULL));
		TEST_ASSERT_SUCCESS(net_frame_take(f, 0, len, lap, NULL));
	}
	return TEST_SUCCESS;
}

static int
test_net_tx_clones(void)
{
	return net_over_variants(VIREO_LOOPBACK_HOOK, 1, RING, &multi_segs, run_clones);
}

static unsigned int nb_ext_freed;

static void
count_ext_free(void *addr, void *arg)
{
	RTE_SET_USED(addr);
	RTE_SET_USED(arg);
	nb_ext_freed++;
}

static int
run_ext_bufs(struct net_fixture *f)
{
	struct rte_mbuf_ext_shared_info info = { .free_cb = count_ext_free };
	uint8_t *mem = rte_zmalloc(NULL, 4096, 64);
	struct rte_mbuf *m;
	uint32_t lap;

	TEST_ASSERT_NOT_NULL(mem);
	for (lap = 0; lap < 20; lap++) {
		uint16_t len = 60 + lap * 50;

		nb_ext_freed = 0;
		net_frame_write(f, mem, len, lap);
		m = rte_pktmbuf_alloc(f->mp);
		TEST_ASSERT_NOT_NULL(m);
		rte_mbuf_ext_refcnt_set(&info, 1);
		rte_pktmbuf_attach_extbuf(m, mem, rte_malloc_virt2iova(mem), 4096, &info);
		m->data_off = 0;
		m->data_len = len;
		m->pkt_len = len;
		TEST_ASSERT_SUCCESS(send_one(f, m));
		TEST_ASSERT_SUCCESS(net_frame_take(f, 0, len, lap, NULL));
		TEST_ASSERT_SUCCESS(rte_eth_tx_done_cleanup(f->port_id, 0, 0) >= 0 ? 0 : -1);
		TEST_ASSERT_EQUAL(nb_ext_freed, 1, "lap %u", lap);
	}
	rte_free(mem);
	return TEST_SUCCESS;
}

static int
test_net_tx_external_buffers(void)
{
	return net_over_variants(VIREO_LOOPBACK_HOOK, 1, RING, NULL, run_ext_bufs);
}

/* No headroom, too little headroom, a data offset that is odd, somebody else's reference. */
static int
run_odd_mbufs(struct net_fixture *f)
{
	static const uint16_t offsets[] = { 0, 1, HDR_BYTES - 1, HDR_BYTES, HDR_BYTES + 1, 127 };
	uint8_t frame[200], *before;
	struct rte_mbuf *m;
	uint32_t i;

	for (i = 0; i < RTE_DIM(offsets); i++) {
		net_frame_write(f, frame, sizeof(frame), i);
		m = rte_pktmbuf_alloc(f->mp);
		TEST_ASSERT_NOT_NULL(m);
		m->data_off = offsets[i];
		memcpy(rte_pktmbuf_append(m, sizeof(frame)), frame, sizeof(frame));
		TEST_ASSERT_SUCCESS(send_one(f, m));
		TEST_ASSERT_SUCCESS(net_frame_take(f, 0, sizeof(frame), i, NULL));
	}
	/* Bytes in front of shared data belong to somebody else and stay as they are. */
	m = net_frame_mbuf(f, f->mp, 100, 1, 9);
	TEST_ASSERT_NOT_NULL(m);
	rte_mbuf_refcnt_update(m, 1);
	before = rte_pktmbuf_mtod_offset(m, uint8_t *, -HDR_BYTES);
	memset(before, 0x5a, HDR_BYTES);
	TEST_ASSERT_SUCCESS(send_one(f, m));
	TEST_ASSERT_SUCCESS(net_frame_take(f, 0, 100, 9, NULL));
	for (i = 0; i < HDR_BYTES; i++)
		TEST_ASSERT_EQUAL(before[i], 0x5a, "byte %u", i);
	rte_eth_tx_done_cleanup(f->port_id, 0, 0);
	TEST_ASSERT_EQUAL(rte_mbuf_refcnt_read(m), 1);
	rte_pktmbuf_free(m);
	return TEST_SUCCESS;
}

static int
test_net_tx_mbufs_without_room_for_the_header(void)
{
	return net_over_variants(VIREO_LOOPBACK_HOOK, 1, RING, NULL, run_odd_mbufs);
}

static int
test_net_tx_fast_free(void)
{
	static const struct rte_eth_conf conf = {
		.txmode.offloads = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE,
	};
	static const struct rte_eth_conf both = {
		.txmode.offloads =
			RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE | RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
	};

	TEST_ASSERT_SUCCESS(net_over_variants(VIREO_LOOPBACK_HOOK, 1, RING, &conf, run_bursts));
	TEST_ASSERT_SUCCESS(net_over_variants(VIREO_LOOPBACK_HOOK, 1, RING, &both, run_chains));
	return net_over_variants(VIREO_LOOPBACK_HOOK, 1, RING, &both, run_backlog);
}

/* nb_txd below the ring: no more than nb_txd in flight, over several laps of the ring. */
static int
run_small_txd(struct net_fixture *f)
{
	uint32_t next = 0, taken = 0, lap;
	struct rte_mbuf *pkts[64];
	uint16_t sent, i;

	for (lap = 0; lap < 40; lap++) {
		for (i = 0; i < 64; i++)
			pkts[i] = net_frame_mbuf(f, f->mp, 90, 1, next + i);
		sent = rte_eth_tx_burst(f->port_id, 0, pkts, 64);
		rte_pktmbuf_free_bulk(&pkts[sent], 64 - sent);
		TEST_ASSERT_EQUAL(sent, 32, "nb_txd is 32");
		next += sent;
		for (; taken < next; taken++)
			TEST_ASSERT_SUCCESS(net_frame_take(f, 0, 90, taken, NULL));
	}
	return TEST_SUCCESS;
}

static int
test_net_tx_descriptors_below_ring_size(void)
{
	static const char *const devargs[] = {
		"queue_size=256",
		"queue_size=256,in_order=0",
		"queue_size=256,packed_vq=1",
		"queue_size=256,packed_vq=1,in_order=0",
	};
	size_t i;

	for (i = 0; i < RTE_DIM(devargs); i++)
		TEST_ASSERT_SUCCESS(
			net_run_on(devargs[i], VIREO_LOOPBACK_HOOK, 1, 32, NULL, run_small_txd));
	return TEST_SUCCESS;
}

/* Descriptors from .. to - 1 are in flight, all others are done. */
static int
check_status(struct net_fixture *f, uint16_t from, uint16_t to)
{
	uint16_t i;

	for (i = 0; i < RING; i++)
		TEST_ASSERT_EQUAL(rte_eth_tx_descriptor_status(f->port_id, 0, i),
				  i >= from && i < to ? RTE_ETH_TX_DESC_FULL : RTE_ETH_TX_DESC_DONE,
				  "offset %u", i);
	return TEST_SUCCESS;
}

/* Clean-up frees what the device has used, as many as asked for, and no more. */
static int
run_cleanup(struct net_fixture *f)
{
	unsigned int before = rte_mempool_avail_count(f->mp);
	struct rte_mbuf *m;
	int i;

	for (i = 0; i < 10; i++)
		TEST_ASSERT_SUCCESS(send_one(f, net_frame_mbuf(f, f->mp, 80, 1, i)));
	TEST_ASSERT_EQUAL(rte_eth_tx_done_cleanup(f->port_id, 0, 0), 0, "nothing is used yet");
	/* Offsets count from the next one to be sent: the ten in flight are the last ten. */
	TEST_ASSERT_SUCCESS(check_status(f, RING - 10, RING));
	for (i = 0; i < 7; i++)
		TEST_ASSERT_SUCCESS(net_frame_take(f, 0, 80, i, NULL));
	TEST_ASSERT_SUCCESS(check_status(f, RING - 3, RING));
	TEST_ASSERT_EQUAL(rte_eth_tx_done_cleanup(f->port_id, 0, 3), 3);
	TEST_ASSERT_EQUAL(rte_mempool_avail_count(f->mp), before - 7);
	TEST_ASSERT_EQUAL(rte_eth_tx_done_cleanup(f->port_id, 0, 0), 4);
	TEST_ASSERT_EQUAL(rte_mempool_avail_count(f->mp), before - 3);
	TEST_ASSERT_EQUAL(rte_eth_tx_done_cleanup(f->port_id, 0, 0), 0);
	TEST_ASSERT(rte_eth_tx_descriptor_status(f->port_id, 0, RING) < 0, "beyond the ring");
	/* The three left and a few more are freed by the stop. */
	m = net_frame_mbuf(f, f->mp, 80, 1, 10);
	return send_one(f, m);
}

static int
test_net_tx_done_cleanup_and_status(void)
{
	return net_over_variants(VIREO_LOOPBACK_HOOK, 1, RING, NULL, run_cleanup);
}

static int
run_two_queues(struct net_fixture *f)
{
	struct rte_mbuf *m;
	uint32_t i;

	for (i = 0; i < 600; i++) {
		m = net_frame_mbuf(f, f->mp, 64 + i, 1, i);
		TEST_ASSERT_NOT_NULL(m);
		TEST_ASSERT_EQUAL(rte_eth_tx_burst(f->port_id, i % 3 == 0, &m, 1), 1);
		TEST_ASSERT_SUCCESS(net_frame_take(f, i % 3 == 0, 64 + i, i, NULL));
	}
	TEST_ASSERT_EQUAL(net_fixture_xstat(f, "tx_q1_good_packets"), 200);
	TEST_ASSERT_EQUAL(net_fixture_xstat(f, "tx_q0_good_packets"), 400);
	return TEST_SUCCESS;
}

static int
test_net_tx_queues_are_apart(void)
{
	return net_over_variants(VIREO_LOOPBACK_HOOK, 2, RING, NULL, run_two_queues);
}

static int
test_net_tx(void)
{
	static const struct unit_test_case cases[] = {
		TEST_CASE(test_net_tx_every_burst_size),
		TEST_CASE(test_net_tx_chains_of_every_length),
		TEST_CASE(test_net_tx_too_long_is_dropped_and_counted),
		TEST_CASE(test_net_tx_full_ring_goes_on),
		TEST_CASE(test_net_tx_clones),
		TEST_CASE(test_net_tx_external_buffers),
		TEST_CASE(test_net_tx_mbufs_without_room_for_the_header),
		TEST_CASE(test_net_tx_fast_free),
		TEST_CASE(test_net_tx_descriptors_below_ring_size),
		TEST_CASE(test_net_tx_done_cleanup_and_status),
		TEST_CASE(test_net_tx_queues_are_apart),
		TEST_CASES_END(),
	};
	static const struct unit_test_suite suite = {
		.suite_name = "net_vireo transmits over loopback",
		.cases = cases,
	};

	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(DRIVER, net_tx_autotest, test_net_tx);
