/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/* ethdev ops of net_vireo on a loopback device: a port's life, control commands, events. */

#include <dirent.h>
#include <stdlib.h>

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_interrupts.h>
#include <rte_memzone.h>

#include "net_fixture.h"
#include "test.h"

#define NB_DESC 128
#define NB_CYCLES 20

static struct net_fixture fixture;

static void
teardown(void)
{
	net_fixture_close(&fixture);
}

static int
open_and_start(const char *devargs, uint16_t nb_queues, const struct rte_eth_conf *conf)
{
	struct vireo_loopback_conf lb_conf = { .nb_pairs = nb_queues };

	TEST_ASSERT_SUCCESS(net_fixture_open(&fixture, &lb_conf, devargs), "%s", devargs);
	TEST_ASSERT_SUCCESS(net_fixture_start(&fixture, nb_queues, NB_DESC, conf), "%s", devargs);
	return TEST_SUCCESS;
}

#define OPEN_AND_START(devargs, nb_queues, conf)                                                   \
	do {                                                                                       \
		if (open_and_start(devargs, nb_queues, conf) != TEST_SUCCESS)                      \
			return TEST_FAILED;                                                        \
	} while (0)

static struct vireo_loopback_state
device_state(void)
{
	struct vireo_loopback_state state;

	vireo_loopback_state_get(fixture.lb, &state);
	return state;
}

/* --- info and configure -------------------------------------------------------- */

static int
test_ethdev_info_shows_what_the_device_offers(void)
{
	struct rte_eth_dev_info info;
	struct rte_ether_addr mac;
	uint16_t mtu;

	TEST_ASSERT_SUCCESS(net_fixture_open(
		&fixture, &(struct vireo_loopback_conf){ .nb_pairs = 4, .mtu = 3000 }, "queues=4"));
	TEST_ASSERT_SUCCESS(rte_eth_dev_info_get(fixture.port_id, &info));
	TEST_ASSERT(strcmp(info.driver_name, "net_vireo") == 0);
	TEST_ASSERT_EQUAL(info.max_rx_queues, 4);
	TEST_ASSERT_EQUAL(info.max_tx_queues, 4);
	TEST_ASSERT_EQUAL(info.max_mtu, 3000);
	TEST_ASSERT_EQUAL(info.max_rx_pktlen, 9728);
	TEST_ASSERT_EQUAL(info.max_mac_addrs, 64);
	TEST_ASSERT_EQUAL(info.reta_size, 128);
	TEST_ASSERT_EQUAL(info.hash_key_size, 40);
	TEST_ASSERT(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TCP_LRO);
	TEST_ASSERT(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_FILTER);
	TEST_ASSERT(info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_TCP_TSO);
	TEST_ASSERT_SUCCESS(rte_eth_dev_get_mtu(fixture.port_id, &mtu));
	TEST_ASSERT_EQUAL(mtu, 1500);
	TEST_ASSERT_SUCCESS(rte_eth_macaddr_get(fixture.port_id, &mac));
	TEST_ASSERT_EQUAL(mac.addr_bytes[5], 1, "config space has 02:00:00:00:00:01");
	return TEST_SUCCESS;
}

static int
test_ethdev_offloads_not_offered_are_refused(void)
{
	static const struct rte_eth_conf csum = { .rxmode.offloads = RTE_ETH_RX_OFFLOAD_TCP_CKSUM };
	static const struct rte_eth_conf tso = { .txmode.offloads = RTE_ETH_TX_OFFLOAD_TCP_TSO };
	static const struct rte_eth_conf rss = { .rxmode.mq_mode = RTE_ETH_MQ_RX_RSS };
	static const struct rte_eth_conf dcb = { .rxmode.mq_mode = RTE_ETH_MQ_RX_DCB };
	struct vireo_loopback_conf bare = { .features = VIREO_F_VERSION_1 };
	struct rte_eth_dev_info info;

	TEST_ASSERT_SUCCESS(net_fixture_open(&fixture, &bare, "cq=1"));
	TEST_ASSERT_SUCCESS(rte_eth_dev_info_get(fixture.port_id, &info));
	TEST_ASSERT_EQUAL(info.rx_offload_capa, RTE_ETH_RX_OFFLOAD_VLAN_STRIP);
	TEST_ASSERT(rte_eth_dev_configure(fixture.port_id, 1, 1, &csum) < 0);
	TEST_ASSERT(rte_eth_dev_configure(fixture.port_id, 1, 1, &tso) < 0);
	TEST_ASSERT(rte_eth_dev_configure(fixture.port_id, 1, 1, &rss) < 0);
	TEST_ASSERT(rte_eth_dev_configure(fixture.port_id, 1, 1, &dcb) < 0);
	TEST_ASSERT_SUCCESS(net_fixture_start(&fixture, 1, NB_DESC, NULL));
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 300, 64), 300);
	return TEST_SUCCESS;
}

