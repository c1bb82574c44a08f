/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * net_vireo's receive path over loopback: what is received is what the device was given,
 * byte by byte, for every burst size, merged and jumbo frames; an empty pool, a full ring
 * and a device that breaks the rules lose no mbuf.
 */

#include <rte_cycles.h>
#include <rte_power_intrinsics.h>

#include "net_frames.h"

#define RING 256
#define JUMBO_BYTES 9728

static uint8_t frame[JUMBO_BYTES];

static uint32_t
len_of(uint32_t seed)
{
	return 60 + seed * 13 % 1455;
}

static int
inject(struct net_fixture *f, uint16_t pair, uint32_t len, uint32_t seed)
{
	net_frame_write(f, frame, len, seed);
	return vireo_loopback_rx_inject(f->lb, pair, frame, len, NULL);
}

/* Receive one burst; packets must be numbers first, first + 1, ... @return how many or -1. */
static int
receive(struct net_fixture *f, uint16_t queue_id, uint16_t max, uint32_t first)
{
	struct rte_mbuf *pkts[80];
	uint16_t n = rte_eth_rx_burst(f->port_id, queue_id, pkts, max), i;
	int ret = TEST_SUCCESS;

	for (i = 0; i < n && ret == TEST_SUCCESS; i++)
		ret = net_frame_check_mbuf(f, pkts[i], len_of(first + i), first + i);
	rte_pktmbuf_free_bulk(pkts, n);
	return ret == TEST_SUCCESS ? n : TEST_FAILED;
}

static int
check_stats(struct net_fixture *f, uint64_t packets, uint64_t bytes)
{
	struct rte_eth_stats stats;

	TEST_ASSERT_SUCCESS(rte_eth_stats_get(f->port_id, &stats));
	TEST_ASSERT_EQUAL(stats.ipackets, packets);
	TEST_ASSERT_EQUAL(stats.ibytes, bytes);
	TEST_ASSERT_EQUAL(stats.ierrors, 0);
	TEST_ASSERT_EQUAL(stats.imissed, 0);
	return TEST_SUCCESS;
}

/* nb frames wait; they are taken in bursts of every size. */
static int
run_bursts(struct net_fixture *f)
{
	uint32_t seed = 0, got;
	uint64_t bytes = 0;
	uint16_t nb, i;

	for (nb = 1; nb <= 70; nb++) {
		for (i = 0; i < nb; i++) {
			TEST_ASSERT_SUCCESS(inject(f, 0, len_of(seed + i), seed + i));
			bytes += len_of(seed + i);
		}
		TEST_ASSERT_EQUAL(rte_eth_rx_queue_count(f->port_id, 0), nb);
		for (got = 0; got < nb;) {
			int n = receive(f, 0, 1 + nb % 66, seed + got);

			TEST_ASSERT(n > 0, "%u of %u came", got, nb);
			got += n;
		}
		TEST_ASSERT_EQUAL(receive(f, 0, 64, 0), 0);
		seed += nb;
	}
	return check_stats(f, seed, bytes);
}

static int
test_net_rx_every_burst_size(void)
{
	return net_over_variants(VIREO_LOOPBACK_HOOK, 1, RING, NULL, run_bursts);
}

/* The device fills all that is posted, no more; afterwards everything is posted again. */
static int
run_full_ring(struct net_fixture *f)
{
	uint32_t seed = 0, first, lap;
	int ret, n;

	for (lap = 0; lap < 12; lap++) {
		first = seed;
		while ((ret = inject(f, 0, len_of(seed), seed)) == 0)
			seed++;
		TEST_ASSERT_EQUAL(ret, -EAGAIN);
		TEST_ASSERT(seed - first > RING / 2 && seed - first <= RING, "%u posted",
			    seed - first);
		TEST_ASSERT_EQUAL(rte_eth_rx_descriptor_status(f->port_id, 0, 0),
				  RTE_ETH_RX_DESC_DONE);
		while (first < seed) {
			n = receive(f, 0, 32, first);
			TEST_ASSERT(n > 0);
			first += n;
		}
		TEST_ASSERT_EQUAL(rte_eth_rx_descriptor_status(f->port_id, 0, 0),
				  RTE_ETH_RX_DESC_AVAIL);
	}
	TEST_ASSERT(rte_eth_rx_descriptor_status(f->port_id, 0, RING) < 0);
	return TEST_SUCCESS;
}

