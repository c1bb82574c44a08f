/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <string.h>

#include "ethdev.h"
#include "log.h"

/* Ethernet header and one VLAN tag: what a frame has beside its MTU. */
#define FRAME_OVERHEAD_BYTES (RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN)
#define MAX_MTU (NET_MAX_PKT_BYTES - FRAME_OVERHEAD_BYTES)
#define MIN_RX_BUF_BYTES 64

#define RX_CSUM_FEATURES VIREO_NET_F_GUEST_CSUM
#define RX_LRO_FEATURES (VIREO_NET_F_GUEST_CSUM | VIREO_NET_F_GUEST_TSO4 | VIREO_NET_F_GUEST_TSO6)
#define TX_CSUM_FEATURES VIREO_NET_F_CSUM
#define TX_TSO_FEATURES (VIREO_NET_F_CSUM | VIREO_NET_F_HOST_TSO4 | VIREO_NET_F_HOST_TSO6)

#define RX_CSUM_OFFLOADS (RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM)
#define TX_CSUM_OFFLOADS (RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM)

static bool
has_all(uint64_t features, uint64_t mask)
{
	return (features & mask) == mask;
}

uint64_t
net_features_base(const struct net_devargs *args)
{
	uint64_t f = VIREO_F_VERSION_1 | VIREO_F_ACCESS_PLATFORM | VIREO_F_NOTIFICATION_DATA |
		VIREO_F_RING_RESET | VIREO_NET_F_MAC | VIREO_NET_F_STATUS | VIREO_NET_F_MTU |
		VIREO_NET_F_SPEED_DUPLEX;

	/* A server chooses before it knows its peer, and software back ends lack it. */
	if (!args->server)
		f |= VIREO_F_ORDER_PLATFORM;
	if (args->indirect != NET_INDIRECT_OFF)
		f |= VIREO_F_INDIRECT_DESC;
	if (args->event_idx)
		f |= VIREO_F_EVENT_IDX;
	if (args->packed_vq)
		f |= VIREO_F_RING_PACKED;
	if (args->in_order)
		f |= VIREO_F_IN_ORDER;
	if (args->mrg_rxbuf)
		f |= VIREO_NET_F_MRG_RXBUF;
	if (args->cq)
		f |= VIREO_NET_F_CTRL_VQ | VIREO_NET_F_CTRL_RX | VIREO_NET_F_CTRL_MAC_ADDR |
			VIREO_NET_F_GUEST_ANNOUNCE;
	if (args->queues > 1)
		f |= VIREO_NET_F_MQ;
	return f;
}

uint64_t
net_features_all(const struct net_devargs *args)
{
	uint64_t f = net_features_base(args) | RX_CSUM_FEATURES | TX_TSO_FEATURES;

	/* VIRTIO 1.3 section 5.1.6.3.1: LRO without MRG_RXBUF would need 64 KiB buffers. */
	if (args->mrg_rxbuf)
		f |= RX_LRO_FEATURES;
	if (args->cq)
		f |= VIREO_NET_F_RSS | VIREO_NET_F_HASH_REPORT | VIREO_NET_F_CTRL_VLAN;
	return f;
}

void
net_port_refresh(struct rte_eth_dev *eth_dev)
{
	struct net_port *port = net_port_of(eth_dev);
	struct net_local *local = net_local_of(eth_dev);
	struct vireo_dev_info info;

	vireo_dev_info_get(local->dev, &info);
	/* A new peer may lack what the driver can do without. */
	port->negotiated = info.negotiated;
	/* A server that nobody connected to yet may be offered anything. */
	port->offered =
		net_features_all(&port->args) & (info.nb_connects == 0 ? UINT64_MAX : info.offered);
	if (info.nb_connects != 0 && info.nb_queues >= 2)
		port->nb_pairs_max = RTE_MIN(port->args.queues, info.nb_queues / 2);
	else
		port->nb_pairs_max = port->args.queues;
	/* VIRTIO 1.3 section 5.1.5.1: without MQ there is one pair of queues. */
	if (!(port->offered & VIREO_NET_F_MQ))
		port->nb_pairs_max = 1;
}

