/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <unistd.h>

#include "../../lib/backend/loopback.h"
#include "dev_fixture.h"

/* The loopback device: its control queue, filters, hashes, hooks and faults. */

#define NAME "test_loopback"
#define FRAME_BYTES 200
#define JUMBO_BYTES 9000

#define CTRL_FEATURES                                                                              \
	(VIREO_NET_F_CTRL_VQ | VIREO_NET_F_CTRL_RX | VIREO_NET_F_CTRL_VLAN | VIREO_NET_F_MQ |      \
	 VIREO_NET_F_CTRL_MAC_ADDR | VIREO_NET_F_RSS | VIREO_NET_F_HASH_REPORT |                   \
	 VIREO_NET_F_GUEST_ANNOUNCE | VIREO_NET_F_CTRL_GUEST_OFFLOADS | VIREO_NET_F_CSUM |         \
	 VIREO_NET_F_GUEST_CSUM | VIREO_NET_F_GUEST_TSO4)

static struct vireo_loopback *lb;
static struct vireo_loopback_state state;
static struct fix fix;
static uint32_t timeout_ms;
static uint8_t frame[JUMBO_BYTES];
static uint8_t got[JUMBO_BYTES];

static int
setup(void)
{
	lb = NULL;
	timeout_ms = FIX_TIMEOUT_MS;
	memset(&fix, 0, sizeof(fix));
	return 0;
}

static void
teardown(void)
{
	fix_destroy(&fix);
	vireo_loopback_destroy(lb);
	lb = NULL;
}

static struct vireo_loopback_conf
device_conf(enum vireo_loopback_mode mode, uint16_t nb_pairs)
{
	return (struct vireo_loopback_conf){ .name = NAME, .mode = mode, .nb_pairs = nb_pairs };
}

/* A device, and a started driver with these features beside VERSION_1. */
static int
join(const struct vireo_loopback_conf *conf, uint64_t features, uint64_t addr_offset)
{
	struct vireo_dev_conf dev_conf;

	TEST_ASSERT_SUCCESS(vireo_loopback_create(conf, &lb));
	fix_conf(&dev_conf, VIREO_DEV_LOOPBACK, NAME);
	dev_conf.wanted = features | VIREO_F_VERSION_1;
	dev_conf.timeout_ms = timeout_ms;
	dev_conf.nb_queues_max = 2 * FIX_PAIRS_MAX;
	TEST_ASSERT_SUCCESS(fix_create(&fix, &dev_conf));
	fix.addr_offset = addr_offset;
	TEST_ASSERT_SUCCESS(fix_setup(&fix, dev_conf.wanted, RTE_MAX(conf->nb_pairs, 1)));
	TEST_ASSERT_EQUAL(fix.features, dev_conf.wanted);
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	return 0;
}

static int
ctrl(uint8_t class_id, uint8_t cmd, const void *data, uint32_t len_bytes)
{
	return vireo_dev_ctrl(fix.dev, class_id, cmd, data, len_bytes);
}

/* Polling does nothing while the device's own thread has the lock: then once more. */
static uint32_t
poll_dev(struct vireo_loopback *dev, uint32_t budget)
{
	uint32_t nb = 0;
	int tries;

	for (tries = 0; tries < 1000 && nb == 0; tries++) {
		nb = vireo_loopback_poll(dev, budget);
		if (nb == 0)
			usleep(100);
	}
	return nb;
}

/* Send a frame to mac and say whether it comes back. */
static bool
passes(const uint8_t *mac)
{
	memcpy(frame, mac, 6);
	return fix_send(&fix, 0, frame, 60, NULL) == 0 && poll_dev(lb, 8) == 1 &&
		fix_receive(&fix, 0, got, sizeof(got), NULL) == 60;
}

static void
fill(uint8_t seed, uint32_t len_bytes)
{
	uint32_t i;

	for (i = 0; i < len_bytes; i++)
		frame[i] = (uint8_t)(seed + i * 7);
}

/* Frames there and back, more than the ring has slots; bytes and order are compared. */
static int
reflect(uint32_t len_bytes)
{
	uint32_t i, tries;
	int len = 0;

	for (i = 0; i < 3 * FIX_RING_SIZE; i++) {
		fill((uint8_t)i, len_bytes);
		memset(frame, 0xff, 6);
		TEST_ASSERT_SUCCESS(fix_send(&fix, 0, frame, len_bytes, NULL));
		for (tries = 0; tries < 100 && len == 0; tries++) {
			poll_dev(lb, 32);
			len = fix_receive(&fix, 0, got, sizeof(got), NULL);
		}
		TEST_ASSERT_EQUAL(len, len_bytes, "frame %u", i);
		TEST_ASSERT_BUFFERS_ARE_EQUAL(got, frame, len_bytes);
		len = 0;
	}
	TEST_ASSERT_EQUAL(fix_receive(&fix, 0, got, sizeof(got), NULL), 0);
	return 0;
}

