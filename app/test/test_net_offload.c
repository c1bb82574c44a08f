/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * Offloads of net_vireo over loopback: the virtio-net header that the device gets for each
 * request, and the mbuf flags that the application gets for each header of the device's.
 */

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "net_frames.h"

#define RING 256
#define L2_BYTES sizeof(struct rte_ether_hdr)
#define L3_BYTES sizeof(struct rte_ipv4_hdr)
#define PAYLOAD_BYTES 200
#define TCP_FRAME_BYTES (L2_BYTES + L3_BYTES + sizeof(struct rte_tcp_hdr) + PAYLOAD_BYTES)
#define TCI 0x2123

static uint8_t frame[NET_FRAME_MAX];

/* --- Frames ----------------------------------------------------------------------- */

static struct rte_ipv4_hdr *
ip_of(uint8_t *data)
{
	return (void *)(data + L2_BYTES);
}

/* Ethernet and IPv4 in front of l4_bytes of protocol proto. */
static void
write_ip(const struct net_fixture *f, uint8_t *data, uint8_t proto, uint16_t l4_bytes)
{
	struct rte_ether_hdr *eth = (void *)data;
	struct rte_ipv4_hdr *ip = ip_of(data);

	net_frame_write(f, data, L2_BYTES + L3_BYTES + l4_bytes, proto);
	eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16(L3_BYTES + l4_bytes),
		.time_to_live = 64,
		.next_proto_id = proto,
		.src_addr = RTE_BE32(0x0a000001),
		.dst_addr = RTE_BE32(0x0a000002),
	};
	ip->hdr_checksum = rte_ipv4_cksum(ip);
}

/* A TCP frame with a right checksum; @return its length. */
static uint32_t
write_tcp(const struct net_fixture *f, uint8_t *data)
{
	struct rte_tcp_hdr *tcp = (void *)(data + L2_BYTES + L3_BYTES);

	write_ip(f, data, IPPROTO_TCP, sizeof(*tcp) + PAYLOAD_BYTES);
	*tcp = (struct rte_tcp_hdr){ .src_port = RTE_BE16(1),
				     .dst_port = RTE_BE16(2),
				     .data_off = 5 << 4 };
	tcp->cksum = rte_ipv4_udptcp_cksum(ip_of(data), tcp);
	return TCP_FRAME_BYTES;
}

static uint32_t
write_udp(const struct net_fixture *f, uint8_t *data)
{
	struct rte_udp_hdr *udp = (void *)(data + L2_BYTES + L3_BYTES);

	write_ip(f, data, IPPROTO_UDP, sizeof(*udp) + PAYLOAD_BYTES);
	*udp = (struct rte_udp_hdr){ .src_port = RTE_BE16(1),
				     .dst_port = RTE_BE16(2),
				     .dgram_len = rte_cpu_to_be_16(sizeof(*udp) + PAYLOAD_BYTES) };
	udp->dgram_cksum = rte_ipv4_udptcp_cksum(ip_of(data), udp);
	return L2_BYTES + L3_BYTES + sizeof(*udp) + PAYLOAD_BYTES;
}

static struct rte_mbuf *
to_mbuf(const struct net_fixture *f, const uint8_t *data, uint32_t len, uint64_t ol_flags)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(f->mp);

	if (m == NULL)
		return NULL;
	memcpy(rte_pktmbuf_append(m, len), data, len);
	m->ol_flags |= ol_flags;
	m->l2_len = L2_BYTES;
	m->l3_len = L3_BYTES;
	m->l4_len = sizeof(struct rte_tcp_hdr);
	return m;
}

/* What a device does with NEEDS_CSUM: one's complement of the sum from csum_start on. */
static void
complete_csum(uint8_t *data, uint32_t len, const struct net_hdr *hdr)
{
	uint16_t sum = ~rte_raw_cksum(data + hdr->csum_start, len - hdr->csum_start);

	memcpy(data + hdr->csum_start + hdr->csum_offset, &sum, sizeof(sum));
}

/* --- Transmit --------------------------------------------------------------------- */

/* Prepare, send, take: the frame lies in `frame` afterwards; @return its length or -1. */
static int
send_and_take(struct net_fixture *f, struct rte_mbuf *m, struct net_hdr *hdr)
{
	int len;

	TEST_ASSERT_NOT_NULL(m);
	TEST_ASSERT_EQUAL(rte_eth_tx_prepare(f->port_id, 0, &m, 1), 1);
	TEST_ASSERT_EQUAL(rte_eth_tx_burst(f->port_id, 0, &m, 1), 1);
	len = vireo_loopback_tx_take(f->lb, 0, frame, sizeof(frame), hdr);
	TEST_ASSERT(len > 0, "%d", len);
	return len;
}