static int
test_ethdev_configure_renegotiates(void)
{
	static const struct rte_eth_conf csum = { .rxmode.offloads = RTE_ETH_RX_OFFLOAD_TCP_CKSUM };

	OPEN_AND_START("cq=1", 1, NULL);
	TEST_ASSERT(!(device_state().features & VIREO_NET_F_GUEST_CSUM));
	TEST_ASSERT_SUCCESS(rte_eth_dev_stop(fixture.port_id));
	TEST_ASSERT_SUCCESS(net_fixture_start(&fixture, 1, NB_DESC, &csum));
	TEST_ASSERT(device_state().features & VIREO_NET_F_GUEST_CSUM);
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 300, 64), 300);
	TEST_ASSERT_SUCCESS(rte_eth_dev_stop(fixture.port_id));
	TEST_ASSERT_SUCCESS(net_fixture_start(&fixture, 1, NB_DESC, NULL));
	TEST_ASSERT(!(device_state().features & VIREO_NET_F_GUEST_CSUM));
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 300, 64), 300);
	return TEST_SUCCESS;
}

static int
test_ethdev_mtu_limits(void)
{
	OPEN_AND_START("", 1, NULL);
	TEST_ASSERT_EQUAL(rte_eth_dev_set_mtu(fixture.port_id, 67), -EINVAL);
	TEST_ASSERT_EQUAL(rte_eth_dev_set_mtu(fixture.port_id, 9711), -EINVAL);
	TEST_ASSERT_EQUAL(rte_eth_dev_set_mtu(fixture.port_id, 9000), -EINVAL,
			  "2 KiB mbufs without SCATTER");
	TEST_ASSERT_SUCCESS(rte_eth_dev_set_mtu(fixture.port_id, 2030));
	TEST_ASSERT_SUCCESS(rte_eth_dev_set_mtu(fixture.port_id, 68));
	return TEST_SUCCESS;
}

/* --- traffic and statistics ------------------------------------------------------ */

struct layout {
	const char *devargs;
	uint16_t nb_desc;
};

static const struct layout layouts[] = {
	{ "packed_vq=0,mrg_rxbuf=0,in_order=0", 128 },
	{ "packed_vq=0,mrg_rxbuf=1,in_order=1", 100 },
	{ "packed_vq=1,mrg_rxbuf=0,in_order=1", 128 },
	{ "packed_vq=1,mrg_rxbuf=1,in_order=0", 77 },
	{ "queue_size=256,event_idx=1", 40 },
	{ "packed_vq=1,queue_size=300,indirect=off", 33 },
};

static int
test_ethdev_traffic_and_mbufs_in_every_layout(void)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(layouts); i++) {
		const struct layout *l = &layouts[i];

		TEST_ASSERT_SUCCESS(net_fixture_open(&fixture, NULL, l->devargs), "%s", l->devargs);
		TEST_ASSERT_SUCCESS(net_fixture_start(&fixture, 1, l->nb_desc, NULL), "%s",
				    l->devargs);
		TEST_ASSERT_EQUAL(rte_mempool_in_use_count(fixture.mp), l->nb_desc,
				  "%s: posted Rx buffers", l->devargs);
		TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 1000, 200), 1000, "%s",
				  l->devargs);
		TEST_ASSERT_SUCCESS(rte_eth_dev_stop(fixture.port_id));
		TEST_ASSERT_EQUAL(rte_mempool_in_use_count(fixture.mp), 0, "%s: mbufs lost",
				  l->devargs);
		net_fixture_close(&fixture);
	}
	return TEST_SUCCESS;
}

static int
test_ethdev_stats_count_and_reset(void)
{
	struct rte_eth_stats stats;

	OPEN_AND_START("mac_stats=1", 1, NULL);
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 100, 64), 100);
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 50, 600), 50);
	TEST_ASSERT_SUCCESS(rte_eth_stats_get(fixture.port_id, &stats));
	TEST_ASSERT_EQUAL(stats.ipackets, 150);
	TEST_ASSERT_EQUAL(stats.opackets, 150);
	TEST_ASSERT_EQUAL(stats.ibytes, 100 * 64 + 50 * 600);
	TEST_ASSERT_EQUAL(stats.obytes, 100 * 64 + 50 * 600);
	TEST_ASSERT_EQUAL(net_fixture_xstat(&fixture, "rx_q0_good_packets"), 150);
	TEST_ASSERT_EQUAL(net_fixture_xstat(&fixture, "rx_q0_size_64_packets"), 100);
	TEST_ASSERT_EQUAL(net_fixture_xstat(&fixture, "tx_q0_size_512_1023_packets"), 50);
	TEST_ASSERT_EQUAL(net_fixture_xstat(&fixture, "tx_q0_indirect_packets"), 0);
	TEST_ASSERT_EQUAL(net_fixture_xstat(&fixture, "no_such"), UINT64_MAX);
	TEST_ASSERT_SUCCESS(rte_eth_stats_reset(fixture.port_id));
	TEST_ASSERT_EQUAL(net_fixture_xstat(&fixture, "rx_q0_good_packets"), 0);
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 7, 64), 7);
	TEST_ASSERT_EQUAL(net_fixture_xstat(&fixture, "rx_q0_good_packets"), 7);
	TEST_ASSERT_EQUAL(net_fixture_xstat(&fixture, "rx_q0_size_64_packets"), 7);
	return TEST_SUCCESS;
}

