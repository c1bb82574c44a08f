/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * Control work against running bursts: one thread sends and receives without end while
 * another stops and starts queues, reads statistics and takes the device away. Nothing
 * may hang, crash or lose an mbuf, every frame received is whole, and traffic flows at
 * the end.
 */

#include <pthread.h>
#include <sched.h>

#include <rte_cycles.h>
#include <rte_lcore.h>

#include "net_frames.h"

#define RING 128
#define BURST 16
#define NB_TURNS 150
#define FRAME_BYTES 200
#define ALIVE_MS 5000

struct traffic {
	struct net_fixture *f;
	int stop; /* atomic */
	uint64_t nb_rx; /* atomic; written by the worker */
	uint64_t nb_bad; /* written by the worker, read after it ended */
};

/* Whole frames only: length and all bytes behind the header follow from the first. */
static bool
is_whole(const struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	uint16_t i;

	if (m->pkt_len != FRAME_BYTES || m->nb_segs != 1)
		return false;
	for (i = RTE_ETHER_HDR_LEN + 1; i < FRAME_BYTES; i++)
		if (data[i] != (uint8_t)(data[i - 1] + 1))
			return false;
	return true;
}

static void
send_some(struct traffic *t, uint32_t *seed)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n, sent, i;

	for (n = 0; n < BURST; n++) {
		pkts[n] = net_fixture_frame(t->f, FRAME_BYTES);
		if (pkts[n] == NULL)
			break;
		for (i = RTE_ETHER_HDR_LEN; i < FRAME_BYTES; i++)
			*rte_pktmbuf_mtod_offset(pkts[n], uint8_t *, i) = *seed + i;
		(*seed)++;
	}
	sent = rte_eth_tx_burst(t->f->port_id, 0, pkts, n);
	if (sent < n)
		rte_pktmbuf_free_bulk(&pkts[sent], n - sent);
}

static void *
run_traffic(void *arg)
{
	struct rte_mbuf *pkts[BURST];
	struct traffic *t = arg;
	uint32_t seed = 0;
	cpu_set_t all;
	uint16_t n, i;

	/* Threads inherit the main lcore's one CPU: let the two really run side by side. */
	memset(&all, 0xff, sizeof(all));
	pthread_setaffinity_np(pthread_self(), sizeof(all), &all);
	rte_thread_register();
	while (!__atomic_load_n(&t->stop, __ATOMIC_RELAXED)) {
		send_some(t, &seed);
		n = rte_eth_rx_burst(t->f->port_id, 0, pkts, BURST);
		for (i = 0; i < n; i++)
			t->nb_bad += !is_whole(pkts[i]);
		rte_pktmbuf_free_bulk(pkts, n);
		__atomic_fetch_add(&t->nb_rx, n, __ATOMIC_RELAXED);
		if (n == 0)
			sched_yield();
	}
	rte_thread_unregister();
	return NULL;
}

/* Traffic must move from now on. */
static int
check_alive(struct traffic *t)
{
	uint64_t before = __atomic_load_n(&t->nb_rx, __ATOMIC_RELAXED);
	unsigned int ms;

	for (ms = 0; ms < ALIVE_MS; ms++) {
		if (__atomic_load_n(&t->nb_rx, __ATOMIC_RELAXED) > before + 2 * RING)
			return TEST_SUCCESS;
		rte_delay_us_sleep(1000);
	}
	printf("no traffic for %u ms\n", ALIVE_MS);
	return TEST_FAILED;
}

static int
disturb(struct traffic *t, unsigned int turn)
{
	const uint16_t port_id = t->f->port_id;
	struct rte_eth_stats stats;

	switch (turn % 4) {
	case 0:
		TEST_ASSERT_SUCCESS(rte_eth_dev_rx_queue_stop(port_id, 0));
		TEST_ASSERT_SUCCESS(rte_eth_dev_rx_queue_start(port_id, 0));
		break;
	case 1:
		TEST_ASSERT_SUCCESS(rte_eth_dev_tx_queue_stop(port_id, 0));
		TEST_ASSERT_SUCCESS(rte_eth_dev_tx_queue_start(port_id, 0));
		break;
	case 2:
		TEST_ASSERT_SUCCESS(rte_eth_stats_get(port_id, &stats));
		TEST_ASSERT_SUCCESS(rte_eth_promiscuous_enable(port_id));
		TEST_ASSERT_SUCCESS(rte_eth_promiscuous_disable(port_id));
		break;
	case 3:
		if (turn % 24 != 3)
			break;
		net_fixture_device_gone(t->f);
		rte_delay_us_sleep(500);
		TEST_ASSERT_SUCCESS(net_fixture_device_back(t->f));
		break;
	}
	return turn % 10 == 9 ? check_alive(t) : TEST_SUCCESS;
}

static int
run_stress(struct net_fixture *f)
{
	struct traffic t = { .f = f };
	unsigned int turn;
	pthread_t worker;
	int ret;

	TEST_ASSERT_SUCCESS(pthread_create(&worker, NULL, run_traffic, &t));
	ret = check_alive(&t);
	for (turn = 0; turn < NB_TURNS && ret == TEST_SUCCESS; turn++)
		ret = disturb(&t, turn);
	if (ret == TEST_SUCCESS)
		ret = check_alive(&t);
	__atomic_store_n(&t.stop, 1, __ATOMIC_RELAXED);
	pthread_join(worker, NULL);
	TEST_ASSERT_SUCCESS(ret, "in turn %u", turn);
	TEST_ASSERT_EQUAL(t.nb_bad, 0, "frames that are not whole");
	return TEST_SUCCESS;
}

static int
run_layout(const char *devargs)
{
	struct vireo_loopback_conf lb = { .mode = VIREO_LOOPBACK_REFLECT, .service = true };
	struct net_fixture f;
	int ret;

	ret = net_fixture_open(&f, &lb, devargs);
	if (ret == 0)
		ret = net_fixture_start(&f, 1, RING, NULL);
	if (ret == 0)
		ret = run_stress(&f);
	if (ret == 0 && rte_eth_dev_stop(f.port_id) == 0)
		ret = net_pool_check(f.mp);
	net_fixture_close(&f);
	TEST_ASSERT_SUCCESS(ret, "%s", devargs);
	return TEST_SUCCESS;
}

static int
test_net_stress_split(void)
{
	TEST_ASSERT_SUCCESS(run_layout("mrg_rxbuf=1"));
	return run_layout("mrg_rxbuf=0,in_order=0,event_idx=1");
}

static int
test_net_stress_packed(void)
{
	TEST_ASSERT_SUCCESS(run_layout("packed_vq=1,mrg_rxbuf=1"));
	return run_layout("packed_vq=1,mrg_rxbuf=0,in_order=0,event_idx=1");
}

static int
test_net_stress(void)
{
	static const struct unit_test_case cases[] = {
		TEST_CASE(test_net_stress_split),
		TEST_CASE(test_net_stress_packed),
		TEST_CASES_END(),
	};
	static const struct unit_test_suite suite = {
		.suite_name = "net_vireo: control work against bursts",
		.cases = cases,
	};

	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(STRESS, net_stress_autotest, test_net_stress);