static int
test_net_rx_full_ring(void)
{
	return net_over_variants(VIREO_LOOPBACK_HOOK, 1, RING, NULL, run_full_ring);
}

/* Frames of several buffers, taken one at a time and in bursts. */
static int
run_merged(struct net_fixture *f)
{
	static const uint32_t lens[] = { 60, 2048, 2049, 2060, 4000, 5000, 8191, JUMBO_BYTES };
	struct rte_mbuf *pkts[8];
	uint32_t lap, i, n;
	uint16_t got;

	for (lap = 0; lap < 40; lap++) {
		for (i = 0; i < RTE_DIM(lens); i++)
			TEST_ASSERT_SUCCESS(inject(f, 0, lens[i], lap + i));
		for (n = 0; n < RTE_DIM(lens); n += got) {
			got = rte_eth_rx_burst(f->port_id, 0, pkts, 1 + lap % 8);
			/* A burst may end inside of a frame; the next one goes on. */
			if (got == 0)
				got = rte_eth_rx_burst(f->port_id, 0, pkts, 8);
			TEST_ASSERT(got > 0 && n + got <= RTE_DIM(lens), "%u frames came", n);
			for (i = 0; i < got; i++) {
				TEST_ASSERT_SUCCESS(
					net_frame_check_mbuf(f, pkts[i], lens[n + i], lap + n + i));
				TEST_ASSERT_EQUAL(pkts[i]->nb_segs > 1, lens[n + i] > 2048);
			}
			rte_pktmbuf_free_bulk(pkts, got);
		}
	}
	return TEST_SUCCESS;
}

static int
test_net_rx_merged_jumbo(void)
{
	static const struct rte_eth_conf conf = {
		.rxmode.mtu = JUMBO_BYTES - RTE_ETHER_HDR_LEN - RTE_ETHER_CRC_LEN,
		.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER,
	};

	TEST_ASSERT_SUCCESS(
		net_run_on("mrg_rxbuf=1", VIREO_LOOPBACK_HOOK, 1, RING, &conf, run_merged));
	TEST_ASSERT_SUCCESS(net_run_on("mrg_rxbuf=1,in_order=0", VIREO_LOOPBACK_HOOK, 1, RING,
				       &conf, run_merged));
	TEST_ASSERT_SUCCESS(net_run_on("mrg_rxbuf=1,packed_vq=1", VIREO_LOOPBACK_HOOK, 1, RING,
				       &conf, run_merged));
	return net_run_on("mrg_rxbuf=1,packed_vq=1,in_order=0", VIREO_LOOPBACK_HOOK, 1, RING, &conf,
			  run_merged);
}

/* Not mergeable: one large buffer a frame. */
static int
run_large_buffers(struct net_fixture *f, struct rte_mempool *mp)
{
	struct rte_eth_conf conf = {
		.rxmode.mtu = JUMBO_BYTES - RTE_ETHER_HDR_LEN - RTE_ETHER_CRC_LEN,
	};
	struct rte_mbuf *m;
	uint32_t len, seed = 0;

	TEST_ASSERT_SUCCESS(rte_eth_dev_configure(f->port_id, 1, 1, &conf));
	TEST_ASSERT_SUCCESS(rte_eth_rx_queue_setup(f->port_id, 0, RING, SOCKET_ID_ANY, NULL, mp));
	TEST_ASSERT_SUCCESS(rte_eth_tx_queue_setup(f->port_id, 0, RING, SOCKET_ID_ANY, NULL));
	TEST_ASSERT_SUCCESS(rte_eth_dev_start(f->port_id));
	for (len = 60; len <= JUMBO_BYTES; len += 137, seed++) {
		TEST_ASSERT_SUCCESS(inject(f, 0, len, seed));
		TEST_ASSERT_EQUAL(rte_eth_rx_burst(f->port_id, 0, &m, 1), 1);
		TEST_ASSERT_SUCCESS(net_frame_check_mbuf(f, m, len, seed));
		TEST_ASSERT_EQUAL(m->nb_segs, 1);
		rte_pktmbuf_free(m);
	}
	TEST_ASSERT_SUCCESS(rte_eth_dev_stop(f->port_id));
	return net_pool_check(mp);
}

