/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <rte_ether.h>
#include <rte_net.h>

#include "offload.h"

static bool
ptype_has_l4_cksum(uint32_t ptype)
{
	ptype &= RTE_PTYPE_L4_MASK;
	return ptype == RTE_PTYPE_L4_TCP || ptype == RTE_PTYPE_L4_UDP;
}

/*
 * NEEDS_CSUM on receive: the packet comes from the same machine and its checksum was never
 * made ("partial"). For a known protocol that is said with L4_CKSUM_NONE: the data is good,
 * the field is not. Else the checksum is completed here, so that the packet can leave.
 */
static void
parse_partial(struct net_rxq *rxq, struct rte_mbuf *m, const struct net_hdr *hdr, bool l4_known)
{
	uint32_t field = (uint32_t)hdr->csum_start + hdr->csum_offset;
	uint16_t csum;

	if (hdr->csum_start >= m->pkt_len || field + sizeof(csum) > m->data_len) {
		m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_BAD;
		rxq->csum_bad++;
		return;
	}
	m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
	if (l4_known)
		return;
	if (rte_raw_cksum_mbuf(m, hdr->csum_start, m->pkt_len - hdr->csum_start, &csum) != 0)
		return;
	/* 0xffff and 0 are the same sum; a UDP field of 0 would say "no checksum". */
	csum = csum == 0xffff ? csum : (uint16_t)~csum;
	memcpy(rte_pktmbuf_mtod_offset(m, void *, field), &csum, sizeof(csum));
}

static int
parse_gso(struct net_rxq *rxq, struct rte_mbuf *m, const struct net_hdr *hdr)
{
	uint8_t type = hdr->gso_type & ~VIREO_NET_HDR_GSO_ECN;

	if ((rxq->offloads & NET_RX_LRO) == 0 || hdr->gso_size == 0)
		return -EINVAL;
	if (type != VIREO_NET_HDR_GSO_TCPV4 && type != VIREO_NET_HDR_GSO_TCPV6)
		return -EINVAL;
	m->tso_segsz = hdr->gso_size;
	m->ol_flags |= RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_NONE;
	rxq->lro++;
	return 0;
}

int
net_rx_hdr_parse(struct net_rxq *rxq, struct rte_mbuf *m, const struct net_hdr *hdr)
{
	struct rte_net_hdr_lens lens;
	bool l4_known;

	if (hdr->flags == 0 && hdr->gso_type == VIREO_NET_HDR_GSO_NONE)
		return 0;
	m->packet_type = rte_net_get_ptype(m, &lens, RTE_PTYPE_ALL_MASK);
	l4_known = ptype_has_l4_cksum(m->packet_type);
	if (hdr->flags & VIREO_NET_HDR_F_NEEDS_CSUM)
		parse_partial(rxq, m, hdr, l4_known);
	else if ((hdr->flags & VIREO_NET_HDR_F_DATA_VALID) && l4_known)
		m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	if (hdr->gso_type != VIREO_NET_HDR_GSO_NONE)
		return parse_gso(rxq, m, hdr);
	return 0;
}

void
net_rx_hash_parse(struct rte_mbuf *m, const struct net_hdr_hash *hdr)
{
	static const uint32_t ptype[] = {
		[VIREO_NET_HASH_REPORT_IPV4] = RTE_PTYPE_L3_IPV4,
		[VIREO_NET_HASH_REPORT_TCPV4] = RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP,
		[VIREO_NET_HASH_REPORT_UDPV4] = RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP,
		[VIREO_NET_HASH_REPORT_IPV6] = RTE_PTYPE_L3_IPV6,
		[VIREO_NET_HASH_REPORT_TCPV6] = RTE_PTYPE_L3_IPV6 | RTE_PTYPE_L4_TCP,
		[VIREO_NET_HASH_REPORT_UDPV6] = RTE_PTYPE_L3_IPV6 | RTE_PTYPE_L4_UDP,
		[VIREO_NET_HASH_REPORT_IPV6_EX] = RTE_PTYPE_L3_IPV6_EXT,
		[VIREO_NET_HASH_REPORT_TCPV6_EX] = RTE_PTYPE_L3_IPV6_EXT | RTE_PTYPE_L4_TCP,
		[VIREO_NET_HASH_REPORT_UDPV6_EX] = RTE_PTYPE_L3_IPV6_EXT | RTE_PTYPE_L4_UDP,
	};

	/* An unknown report is a device of a later version: no hash, not an error. */
	if (hdr->hash_report == VIREO_NET_HASH_REPORT_NONE || hdr->hash_report >= RTE_DIM(ptype))
		return;
	m->hash.rss = hdr->hash_value;
	m->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
	m->packet_type = RTE_PTYPE_L2_ETHER | ptype[hdr->hash_report];
}

/*
 * Section 5.1.6.2: with NEEDS_CSUM the checksum field holds the pseudo header's sum, over
 * the real length also with TSO (hardware drivers leave the length out there).
 */
static void
prepare_tso(struct rte_mbuf *m)
{
	uint64_t flags = m->ol_flags & ~RTE_MBUF_F_TX_TCP_SEG;
	void *l3 = rte_pktmbuf_mtod_offset(m, void *, m->l2_len);
	struct rte_tcp_hdr *tcp = RTE_PTR_ADD(l3, m->l3_len);

	if (m->ol_flags & RTE_MBUF_F_TX_IPV4) {
		struct rte_ipv4_hdr *ip = l3;

		ip->hdr_checksum = 0;
		ip->hdr_checksum = rte_ipv4_cksum(ip);
		tcp->cksum = rte_ipv4_phdr_cksum(ip, flags);
	} else {
		tcp->cksum = rte_ipv6_phdr_cksum(l3, flags);
	}
}

static int
prepare_one(struct rte_mbuf **pkt)
{
	struct rte_mbuf *m;
	int rc;

	if ((*pkt)->ol_flags & RTE_MBUF_F_TX_VLAN) {
		/* May give another mbuf, also when it fails. */
		rc = rte_vlan_insert(pkt);
		if (rc != 0)
			return rc;
	}
	m = *pkt;
	/* Also makes sure that all headers lie in the first segment. */
	rc = rte_net_intel_cksum_prepare(m);
	if (rc == 0 && (m->ol_flags & RTE_MBUF_F_TX_TCP_SEG))
		prepare_tso(m);
	return rc;
}

uint16_t
net_tx_prepare(void *txq, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	uint16_t i;
	int rc;

	(void)txq;
	for (i = 0; i < nb_pkts; i++) {
		rc = prepare_one(&pkts[i]);
		if (unlikely(rc != 0)) {
			rte_errno = -rc;
			break;
		}
	}
	return i;
}