static int
test_ethdev_queue_info_and_thresholds(void)
{
	struct rte_eth_rxconf rx = { .rx_free_thresh = 30 };
	struct rte_eth_txconf tx = { .tx_free_thresh = 126 };
	struct rte_eth_rxq_info rx_info;
	struct rte_eth_txq_info tx_info;
	struct rte_eth_burst_mode mode;
	uint16_t id;

	OPEN_AND_START("", 1, NULL);
	id = fixture.port_id;
	TEST_ASSERT_SUCCESS(rte_eth_rx_burst_mode_get(id, 0, &mode));
	TEST_ASSERT(strstr(mode.info, "split") != NULL);
	TEST_ASSERT_SUCCESS(rte_eth_dev_stop(id));
	TEST_ASSERT_EQUAL(rte_eth_rx_queue_setup(id, 0, NB_DESC, 0, &rx, fixture.mp), -EINVAL,
			  "rx_free_thresh is no multiple of 4");
	rx.rx_free_thresh = 16;
	TEST_ASSERT_SUCCESS(rte_eth_rx_queue_setup(id, 0, NB_DESC, SOCKET_ID_ANY, &rx, fixture.mp));
	TEST_ASSERT_EQUAL(rte_eth_tx_queue_setup(id, 0, NB_DESC, SOCKET_ID_ANY, &tx), -EINVAL,
			  "tx_free_thresh leaves less than 3");
	tx.tx_free_thresh = 8;
	TEST_ASSERT_SUCCESS(rte_eth_tx_queue_setup(id, 0, NB_DESC, SOCKET_ID_ANY, &tx));
	TEST_ASSERT_SUCCESS(rte_eth_rx_queue_info_get(id, 0, &rx_info));
	TEST_ASSERT_SUCCESS(rte_eth_tx_queue_info_get(id, 0, &tx_info));
	TEST_ASSERT_EQUAL(rx_info.conf.rx_free_thresh, 16);
	TEST_ASSERT_EQUAL(tx_info.conf.tx_free_thresh, 8);
	TEST_ASSERT_SUCCESS(rte_eth_dev_start(id));
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 300, 64), 300);
	return TEST_SUCCESS;
}

/* --- queues ------------------------------------------------------------------------ */

static int
test_ethdev_queue_stops_and_starts(void)
{
	struct rte_eth_rxq_info info;

	OPEN_AND_START("queues=2", 2, NULL);
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 1, 100, 64), 100);
	TEST_ASSERT_SUCCESS(rte_eth_dev_rx_queue_stop(fixture.port_id, 1));
	TEST_ASSERT_SUCCESS(rte_eth_rx_queue_info_get(fixture.port_id, 1, &info));
	TEST_ASSERT_EQUAL(info.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
	TEST_ASSERT_EQUAL(net_fixture_send(&fixture, 1, 8, 64), 8);
	TEST_ASSERT_EQUAL(net_fixture_receive(&fixture, 1, 8), 0, "the queue is stopped");
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 100, 64), 100, "the other one runs");
	TEST_ASSERT_SUCCESS(rte_eth_dev_rx_queue_start(fixture.port_id, 1));
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 1, 100, 64), 100);
	TEST_ASSERT_SUCCESS(rte_eth_dev_tx_queue_stop(fixture.port_id, 1));
	TEST_ASSERT_EQUAL(net_fixture_send(&fixture, 1, 8, 64), 0, "the queue is stopped");
	TEST_ASSERT_SUCCESS(rte_eth_dev_tx_queue_start(fixture.port_id, 1));
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 1, 100, 64), 100);
	return TEST_SUCCESS;
}