static int
test_net_rx_large_buffers(void)
{
	static const char *const devargs[] = { "mrg_rxbuf=0", "mrg_rxbuf=0,packed_vq=1" };
	struct vireo_loopback_conf lb = { .mode = VIREO_LOOPBACK_HOOK };
	struct rte_mempool *mp;
	struct net_fixture f;
	size_t i;
	int ret;

	mp = rte_pktmbuf_pool_create("net_rx_large", 1023, 0, 0, 9856 + RTE_PKTMBUF_HEADROOM,
				     SOCKET_ID_ANY);
	TEST_ASSERT_NOT_NULL(mp);
	for (i = 0; i < RTE_DIM(devargs); i++) {
		ret = net_fixture_open(&f, &lb, devargs[i]);
		if (ret == 0)
			ret = run_large_buffers(&f, mp);
		net_fixture_close(&f);
		if (ret != 0)
			break;
	}
	rte_mempool_free(mp);
	return ret == 0 ? TEST_SUCCESS : TEST_FAILED;
}

/* A frame that fits no buffer is refused, and the queue goes on. */
static int
run_too_large(struct net_fixture *f)
{
	TEST_ASSERT_SUCCESS(inject(f, 0, len_of(0), 0));
	TEST_ASSERT_EQUAL(inject(f, 0, 3000, 1), -EMSGSIZE);
	TEST_ASSERT_SUCCESS(inject(f, 0, len_of(1), 1));
	TEST_ASSERT_EQUAL(receive(f, 0, 8, 0), 2);
	return TEST_SUCCESS;
}

static int
test_net_rx_too_large_is_refused(void)
{
	TEST_ASSERT_SUCCESS(
		net_run_on("mrg_rxbuf=0", VIREO_LOOPBACK_HOOK, 1, RING, NULL, run_too_large));
	return net_run_on("mrg_rxbuf=0,packed_vq=1", VIREO_LOOPBACK_HOOK, 1, RING, NULL,
			  run_too_large);
}

/* The pool runs dry: nobuf counts, and receiving goes on when mbufs are back. */
static int
run_dry_pool(struct net_fixture *f)
{
	static struct rte_mbuf *hoard[NET_FIXTURE_MBUFS];
	uint32_t nb = 0, seed = 0, first = 0, lap;
	struct rte_eth_stats stats;
	int n;

	while (rte_mempool_get(f->mp, (void **)&hoard[nb]) == 0)
		nb++;
	TEST_ASSERT(nb > 0);
	while (inject(f, 0, len_of(seed), seed) == 0)
		seed++;
	/* What is received is held: nothing can be posted. */
	for (lap = 0; lap < 20 && first < seed; lap++) {
		struct rte_mbuf *pkts[64];
		uint16_t k = rte_eth_rx_burst(f->port_id, 0, pkts, 64);

		first += k;
		memcpy(&hoard[nb], pkts, k * sizeof(pkts[0]));
		nb += k;
	}
	TEST_ASSERT_EQUAL(first, seed);
	TEST_ASSERT_EQUAL(rte_eth_rx_burst(f->port_id, 0, &hoard[nb], 1), 0);
	TEST_ASSERT_SUCCESS(rte_eth_stats_get(f->port_id, &stats));
	TEST_ASSERT(stats.rx_nombuf > 0);
	TEST_ASSERT_EQUAL(inject(f, 0, 60, 0), -EAGAIN);
	rte_mempool_put_bulk(f->mp, (void **)hoard, nb);
	TEST_ASSERT_EQUAL(receive(f, 0, 32, seed), 0, "fills the ring again");
	for (lap = 0; lap < 1000; lap++, seed++) {
		TEST_ASSERT_SUCCESS(inject(f, 0, len_of(seed), seed));
		n = receive(f, 0, 32, seed);
		TEST_ASSERT_EQUAL(n, 1);
	}
	return TEST_SUCCESS;
}

static int
test_net_rx_empty_pool_recovers(void)
{
	return net_over_variants(VIREO_LOOPBACK_HOOK, 1, RING, NULL, run_dry_pool);
}