static int
check_zero_hdr(struct net_fixture *f)
{
	struct net_hdr hdr;
	int len = send_and_take(f, net_frame_mbuf(f, f->mp, 100, 1, 5), &hdr);

	TEST_ASSERT_SUCCESS(net_frame_check(f, frame, len, 100, 5));
	TEST_ASSERT_EQUAL(hdr.flags, 0);
	TEST_ASSERT_EQUAL(hdr.gso_type, VIREO_NET_HDR_GSO_NONE);
	TEST_ASSERT_EQUAL(hdr.csum_start | hdr.csum_offset | hdr.gso_size | hdr.hdr_len, 0,
			  "left over from another packet");
	return TEST_SUCCESS;
}

static int
run_tx_csum(struct net_fixture *f)
{
	static uint8_t data[NET_FRAME_MAX];
	struct net_hdr hdr;
	int len, lap;

	for (lap = 0; lap < 2 * RING; lap++) {
		bool tcp = lap % 2;
		uint32_t want = tcp ? write_tcp(f, data) : write_udp(f, data);
		uint64_t flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM |
			(tcp ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM);
		struct rte_mbuf *m = to_mbuf(f, data, want, flags);

		TEST_ASSERT_NOT_NULL(m);
		/* The sums are asked for: what stands there now must not matter. */
		rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, L2_BYTES)->hdr_checksum = 77;
		len = send_and_take(f, m, &hdr);
		TEST_ASSERT_EQUAL(len, want);
		TEST_ASSERT_EQUAL(hdr.flags, VIREO_NET_HDR_F_NEEDS_CSUM);
		TEST_ASSERT_EQUAL(hdr.csum_start, L2_BYTES + L3_BYTES);
		TEST_ASSERT_EQUAL(hdr.csum_offset, tcp ? 16 : 6);
		TEST_ASSERT_EQUAL(hdr.gso_type, VIREO_NET_HDR_GSO_NONE);
		complete_csum(frame, len, &hdr);
		TEST_ASSERT_BUFFERS_ARE_EQUAL(frame, data, want, "lap %d", lap);
		TEST_ASSERT_SUCCESS(check_zero_hdr(f));
	}
	return TEST_SUCCESS;
}

static int
run_tx_tso(struct net_fixture *f)
{
	static uint8_t data[NET_FRAME_MAX];
	struct rte_mbuf *m, *tail;
	struct net_hdr hdr;
	int len, lap;

	for (lap = 0; lap < 30; lap++) {
		uint32_t want = write_tcp(f, data);

		m = to_mbuf(f, data, want,
			    RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_SEG);
		tail = net_frame_mbuf(f, f->mp, 3000, 3, 1);
		TEST_ASSERT(m != NULL && tail != NULL);
		m->tso_segsz = 1000 + lap;
		TEST_ASSERT_SUCCESS(rte_pktmbuf_chain(m, tail));
		rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, L2_BYTES)->total_length =
			rte_cpu_to_be_16(m->pkt_len - L2_BYTES);
		len = send_and_take(f, m, &hdr);
		TEST_ASSERT_EQUAL(len, want + 3000);
		TEST_ASSERT_EQUAL(hdr.flags, VIREO_NET_HDR_F_NEEDS_CSUM);
		TEST_ASSERT_EQUAL(hdr.gso_type, VIREO_NET_HDR_GSO_TCPV4);
		TEST_ASSERT_EQUAL(hdr.gso_size, 1000 + lap);
		TEST_ASSERT_EQUAL(hdr.hdr_len, L2_BYTES + L3_BYTES + sizeof(struct rte_tcp_hdr));
		TEST_ASSERT_EQUAL(hdr.csum_start, L2_BYTES + L3_BYTES);
		/* Both sums of the whole packet are right once the device completes it. */
		complete_csum(frame, len, &hdr);
		TEST_ASSERT_SUCCESS(
			rte_ipv4_udptcp_cksum_verify(ip_of(frame), frame + L2_BYTES + L3_BYTES));
		TEST_ASSERT_EQUAL(rte_raw_cksum(ip_of(frame), L3_BYTES), 0xffff);
		TEST_ASSERT_SUCCESS(check_zero_hdr(f));
	}
	return TEST_SUCCESS;
}