static int
test_ethdev_deferred_queue_waits(void)
{
	struct rte_eth_rxconf rx = { .rx_deferred_start = 1 };

	OPEN_AND_START("", 1, NULL);
	TEST_ASSERT_SUCCESS(rte_eth_dev_stop(fixture.port_id));
	TEST_ASSERT_SUCCESS(rte_eth_rx_queue_setup(fixture.port_id, 0, NB_DESC, SOCKET_ID_ANY, &rx,
						   fixture.mp));
	TEST_ASSERT_SUCCESS(rte_eth_dev_start(fixture.port_id));
	TEST_ASSERT_EQUAL(net_fixture_send(&fixture, 0, 4, 64), 4);
	TEST_ASSERT_EQUAL(net_fixture_receive(&fixture, 0, 4), 0);
	TEST_ASSERT_SUCCESS(rte_eth_dev_rx_queue_start(fixture.port_id, 0));
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 100, 64), 100);
	return TEST_SUCCESS;
}

static int
test_ethdev_rx_interrupt_wakes(void)
{
	static const struct rte_eth_conf conf = { .intr_conf.rxq = 1 };
	static const char *const devargs[] = { "", "event_idx=1", "packed_vq=1",
					       "packed_vq=1,event_idx=1" };
	struct rte_epoll_event event;
	unsigned int i;
	uint16_t id;

	for (i = 0; i < RTE_DIM(devargs); i++) {
		OPEN_AND_START(devargs[i], 1, &conf);
		id = fixture.port_id;
		TEST_ASSERT_SUCCESS(rte_eth_dev_rx_intr_ctl_q(id, 0, RTE_EPOLL_PER_THREAD,
							      RTE_INTR_EVENT_ADD, NULL));
		TEST_ASSERT_SUCCESS(rte_eth_dev_rx_intr_enable(id, 0));
		TEST_ASSERT_EQUAL(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 20), 0,
				  "%s: nothing has come yet", devargs[i]);
		TEST_ASSERT_EQUAL(net_fixture_send(&fixture, 0, 1, 64), 1);
		vireo_loopback_poll(fixture.lb, 32);
		TEST_ASSERT_EQUAL(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 1000), 1, "%s",
				  devargs[i]);
		TEST_ASSERT_SUCCESS(rte_eth_dev_rx_intr_disable(id, 0));
		/* A packet that lies there already wakes as well. */
		TEST_ASSERT_SUCCESS(rte_eth_dev_rx_intr_enable(id, 0));
		TEST_ASSERT_EQUAL(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 1000), 1, "%s",
				  devargs[i]);
		TEST_ASSERT_SUCCESS(rte_eth_dev_rx_intr_disable(id, 0));
		TEST_ASSERT_EQUAL(net_fixture_receive(&fixture, 0, 1), 1);
		TEST_ASSERT_SUCCESS(rte_eth_dev_rx_intr_ctl_q(id, 0, RTE_EPOLL_PER_THREAD,
							      RTE_INTR_EVENT_DEL, NULL));
		net_fixture_close(&fixture);
	}
	return TEST_SUCCESS;
}

/* --- control commands ---------------------------------------------------------------- */

static int
test_ethdev_rx_modes_reach_the_device(void)
{
	OPEN_AND_START("cq=1", 1, NULL);
	TEST_ASSERT_SUCCESS(rte_eth_promiscuous_enable(fixture.port_id));
	TEST_ASSERT(device_state().promisc);
	TEST_ASSERT_SUCCESS(rte_eth_allmulticast_enable(fixture.port_id));
	TEST_ASSERT(device_state().allmulti);
	TEST_ASSERT_SUCCESS(rte_eth_promiscuous_disable(fixture.port_id));
	TEST_ASSERT(!device_state().promisc);
	TEST_ASSERT_SUCCESS(rte_eth_promiscuous_enable(fixture.port_id));
	/* Told again at each start. */
	TEST_ASSERT_SUCCESS(rte_eth_dev_stop(fixture.port_id));
	TEST_ASSERT_SUCCESS(rte_eth_dev_start(fixture.port_id));
	TEST_ASSERT(device_state().promisc);
	TEST_ASSERT(device_state().allmulti);
	return TEST_SUCCESS;
}