static int
test_reflects_in_every_layout(void)
{
	static const uint64_t layouts[] = {
		0,
		VIREO_F_RING_PACKED,
		VIREO_F_IN_ORDER,
		VIREO_F_RING_PACKED | VIREO_F_IN_ORDER,
		VIREO_F_EVENT_IDX,
		VIREO_F_RING_PACKED | VIREO_F_EVENT_IDX,
		VIREO_F_RING_PACKED | VIREO_F_ORDER_PLATFORM | VIREO_NET_F_MRG_RXBUF,
		VIREO_F_NOTIFICATION_DATA | VIREO_F_RING_RESET | VIREO_NET_F_MRG_RXBUF,
		VIREO_NET_F_CTRL_VQ | VIREO_NET_F_HASH_REPORT,
	};
	struct vireo_loopback_conf conf = device_conf(VIREO_LOOPBACK_REFLECT, 1);
	unsigned int i;

	for (i = 0; i < RTE_DIM(layouts); i++) {
		TEST_ASSERT_SUCCESS(join(&conf, layouts[i], 0), "layout %u", i);
		TEST_ASSERT_SUCCESS(reflect(FRAME_BYTES), "layout %u", i);
		vireo_loopback_state_get(lb, &state);
		TEST_ASSERT_EQUAL(state.nb_tx, 3 * FIX_RING_SIZE);
		TEST_ASSERT_EQUAL(state.nb_rx, 3 * FIX_RING_SIZE);
		TEST_ASSERT_EQUAL(state.nb_dropped + state.nb_violations, 0);
		teardown();
	}
	return 0;
}

static int
test_completes_out_of_order(void)
{
	struct vireo_loopback_conf conf = device_conf(VIREO_LOOPBACK_REFLECT, 1);

	conf.reorder = 8;
	TEST_ASSERT_SUCCESS(join(&conf, 0, 0));
	TEST_ASSERT_SUCCESS(reflect(FRAME_BYTES));
	/* The queue has seen that ids are no slots. */
	TEST_ASSERT(fix.queues[0].vq.scrambled);
	TEST_ASSERT_NULL(vireo_vq_drv_check(&fix.queues[0].vq));
	teardown();
	TEST_ASSERT_SUCCESS(join(&conf, VIREO_F_RING_PACKED, 0));
	TEST_ASSERT_SUCCESS(reflect(FRAME_BYTES));
	TEST_ASSERT(fix.queues[0].vq.scrambled);
	teardown();
	/* Never against IN_ORDER. */
	TEST_ASSERT_SUCCESS(join(&conf, VIREO_F_IN_ORDER, 0));
	TEST_ASSERT_SUCCESS(reflect(FRAME_BYTES));
	TEST_ASSERT(!fix.queues[0].vq.scrambled);
	return 0;
}

static int
test_addresses_are_the_platforms(void)
{
	struct vireo_loopback_conf conf = device_conf(VIREO_LOOPBACK_REFLECT, 1);

	/* Above all virtual addresses. */
	conf.addr_offset = 1ULL << 62;
	TEST_ASSERT_SUCCESS(join(&conf, VIREO_F_ACCESS_PLATFORM, conf.addr_offset));
	TEST_ASSERT_SUCCESS(reflect(FRAME_BYTES));
	teardown();
	/* A driver that hands over virtual addresses is found out. */
	TEST_ASSERT_SUCCESS(join(&conf, VIREO_F_ACCESS_PLATFORM, 0));
	TEST_ASSERT_SUCCESS(fix_send(&fix, 0, frame, FRAME_BYTES, NULL));
	TEST_ASSERT_EQUAL(poll_dev(lb, 32), 0);
	vireo_loopback_state_get(lb, &state);
	TEST_ASSERT(state.nb_violations > 0);
	return 0;
}