/* A header that cannot lie in front of the data, since somebody else has it too. */
static int
run_tx_csum_clones(struct net_fixture *f)
{
	static uint8_t data[NET_FRAME_MAX];
	struct rte_mbuf *m, *clone;
	struct net_hdr hdr;
	int len, lap;

	for (lap = 0; lap < 2 * RING; lap++) {
		uint32_t want = write_tcp(f, data);

		m = to_mbuf(f, data, want, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM);
		TEST_ASSERT_NOT_NULL(m);
		clone = rte_pktmbuf_clone(m, f->mp);
		TEST_ASSERT_NOT_NULL(clone);
		len = send_and_take(f, clone, &hdr);
		TEST_ASSERT_EQUAL(len, want);
		TEST_ASSERT_EQUAL(hdr.flags, VIREO_NET_HDR_F_NEEDS_CSUM);
		TEST_ASSERT_EQUAL(hdr.csum_start, L2_BYTES + L3_BYTES);
		complete_csum(frame, len, &hdr);
		TEST_ASSERT_BUFFERS_ARE_EQUAL(frame, data, want, "lap %d", lap);
		rte_pktmbuf_free(m);
		m = net_frame_mbuf(f, f->mp, 90, 1, lap);
		clone = m == NULL ? NULL : rte_pktmbuf_clone(m, f->mp);
		len = send_and_take(f, clone, &hdr);
		TEST_ASSERT_SUCCESS(net_frame_check(f, frame, len, 90, lap));
		TEST_ASSERT_EQUAL(hdr.flags | hdr.csum_start, 0);
		rte_pktmbuf_free(m);
	}
	return TEST_SUCCESS;
}

static int
run_tx_vlan(struct net_fixture *f)
{
	static uint8_t want[NET_FRAME_MAX];
	struct net_hdr hdr;
	struct rte_mbuf *m;
	int len, lap;

	for (lap = 0; lap < 20; lap++) {
		m = net_frame_mbuf(f, f->mp, 100, 1, lap);
		TEST_ASSERT_NOT_NULL(m);
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = TCI;
		len = send_and_take(f, m, &hdr);
		TEST_ASSERT_EQUAL(len, 104);
		net_frame_write(f, want, 100, lap);
		TEST_ASSERT_BUFFERS_ARE_EQUAL(frame, want, 12);
		TEST_ASSERT_BUFFERS_ARE_EQUAL(frame + 12, "\x81\x00\x21\x23", 4);
		TEST_ASSERT_BUFFERS_ARE_EQUAL(frame + 16, want + 12, 88);
	}
	return TEST_SUCCESS;
}

/* --- Receive ---------------------------------------------------------------------- */

/* Hand the device's frame over; @return the packet, NULL: none came. */
static struct rte_mbuf *
inject_and_receive(struct net_fixture *f, const uint8_t *data, uint32_t len,
		   const struct net_hdr *hdr)
{
	struct rte_mbuf *m = NULL;

	if (vireo_loopback_rx_inject(f->lb, 0, data, len, hdr) != 0)
		return NULL;
	return rte_eth_rx_burst(f->port_id, 0, &m, 1) == 1 ? m : NULL;
}

static int
check_flags(struct net_fixture *f, const uint8_t *data, uint32_t len, const struct net_hdr *hdr,
	    uint64_t want)
{
	struct rte_mbuf *m = inject_and_receive(f, data, len, hdr);
	uint64_t got;

	TEST_ASSERT_NOT_NULL(m);
	TEST_ASSERT_EQUAL(m->pkt_len, len);
	got = m->ol_flags;
	rte_pktmbuf_free(m);
	TEST_ASSERT_EQUAL(got, want);
	return TEST_SUCCESS;
}

