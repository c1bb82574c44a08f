/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_NET_ABI_H
#define VIREO_NET_ABI_H

/*
 * The network device of VIRTIO 1.3 section 5.1: feature bits, header, config space and
 * control commands.
 */

#include "../base/vireo_base.h"

#define VIREO_NET_DEVICE_ID 1

/* Section 5.1.3: feature bits, as masks. */
#define VIREO_NET_F_CSUM (1ULL << 0)
#define VIREO_NET_F_GUEST_CSUM (1ULL << 1)
#define VIREO_NET_F_CTRL_GUEST_OFFLOADS (1ULL << 2)
#define VIREO_NET_F_MTU (1ULL << 3)
#define VIREO_NET_F_MAC (1ULL << 5)
#define VIREO_NET_F_GUEST_TSO4 (1ULL << 7)
#define VIREO_NET_F_GUEST_TSO6 (1ULL << 8)
#define VIREO_NET_F_GUEST_ECN (1ULL << 9)
#define VIREO_NET_F_GUEST_UFO (1ULL << 10)
#define VIREO_NET_F_HOST_TSO4 (1ULL << 11)
#define VIREO_NET_F_HOST_TSO6 (1ULL << 12)
#define VIREO_NET_F_HOST_ECN (1ULL << 13)
#define VIREO_NET_F_HOST_UFO (1ULL << 14)
#define VIREO_NET_F_MRG_RXBUF (1ULL << 15)
#define VIREO_NET_F_STATUS (1ULL << 16)
#define VIREO_NET_F_CTRL_VQ (1ULL << 17)
#define VIREO_NET_F_CTRL_RX (1ULL << 18)
#define VIREO_NET_F_CTRL_VLAN (1ULL << 19)
#define VIREO_NET_F_GUEST_ANNOUNCE (1ULL << 21)
#define VIREO_NET_F_MQ (1ULL << 22)
#define VIREO_NET_F_CTRL_MAC_ADDR (1ULL << 23)
#define VIREO_NET_F_HASH_REPORT (1ULL << 57)
#define VIREO_NET_F_RSS (1ULL << 60)
#define VIREO_NET_F_SPEED_DUPLEX (1ULL << 63)

/* Section 5.1.6: the header in front of each packet. */
#define VIREO_NET_HDR_F_NEEDS_CSUM 1
#define VIREO_NET_HDR_F_DATA_VALID 2

#define VIREO_NET_HDR_GSO_NONE 0
#define VIREO_NET_HDR_GSO_TCPV4 1
#define VIREO_NET_HDR_GSO_UDP 3
#define VIREO_NET_HDR_GSO_TCPV6 4
#define VIREO_NET_HDR_GSO_ECN 0x80

/* VERSION_1: num_buffers is always there. Without VERSION_1 it is only with MRG_RXBUF. */
struct net_hdr {
	uint8_t flags;
	uint8_t gso_type;
	uint16_t hdr_len;
	uint16_t gso_size;
	uint16_t csum_start;
	uint16_t csum_offset;
	uint16_t num_buffers;
};

/* With HASH_REPORT the header grows by these. */
struct net_hdr_hash {
	struct net_hdr hdr;
	uint32_t hash_value;
	uint16_t hash_report;
	uint16_t padding;
};

VIREO_STATIC_ASSERT(sizeof(struct net_hdr) == 12, "net header");
VIREO_STATIC_ASSERT(sizeof(struct net_hdr_hash) == 20, "net header with hash");

/* Section 5.1.6.4.4: values of hash_report. */
#define VIREO_NET_HASH_REPORT_NONE 0
#define VIREO_NET_HASH_REPORT_IPV4 1
#define VIREO_NET_HASH_REPORT_TCPV4 2
#define VIREO_NET_HASH_REPORT_UDPV4 3
#define VIREO_NET_HASH_REPORT_IPV6 4
#define VIREO_NET_HASH_REPORT_TCPV6 5
#define VIREO_NET_HASH_REPORT_UDPV6 6
#define VIREO_NET_HASH_REPORT_IPV6_EX 7
#define VIREO_NET_HASH_REPORT_TCPV6_EX 8
#define VIREO_NET_HASH_REPORT_UDPV6_EX 9

