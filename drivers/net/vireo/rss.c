/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <string.h>

#include <rte_ethdev.h>

#include "ethdev.h"
#include "log.h"

/* The key that the RSS specification's verification suite uses, and most devices start with. */
static const uint8_t default_key[VIREO_NET_RSS_KEY_BYTES] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* VIRTIO 1.3 section 5.1.6.5.7.1: the command's data, with a full table and a full key. */
struct rss_config {
	uint32_t hash_types;
	uint16_t table_mask;
	uint16_t unclassified_queue;
	uint16_t table[VIREO_NET_RSS_TABLE_MAX];
	uint16_t max_tx_vq;
	uint8_t key_len;
	uint8_t key[VIREO_NET_RSS_KEY_BYTES];
};

/* VIRTIO 1.3 section 5.1.6.5.6.4: HASH_REPORT without RSS. */
struct hash_config {
	uint32_t hash_types;
	uint16_t reserved[4];
	uint8_t key_len;
	uint8_t key[VIREO_NET_RSS_KEY_BYTES];
};

#define RSS_CONFIG_BYTES (offsetof(struct rss_config, key) + VIREO_NET_RSS_KEY_BYTES)
#define HASH_CONFIG_BYTES (offsetof(struct hash_config, key) + VIREO_NET_RSS_KEY_BYTES)

VIREO_STATIC_ASSERT(RSS_CONFIG_BYTES == 8 + 256 + 2 + 1 + 40, "RSS command");
VIREO_STATIC_ASSERT(HASH_CONFIG_BYTES == 12 + 1 + 40, "hash command");

static const struct {
	uint32_t virtio;
	uint64_t ethdev;
} hash_types[] = {
	{ VIREO_NET_HASH_TYPE_IPV4,
	  RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER },
	{ VIREO_NET_HASH_TYPE_TCPV4, RTE_ETH_RSS_NONFRAG_IPV4_TCP },
	{ VIREO_NET_HASH_TYPE_UDPV4, RTE_ETH_RSS_NONFRAG_IPV4_UDP },
	{ VIREO_NET_HASH_TYPE_IPV6,
	  RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER },
	{ VIREO_NET_HASH_TYPE_TCPV6, RTE_ETH_RSS_NONFRAG_IPV6_TCP },
	{ VIREO_NET_HASH_TYPE_UDPV6, RTE_ETH_RSS_NONFRAG_IPV6_UDP },
	{ VIREO_NET_HASH_TYPE_IPV6_EX, RTE_ETH_RSS_IPV6_EX },
	{ VIREO_NET_HASH_TYPE_TCPV6_EX, RTE_ETH_RSS_IPV6_TCP_EX },
	{ VIREO_NET_HASH_TYPE_UDPV6_EX, RTE_ETH_RSS_IPV6_UDP_EX },
};

static uint32_t
to_virtio(uint64_t rss_hf)
{
	uint32_t types = 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(hash_types); i++)
		if (rss_hf & hash_types[i].ethdev)
			types |= hash_types[i].virtio;
	return types;
}

static uint64_t
to_ethdev(uint32_t types)
{
	uint64_t rss_hf = 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(hash_types); i++)
		if (types & hash_types[i].virtio)
			rss_hf |= hash_types[i].ethdev;
	return rss_hf;
}

uint64_t
net_rss_offloads(const struct net_port *port)
{
	return to_ethdev(port->rss.supported);
}

static int
set_key(struct net_port *port, const struct rte_eth_rss_conf *conf)
{
	if (conf->rss_key == NULL || conf->rss_key_len == 0)
		return 0;
	if (conf->rss_key_len != VIREO_NET_RSS_KEY_BYTES) {
		LOG(ERR, "port %u: an RSS key of %u bytes is refused: expected %u", port->port_id,
		    conf->rss_key_len, VIREO_NET_RSS_KEY_BYTES);
		return -EINVAL;
	}
	memcpy(port->rss.key, conf->rss_key, VIREO_NET_RSS_KEY_BYTES);
	return 0;
}

static void
spread(struct net_rss *rss, uint16_t nb_queues)
{
	unsigned int i;

	for (i = 0; i < VIREO_NET_RSS_TABLE_MAX; i++)
		rss->reta[i] = i % nb_queues;
	rss->reta_queues = nb_queues;
}

int
net_rss_configure(struct rte_eth_dev *eth_dev)
{
	const struct rte_eth_rss_conf *conf = &eth_dev->data->dev_conf.rx_adv_conf.rss_conf;
	struct net_port *port = net_port_of(eth_dev);

	if (!(port->negotiated & (VIREO_NET_F_RSS | VIREO_NET_F_HASH_REPORT)))
		return 0;
	memcpy(port->rss.key, default_key, sizeof(default_key));
	if (set_key(port, conf) != 0)
		return -EINVAL;
	port->rss.hash_types = conf->rss_hf == 0 ? port->rss.supported
						 : to_virtio(conf->rss_hf) & port->rss.supported;
	/* A table that the application made for this many queues survives. */
	if (eth_dev->data->nb_rx_queues != 0 &&
	    port->rss.reta_queues != eth_dev->data->nb_rx_queues)
		spread(&port->rss, eth_dev->data->nb_rx_queues);
	return 0;
}