static int
run_rx_csum(struct net_fixture *f)
{
	struct net_hdr hdr = { .flags = VIREO_NET_HDR_F_DATA_VALID };
	uint32_t len = write_tcp(f, frame);

	TEST_ASSERT_SUCCESS(check_flags(f, frame, len, NULL, 0), "nothing is said");
	TEST_ASSERT_SUCCESS(check_flags(f, frame, len, &hdr, RTE_MBUF_F_RX_L4_CKSUM_GOOD));
	hdr = (struct net_hdr){ .flags = VIREO_NET_HDR_F_NEEDS_CSUM,
				.csum_start = 34,
				.csum_offset = 16 };
	TEST_ASSERT_SUCCESS(check_flags(f, frame, len, &hdr, RTE_MBUF_F_RX_L4_CKSUM_NONE));
	/* Offsets beyond the packet: bad, and nothing is read or written there. */
	hdr.csum_start = len;
	TEST_ASSERT_SUCCESS(check_flags(f, frame, len, &hdr, RTE_MBUF_F_RX_L4_CKSUM_BAD));
	hdr.csum_start = 0xffff;
	TEST_ASSERT_SUCCESS(check_flags(f, frame, len, &hdr, RTE_MBUF_F_RX_L4_CKSUM_BAD));
	hdr.csum_start = 34;
	hdr.csum_offset = 0xffff;
	TEST_ASSERT_SUCCESS(check_flags(f, frame, len, &hdr, RTE_MBUF_F_RX_L4_CKSUM_BAD));
	hdr.csum_offset = len - 34 - 1;
	TEST_ASSERT_SUCCESS(check_flags(f, frame, len, &hdr, RTE_MBUF_F_RX_L4_CKSUM_BAD));
	TEST_ASSERT_EQUAL(net_fixture_xstat(f, "rx_q0_checksum_bad_packets"), 4);
	return TEST_SUCCESS;
}

/* A protocol that has no checksum flag in mbufs: the driver completes it itself. */
static int
run_rx_partial(struct net_fixture *f)
{
	struct net_hdr hdr = { .flags = VIREO_NET_HDR_F_NEEDS_CSUM,
			       .csum_start = 34,
			       .csum_offset = 2 };
	uint32_t len = L2_BYTES + L3_BYTES + 64;
	static uint8_t want[NET_FRAME_MAX];
	struct rte_mbuf *m;

	write_ip(f, frame, IPPROTO_GRE, 64);
	memset(frame + 36, 0, 2);
	memcpy(want, frame, len);
	complete_csum(want, len, &hdr);
	m = inject_and_receive(f, frame, len, &hdr);
	TEST_ASSERT_NOT_NULL(m);
	TEST_ASSERT_EQUAL(m->ol_flags, RTE_MBUF_F_RX_L4_CKSUM_NONE);
	TEST_ASSERT_BUFFERS_ARE_EQUAL(rte_pktmbuf_mtod(m, uint8_t *), want, len);
	rte_pktmbuf_free(m);
	return TEST_SUCCESS;
}

static int
run_rx_lro(struct net_fixture *f)
{
	struct net_hdr hdr = { .flags = VIREO_NET_HDR_F_NEEDS_CSUM,
			       .csum_start = 34,
			       .csum_offset = 16,
			       .gso_type = VIREO_NET_HDR_GSO_TCPV4,
			       .gso_size = 536,
			       .hdr_len = 54 };
	uint32_t len = write_tcp(f, frame);
	struct rte_mbuf *m;

	m = inject_and_receive(f, frame, len, &hdr);
	TEST_ASSERT_NOT_NULL(m);
	TEST_ASSERT_EQUAL(m->ol_flags, RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_NONE);
	TEST_ASSERT_EQUAL(m->tso_segsz, 536);
	rte_pktmbuf_free(m);
	TEST_ASSERT_EQUAL(net_fixture_xstat(f, "rx_q0_lro_packets"), 1);
	/* Headers that contradict themselves: dropped and counted, and the queue goes on. */
	hdr.gso_size = 0;
	TEST_ASSERT_NULL(inject_and_receive(f, frame, len, &hdr));
	hdr.gso_size = 536;
	hdr.gso_type = 0x33;
	TEST_ASSERT_NULL(inject_and_receive(f, frame, len, &hdr));
	TEST_ASSERT_EQUAL(net_fixture_xstat(f, "rx_q0_errors"), 2);
	return check_flags(f, frame, len, NULL, 0);
}

/* A segmentation that was not asked for. */
static int
run_rx_no_lro(struct net_fixture *f)
{
	struct net_hdr hdr = { .gso_type = VIREO_NET_HDR_GSO_TCPV4, .gso_size = 536 };
	uint32_t len = write_tcp(f, frame);

	TEST_ASSERT_NULL(inject_and_receive(f, frame, len, &hdr));
	TEST_ASSERT_EQUAL(net_fixture_xstat(f, "rx_q0_errors"), 1);
	return check_flags(f, frame, len, NULL, 0);
}

