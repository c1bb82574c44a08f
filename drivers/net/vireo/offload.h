/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef NET_OFFLOAD_H
#define NET_OFFLOAD_H

/*
 * Between mbuf offload flags and the virtio-net header, VIRTIO 1.3 section 5.1.6.2 (Tx)
 * and 5.1.6.4 (Rx). Only the offload variants of the burst functions come here.
 */

#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "net_vireo.h"

/** Checksum and segmentation fields of a packet to be sent; all zero without a request. */
vireo_inline void
net_tx_hdr_fill(struct rte_mbuf *m, struct net_hdr *hdr)
{
	uint64_t l4 = m->ol_flags & RTE_MBUF_F_TX_L4_MASK;
	uint16_t start = m->l2_len + m->l3_len;

	memset(hdr, 0, sizeof(*hdr));
	if (m->ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK)
		start += m->outer_l2_len + m->outer_l3_len;
	if (m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) {
		l4 = RTE_MBUF_F_TX_TCP_CKSUM;
		hdr->gso_type = (m->ol_flags & RTE_MBUF_F_TX_IPV6) ? VIREO_NET_HDR_GSO_TCPV6
								   : VIREO_NET_HDR_GSO_TCPV4;
		hdr->gso_size = m->tso_segsz;
		hdr->hdr_len = start + m->l4_len;
	}
	if (l4 == RTE_MBUF_F_TX_TCP_CKSUM)
		hdr->csum_offset = offsetof(struct rte_tcp_hdr, cksum);
	else if (l4 == RTE_MBUF_F_TX_UDP_CKSUM)
		hdr->csum_offset = offsetof(struct rte_udp_hdr, dgram_cksum);
	else
		return;
	hdr->flags = VIREO_NET_HDR_F_NEEDS_CSUM;
	hdr->csum_start = start;
}

/** The device has no IPv4 header checksum: it is 20 bytes in the cache, done here. */
vireo_inline void
net_tx_ipv4_cksum(struct rte_mbuf *m)
{
	struct rte_ipv4_hdr *ip;

	if ((m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) == 0 ||
	    m->data_len < m->l2_len + sizeof(struct rte_ipv4_hdr))
		return;
	ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, m->l2_len);
	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
}

/**
 * What the device says about a received packet, into the mbuf's flags. Everything in the
 * header is the device's and is checked against the packet: offsets beyond it make the
 * checksum bad instead of reading there.
 *
 * @return 0, or -EINVAL: the header contradicts itself, drop the packet.
 */
int net_rx_hdr_parse(struct net_rxq *rxq, struct rte_mbuf *m, const struct net_hdr *hdr);

/** HASH_REPORT, section 5.1.6.4.4. */
void net_rx_hash_parse(struct rte_mbuf *m, const struct net_hdr_hash *hdr);

/** tx_pkt_prepare: VLAN tags, pseudo-header checksums, IPv4 checksum with TSO. */
uint16_t net_tx_prepare(void *txq, struct rte_mbuf **pkts, uint16_t nb_pkts);

#endif /* NET_OFFLOAD_H */