static int
apply_hash(struct rte_eth_dev *eth_dev)
{
	const struct net_rss *rss = &net_port_of(eth_dev)->rss;
	struct hash_config cfg = { .hash_types = rss->hash_types,
				   .key_len = VIREO_NET_RSS_KEY_BYTES };

	memcpy(cfg.key, rss->key, sizeof(cfg.key));
	return vireo_dev_ctrl(net_local_of(eth_dev)->dev, VIREO_NET_CTRL_MQ,
			      VIREO_NET_CTRL_MQ_HASH_CONFIG, &cfg, HASH_CONFIG_BYTES);
}

int
net_rss_apply(struct rte_eth_dev *eth_dev)
{
	const struct net_port *port = net_port_of(eth_dev);
	const struct net_rss *rss = &port->rss;
	struct rss_config cfg;

	if (!(port->negotiated & VIREO_NET_F_RSS))
		return apply_hash(eth_dev);
	memset(&cfg, 0, sizeof(cfg));
	cfg.hash_types = rss->hash_types;
	cfg.table_mask = VIREO_NET_RSS_TABLE_MAX - 1;
	memcpy(cfg.table, rss->reta, sizeof(cfg.table));
	cfg.max_tx_vq = RTE_MAX(eth_dev->data->nb_rx_queues, eth_dev->data->nb_tx_queues);
	cfg.key_len = VIREO_NET_RSS_KEY_BYTES;
	memcpy(cfg.key, rss->key, sizeof(cfg.key));
	return vireo_dev_ctrl(net_local_of(eth_dev)->dev, VIREO_NET_CTRL_MQ,
			      VIREO_NET_CTRL_MQ_RSS_CONFIG, &cfg, RSS_CONFIG_BYTES);
}

/* Try a new state; the old one comes back when the device refuses. */
static int
apply_or_undo(struct rte_eth_dev *eth_dev, const struct net_rss *old)
{
	struct net_port *port = net_port_of(eth_dev);
	int ret;

	if (!port->started)
		return 0;
	ret = net_rss_apply(eth_dev);
	if (ret == 0 || ret == -ENOTCONN)
		return 0;
	LOG(ERR, "port %u: the device refuses the RSS configuration: %s", port->port_id,
	    strerror(-ret));
	port->rss = *old;
	return ret;
}

int
net_rss_hash_update(struct rte_eth_dev *eth_dev, struct rte_eth_rss_conf *conf)
{
	struct net_port *port = net_port_of(eth_dev);
	struct net_rss old = port->rss;

	if (!(port->negotiated & VIREO_NET_F_RSS))
		return -ENOTSUP;
	if (conf->rss_hf & ~to_ethdev(port->rss.supported)) {
		LOG(ERR,
		    "port %u: RSS types 0x%" PRIx64 " are refused: expected some of 0x%" PRIx64,
		    port->port_id, conf->rss_hf, to_ethdev(port->rss.supported));
		return -EINVAL;
	}
	if (set_key(port, conf) != 0)
		return -EINVAL;
	port->rss.hash_types = to_virtio(conf->rss_hf);
	return apply_or_undo(eth_dev, &old);
}

int
net_rss_hash_conf_get(struct rte_eth_dev *eth_dev, struct rte_eth_rss_conf *conf)
{
	const struct net_port *port = net_port_of(eth_dev);

	if (!(port->negotiated & VIREO_NET_F_RSS))
		return -ENOTSUP;
	if (conf->rss_key != NULL && conf->rss_key_len >= VIREO_NET_RSS_KEY_BYTES)
		memcpy(conf->rss_key, port->rss.key, VIREO_NET_RSS_KEY_BYTES);
	conf->rss_key_len = VIREO_NET_RSS_KEY_BYTES;
	conf->rss_hf = to_ethdev(port->rss.hash_types);
	return 0;
}

static bool
is_selected(const struct rte_eth_rss_reta_entry64 *conf, unsigned int i)
{
	return (conf[i / RTE_ETH_RETA_GROUP_SIZE].mask >> (i % RTE_ETH_RETA_GROUP_SIZE)) & 1;
}

int
net_reta_update(struct rte_eth_dev *eth_dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	struct net_port *port = net_port_of(eth_dev);
	struct net_rss old = port->rss;
	unsigned int i;
	uint16_t queue;

	if (!(port->negotiated & VIREO_NET_F_RSS))
		return -ENOTSUP;
	if (size != VIREO_NET_RSS_TABLE_MAX)
		return -EINVAL;
	for (i = 0; i < size; i++) {
		if (!is_selected(conf, i))
			continue;
		queue = conf[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
		if (queue >= eth_dev->data->nb_rx_queues) {
			LOG(ERR,
			    "port %u: redirection entry %u to queue %u is refused: expected below %u",
			    port->port_id, i, queue, eth_dev->data->nb_rx_queues);
			port->rss = old;
			return -EINVAL;
		}
		port->rss.reta[i] = queue;
	}
	return apply_or_undo(eth_dev, &old);
}

int
net_reta_query(struct rte_eth_dev *eth_dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	const struct net_port *port = net_port_of(eth_dev);
	unsigned int i;

	if (!(port->negotiated & VIREO_NET_F_RSS))
		return -ENOTSUP;
	if (size != VIREO_NET_RSS_TABLE_MAX)
		return -EINVAL;
	for (i = 0; i < size; i++)
		if (is_selected(conf, i))
			conf[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] =
				port->rss.reta[i];
	return 0;
}