static int
test_ethdev_mac_addresses_reach_the_device(void)
{
	struct rte_ether_addr own = { { 2, 0, 0, 0, 0, 0x10 } };
	struct rte_ether_addr second = { { 2, 0, 0, 0, 0, 0x20 } };
	struct rte_ether_addr groups[] = { { { 1, 0, 0x5e, 0, 0, 1 } },
					   { { 1, 0, 0x5e, 0, 0, 2 } } };
	struct vireo_loopback_state state;

	OPEN_AND_START("cq=1", 1, NULL);
	TEST_ASSERT_SUCCESS(rte_eth_dev_default_mac_addr_set(fixture.port_id, &own));
	TEST_ASSERT_SUCCESS(rte_eth_dev_mac_addr_add(fixture.port_id, &second, 0));
	TEST_ASSERT_SUCCESS(rte_eth_dev_set_mc_addr_list(fixture.port_id, groups, 2));
	state = device_state();
	TEST_ASSERT_EQUAL(state.mac[5], 0x10);
	TEST_ASSERT_EQUAL(state.nb_unicast, 1);
	TEST_ASSERT_EQUAL(state.nb_multicast, 2);
	TEST_ASSERT_SUCCESS(rte_eth_dev_mac_addr_remove(fixture.port_id, &second));
	TEST_ASSERT_SUCCESS(rte_eth_dev_set_mc_addr_list(fixture.port_id, NULL, 0));
	state = device_state();
	TEST_ASSERT_EQUAL(state.nb_unicast, 0);
	TEST_ASSERT_EQUAL(state.nb_multicast, 0);
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 10, 64), 10, "frames to the new MAC");
	return TEST_SUCCESS;
}

static int
test_ethdev_vlan_filter_reaches_the_device(void)
{
	static const struct rte_eth_conf conf = { .rxmode.offloads =
							  RTE_ETH_RX_OFFLOAD_VLAN_FILTER };

	OPEN_AND_START("cq=1", 1, &conf);
	TEST_ASSERT_EQUAL(device_state().nb_vlans, 0);
	TEST_ASSERT_SUCCESS(rte_eth_dev_vlan_filter(fixture.port_id, 5, 1));
	TEST_ASSERT_SUCCESS(rte_eth_dev_vlan_filter(fixture.port_id, 4095, 1));
	TEST_ASSERT_EQUAL(device_state().nb_vlans, 2);
	TEST_ASSERT_SUCCESS(rte_eth_dev_vlan_filter(fixture.port_id, 5, 0));
	TEST_ASSERT_EQUAL(device_state().nb_vlans, 1);
	/* Not filtering: all of them. */
	TEST_ASSERT_SUCCESS(rte_eth_dev_set_vlan_offload(fixture.port_id, 0));
	TEST_ASSERT_EQUAL(device_state().nb_vlans, 4096);
	TEST_ASSERT_SUCCESS(
		rte_eth_dev_set_vlan_offload(fixture.port_id, RTE_ETH_VLAN_FILTER_OFFLOAD));
	TEST_ASSERT_EQUAL(device_state().nb_vlans, 1);
	return TEST_SUCCESS;
}

static int
test_ethdev_vlan_strip_at_run_time(void)
{
	struct rte_mbuf *m;
	uint16_t n = 0;
	unsigned int i;

	OPEN_AND_START("", 1, NULL);
	TEST_ASSERT_SUCCESS(
		rte_eth_dev_set_vlan_offload(fixture.port_id, RTE_ETH_VLAN_STRIP_OFFLOAD));
	m = net_fixture_frame(&fixture, 100);
	TEST_ASSERT_NOT_NULL(m);
	m->vlan_tci = 0x123;
	TEST_ASSERT_SUCCESS(rte_vlan_insert(&m));
	TEST_ASSERT_EQUAL(rte_eth_tx_burst(fixture.port_id, 0, &m, 1), 1);
	for (i = 0; i < 100 && n == 0; i++) {
		vireo_loopback_poll(fixture.lb, 32);
		n = rte_eth_rx_burst(fixture.port_id, 0, &m, 1);
	}
	TEST_ASSERT_EQUAL(n, 1);
	TEST_ASSERT(m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED);
	TEST_ASSERT_EQUAL(m->vlan_tci, 0x123);
	TEST_ASSERT_EQUAL(m->pkt_len, 100);
	rte_pktmbuf_free(m);
	return TEST_SUCCESS;
}

