/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * lib/wire against the kernel's user-space headers: two readings of one specification
 * must agree on every number and on the place of every field. (Only this test includes
 * both; Vireo's code includes neither kernel header.)
 */

#include <linux/vhost_types.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>
#include <sys/types.h>

#include "test.h"
#include "wire/net_abi.h"
#include "wire/ring_abi.h"
#include "wire/vhost_user_abi.h"

struct number {
	const char *name;
	uint64_t ours;
	uint64_t theirs;
};

#define SAME(ours_, theirs_)                                                                       \
	{                                                                                          \
		.name = #ours_, .ours = ours_, .theirs = theirs_                                   \
	}
/* The kernel has bit numbers where Vireo has masks. */
#define SAME_BIT(ours_, theirs_)                                                                   \
	{                                                                                          \
		.name = #ours_, .ours = ours_, .theirs = 1ULL << (theirs_)                         \
	}
#define SAME_NET_F(name_) SAME_BIT(VIREO_NET_F_##name_, VIRTIO_NET_F_##name_)
#define SAME_NET(name_) SAME(VIREO_NET_##name_, VIRTIO_NET_##name_)
#define SAME_SIZE(ours_, theirs_)                                                                  \
	{                                                                                          \
		.name = "size of " #ours_, .ours = sizeof(ours_), .theirs = sizeof(theirs_)        \
	}
/* Place and size of a field. */
#define SAME_FIELD(ours_, of_, theirs_, tf_)                                                       \
	{ .name = "offset of " #ours_ "." #of_,                                                    \
	  .ours = offsetof(ours_, of_),                                                            \
	  .theirs = offsetof(theirs_, tf_) },                                                      \
	{                                                                                          \
		.name = "size of " #ours_ "." #of_, .ours = sizeof(((ours_ *)0)->of_),             \
		.theirs = sizeof(((theirs_ *)0)->tf_)                                              \
	}

static int
check_numbers(const struct number *n, size_t nb)
{
	size_t i;

	for (i = 0; i < nb; i++)
		TEST_ASSERT_EQUAL(n[i].ours, n[i].theirs, "%s", n[i].name);
	return TEST_SUCCESS;
}

static int
test_wire_ring_numbers_as_kernel(void)
{
	static const struct number n[] = {
		SAME_BIT(VIREO_F_INDIRECT_DESC, VIRTIO_RING_F_INDIRECT_DESC),
		SAME_BIT(VIREO_F_EVENT_IDX, VIRTIO_RING_F_EVENT_IDX),
		SAME_BIT(VIREO_F_VERSION_1, VIRTIO_F_VERSION_1),
		SAME_BIT(VIREO_F_ACCESS_PLATFORM, VIRTIO_F_ACCESS_PLATFORM),
		SAME_BIT(VIREO_F_RING_PACKED, VIRTIO_F_RING_PACKED),
		SAME_BIT(VIREO_F_IN_ORDER, VIRTIO_F_IN_ORDER),
		SAME_BIT(VIREO_F_ORDER_PLATFORM, VIRTIO_F_ORDER_PLATFORM),
		SAME_BIT(VIREO_F_RING_RESET, VIRTIO_F_RING_RESET),
#ifdef VIRTIO_F_NOTIFICATION_DATA
		SAME_BIT(VIREO_F_NOTIFICATION_DATA, VIRTIO_F_NOTIFICATION_DATA),
#endif
		SAME(VIREO_STATUS_ACKNOWLEDGE, VIRTIO_CONFIG_S_ACKNOWLEDGE),
		SAME(VIREO_STATUS_DRIVER, VIRTIO_CONFIG_S_DRIVER),
		SAME(VIREO_STATUS_DRIVER_OK, VIRTIO_CONFIG_S_DRIVER_OK),
		SAME(VIREO_STATUS_FEATURES_OK, VIRTIO_CONFIG_S_FEATURES_OK),
		SAME(VIREO_STATUS_NEEDS_RESET, VIRTIO_CONFIG_S_NEEDS_RESET),
		SAME(VIREO_STATUS_FAILED, VIRTIO_CONFIG_S_FAILED),
		SAME(VIREO_DESC_F_NEXT, VRING_DESC_F_NEXT),
		SAME(VIREO_DESC_F_WRITE, VRING_DESC_F_WRITE),
		SAME(VIREO_DESC_F_INDIRECT, VRING_DESC_F_INDIRECT),
		SAME_BIT(VIREO_DESC_F_AVAIL, VRING_PACKED_DESC_F_AVAIL),
		SAME_BIT(VIREO_DESC_F_USED, VRING_PACKED_DESC_F_USED),
		SAME(VIREO_AVAIL_F_NO_INTERRUPT, VRING_AVAIL_F_NO_INTERRUPT),
		SAME(VIREO_USED_F_NO_NOTIFY, VRING_USED_F_NO_NOTIFY),
		SAME(VIREO_EVENT_F_ENABLE, VRING_PACKED_EVENT_FLAG_ENABLE),
		SAME(VIREO_EVENT_F_DISABLE, VRING_PACKED_EVENT_FLAG_DISABLE),
		SAME(VIREO_EVENT_F_DESC, VRING_PACKED_EVENT_FLAG_DESC),
		SAME(VIREO_EVENT_WRAP_BIT, VRING_PACKED_EVENT_F_WRAP_CTR),
		SAME(VIREO_EVENT_OFF_MASK, (1U << VRING_PACKED_EVENT_F_WRAP_CTR) - 1),
		SAME(VIREO_DESC_ALIGN, VRING_DESC_ALIGN_SIZE),
		SAME(VIREO_AVAIL_ALIGN, VRING_AVAIL_ALIGN_SIZE),
		SAME(VIREO_USED_ALIGN, VRING_USED_ALIGN_SIZE),
	};

	return check_numbers(n, RTE_DIM(n));
}

static int
test_wire_ring_layouts_as_kernel(void)
{
	static const struct number n[] = {
		SAME_SIZE(struct ring_desc, struct vring_desc),
		SAME_FIELD(struct ring_desc, addr, struct vring_desc, addr),
		SAME_FIELD(struct ring_desc, len, struct vring_desc, len),
		SAME_FIELD(struct ring_desc, flags, struct vring_desc, flags),
		SAME_FIELD(struct ring_desc, next, struct vring_desc, next),
		SAME_SIZE(struct ring_avail, struct vring_avail),
		SAME_FIELD(struct ring_avail, flags, struct vring_avail, flags),
		SAME_FIELD(struct ring_avail, idx, struct vring_avail, idx),
		SAME_FIELD(struct ring_avail, ring[0], struct vring_avail, ring[0]),
		SAME_SIZE(struct ring_used_elem, struct vring_used_elem),
		SAME_FIELD(struct ring_used_elem, id, struct vring_used_elem, id),
		SAME_FIELD(struct ring_used_elem, len, struct vring_used_elem, len),
		SAME_FIELD(struct ring_used, flags, struct vring_used, flags),
		SAME_FIELD(struct ring_used, idx, struct vring_used, idx),
		SAME_FIELD(struct ring_used, ring[0], struct vring_used, ring[0]),
		SAME_SIZE(struct ring_packed_desc, struct vring_packed_desc),
		SAME_FIELD(struct ring_packed_desc, addr, struct vring_packed_desc, addr),
		SAME_FIELD(struct ring_packed_desc, len, struct vring_packed_desc, len),
		SAME_FIELD(struct ring_packed_desc, id, struct vring_packed_desc, id),
		SAME_FIELD(struct ring_packed_desc, flags, struct vring_packed_desc, flags),
		SAME_SIZE(struct ring_event, struct vring_packed_desc_event),
		SAME_FIELD(struct ring_event, off_wrap, struct vring_packed_desc_event, off_wrap),
		SAME_FIELD(struct ring_event, flags, struct vring_packed_desc_event, flags),
	};

	return check_numbers(n, RTE_DIM(n));
}

static int
test_wire_net_features_as_kernel(void)
{
	static const struct number n[] = {
		SAME(VIREO_NET_DEVICE_ID, VIRTIO_ID_NET),
		SAME_NET_F(CSUM),
		SAME_NET_F(GUEST_CSUM),
		SAME_NET_F(CTRL_GUEST_OFFLOADS),
		SAME_NET_F(MTU),
		SAME_NET_F(MAC),
		SAME_NET_F(GUEST_TSO4),
		SAME_NET_F(GUEST_TSO6),
		SAME_NET_F(GUEST_ECN),
		SAME_NET_F(GUEST_UFO),
		SAME_NET_F(HOST_TSO4),
		SAME_NET_F(HOST_TSO6),
		SAME_NET_F(HOST_ECN),
		SAME_NET_F(HOST_UFO),
		SAME_NET_F(MRG_RXBUF),
		SAME_NET_F(STATUS),
		SAME_NET_F(CTRL_VQ),
		SAME_NET_F(CTRL_RX),
		SAME_NET_F(CTRL_VLAN),
		SAME_NET_F(GUEST_ANNOUNCE),
		SAME_NET_F(MQ),
		SAME_NET_F(CTRL_MAC_ADDR),
		SAME_NET_F(HASH_REPORT),
		SAME_NET_F(RSS),
		SAME_NET_F(SPEED_DUPLEX),
		SAME_NET(S_LINK_UP),
		SAME_NET(S_ANNOUNCE),
		SAME(VIREO_NET_PAIRS_MAX <= VIRTIO_NET_CTRL_MQ_VQ_PAIRS_MAX, 1),
	};

	return check_numbers(n, RTE_DIM(n));
}

static int
test_wire_net_numbers_as_kernel(void)
{
	static const struct number n[] = {
		SAME_NET(HDR_F_NEEDS_CSUM),
		SAME_NET(HDR_F_DATA_VALID),
		SAME_NET(HDR_GSO_NONE),
		SAME_NET(HDR_GSO_TCPV4),
		SAME_NET(HDR_GSO_UDP),
		SAME_NET(HDR_GSO_TCPV6),
		SAME_NET(HDR_GSO_ECN),
		SAME(VIREO_NET_ACK_OK, VIRTIO_NET_OK),
		SAME(VIREO_NET_ACK_ERR, VIRTIO_NET_ERR),
		SAME_NET(CTRL_RX),
		SAME_NET(CTRL_RX_PROMISC),
		SAME_NET(CTRL_RX_ALLMULTI),
		SAME_NET(CTRL_MAC),
		SAME_NET(CTRL_MAC_TABLE_SET),
		SAME_NET(CTRL_MAC_ADDR_SET),
		SAME_NET(CTRL_VLAN),
		SAME_NET(CTRL_VLAN_ADD),
		SAME_NET(CTRL_VLAN_DEL),
		SAME_NET(CTRL_ANNOUNCE),
		SAME_NET(CTRL_ANNOUNCE_ACK),
		SAME_NET(CTRL_MQ),
		SAME_NET(CTRL_MQ_VQ_PAIRS_SET),
		SAME_NET(CTRL_MQ_RSS_CONFIG),
		SAME_NET(CTRL_MQ_HASH_CONFIG),
		SAME_NET(CTRL_GUEST_OFFLOADS),
		SAME_NET(CTRL_GUEST_OFFLOADS_SET),
	};

	return check_numbers(n, RTE_DIM(n));
}

static int
test_wire_net_hashes_as_kernel(void)
{
	static const struct number n[] = {
		SAME(VIREO_NET_HASH_REPORT_NONE, VIRTIO_NET_HASH_REPORT_NONE),
		SAME(VIREO_NET_HASH_REPORT_IPV4, VIRTIO_NET_HASH_REPORT_IPv4),
		SAME(VIREO_NET_HASH_REPORT_TCPV4, VIRTIO_NET_HASH_REPORT_TCPv4),
		SAME(VIREO_NET_HASH_REPORT_UDPV4, VIRTIO_NET_HASH_REPORT_UDPv4),
		SAME(VIREO_NET_HASH_REPORT_IPV6, VIRTIO_NET_HASH_REPORT_IPv6),
		SAME(VIREO_NET_HASH_REPORT_TCPV6, VIRTIO_NET_HASH_REPORT_TCPv6),
		SAME(VIREO_NET_HASH_REPORT_UDPV6, VIRTIO_NET_HASH_REPORT_UDPv6),
		SAME(VIREO_NET_HASH_REPORT_IPV6_EX, VIRTIO_NET_HASH_REPORT_IPv6_EX),
		SAME(VIREO_NET_HASH_REPORT_TCPV6_EX, VIRTIO_NET_HASH_REPORT_TCPv6_EX),
		SAME(VIREO_NET_HASH_REPORT_UDPV6_EX, VIRTIO_NET_HASH_REPORT_UDPv6_EX),
		SAME(VIREO_NET_HASH_TYPE_IPV4, VIRTIO_NET_RSS_HASH_TYPE_IPv4),
		SAME(VIREO_NET_HASH_TYPE_TCPV4, VIRTIO_NET_RSS_HASH_TYPE_TCPv4),
		SAME(VIREO_NET_HASH_TYPE_UDPV4, VIRTIO_NET_RSS_HASH_TYPE_UDPv4),
		SAME(VIREO_NET_HASH_TYPE_IPV6, VIRTIO_NET_RSS_HASH_TYPE_IPv6),
		SAME(VIREO_NET_HASH_TYPE_TCPV6, VIRTIO_NET_RSS_HASH_TYPE_TCPv6),
		SAME(VIREO_NET_HASH_TYPE_UDPV6, VIRTIO_NET_RSS_HASH_TYPE_UDPv6),
		SAME(VIREO_NET_HASH_TYPE_IPV6_EX, VIRTIO_NET_RSS_HASH_TYPE_IP_EX),
		SAME(VIREO_NET_HASH_TYPE_TCPV6_EX, VIRTIO_NET_RSS_HASH_TYPE_TCP_EX),
		SAME(VIREO_NET_HASH_TYPE_UDPV6_EX, VIRTIO_NET_RSS_HASH_TYPE_UDP_EX),
	};

	return check_numbers(n, RTE_DIM(n));
}

static int
test_wire_net_layouts_as_kernel(void)
{
	static const struct number n[] = {
		SAME_SIZE(struct net_hdr, struct virtio_net_hdr_v1),
		SAME_FIELD(struct net_hdr, flags, struct virtio_net_hdr_v1, flags),
		SAME_FIELD(struct net_hdr, gso_type, struct virtio_net_hdr_v1, gso_type),
		SAME_FIELD(struct net_hdr, hdr_len, struct virtio_net_hdr_v1, hdr_len),
		SAME_FIELD(struct net_hdr, gso_size, struct virtio_net_hdr_v1, gso_size),
		SAME_FIELD(struct net_hdr, csum_start, struct virtio_net_hdr_v1, csum_start),
		SAME_FIELD(struct net_hdr, csum_offset, struct virtio_net_hdr_v1, csum_offset),
		SAME_FIELD(struct net_hdr, num_buffers, struct virtio_net_hdr_v1, num_buffers),
		SAME_SIZE(struct net_hdr_hash, struct virtio_net_hdr_v1_hash),
		SAME_FIELD(struct net_hdr_hash, hash_value, struct virtio_net_hdr_v1_hash,
			   hash_value),
		SAME_FIELD(struct net_hdr_hash, hash_report, struct virtio_net_hdr_v1_hash,
			   hash_report),
		SAME_SIZE(struct net_config, struct virtio_net_config),
		SAME_FIELD(struct net_config, mac, struct virtio_net_config, mac),
		SAME_FIELD(struct net_config, status, struct virtio_net_config, status),
		SAME_FIELD(struct net_config, max_virtqueue_pairs, struct virtio_net_config,
			   max_virtqueue_pairs),
		SAME_FIELD(struct net_config, mtu, struct virtio_net_config, mtu),
		SAME_FIELD(struct net_config, speed, struct virtio_net_config, speed),
		SAME_FIELD(struct net_config, duplex, struct virtio_net_config, duplex),
		SAME_FIELD(struct net_config, rss_max_key_size, struct virtio_net_config,
			   rss_max_key_size),
		SAME_FIELD(struct net_config, rss_max_indirection_table_length,
			   struct virtio_net_config, rss_max_indirection_table_length),
		SAME_FIELD(struct net_config, supported_hash_types, struct virtio_net_config,
			   supported_hash_types),
		SAME_SIZE(struct net_ctrl_hdr, struct virtio_net_ctrl_hdr),
		SAME_FIELD(struct net_ctrl_hdr, class_id, struct virtio_net_ctrl_hdr, class),
		SAME_FIELD(struct net_ctrl_hdr, cmd, struct virtio_net_ctrl_hdr, cmd),
	};

	return check_numbers(n, RTE_DIM(n));
}

/* vhost-user's payloads took their shape from the kernel's vhost. */
static int
test_wire_vhost_layouts_as_kernel(void)
{
	static const struct number n[] = {
		SAME_SIZE(struct vhost_user_vring_state, struct vhost_vring_state),
		SAME_FIELD(struct vhost_user_vring_state, idx, struct vhost_vring_state, index),
		SAME_FIELD(struct vhost_user_vring_state, num, struct vhost_vring_state, num),
		SAME_SIZE(struct vhost_user_vring_addr, struct vhost_vring_addr),
		SAME_FIELD(struct vhost_user_vring_addr, idx, struct vhost_vring_addr, index),
		SAME_FIELD(struct vhost_user_vring_addr, flags, struct vhost_vring_addr, flags),
		SAME_FIELD(struct vhost_user_vring_addr, desc, struct vhost_vring_addr,
			   desc_user_addr),
		SAME_FIELD(struct vhost_user_vring_addr, used, struct vhost_vring_addr,
			   used_user_addr),
		SAME_FIELD(struct vhost_user_vring_addr, avail, struct vhost_vring_addr,
			   avail_user_addr),
		SAME_FIELD(struct vhost_user_vring_addr, log, struct vhost_vring_addr,
			   log_guest_addr),
		SAME_SIZE(struct vhost_user_mem_region, struct vhost_memory_region),
		SAME_FIELD(struct vhost_user_mem_region, guest_addr, struct vhost_memory_region,
			   guest_phys_addr),
		SAME_FIELD(struct vhost_user_mem_region, len_bytes, struct vhost_memory_region,
			   memory_size),
		SAME_FIELD(struct vhost_user_mem_region, user_addr, struct vhost_memory_region,
			   userspace_addr),
		SAME_FIELD(struct vhost_user_mem_table, nb_regions, struct vhost_memory, nregions),
		SAME_FIELD(struct vhost_user_mem_table, regions[0], struct vhost_memory,
			   regions[0]),
	};

	return check_numbers(n, RTE_DIM(n));
}

static int
test_wire(void)
{
	static const struct unit_test_case cases[] = {
		TEST_CASE(test_wire_ring_numbers_as_kernel),
		TEST_CASE(test_wire_ring_layouts_as_kernel),
		TEST_CASE(test_wire_net_features_as_kernel),
		TEST_CASE(test_wire_net_numbers_as_kernel),
		TEST_CASE(test_wire_net_hashes_as_kernel),
		TEST_CASE(test_wire_net_layouts_as_kernel),
		TEST_CASE(test_wire_vhost_layouts_as_kernel),
		TEST_CASES_END(),
	};
	static const struct unit_test_suite suite = {
		.suite_name = "wire layouts against the kernel's headers",
		.cases = cases,
	};

	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(FAST, wire_autotest, test_wire);