int
net_port_negotiate(struct rte_eth_dev *eth_dev, uint64_t wanted)
{
	struct net_port *port = net_port_of(eth_dev);
	uint64_t negotiated;
	int ret;

	ret = vireo_dev_negotiate(net_local_of(eth_dev)->dev, wanted, &negotiated);
	if (ret != 0) {
		LOG(ERR, "port %u: the device refuses features 0x%" PRIx64 ": %s", port->port_id,
		    wanted, strerror(-ret));
		return ret;
	}
	port->negotiated = negotiated;
	port->hdr_bytes = negotiated & VIREO_NET_F_HASH_REPORT ? sizeof(struct net_hdr_hash)
							       : sizeof(struct net_hdr);
	LOG(DEBUG, "port %u: features 0x%" PRIx64 " of 0x%" PRIx64, port->port_id, negotiated,
	    wanted);
	return 0;
}

/* One field of config space; false when the device has none. */
static bool
read_field(struct rte_eth_dev *eth_dev, uint64_t feature, size_t offset, void *data, size_t len)
{
	const struct net_port *port = net_port_of(eth_dev);

	return (port->negotiated & feature) != 0 &&
		vireo_dev_config_read(net_local_of(eth_dev)->dev, offset, data, len) == 0;
}

#define READ_FIELD(eth_dev, feature, cfg, field)                                                   \
	read_field(eth_dev, feature, offsetof(struct net_config, field), &(cfg)->field,            \
		   sizeof((cfg)->field))

uint16_t
net_config_read_status(struct rte_eth_dev *eth_dev)
{
	struct net_config cfg;

	/* VIRTIO 1.3 section 5.1.4.2: without STATUS the link is always up. */
	if (!READ_FIELD(eth_dev, VIREO_NET_F_STATUS, &cfg, status))
		return VIREO_NET_S_LINK_UP;
	return cfg.status;
}

static void
read_rss_limits(struct rte_eth_dev *eth_dev)
{
	struct net_port *port = net_port_of(eth_dev);
	struct vireo_dev *dev = net_local_of(eth_dev)->dev;
	const uint64_t either = VIREO_NET_F_RSS | VIREO_NET_F_HASH_REPORT;
	struct net_config cfg;

	port->rss.supported = 0;
	if (!(port->offered & either))
		return;
	/* Read while offered, not yet negotiated: section 2.4.1 wants drivers to look before. */
	if (vireo_dev_config_read(dev, 0, &cfg, sizeof(cfg)) != 0 ||
	    cfg.rss_max_key_size < VIREO_NET_RSS_KEY_BYTES ||
	    cfg.rss_max_indirection_table_length < VIREO_NET_RSS_TABLE_MAX) {
		LOG(NOTICE, "port %u: no RSS: the device lacks a key of %u bytes or a table of %u",
		    port->port_id, VIREO_NET_RSS_KEY_BYTES, VIREO_NET_RSS_TABLE_MAX);
		port->offered &= ~either;
		return;
	}
	port->rss.supported = cfg.supported_hash_types;
	if (port->rss.supported == 0)
		port->offered &= ~either;
}

void
net_config_read_mac(struct rte_eth_dev *eth_dev)
{
	struct net_port *port = net_port_of(eth_dev);
	struct net_config cfg;

	if (!port->args.has_mac && READ_FIELD(eth_dev, VIREO_NET_F_MAC, &cfg, mac) &&
	    rte_is_valid_assigned_ether_addr((struct rte_ether_addr *)cfg.mac))
		memcpy(&port->mac, cfg.mac, sizeof(port->mac));
}

void
net_config_read_all(struct rte_eth_dev *eth_dev)
{
	struct net_port *port = net_port_of(eth_dev);
	struct net_config cfg;

	port->max_mtu = MAX_MTU;
	if (READ_FIELD(eth_dev, VIREO_NET_F_MTU, &cfg, mtu) && cfg.mtu >= NET_MIN_MTU)
		port->max_mtu = RTE_MIN(cfg.mtu, MAX_MTU);
	port->speed = port->args.speed;
	if (port->speed == RTE_ETH_SPEED_NUM_UNKNOWN &&
	    READ_FIELD(eth_dev, VIREO_NET_F_SPEED_DUPLEX, &cfg, speed) && cfg.speed <= INT32_MAX)
		port->speed = cfg.speed;
	port->carrier = (net_config_read_status(eth_dev) & VIREO_NET_S_LINK_UP) != 0;
	read_rss_limits(eth_dev);
}