static int
test_ethdev_rss_is_configured(void)
{
	static const struct rte_eth_conf conf = {
		.rxmode = { .mq_mode = RTE_ETH_MQ_RX_RSS, .offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH },
	};
	struct rte_eth_rss_reta_entry64 reta[2] = { { .mask = UINT64_MAX },
						    { .mask = UINT64_MAX } };
	uint8_t key[40] = { 0 };
	struct rte_eth_rss_conf rss = { .rss_key = key, .rss_key_len = sizeof(key) };
	uint16_t id;

	OPEN_AND_START("queues=4", 4, &conf);
	id = fixture.port_id;
	TEST_ASSERT_EQUAL(device_state().rss_table_len, 128);
	TEST_ASSERT_EQUAL(device_state().nb_pairs, 4);
	/* Frames that are no IP go to queue 0; headers have 20 bytes. */
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 300, 64), 300);
	TEST_ASSERT_SUCCESS(rte_eth_dev_rss_hash_conf_get(id, &rss));
	TEST_ASSERT_EQUAL(key[0], 0x6d);
	TEST_ASSERT(rss.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_TCP);
	TEST_ASSERT_SUCCESS(rte_eth_dev_rss_reta_query(id, reta, 128));
	TEST_ASSERT_EQUAL(reta[0].reta[5], 1);
	rss.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_UDP;
	key[0] = 1;
	TEST_ASSERT_SUCCESS(rte_eth_dev_rss_hash_update(id, &rss));
	TEST_ASSERT_EQUAL(device_state().hash_types, VIREO_NET_HASH_TYPE_UDPV4);
	rss.rss_key_len = 12;
	TEST_ASSERT_EQUAL(rte_eth_dev_rss_hash_update(id, &rss), -EINVAL);
	reta[0].reta[0] = 3;
	TEST_ASSERT_SUCCESS(rte_eth_dev_rss_reta_update(id, reta, 128));
	reta[0].reta[0] = 4;
	TEST_ASSERT_EQUAL(rte_eth_dev_rss_reta_update(id, reta, 128), -EINVAL);
	TEST_ASSERT_SUCCESS(rte_eth_dev_rss_reta_query(id, reta, 128));
	TEST_ASSERT_EQUAL(reta[0].reta[0], 3, "a refused table changes nothing");
	vireo_loopback_fault(fixture.lb, UINT16_MAX, VIREO_LOOPBACK_FAULT_REFUSE);
	rss.rss_key_len = sizeof(key);
	rss.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP;
	TEST_ASSERT_EQUAL(rte_eth_dev_rss_hash_update(id, &rss), -EIO);
	TEST_ASSERT_SUCCESS(rte_eth_dev_rss_hash_conf_get(id, &rss));
	TEST_ASSERT_EQUAL(rss.rss_hf, RTE_ETH_RSS_NONFRAG_IPV4_UDP, "what the device has");
	return TEST_SUCCESS;
}

static int
test_ethdev_silent_control_queue_times_out(void)
{
	uint64_t start_tsc;

	OPEN_AND_START("cq=1", 1, NULL);
	vireo_loopback_fault(fixture.lb, UINT16_MAX, VIREO_LOOPBACK_FAULT_SILENT);
	start_tsc = rte_get_tsc_cycles();
	TEST_ASSERT_EQUAL(rte_eth_promiscuous_enable(fixture.port_id), -ETIMEDOUT);
	TEST_ASSERT(rte_get_tsc_cycles() - start_tsc < 8 * rte_get_tsc_hz());
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 100, 64), 100, "data goes on");
	return TEST_SUCCESS;
}

/* --- events -------------------------------------------------------------------------- */

static int
test_ethdev_link_follows_config_space(void)
{
	struct rte_eth_link link;

	OPEN_AND_START("cq=1", 1, NULL);
	TEST_ASSERT_SUCCESS(rte_eth_link_get_nowait(fixture.port_id, &link));
	TEST_ASSERT_EQUAL(link.link_status, RTE_ETH_LINK_UP);
	vireo_loopback_link_set(fixture.lb, false);
	TEST_ASSERT(net_fixture_wait(&fixture.nb_lsc, 1));
	TEST_ASSERT_SUCCESS(rte_eth_link_get_nowait(fixture.port_id, &link));
	TEST_ASSERT_EQUAL(link.link_status, RTE_ETH_LINK_DOWN);
	vireo_loopback_link_set(fixture.lb, true);
	TEST_ASSERT(net_fixture_wait(&fixture.nb_lsc, 2));
	TEST_ASSERT_SUCCESS(rte_eth_link_get_nowait(fixture.port_id, &link));
	TEST_ASSERT_EQUAL(link.link_status, RTE_ETH_LINK_UP);
	TEST_ASSERT_SUCCESS(rte_eth_dev_stop(fixture.port_id));
	TEST_ASSERT_SUCCESS(rte_eth_link_get_nowait(fixture.port_id, &link));
	TEST_ASSERT_EQUAL(link.link_status, RTE_ETH_LINK_DOWN);
	return TEST_SUCCESS;
}