static int
test_jumbo_is_merged_from_buffers(void)
{
	struct vireo_loopback_conf conf = device_conf(VIREO_LOOPBACK_HOOK, 1);
	struct net_hdr_hash hdr;

	TEST_ASSERT_SUCCESS(join(&conf, VIREO_NET_F_MRG_RXBUF | VIREO_F_RING_PACKED, 0));
	fill(3, JUMBO_BYTES);
	TEST_ASSERT_SUCCESS(vireo_loopback_rx_inject(lb, 0, frame, JUMBO_BYTES, NULL));
	TEST_ASSERT_EQUAL(fix_receive(&fix, 0, got, sizeof(got), &hdr), JUMBO_BYTES);
	TEST_ASSERT_EQUAL(hdr.hdr.num_buffers, 5);
	TEST_ASSERT_BUFFERS_ARE_EQUAL(got, frame, JUMBO_BYTES);
	teardown();
	/* Without MRG_RXBUF one buffer must do. */
	TEST_ASSERT_SUCCESS(join(&conf, 0, 0));
	TEST_ASSERT_EQUAL(vireo_loopback_rx_inject(lb, 0, frame, JUMBO_BYTES, NULL), -EMSGSIZE);
	TEST_ASSERT_SUCCESS(vireo_loopback_rx_inject(lb, 0, frame, FRAME_BYTES, NULL));
	TEST_ASSERT_EQUAL(fix_receive(&fix, 0, got, sizeof(got), NULL), FRAME_BYTES);
	return 0;
}

static int
test_hooks_take_and_inject(void)
{
	struct vireo_loopback_conf conf = device_conf(VIREO_LOOPBACK_HOOK, 1);
	const struct net_hdr sent = {
		.flags = VIREO_NET_HDR_F_NEEDS_CSUM,
		.csum_start = 34,
		.csum_offset = 16,
	};
	struct net_hdr_hash seen;
	struct net_hdr hdr;
	uint32_t i;

	TEST_ASSERT_SUCCESS(join(&conf, VIREO_NET_F_CSUM | VIREO_NET_F_GUEST_CSUM, 0));
	fill(1, FRAME_BYTES);
	TEST_ASSERT_EQUAL(vireo_loopback_tx_take(lb, 0, got, sizeof(got), &hdr), 0);
	TEST_ASSERT_SUCCESS(fix_send(&fix, 0, frame, FRAME_BYTES, &sent));
	TEST_ASSERT_EQUAL(vireo_loopback_tx_take(lb, 0, got, sizeof(got), &hdr), FRAME_BYTES);
	TEST_ASSERT_BUFFERS_ARE_EQUAL(got, frame, FRAME_BYTES);
	TEST_ASSERT_BUFFERS_ARE_EQUAL(&hdr, &sent, sizeof(sent));
	TEST_ASSERT_EQUAL(fix_reclaim(&fix, 0), 1);
	TEST_ASSERT_SUCCESS(fix_send(&fix, 0, frame, FRAME_BYTES, NULL));
	TEST_ASSERT_EQUAL(vireo_loopback_tx_take(lb, 0, got, 10, &hdr), -EMSGSIZE);
	TEST_ASSERT_SUCCESS(vireo_loopback_rx_inject(lb, 0, frame, FRAME_BYTES, &sent));
	TEST_ASSERT_EQUAL(fix_receive(&fix, 0, got, sizeof(got), &seen), FRAME_BYTES);
	TEST_ASSERT_EQUAL(seen.hdr.flags, sent.flags);
	TEST_ASSERT_EQUAL(seen.hdr.csum_start, sent.csum_start);
	for (i = 0; i < FIX_RING_SIZE; i++)
		TEST_ASSERT_SUCCESS(vireo_loopback_rx_inject(lb, 0, frame, FRAME_BYTES, NULL));
	TEST_ASSERT_EQUAL(vireo_loopback_rx_inject(lb, 0, frame, FRAME_BYTES, NULL), -EAGAIN);
	TEST_ASSERT_EQUAL(vireo_loopback_rx_inject(lb, 7, frame, FRAME_BYTES, NULL), -ENOTCONN);
	vireo_dev_stop(fix.dev);
	TEST_ASSERT_EQUAL(vireo_loopback_rx_inject(lb, 0, frame, FRAME_BYTES, NULL), -ENOTCONN);
	TEST_ASSERT_EQUAL(vireo_loopback_tx_take(lb, 0, got, 10, &hdr), -ENOTCONN);
	return 0;
}

/* A TCP/IPv4 frame to the broadcast address, checksum field holding the pseudo header's. */
static void
fill_tcp(void)
{
	static const uint8_t tcp[] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,	 0,  0,	 0, 0, 2, 8, 0, /* Ethernet */
		0x45, 0,    0,	  40,	0,    0,    0,	 0,  64, 6, 0, 0, /* IPv4 */
		66,   9,    149,  187,	161,  142,  100, 80, /* addresses of an RSS example */
		0x0a, 0xea, 0x06, 0xe6, /* ports 2794 -> 1766 */
	};

	memset(frame, 0, FRAME_BYTES);
	memcpy(frame, tcp, sizeof(tcp));
}