static uint64_t
rx_offload_capa(const struct net_port *port)
{
	uint64_t capa = RTE_ETH_RX_OFFLOAD_VLAN_STRIP;

	if (port->offered & VIREO_NET_F_MRG_RXBUF)
		capa |= RTE_ETH_RX_OFFLOAD_SCATTER;
	if (has_all(port->offered, RX_CSUM_FEATURES))
		capa |= RX_CSUM_OFFLOADS;
	if (has_all(port->offered, RX_LRO_FEATURES | VIREO_NET_F_MRG_RXBUF))
		capa |= RTE_ETH_RX_OFFLOAD_TCP_LRO;
	if (has_all(port->offered, VIREO_NET_F_CTRL_VQ | VIREO_NET_F_CTRL_VLAN))
		capa |= RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	if (has_all(port->offered, VIREO_NET_F_CTRL_VQ | VIREO_NET_F_HASH_REPORT))
		capa |= RTE_ETH_RX_OFFLOAD_RSS_HASH;
	return capa;
}

static uint64_t
tx_offload_capa(const struct net_port *port)
{
	/* The IPv4 header checksum is the driver's own work, as VLAN tags are. */
	uint64_t capa = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE |
		RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM;

	if (has_all(port->offered, TX_CSUM_FEATURES))
		capa |= TX_CSUM_OFFLOADS;
	if (has_all(port->offered, TX_TSO_FEATURES))
		capa |= RTE_ETH_TX_OFFLOAD_TCP_TSO;
	return capa;
}

int
net_dev_infos_get(struct rte_eth_dev *eth_dev, struct rte_eth_dev_info *info)
{
	const struct net_port *port = net_port_of(eth_dev);

	info->speed_capa = rte_eth_speed_bitflag(port->speed, RTE_ETH_LINK_FULL_DUPLEX);
	info->max_rx_queues = port->nb_pairs_max;
	info->max_tx_queues = port->nb_pairs_max;
	info->min_rx_bufsize = MIN_RX_BUF_BYTES;
	info->max_rx_pktlen = NET_MAX_PKT_BYTES;
	info->min_mtu = NET_MIN_MTU;
	info->max_mtu = port->max_mtu;
	info->max_mac_addrs = VIREO_NET_MAC_TABLE_MAX;
	info->rx_offload_capa = rx_offload_capa(port);
	info->tx_offload_capa = tx_offload_capa(port);
	info->rx_queue_offload_capa = RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	info->tx_queue_offload_capa = 0;
	if (port->offered & VIREO_NET_F_RSS) {
		info->hash_key_size = VIREO_NET_RSS_KEY_BYTES;
		info->reta_size = VIREO_NET_RSS_TABLE_MAX;
		info->flow_type_rss_offloads = net_rss_offloads(port);
	}
	info->rx_desc_lim.nb_max = VIREO_RING_SIZE_MAX;
	info->rx_desc_lim.nb_min = NET_MIN_DESC;
	info->rx_desc_lim.nb_align = 1;
	info->tx_desc_lim = info->rx_desc_lim;
	info->tx_desc_lim.nb_seg_max = UINT16_MAX;
	info->tx_desc_lim.nb_mtu_seg_max = UINT16_MAX;
	/* A broken queue is reported by RTE_ETH_EVENT_INTR_RESET; the application resets. */
	info->err_handle_mode = RTE_ETH_ERROR_HANDLE_MODE_PASSIVE;
	if (port->args.queue_size != 0) {
		info->default_rxportconf.ring_size = port->args.queue_size;
		info->default_txportconf.ring_size = port->args.queue_size;
	}
	return 0;
}

static uint64_t
features_of_offloads(const struct rte_eth_conf *conf)
{
	uint64_t f = 0;

	if (conf->rxmode.offloads & RX_CSUM_OFFLOADS)
		f |= RX_CSUM_FEATURES;
	if (conf->rxmode.offloads & RTE_ETH_RX_OFFLOAD_TCP_LRO)
		f |= RX_LRO_FEATURES;
	if (conf->rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER)
		f |= VIREO_NET_F_CTRL_VLAN;
	if (conf->rxmode.offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH)
		f |= VIREO_NET_F_HASH_REPORT;
	if (conf->rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG)
		f |= VIREO_NET_F_RSS;
	if (conf->txmode.offloads & TX_CSUM_OFFLOADS)
		f |= TX_CSUM_FEATURES;
	if (conf->txmode.offloads & RTE_ETH_TX_OFFLOAD_TCP_TSO)
		f |= TX_TSO_FEATURES;
	return f;
}