static int
test_ethdev_device_goes_and_comes_back(void)
{
	unsigned int i;

	OPEN_AND_START("cq=1", 1, NULL);
	TEST_ASSERT_SUCCESS(rte_eth_promiscuous_enable(fixture.port_id));
	for (i = 0; i < NB_CYCLES; i++) {
		TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 200, 64), 200);
		/* Some are under way in both directions. */
		TEST_ASSERT_EQUAL(net_fixture_send(&fixture, 0, 16, 64), 16);
		net_fixture_device_gone(&fixture);
		TEST_ASSERT(net_fixture_wait(&fixture.nb_lsc, 2 * i + 1), "down %u", i);
		TEST_ASSERT_EQUAL(net_fixture_send(&fixture, 0, 16, 64), 0, "there is no device");
		TEST_ASSERT_SUCCESS(net_fixture_device_back(&fixture));
		TEST_ASSERT(net_fixture_wait(&fixture.nb_lsc, 2 * i + 2), "up %u", i);
		TEST_ASSERT(device_state().promisc, "the new device was told");
	}
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 200, 64), 200);
	TEST_ASSERT_SUCCESS(rte_eth_dev_stop(fixture.port_id));
	TEST_ASSERT_EQUAL(rte_mempool_in_use_count(fixture.mp), 0, "mbufs lost");
	return TEST_SUCCESS;
}

static const char *const indirect_modes[] = { "indirect=pool", "indirect=mempool",
					      "indirect=malloc", "indirect=off",
					      "indirect=malloc,packed_vq=1" };

static int
test_ethdev_lost_peer_gives_chains_back(void)
{
	static const struct rte_eth_conf conf = { .txmode.offloads =
							  RTE_ETH_TX_OFFLOAD_MULTI_SEGS };
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(indirect_modes); i++) {
		bool off = strstr(indirect_modes[i], "off") != NULL;

		OPEN_AND_START(indirect_modes[i], 1, &conf);
		for (k = 0; k < 3; k++) {
			TEST_ASSERT_EQUAL(net_fixture_send_chains(&fixture, 0, 15, 4, 100), 15);
			TEST_ASSERT_EQUAL(net_fixture_receive(&fixture, 0, 15), 15, "%s",
					  indirect_modes[i]);
			TEST_ASSERT_EQUAL(net_fixture_send_chains(&fixture, 0, 15, 4, 100), 15);
			net_fixture_device_gone(&fixture);
			TEST_ASSERT(net_fixture_wait(&fixture.nb_lsc, 2 * k + 1));
			TEST_ASSERT_SUCCESS(net_fixture_device_back(&fixture));
			TEST_ASSERT(net_fixture_wait(&fixture.nb_lsc, 2 * k + 2));
		}
		TEST_ASSERT_EQUAL(net_fixture_xstat(&fixture, "tx_q0_indirect_packets"),
				  off ? 0 : 3 * 30, "%s", indirect_modes[i]);
		TEST_ASSERT_SUCCESS(rte_eth_dev_stop(fixture.port_id));
		TEST_ASSERT_EQUAL(rte_mempool_in_use_count(fixture.mp), 0, "%s: mbufs lost",
				  indirect_modes[i]);
		net_fixture_close(&fixture);
	}
	return TEST_SUCCESS;
}

static int
test_ethdev_announces(void)
{
	struct rte_ether_hdr *eth;
	struct rte_mbuf *m;
	unsigned int i;
	bool rarp;

	OPEN_AND_START("cq=1", 1, NULL);
	vireo_loopback_announce(fixture.lb);
	for (i = 0; i < NET_FIXTURE_WAIT_MS && device_state().nb_announce_acks == 0; i++)
		rte_delay_us_sleep(1000);
	TEST_ASSERT_EQUAL(device_state().nb_announce_acks, 1);
	/* Reflected, as everything is. */
	vireo_loopback_poll(fixture.lb, 32);
	TEST_ASSERT_EQUAL(device_state().nb_tx, 1);
	TEST_ASSERT_EQUAL(rte_eth_rx_burst(fixture.port_id, 0, &m, 1), 1);
	eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	rarp = eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_RARP) &&
		rte_is_broadcast_ether_addr(&eth->dst_addr);
	rte_pktmbuf_free(m);
	TEST_ASSERT(rarp);
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 500, 64), 500);
	return TEST_SUCCESS;
}

struct fault {
	uint16_t queue_idx;
	enum vireo_loopback_fault fault;
	const char *devargs;
};

static const struct fault faults[] = {
	{ 0, VIREO_LOOPBACK_FAULT_ID, "in_order=0" },
	{ 0, VIREO_LOOPBACK_FAULT_LEN, "" },
	{ 0, VIREO_LOOPBACK_FAULT_IDX, "" },
	{ 0, VIREO_LOOPBACK_FAULT_ID, "packed_vq=1" },
	{ 1, VIREO_LOOPBACK_FAULT_ID, "in_order=0" },
	{ 1, VIREO_LOOPBACK_FAULT_ID, "packed_vq=1,in_order=0" },
};