static int
run_monitor(struct net_fixture *f)
{
	struct rte_power_monitor_cond cond = { 0 };
	uint32_t seed;

	for (seed = 0; seed < 3 * RING; seed++) {
		TEST_ASSERT_SUCCESS(rte_eth_get_monitor_addr(f->port_id, 0, &cond));
		TEST_ASSERT_EQUAL(cond.size, sizeof(uint16_t));
		TEST_ASSERT_EQUAL(cond.fn(*(volatile uint16_t *)cond.addr, cond.opaque), 0,
				  "an idle queue may sleep");
		TEST_ASSERT_SUCCESS(inject(f, 0, len_of(seed), seed));
		TEST_ASSERT_EQUAL(cond.fn(*(volatile uint16_t *)cond.addr, cond.opaque), -1,
				  "a packet is waiting");
		TEST_ASSERT_EQUAL(receive(f, 0, 4, seed), 1);
	}
	return TEST_SUCCESS;
}

static int
test_net_rx_monitor_sees_packets(void)
{
	return net_over_variants(VIREO_LOOPBACK_HOOK, 1, RING, NULL, run_monitor);
}

/* Buffers come back in another order: what was received is whole all the same. */
static int
run_reflected(struct net_fixture *f)
{
	struct rte_mbuf *pkts[32];
	uint32_t sent = 0, got = 0, idle = 0;

	while (got < 4096 && idle < 100000) {
		struct rte_mbuf *m;
		uint16_t n, i;

		if (sent < 4096 && sent - got < 100) {
			m = net_frame_mbuf(f, f->mp, len_of(sent), 1 + sent % 3, sent);
			TEST_ASSERT_NOT_NULL(m);
			if (rte_eth_tx_burst(f->port_id, 0, &m, 1) == 1)
				sent++;
			else
				rte_pktmbuf_free(m);
		}
		vireo_loopback_poll(f->lb, 7);
		n = rte_eth_rx_burst(f->port_id, 0, pkts, 32);
		idle = n == 0 ? idle + 1 : 0;
		for (i = 0; i < n; i++, got++) {
			TEST_ASSERT_SUCCESS(net_frame_check_mbuf(f, pkts[i], len_of(got), got));
		}
		rte_pktmbuf_free_bulk(pkts, n);
	}
	TEST_ASSERT_EQUAL(got, 4096);
	return TEST_SUCCESS;
}

static int
check_reordered(const char *devargs, uint16_t reorder, bool batch)
{
	static const struct rte_eth_conf conf = {
		.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
	};
	struct vireo_loopback_conf lb = { .mode = VIREO_LOOPBACK_REFLECT,
					  .reorder = reorder,
					  .batch = batch };
	struct net_fixture f;
	int ret;

	ret = net_fixture_open(&f, &lb, devargs);
	if (ret == 0)
		ret = net_fixture_start(&f, 1, RING, &conf);
	if (ret == 0)
		ret = run_reflected(&f);
	if (ret == 0 && rte_eth_dev_stop(f.port_id) == 0)
		ret = net_pool_check(f.mp);
	net_fixture_close(&f);
	TEST_ASSERT_SUCCESS(ret, "%s, reorder %u, batch %d", devargs, reorder, batch);
	return TEST_SUCCESS;
}

static int
test_net_rx_tx_out_of_order_and_batches(void)
{
	static const char *const layouts[] = { "",
					       "packed_vq=1",
					       "mrg_rxbuf=0",
					       "mrg_rxbuf=0,packed_vq=1",
					       "indirect=pool",
					       "packed_vq=1,indirect=pool" };
	char devargs[64];
	size_t i;

	for (i = 0; i < RTE_DIM(layouts); i++) {
		snprintf(devargs, sizeof(devargs), "in_order=0%s%s", *layouts[i] ? "," : "",
			 layouts[i]);
		TEST_ASSERT_SUCCESS(check_reordered(devargs, 1, false));
		TEST_ASSERT_SUCCESS(check_reordered(devargs, 4, false));
		TEST_ASSERT_SUCCESS(check_reordered(devargs, 16, false));
		snprintf(devargs, sizeof(devargs), "in_order=1%s%s", *layouts[i] ? "," : "",
			 layouts[i]);
		TEST_ASSERT_SUCCESS(check_reordered(devargs, 1, false));
		TEST_ASSERT_SUCCESS(check_reordered(devargs, 1, true));
	}
	return TEST_SUCCESS;
}