static int
check_modes(const struct net_port *port, const struct rte_eth_conf *conf)
{
	if (conf->rxmode.mq_mode != RTE_ETH_MQ_RX_NONE &&
	    conf->rxmode.mq_mode != RTE_ETH_MQ_RX_RSS) {
		LOG(ERR, "port %u: Rx multi-queue mode %d is refused: expected none or RSS",
		    port->port_id, conf->rxmode.mq_mode);
		return -EINVAL;
	}
	if (conf->txmode.mq_mode != RTE_ETH_MQ_TX_NONE) {
		LOG(ERR, "port %u: Tx multi-queue mode %d is refused: expected none", port->port_id,
		    conf->txmode.mq_mode);
		return -EINVAL;
	}
	return 0;
}

int
net_dev_configure(struct rte_eth_dev *eth_dev)
{
	const struct rte_eth_conf *conf = &eth_dev->data->dev_conf;
	struct net_port *port = net_port_of(eth_dev);
	uint64_t needed;
	int ret;

	ret = check_modes(port, conf);
	if (ret != 0)
		return ret;
	needed = features_of_offloads(conf);
	if (!has_all(port->offered, needed)) {
		LOG(ERR,
		    "port %u: the device does not offer what these offloads need (0x%" PRIx64 ")",
		    port->port_id, needed & ~port->offered);
		return -ENOTSUP;
	}
	ret = net_port_negotiate(eth_dev, net_features_base(&port->args) | needed);
	if (ret != 0)
		return ret;
	if (!has_all(port->negotiated, needed)) {
		LOG(ERR, "port %u: the device withdrew features 0x%" PRIx64, port->port_id,
		    needed & ~port->negotiated);
		return -ENOTSUP;
	}
	ret = net_rss_configure(eth_dev);
	if (ret != 0)
		return ret;
	return conf->intr_conf.rxq ? net_intr_setup(eth_dev) : 0;
}

int
net_mtu_set(struct rte_eth_dev *eth_dev, uint16_t mtu)
{
	const struct net_port *port = net_port_of(eth_dev);

	if (mtu < NET_MIN_MTU || mtu > port->max_mtu) {
		LOG(ERR, "port %u: MTU %u is refused: expected %u to %u", port->port_id, mtu,
		    NET_MIN_MTU, port->max_mtu);
		return -EINVAL;
	}
	if (!net_queues_take_frame(eth_dev, mtu + FRAME_OVERHEAD_BYTES)) {
		LOG(ERR,
		    "port %u: MTU %u is refused: an Rx queue's mbufs are smaller; expected larger"
		    " mbufs or the SCATTER offload",
		    port->port_id, mtu);
		return -EINVAL;
	}
	return 0;
}

/* net_vireo classifies only packets whose checksums or segments the device described. */
static const uint32_t ptypes[] = {
	RTE_PTYPE_L2_ETHER,
	RTE_PTYPE_L2_ETHER_VLAN,
	RTE_PTYPE_L3_IPV4_EXT_UNKNOWN,
	RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
	RTE_PTYPE_L4_TCP,
	RTE_PTYPE_L4_UDP,
#if !NET_PTYPES_COUNTED
	RTE_PTYPE_UNKNOWN,
#endif
};

static bool
knows_ptypes(const struct rte_eth_dev *eth_dev)
{
	return (eth_dev->data->dev_conf.rxmode.offloads &
		(RX_CSUM_OFFLOADS | RTE_ETH_RX_OFFLOAD_TCP_LRO)) != 0;
}

#if NET_PTYPES_COUNTED
const uint32_t *
net_supported_ptypes_get(struct rte_eth_dev *eth_dev, size_t *nb_ptypes)
{
	*nb_ptypes = RTE_DIM(ptypes);
	return knows_ptypes(eth_dev) ? ptypes : NULL;
}
#else
const uint32_t *
net_supported_ptypes_get(struct rte_eth_dev *eth_dev)
{
	return knows_ptypes(eth_dev) ? ptypes : NULL;
}
#endif