static int
test_ethdev_broken_queue_is_reported_and_reset(void)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(faults); i++) {
		OPEN_AND_START(faults[i].devargs, 1, NULL);
		TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 100, 64), 100);
		vireo_loopback_fault(fixture.lb, faults[i].queue_idx, faults[i].fault);
		net_fixture_round(&fixture, 0, 200, 64);
		TEST_ASSERT(net_fixture_wait(&fixture.nb_reset, 1), "fault %u is not reported", i);
		TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 10, 64), 0, "broken for good");
		TEST_ASSERT_EQUAL(fixture.nb_reset, 1, "reported once");
		TEST_ASSERT_SUCCESS(rte_eth_dev_reset(fixture.port_id));
		TEST_ASSERT_EQUAL(rte_mempool_in_use_count(fixture.mp), 0, "mbufs lost");
		TEST_ASSERT_SUCCESS(net_fixture_start(&fixture, 1, NB_DESC, NULL));
		TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 300, 64), 300, "fault %u", i);
		net_fixture_close(&fixture);
	}
	return TEST_SUCCESS;
}

/* --- nothing is left behind -------------------------------------------------------------- */

static unsigned int
nb_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	if (dir == NULL)
		return 0;
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static void
count_zone(const struct rte_memzone *mz, void *arg)
{
	if (strncmp(mz->name, "vireo_port", strlen("vireo_port")) == 0)
		(*(unsigned int *)arg)++;
}

static int
test_ethdev_attach_and_detach_leave_nothing(void)
{
	unsigned int fds_before = 0, zones, i;

	for (i = 0; i < NB_CYCLES; i++) {
		OPEN_AND_START("queues=2,indirect=mempool", 2, NULL);
		TEST_ASSERT_EQUAL(net_fixture_round(&fixture, i % 2, 100, 64), 100);
		/* Removal of a port that still runs, every other time. */
		if (i % 2 == 0)
			TEST_ASSERT_SUCCESS(rte_eth_dev_stop(fixture.port_id));
		net_fixture_close(&fixture);
		zones = 0;
		rte_memzone_walk(count_zone, &zones);
		TEST_ASSERT_EQUAL(zones, 0);
		/* The first round may open what stays open. */
		if (i == 0)
			fds_before = nb_fds();
	}
	TEST_ASSERT_EQUAL(nb_fds(), fds_before, "file descriptors leak");
	return TEST_SUCCESS;
}

static int
test_ethdev_start_and_stop_many_times(void)
{
	unsigned int i;

	OPEN_AND_START("packed_vq=1", 1, NULL);
	for (i = 0; i < NB_CYCLES; i++) {
		TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 50 + i, 64), 50 + i);
		TEST_ASSERT_SUCCESS(rte_eth_dev_stop(fixture.port_id));
		TEST_ASSERT_EQUAL(rte_mempool_in_use_count(fixture.mp), 0, "mbufs lost");
		TEST_ASSERT_SUCCESS(rte_eth_dev_start(fixture.port_id));
	}
	return TEST_SUCCESS;
}

#define CASE(fn) TEST_CASE_ST(NULL, teardown, fn)

static const struct unit_test_suite suite = {
	.suite_name = "ethdev ops of net_vireo",
	.cases =
		(const struct unit_test_case[]){
			CASE(test_ethdev_info_shows_what_the_device_offers),
			CASE(test_ethdev_offloads_not_offered_are_refused),
			CASE(test_ethdev_configure_renegotiates),
			CASE(test_ethdev_mtu_limits),
			CASE(test_ethdev_traffic_and_mbufs_in_every_layout),
			CASE(test_ethdev_stats_count_and_reset),
			CASE(test_ethdev_queue_info_and_thresholds),
			CASE(test_ethdev_queue_stops_and_starts),
			CASE(test_ethdev_deferred_queue_waits),
			CASE(test_ethdev_rx_interrupt_wakes),
			CASE(test_ethdev_rx_modes_reach_the_device),
			CASE(test_ethdev_mac_addresses_reach_the_device),
			CASE(test_ethdev_vlan_filter_reaches_the_device),
			CASE(test_ethdev_vlan_strip_at_run_time),
			CASE(test_ethdev_rss_is_configured),
			CASE(test_ethdev_silent_control_queue_times_out),
			CASE(test_ethdev_link_follows_config_space),
			CASE(test_ethdev_device_goes_and_comes_back),
			CASE(test_ethdev_lost_peer_gives_chains_back),
			CASE(test_ethdev_announces),
			CASE(test_ethdev_broken_queue_is_reported_and_reset),
			CASE(test_ethdev_attach_and_detach_leave_nothing),
			CASE(test_ethdev_start_and_stop_many_times),
			TEST_CASES_END(),
		},
};

static int
test_ethdev(void)
{
	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(DRIVER, ethdev_autotest, test_ethdev)