static int
test_checksum_is_completed_for_who_cannot(void)
{
	struct vireo_loopback_conf conf = device_conf(VIREO_LOOPBACK_REFLECT, 1);
	const struct net_hdr sent = {
		.flags = VIREO_NET_HDR_F_NEEDS_CSUM,
		.csum_start = 34,
		.csum_offset = 16,
	};
	struct net_hdr_hash hdr;
	uint32_t sum = 0, i;

	TEST_ASSERT_SUCCESS(join(&conf, VIREO_NET_F_CSUM, 0));
	fill_tcp();
	TEST_ASSERT_SUCCESS(fix_send(&fix, 0, frame, 54, &sent));
	TEST_ASSERT(poll_dev(lb, 1) > 0);
	TEST_ASSERT_EQUAL(fix_receive(&fix, 0, got, sizeof(got), &hdr), 54);
	TEST_ASSERT_EQUAL(hdr.hdr.flags, 0);
	/* Ones' complement over the TCP part, checksum included, is all ones. */
	for (i = 34; i < 54; i += 2)
		sum += (uint32_t)(got[i] << 8 | got[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	TEST_ASSERT_EQUAL(sum, 0xffff);
	teardown();
	TEST_ASSERT_SUCCESS(join(&conf, VIREO_NET_F_CSUM | VIREO_NET_F_GUEST_CSUM, 0));
	TEST_ASSERT_SUCCESS(fix_send(&fix, 0, frame, 54, &sent));
	poll_dev(lb, 1);
	TEST_ASSERT_EQUAL(fix_receive(&fix, 0, got, sizeof(got), &hdr), 54);
	TEST_ASSERT_EQUAL(hdr.hdr.flags, VIREO_NET_HDR_F_NEEDS_CSUM);
	TEST_ASSERT_BUFFERS_ARE_EQUAL(got, frame, 54);
	return 0;
}

static int
test_rx_filters(void)
{
	struct vireo_loopback_conf conf = device_conf(VIREO_LOOPBACK_REFLECT, 1);
	static const uint8_t own[6] = { 2, 0, 0, 0, 0, 1 }, other[6] = { 2, 9, 9, 9, 9, 9 };
	static const uint8_t group[6] = { 3, 0, 0, 0, 0, 5 }, moved[6] = { 2, 0, 0, 0, 0, 7 };
	uint8_t table[4 + 6 + 4 + 6] = { 0 };
	uint32_t one = 1;

	memset(frame, 0, 60);
	TEST_ASSERT_SUCCESS(join(
		&conf, VIREO_NET_F_CTRL_VQ | VIREO_NET_F_CTRL_RX | VIREO_NET_F_CTRL_MAC_ADDR, 0));
	TEST_ASSERT(passes(other) && passes(group) && passes(own));
	TEST_ASSERT_SUCCESS(ctrl(VIREO_NET_CTRL_RX, VIREO_NET_CTRL_RX_PROMISC, "\0", 1));
	TEST_ASSERT(!passes(other) && !passes(group) && passes(own));
	TEST_ASSERT_SUCCESS(ctrl(VIREO_NET_CTRL_RX, VIREO_NET_CTRL_RX_ALLMULTI, "\1", 1));
	TEST_ASSERT(passes(group) && !passes(other));
	TEST_ASSERT_SUCCESS(ctrl(VIREO_NET_CTRL_RX, VIREO_NET_CTRL_RX_ALLMULTI, "\0", 1));
	memcpy(table, &one, 4);
	memcpy(table + 4, other, 6);
	memcpy(table + 10, &one, 4);
	memcpy(table + 14, group, 6);
	TEST_ASSERT_SUCCESS(ctrl(VIREO_NET_CTRL_MAC, VIREO_NET_CTRL_MAC_TABLE_SET, table, 20));
	TEST_ASSERT(passes(group) && passes(other) && !passes(moved));
	TEST_ASSERT_SUCCESS(ctrl(VIREO_NET_CTRL_MAC, VIREO_NET_CTRL_MAC_ADDR_SET, moved, 6));
	TEST_ASSERT(passes(moved) && !passes(own));
	TEST_ASSERT_EQUAL(ctrl(VIREO_NET_CTRL_MAC, VIREO_NET_CTRL_MAC_TABLE_SET, table, 19), -EIO);
	TEST_ASSERT_EQUAL(ctrl(VIREO_NET_CTRL_RX, VIREO_NET_CTRL_RX_PROMISC, "\2", 1), -EIO);
	vireo_loopback_state_get(lb, &state);
	TEST_ASSERT_EQUAL(state.nb_unicast, 1);
	TEST_ASSERT_EQUAL(state.nb_multicast, 1);
	TEST_ASSERT_EQUAL(state.nb_filtered, 5);
	return 0;
}

static int
test_vlan_filter(void)
{
	struct vireo_loopback_conf conf = device_conf(VIREO_LOOPBACK_REFLECT, 1);
	static const uint8_t mac[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	uint16_t vlan = 0x123, too_large = 4096;

	TEST_ASSERT_SUCCESS(join(&conf, VIREO_NET_F_CTRL_VQ | VIREO_NET_F_CTRL_VLAN, 0));
	memset(frame, 0, 60);
	frame[12] = 0x81;
	frame[14] = 0x01;
	frame[15] = 0x23;
	TEST_ASSERT(!passes(mac));
	TEST_ASSERT_SUCCESS(ctrl(VIREO_NET_CTRL_VLAN, VIREO_NET_CTRL_VLAN_ADD, &vlan, 2));
	TEST_ASSERT(passes(mac));
	TEST_ASSERT_SUCCESS(ctrl(VIREO_NET_CTRL_VLAN, VIREO_NET_CTRL_VLAN_DEL, &vlan, 2));
	TEST_ASSERT(!passes(mac));
	TEST_ASSERT_EQUAL(ctrl(VIREO_NET_CTRL_VLAN, VIREO_NET_CTRL_VLAN_ADD, &too_large, 2), -EIO);
	/* Frames without a tag are nobody's VLAN. */
	frame[12] = 0x08;
	TEST_ASSERT(passes(mac));
	return 0;
}

struct rss_cmd {
	uint32_t hash_types;
	uint16_t mask;
	uint16_t unclassified;
	uint16_t table[4];
	uint16_t max_tx;
	uint8_t key_len;
	uint8_t key[VIREO_NET_RSS_KEY_BYTES];
} __attribute__((packed));

/* Microsoft's "Verifying the RSS Hash Calculation". */
static const uint8_t rss_key[VIREO_NET_RSS_KEY_BYTES] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};
#define RSS_HASH_TCP 0x51ccc178
#define RSS_HASH_IPV4 0x323e8fc2

static int
test_rss_spreads_and_reports(void)
{
	struct vireo_loopback_conf conf = device_conf(VIREO_LOOPBACK_REFLECT, 4);
	struct rss_cmd cmd = {
		.hash_types = VIREO_NET_HASH_TYPE_IPV4 | VIREO_NET_HASH_TYPE_TCPV4,
		.mask = 3,
		.unclassified = 2,
		.table = { 3, 1, 1, 1 },
		.max_tx = 4,
		.key_len = sizeof(rss_key),
	};
	struct net_hdr_hash hdr;

	memcpy(cmd.key, rss_key, sizeof(rss_key));
	TEST_ASSERT_SUCCESS(join(&conf, CTRL_FEATURES, 0));
	TEST_ASSERT_SUCCESS(
		ctrl(VIREO_NET_CTRL_MQ, VIREO_NET_CTRL_MQ_RSS_CONFIG, &cmd, sizeof(cmd)));
	fill_tcp();
	TEST_ASSERT_SUCCESS(fix_send(&fix, 0, frame, 60, NULL));
	poll_dev(lb, 8);
	/* 0x...78 & 3 = 0: the table says pair 3. */
	TEST_ASSERT_EQUAL(fix_receive(&fix, 3, got, sizeof(got), &hdr), 60);
	TEST_ASSERT_EQUAL(hdr.hash_value, RSS_HASH_TCP);
	TEST_ASSERT_EQUAL(hdr.hash_report, VIREO_NET_HASH_REPORT_TCPV4);
	/* A fragment has no ports. */
	frame[20] = 0x20;
	TEST_ASSERT_SUCCESS(fix_send(&fix, 0, frame, 60, NULL));
	poll_dev(lb, 8);
	TEST_ASSERT_EQUAL(fix_receive(&fix, 1, got, sizeof(got), &hdr), 60);
	TEST_ASSERT_EQUAL(hdr.hash_value, RSS_HASH_IPV4);
	TEST_ASSERT_EQUAL(hdr.hash_report, VIREO_NET_HASH_REPORT_IPV4);
	frame[12] = 0;
	TEST_ASSERT_SUCCESS(fix_send(&fix, 0, frame, 60, NULL));
	poll_dev(lb, 8);
	TEST_ASSERT_EQUAL(fix_receive(&fix, 2, got, sizeof(got), &hdr), 60);
	TEST_ASSERT_EQUAL(hdr.hash_report, VIREO_NET_HASH_REPORT_NONE);
	/* Out of range: refused, and nothing changed. */
	cmd.table[0] = 4;
	TEST_ASSERT_EQUAL(ctrl(VIREO_NET_CTRL_MQ, VIREO_NET_CTRL_MQ_RSS_CONFIG, &cmd, sizeof(cmd)),
			  -EIO);
	vireo_loopback_state_get(lb, &state);
	TEST_ASSERT_EQUAL(state.rss_table_len, 4);
	TEST_ASSERT_EQUAL(state.nb_pairs, 4);
	return 0;
}

static int
test_pairs_offloads_and_announce(void)
{
	struct vireo_loopback_conf conf = device_conf(VIREO_LOOPBACK_REFLECT, 4);
	uint64_t offloads = VIREO_NET_F_GUEST_CSUM, unknown = VIREO_NET_F_GUEST_UFO;
	uint16_t nb_pairs = 2, none = 0;
	struct net_config config;

	TEST_ASSERT_SUCCESS(join(&conf, CTRL_FEATURES | VIREO_NET_F_STATUS, 0));
	TEST_ASSERT_SUCCESS(ctrl(VIREO_NET_CTRL_MQ, 0, &nb_pairs, 2));
	TEST_ASSERT_EQUAL(ctrl(VIREO_NET_CTRL_MQ, 0, &none, 2), -EIO);
	TEST_ASSERT_SUCCESS(ctrl(VIREO_NET_CTRL_GUEST_OFFLOADS, 0, &offloads, 8));
	TEST_ASSERT_EQUAL(ctrl(VIREO_NET_CTRL_GUEST_OFFLOADS, 0, &unknown, 8), -EIO);
	vireo_loopback_state_get(lb, &state);
	TEST_ASSERT_EQUAL(state.nb_pairs, 2);
	TEST_ASSERT_EQUAL(state.guest_offloads, offloads);
	vireo_loopback_announce(lb);
	TEST_ASSERT(fix_wait(&fix.nb_config, 1, WAIT_MS));
	TEST_ASSERT_SUCCESS(vireo_dev_config_read(fix.dev, 0, &config, sizeof(config)));
	TEST_ASSERT_EQUAL(config.status, VIREO_NET_S_LINK_UP | VIREO_NET_S_ANNOUNCE);
	TEST_ASSERT_EQUAL(config.max_virtqueue_pairs, 4);
	TEST_ASSERT_SUCCESS(ctrl(VIREO_NET_CTRL_ANNOUNCE, 0, NULL, 0));
	vireo_loopback_link_set(lb, false);
	TEST_ASSERT(fix_wait(&fix.nb_config, 2, WAIT_MS));
	TEST_ASSERT_SUCCESS(vireo_dev_config_read(fix.dev, 0, &config, sizeof(config)));
	TEST_ASSERT_EQUAL(config.status, 0);
	vireo_loopback_state_get(lb, &state);
	TEST_ASSERT_EQUAL(state.nb_announce_acks, 1);
	TEST_ASSERT_EQUAL(ctrl(99, 0, NULL, 0), -EIO);
	return 0;
}

static int
test_control_queue_faults_are_bounded(void)
{
	struct vireo_loopback_conf conf = device_conf(VIREO_LOOPBACK_REFLECT, 1);
	struct vireo_dev_info info;

	timeout_ms = 1000;
	TEST_ASSERT_SUCCESS(join(&conf, VIREO_NET_F_CTRL_VQ | VIREO_NET_F_CTRL_RX, 0));
	vireo_loopback_fault(lb, UINT16_MAX, VIREO_LOOPBACK_FAULT_REFUSE);
	TEST_ASSERT_EQUAL(ctrl(VIREO_NET_CTRL_RX, 0, "\1", 1), -EIO);
	vireo_loopback_fault(lb, UINT16_MAX, VIREO_LOOPBACK_FAULT_NO_ACK);
	TEST_ASSERT_EQUAL(ctrl(VIREO_NET_CTRL_RX, 0, "\1", 1), -EIO);
	vireo_loopback_fault(lb, UINT16_MAX, VIREO_LOOPBACK_FAULT_SILENT);
	TEST_ASSERT_EQUAL(ctrl(VIREO_NET_CTRL_RX, 0, "\1", 1), -ETIMEDOUT);
	/* The device may still answer into that memory: no other command until a new start. */
	TEST_ASSERT_EQUAL(ctrl(VIREO_NET_CTRL_RX, 0, "\1", 1), -EBUSY);
	vireo_dev_info_get(fix.dev, &info);
	TEST_ASSERT_EQUAL(info.nb_timeouts, 1);
	vireo_dev_stop(fix.dev);
	TEST_ASSERT_EQUAL(ctrl(VIREO_NET_CTRL_RX, 0, "\1", 1), -EAGAIN);
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	TEST_ASSERT_SUCCESS(ctrl(VIREO_NET_CTRL_RX, 0, "\1", 1));
	vireo_loopback_fault(lb, UINT16_MAX, VIREO_LOOPBACK_FAULT_NONE);
	vireo_loopback_fault(lb, UINT16_MAX, VIREO_LOOPBACK_FAULT_ID);
	TEST_ASSERT_EQUAL(ctrl(VIREO_NET_CTRL_RX, 0, "\1", 1), -EPROTO);
	return 0;
}

/* A fault on one queue breaks that queue in the driver, with the right verdict. */
static int
expect_violation(uint64_t features, uint16_t idx, enum vireo_loopback_fault fault, uint8_t verdict)
{
	struct vireo_loopback_conf conf = device_conf(VIREO_LOOPBACK_REFLECT, 1);
	struct vq_drv *vq = &fix.queues[idx].vq;

	TEST_ASSERT_SUCCESS(join(&conf, features, 0));
	memset(frame, 0xff, 60);
	vireo_loopback_fault(lb, idx, fault);
	TEST_ASSERT_SUCCESS(fix_send(&fix, 0, frame, 60, NULL));
	poll_dev(lb, 8);
	if (idx == 1) {
		fix_reclaim(&fix, 0);
		TEST_ASSERT_EQUAL(fix_reclaim(&fix, 0), -EPROTO);
	} else {
		while (fix_receive(&fix, 0, got, sizeof(got), NULL) > 0)
			;
		TEST_ASSERT_EQUAL(fix_receive(&fix, 0, got, sizeof(got), NULL), -EPROTO);
	}
	TEST_ASSERT_EQUAL(vq->broken, verdict, "fault %d", fault);
	teardown();
	return 0;
}

static int
test_faults_break_the_drivers_queue(void)
{
	static const uint64_t layouts[] = { 0, VIREO_F_RING_PACKED };
	unsigned int i;

	for (i = 0; i < RTE_DIM(layouts); i++) {
		TEST_ASSERT_SUCCESS(
			expect_violation(layouts[i], 0, VIREO_LOOPBACK_FAULT_ID, VQ_BAD_USED_ID));
		TEST_ASSERT_SUCCESS(
			expect_violation(layouts[i], 1, VIREO_LOOPBACK_FAULT_ID, VQ_BAD_USED_ID));
		TEST_ASSERT_SUCCESS(
			expect_violation(layouts[i], 0, VIREO_LOOPBACK_FAULT_LEN, VQ_BAD_USED_LEN));
	}
	TEST_ASSERT_SUCCESS(expect_violation(0, 0, VIREO_LOOPBACK_FAULT_IDX, VQ_BAD_USED_IDX));
	TEST_ASSERT_SUCCESS(expect_violation(0, 1, VIREO_LOOPBACK_FAULT_IDX, VQ_BAD_USED_IDX));
	return 0;
}

static int
test_sink_and_source(void)
{
	struct vireo_loopback_conf conf = device_conf(VIREO_LOOPBACK_SOURCE, 1);
	uint32_t i;

	conf.source_bytes = 128;
	TEST_ASSERT_SUCCESS(join(&conf, VIREO_F_IN_ORDER, 0));
	TEST_ASSERT_EQUAL(poll_dev(lb, 16), 16);
	for (i = 0; i < 16; i++)
		TEST_ASSERT_EQUAL(fix_receive(&fix, 0, got, sizeof(got), NULL), 128);
	teardown();
	conf = device_conf(VIREO_LOOPBACK_SINK, 1);
	conf.batch = true;
	TEST_ASSERT_SUCCESS(join(&conf, VIREO_F_IN_ORDER, 0));
	for (i = 0; i < 16; i++)
		TEST_ASSERT_SUCCESS(fix_send(&fix, 0, frame, 60, NULL));
	TEST_ASSERT_EQUAL(poll_dev(lb, 32), 16);
	TEST_ASSERT_EQUAL(fix_reclaim(&fix, 0), 16);
	TEST_ASSERT_EQUAL(fix_receive(&fix, 0, got, sizeof(got), NULL), 0);
	return 0;
}

static int
test_crossed_devices(void)
{
	struct vireo_loopback_conf conf = device_conf(VIREO_LOOPBACK_REFLECT, 1);
	struct vireo_loopback *other = NULL;
	struct vireo_dev_conf dev_conf;
	static struct fix far;
	int len;

	TEST_ASSERT_SUCCESS(join(&conf, 0, 0));
	conf.name = NAME "_2";
	TEST_ASSERT_SUCCESS(vireo_loopback_create(&conf, &other));
	fix_conf(&dev_conf, VIREO_DEV_LOOPBACK, conf.name);
	TEST_ASSERT_SUCCESS(fix_create(&far, &dev_conf));
	TEST_ASSERT_SUCCESS(fix_setup(&far, VIREO_F_VERSION_1 | VIREO_F_RING_PACKED, 1));
	TEST_ASSERT_SUCCESS(fix_start(&far));
	vireo_loopback_cross(lb, other);
	fill(9, FRAME_BYTES);
	TEST_ASSERT_SUCCESS(fix_send(&fix, 0, frame, FRAME_BYTES, NULL));
	TEST_ASSERT_EQUAL(poll_dev(lb, 8), 1);
	TEST_ASSERT_EQUAL(fix_receive(&fix, 0, got, sizeof(got), NULL), 0);
	len = fix_receive(&far, 0, got, sizeof(got), NULL);
	TEST_ASSERT_EQUAL(len, FRAME_BYTES);
	TEST_ASSERT_BUFFERS_ARE_EQUAL(got, frame, FRAME_BYTES);
	TEST_ASSERT_SUCCESS(fix_send(&far, 0, frame, 99, NULL));
	TEST_ASSERT_EQUAL(poll_dev(other, 8), 1);
	TEST_ASSERT_EQUAL(fix_receive(&fix, 0, got, sizeof(got), NULL), 99);
	fix_destroy(&far);
	vireo_loopback_destroy(other);
	/* Alone again: frames come back. */
	TEST_ASSERT_SUCCESS(reflect(FRAME_BYTES));
	return 0;
}

static int
test_bad_configuration_is_refused(void)
{
	struct vireo_loopback_conf conf = device_conf(VIREO_LOOPBACK_REFLECT, 1);
	struct vireo_loopback *other;

	TEST_ASSERT_SUCCESS(vireo_loopback_create(&conf, &lb));
	TEST_ASSERT_EQUAL(vireo_loopback_create(&conf, &other), -EEXIST);
	conf.name = "";
	TEST_ASSERT_EQUAL(vireo_loopback_create(&conf, &other), -EINVAL);
	conf.name = NAME "_3";
	conf.features = 1ULL << 62;
	TEST_ASSERT_EQUAL(vireo_loopback_create(&conf, &other), -EINVAL);
	conf.features = 0;
	conf.nb_pairs = VIREO_NET_PAIRS_MAX + 1;
	TEST_ASSERT_EQUAL(vireo_loopback_create(&conf, &other), -EINVAL);
	return 0;
}

static const struct unit_test_case cases[] = {
	TEST_CASE_ST(setup, teardown, test_reflects_in_every_layout),
	TEST_CASE_ST(setup, teardown, test_completes_out_of_order),
	TEST_CASE_ST(setup, teardown, test_addresses_are_the_platforms),
	TEST_CASE_ST(setup, teardown, test_jumbo_is_merged_from_buffers),
	TEST_CASE_ST(setup, teardown, test_hooks_take_and_inject),
	TEST_CASE_ST(setup, teardown, test_checksum_is_completed_for_who_cannot),
	TEST_CASE_ST(setup, teardown, test_rx_filters),
	TEST_CASE_ST(setup, teardown, test_vlan_filter),
	TEST_CASE_ST(setup, teardown, test_rss_spreads_and_reports),
	TEST_CASE_ST(setup, teardown, test_pairs_offloads_and_announce),
	TEST_CASE_ST(setup, teardown, test_control_queue_faults_are_bounded),
	TEST_CASE_ST(setup, teardown, test_faults_break_the_drivers_queue),
	TEST_CASE_ST(setup, teardown, test_sink_and_source),
	TEST_CASE_ST(setup, teardown, test_crossed_devices),
	TEST_CASE_ST(setup, teardown, test_bad_configuration_is_refused),
	TEST_CASES_END(),
};

static const struct unit_test_suite suite = {
	.suite_name = "loopback device",
	.cases = cases,
};

static int
test_loopback(void)
{
	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(FAST, loopback_autotest, test_loopback);