/* A device that breaks the rules: the queue breaks, every mbuf comes back, a restart heals. */
static int
run_fault(struct net_fixture *f, uint16_t queue_idx, enum vireo_loopback_fault fault)
{
	const char *broken = queue_idx == 0 ? "rx_q0_broken" : "tx_q0_broken";
	uint32_t i, healthy;

	TEST_ASSERT_EQUAL(net_fixture_round(f, 0, 100, 100), 100);
	vireo_loopback_fault(f->lb, queue_idx, fault);
	for (i = 0; i < 50; i++) {
		net_fixture_send(f, 0, 8, 100);
		net_fixture_receive(f, 0, 1);
		if (net_fixture_xstat(f, broken) != 0)
			break;
	}
	TEST_ASSERT_EQUAL(net_fixture_xstat(f, broken), 1, "the queue did not break");
	if (queue_idx == 0)
		TEST_ASSERT_EQUAL(net_fixture_receive(f, 0, 1), 0, "a broken queue gives nothing");
	else
		TEST_ASSERT_EQUAL(net_fixture_send(f, 0, 8, 100), 0, "nor takes anything");
	TEST_ASSERT_SUCCESS(rte_eth_dev_stop(f->port_id));
	TEST_ASSERT_SUCCESS(net_pool_check(f->mp));
	vireo_loopback_fault(f->lb, queue_idx, VIREO_LOOPBACK_FAULT_NONE);
	TEST_ASSERT_SUCCESS(rte_eth_dev_start(f->port_id));
	healthy = net_fixture_round(f, 0, 1000, 200);
	TEST_ASSERT_EQUAL(healthy, 1000, "after a restart");
	TEST_ASSERT_SUCCESS(rte_eth_dev_stop(f->port_id));
	return net_pool_check(f->mp);
}

static int
check_fault(const char *devargs, uint16_t queue_idx, enum vireo_loopback_fault fault)
{
	struct vireo_loopback_conf lb = { .mode = VIREO_LOOPBACK_REFLECT };
	struct net_fixture f;
	int ret;

	ret = net_fixture_open(&f, &lb, devargs);
	if (ret == 0)
		ret = net_fixture_start(&f, 1, RING, NULL);
	if (ret == 0)
		ret = run_fault(&f, queue_idx, fault);
	net_fixture_close(&f);
	TEST_ASSERT_SUCCESS(ret, "%s, queue %u, fault %d", devargs, queue_idx, fault);
	return TEST_SUCCESS;
}

static int
test_net_rx_tx_faults_lose_no_mbuf(void)
{
	static const char *const layouts[] = { "in_order=0", "in_order=0,packed_vq=1" };
	size_t i;

	for (i = 0; i < RTE_DIM(layouts); i++) {
		TEST_ASSERT_SUCCESS(check_fault(layouts[i], 0, VIREO_LOOPBACK_FAULT_ID));
		TEST_ASSERT_SUCCESS(check_fault(layouts[i], 0, VIREO_LOOPBACK_FAULT_TWICE));
		TEST_ASSERT_SUCCESS(check_fault(layouts[i], 0, VIREO_LOOPBACK_FAULT_LEN));
		TEST_ASSERT_SUCCESS(check_fault(layouts[i], 1, VIREO_LOOPBACK_FAULT_ID));
		TEST_ASSERT_SUCCESS(check_fault(layouts[i], 1, VIREO_LOOPBACK_FAULT_TWICE));
	}
	TEST_ASSERT_SUCCESS(check_fault("in_order=0", 0, VIREO_LOOPBACK_FAULT_IDX));
	return check_fault("in_order=0", 1, VIREO_LOOPBACK_FAULT_IDX);
}

static int
test_net_rx(void)
{
	static const struct unit_test_case cases[] = {
		TEST_CASE(test_net_rx_every_burst_size),
		TEST_CASE(test_net_rx_full_ring),
		TEST_CASE(test_net_rx_merged_jumbo),
		TEST_CASE(test_net_rx_large_buffers),
		TEST_CASE(test_net_rx_too_large_is_refused),
		TEST_CASE(test_net_rx_empty_pool_recovers),
		TEST_CASE(test_net_rx_monitor_sees_packets),
		TEST_CASE(test_net_rx_tx_out_of_order_and_batches),
		TEST_CASE(test_net_rx_tx_faults_lose_no_mbuf),
		TEST_CASES_END(),
	};
	static const struct unit_test_suite suite = {
		.suite_name = "net_vireo receives over loopback",
		.cases = cases,
	};

	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(DRIVER, net_rx_autotest, test_net_rx);
