/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <string.h>

#include "loopback_priv.h"

/* Section 5.1.6.4.3: hashes of received packets, by Toeplitz' function. */

#define ETH_HDR_BYTES 14
#define ETH_TYPE_IPV4 0x0800
#define ETH_TYPE_IPV6 0x86dd
#define ETH_TYPE_VLAN 0x8100
#define IP_PROTO_TCP 6
#define IP_PROTO_UDP 17

struct flow {
	uint8_t input[36]; /* addresses and ports as they stand in the packet */
	uint32_t addr_bytes;
	uint8_t proto;
	bool v6;
	bool has_ports;
};

static uint16_t
be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static bool
parse_ipv4(const uint8_t *ip, uint32_t len_bytes, struct flow *flow)
{
	uint32_t hdr_bytes;

	if (len_bytes < 20)
		return false;
	hdr_bytes = (ip[0] & 0xf) * 4U;
	flow->addr_bytes = 8;
	memcpy(flow->input, ip + 12, 8);
	flow->proto = ip[9];
	/* A fragment has no ports, or may have none. */
	flow->has_ports =
		(be16(ip + 6) & 0x3fff) == 0 && hdr_bytes >= 20 && len_bytes >= hdr_bytes + 4;
	if (flow->has_ports)
		memcpy(flow->input + 8, ip + hdr_bytes, 4);
	return true;
}

static bool
parse_ipv6(const uint8_t *ip, uint32_t len_bytes, struct flow *flow)
{
	if (len_bytes < 40)
		return false;
	flow->v6 = true;
	flow->addr_bytes = 32;
	memcpy(flow->input, ip + 8, 32);
	flow->proto = ip[6];
	flow->has_ports = len_bytes >= 44;
	if (flow->has_ports)
		memcpy(flow->input + 32, ip + 40, 4);
	return true;
}

static bool
parse(const uint8_t *frame, uint32_t len_bytes, struct flow *flow)
{
	uint32_t at = ETH_HDR_BYTES;
	uint16_t type;

	memset(flow, 0, sizeof(*flow));
	if (len_bytes < at + 4)
		return false;
	type = be16(frame + 12);
	if (type == ETH_TYPE_VLAN) {
		type = be16(frame + 16);
		at += 4;
	}
	if (type == ETH_TYPE_IPV4)
		return parse_ipv4(frame + at, len_bytes - at, flow);
	if (type == ETH_TYPE_IPV6)
		return parse_ipv6(frame + at, len_bytes - at, flow);
	return false;
}

/* The key's bit i is worth xor-ing its next 32 bits in for each set bit i of the input. */
static uint32_t
toeplitz(const uint8_t *key, const uint8_t *input, uint32_t len_bytes)
{
	uint32_t hash = 0;
	uint32_t i, bit;
	uint64_t window;

	for (i = 0; i < len_bytes; i++) {
		/* 40 bits of the key, of which each bit of this byte sees 32. */
		window = (uint64_t)key[i] << 32 | (uint32_t)key[i + 1] << 24 |
			(uint32_t)key[i + 2] << 16 | (uint32_t)key[i + 3] << 8 | key[i + 4];
		for (bit = 0; bit < 8; bit++)
			if (input[i] & (0x80U >> bit))
				hash ^= (uint32_t)(window >> (8 - bit));
	}
	return hash;
}

/* The first type, from the most to the least specific, that is on and fits the packet. */
static uint16_t
choose(const struct flow *flow, uint32_t types, bool *ports)
{
	*ports = flow->has_ports;
	if (flow->has_ports && flow->proto == IP_PROTO_TCP) {
		if (!flow->v6 && (types & VIREO_NET_HASH_TYPE_TCPV4))
			return VIREO_NET_HASH_REPORT_TCPV4;
		if (flow->v6 && (types & VIREO_NET_HASH_TYPE_TCPV6))
			return VIREO_NET_HASH_REPORT_TCPV6;
	}
	if (flow->has_ports && flow->proto == IP_PROTO_UDP) {
		if (!flow->v6 && (types & VIREO_NET_HASH_TYPE_UDPV4))
			return VIREO_NET_HASH_REPORT_UDPV4;
		if (flow->v6 && (types & VIREO_NET_HASH_TYPE_UDPV6))
			return VIREO_NET_HASH_REPORT_UDPV6;
	}
	*ports = false;
	if (!flow->v6 && (types & VIREO_NET_HASH_TYPE_IPV4))
		return VIREO_NET_HASH_REPORT_IPV4;
	if (flow->v6 && (types & VIREO_NET_HASH_TYPE_IPV6))
		return VIREO_NET_HASH_REPORT_IPV6;
	return VIREO_NET_HASH_REPORT_NONE;
}

uint32_t
lb_hash(const struct vireo_loopback *lb, const uint8_t *frame, uint32_t len_bytes, uint16_t *report)
{
	struct flow flow;
	bool ports;

	*report = VIREO_NET_HASH_REPORT_NONE;
	if (lb->rss.hash_types == 0 || !parse(frame, len_bytes, &flow))
		return 0;
	*report = choose(&flow, lb->rss.hash_types, &ports);
	if (*report == VIREO_NET_HASH_REPORT_NONE)
		return 0;
	return toeplitz(lb->rss.key, flow.input, flow.addr_bytes + (ports ? 4 : 0));
}