/* Section 5.1.6.4.3: hash types, bits of config's supported_hash_types. */
#define VIREO_NET_HASH_TYPE_IPV4 (1U << 0)
#define VIREO_NET_HASH_TYPE_TCPV4 (1U << 1)
#define VIREO_NET_HASH_TYPE_UDPV4 (1U << 2)
#define VIREO_NET_HASH_TYPE_IPV6 (1U << 3)
#define VIREO_NET_HASH_TYPE_TCPV6 (1U << 4)
#define VIREO_NET_HASH_TYPE_UDPV6 (1U << 5)
#define VIREO_NET_HASH_TYPE_IPV6_EX (1U << 6)
#define VIREO_NET_HASH_TYPE_TCPV6_EX (1U << 7)
#define VIREO_NET_HASH_TYPE_UDPV6_EX (1U << 8)

/* Section 5.1.4: bits of config's status. */
#define VIREO_NET_S_LINK_UP 1
#define VIREO_NET_S_ANNOUNCE 2

/* Section 5.1.4: device configuration layout (natural alignment is exact up to mtu). */
struct net_config {
	uint8_t mac[6];
	uint16_t status;
	uint16_t max_virtqueue_pairs;
	uint16_t mtu;
	uint32_t speed; /* Mb/s, 0xffffffff: unknown */
	uint8_t duplex; /* 0 half, 1 full, 0xff unknown */
	uint8_t rss_max_key_size;
	uint16_t rss_max_indirection_table_length;
	uint32_t supported_hash_types;
};

VIREO_STATIC_ASSERT(sizeof(struct net_config) == 24, "net config space");
VIREO_STATIC_ASSERT(offsetof(struct net_config, speed) == 12, "net config space");
VIREO_STATIC_ASSERT(offsetof(struct net_config, supported_hash_types) == 20, "net config space");

#define VIREO_NET_SPEED_UNKNOWN 0xffffffffU
#define VIREO_NET_DUPLEX_FULL 1
#define VIREO_NET_DUPLEX_UNKNOWN 0xff

/* Section 5.1.6.5: control commands: {class, cmd} data... {ack}. */
struct net_ctrl_hdr {
	uint8_t class_id;
	uint8_t cmd;
};

#define VIREO_NET_ACK_OK 0
#define VIREO_NET_ACK_ERR 1

#define VIREO_NET_CTRL_RX 0
#define VIREO_NET_CTRL_RX_PROMISC 0
#define VIREO_NET_CTRL_RX_ALLMULTI 1

#define VIREO_NET_CTRL_MAC 1
#define VIREO_NET_CTRL_MAC_TABLE_SET 0
#define VIREO_NET_CTRL_MAC_ADDR_SET 1

#define VIREO_NET_CTRL_VLAN 2
#define VIREO_NET_CTRL_VLAN_ADD 0
#define VIREO_NET_CTRL_VLAN_DEL 1

#define VIREO_NET_CTRL_ANNOUNCE 3
#define VIREO_NET_CTRL_ANNOUNCE_ACK 0

#define VIREO_NET_CTRL_MQ 4
#define VIREO_NET_CTRL_MQ_VQ_PAIRS_SET 0
#define VIREO_NET_CTRL_MQ_RSS_CONFIG 1
#define VIREO_NET_CTRL_MQ_HASH_CONFIG 2

#define VIREO_NET_CTRL_GUEST_OFFLOADS 5
#define VIREO_NET_CTRL_GUEST_OFFLOADS_SET 0

/* Queues are rx0, tx0, rx1, tx1, ..., control (section 5.1.2). */
#define VIREO_NET_RXQ_IDX(pair) (2 * (pair))
#define VIREO_NET_TXQ_IDX(pair) (2 * (pair) + 1)
#define VIREO_NET_PAIRS_MAX 128
#define VIREO_NET_MAC_TABLE_MAX 64
#define VIREO_NET_RSS_KEY_BYTES 40
#define VIREO_NET_RSS_TABLE_MAX 128

#endif /* VIREO_NET_ABI_H */