static int
run_rx_vlan(struct net_fixture *f)
{
	static const uint8_t tag[] = { 0x81, 0x00, TCI >> 8, TCI & 0xff };
	static uint8_t tagged[NET_FRAME_MAX];
	struct rte_mbuf *m;
	uint32_t lap;

	for (lap = 0; lap < 20; lap++) {
		net_frame_write(f, frame, 100, lap);
		memcpy(tagged, frame, 12);
		memcpy(tagged + 12, tag, sizeof(tag));
		memcpy(tagged + 16, frame + 12, 88);
		m = inject_and_receive(f, tagged, 104, NULL);
		TEST_ASSERT_NOT_NULL(m);
		TEST_ASSERT_EQUAL(m->ol_flags, RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
		TEST_ASSERT_EQUAL(m->vlan_tci, TCI);
		TEST_ASSERT_SUCCESS(net_frame_check_mbuf(f, m, 100, lap));
		rte_pktmbuf_free(m);
		m = inject_and_receive(f, frame, 100, NULL);
		TEST_ASSERT_NOT_NULL(m);
		TEST_ASSERT_EQUAL(m->ol_flags, 0);
		TEST_ASSERT_SUCCESS(net_frame_check_mbuf(f, m, 100, lap));
		rte_pktmbuf_free(m);
	}
	return TEST_SUCCESS;
}

/* --- Cases ------------------------------------------------------------------------ */

#define TX(offloads_)                                                                              \
	{                                                                                          \
		.txmode.offloads = offloads_                                                       \
	}
#define RX(offloads_)                                                                              \
	{                                                                                          \
		.rxmode.offloads = offloads_                                                       \
	}
#define TX_CSUM                                                                                    \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |                            \
	 RTE_ETH_TX_OFFLOAD_TCP_CKSUM)

static int
over(struct rte_eth_conf conf, int (*fn)(struct net_fixture *f))
{
	return net_over_variants(VIREO_LOOPBACK_HOOK, 1, RING, &conf, fn);
}

static int
test_net_offload_tx_checksums(void)
{
	return over((struct rte_eth_conf)TX(TX_CSUM), run_tx_csum);
}

static int
test_net_offload_tx_tso(void)
{
	return over((struct rte_eth_conf)TX(TX_CSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO |
					    RTE_ETH_TX_OFFLOAD_MULTI_SEGS),
		    run_tx_tso);
}

static int
test_net_offload_tx_checksums_of_clones(void)
{
	return over((struct rte_eth_conf)TX(TX_CSUM), run_tx_csum_clones);
}

static int
test_net_offload_tx_vlan_insert(void)
{
	return over((struct rte_eth_conf)TX(RTE_ETH_TX_OFFLOAD_VLAN_INSERT), run_tx_vlan);
}

#define RX_CSUM (RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM)

static int
test_net_offload_rx_checksums(void)
{
	return over((struct rte_eth_conf)RX(RX_CSUM), run_rx_csum);
}

static int
test_net_offload_rx_partial_is_completed(void)
{
	return over((struct rte_eth_conf)RX(RX_CSUM), run_rx_partial);
}

static int
test_net_offload_rx_lro(void)
{
	static const struct rte_eth_conf conf = RX(RX_CSUM | RTE_ETH_RX_OFFLOAD_TCP_LRO);

	/* It needs merged buffers. */
	TEST_ASSERT_SUCCESS(
		net_run_on("mrg_rxbuf=1", VIREO_LOOPBACK_HOOK, 1, RING, &conf, run_rx_lro));
	return net_run_on("mrg_rxbuf=1,packed_vq=1", VIREO_LOOPBACK_HOOK, 1, RING, &conf,
			  run_rx_lro);
}

static int
test_net_offload_rx_segmentation_not_asked_for(void)
{
	return over((struct rte_eth_conf)RX(RX_CSUM), run_rx_no_lro);
}

static int
test_net_offload_rx_vlan_strip(void)
{
	return over((struct rte_eth_conf)RX(RTE_ETH_RX_OFFLOAD_VLAN_STRIP), run_rx_vlan);
}

static int
test_net_offload(void)
{
	static const struct unit_test_case cases[] = {
		TEST_CASE(test_net_offload_tx_checksums),
		TEST_CASE(test_net_offload_tx_tso),
		TEST_CASE(test_net_offload_tx_checksums_of_clones),
		TEST_CASE(test_net_offload_tx_vlan_insert),
		TEST_CASE(test_net_offload_rx_checksums),
		TEST_CASE(test_net_offload_rx_partial_is_completed),
		TEST_CASE(test_net_offload_rx_lro),
		TEST_CASE(test_net_offload_rx_segmentation_not_asked_for),
		TEST_CASE(test_net_offload_rx_vlan_strip),
		TEST_CASES_END(),
	};
	static const struct unit_test_suite suite = {
		.suite_name = "net_vireo offloads over loopback",
		.cases = cases,
	};

	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(DRIVER, net_offload_autotest, test_net_offload);
