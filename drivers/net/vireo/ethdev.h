/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef NET_ETHDEV_H
#define NET_ETHDEV_H

/*
 * The control side of the net driver: what its parts ask of each other, and the ethdev
 * ops that ethdev.c puts into its tables. All of it is control work: the application's
 * control thread (ethdev serialises the ops of a port) or EAL's interrupt thread; never
 * a polling lcore. Ops have ethdev's semantics and errors.
 */

#include "compat.h"
#include "net_vireo.h"

static inline struct net_port *
net_port_of(const struct rte_eth_dev *eth_dev)
{
	return eth_dev->data->dev_private;
}

/** NULL in a secondary process. */
static inline struct net_local *
net_local_of(const struct rte_eth_dev *eth_dev)
{
	return eth_dev->process_private;
}

/* port.c: a port's life. */

/**
 * Create the device behind a port and fill in what ethdev shows of it.
 * @return 0 or -errno as vireo_dev_create().
 */
int net_port_create(struct rte_eth_dev *eth_dev);
/** Undo net_port_create(): no callback and no alarm runs afterwards. Queues are released. */
void net_port_destroy(struct rte_eth_dev *eth_dev);
/** Have net_port_events() run soon in the interrupt thread, without any lock. Any context. */
void net_port_notify(struct net_local *local);
/** Publish the link as ethdev's: up when started, connected and the device says so. */
int net_link_publish(struct rte_eth_dev *eth_dev);
int net_dev_start(struct rte_eth_dev *eth_dev);
int net_dev_stop(struct rte_eth_dev *eth_dev);
int net_dev_close(struct rte_eth_dev *eth_dev);
int net_dev_reset(struct rte_eth_dev *eth_dev);
int net_link_update(struct rte_eth_dev *eth_dev, int wait_to_complete);

/* config.c: features, offloads, config space. */

/** Features that the devargs let the driver use, without those that offloads bring. */
uint64_t net_features_base(const struct net_devargs *args);
/** Everything that the driver could ever use with these devargs. */
uint64_t net_features_all(const struct net_devargs *args);
/** Negotiate (stopped port) and keep the outcome in the port. @return 0, -EBUSY, -ENOTSUP. */
int net_port_negotiate(struct rte_eth_dev *eth_dev, uint64_t wanted);
/** Take from vireo_dev_info what the port keeps: offered features, number of queues. */
void net_port_refresh(struct rte_eth_dev *eth_dev);
/** Take the MAC from config space, unless a devarg gave it or there is none. */
void net_config_read_mac(struct rte_eth_dev *eth_dev);
/** Read MTU, speed, link and RSS limits from config space, as far as it has them. */
void net_config_read_all(struct rte_eth_dev *eth_dev);
/** Read the link status field alone. @return VIREO_NET_S_* bits. */
uint16_t net_config_read_status(struct rte_eth_dev *eth_dev);
int net_dev_configure(struct rte_eth_dev *eth_dev);
int net_dev_infos_get(struct rte_eth_dev *eth_dev, struct rte_eth_dev_info *info);
int net_mtu_set(struct rte_eth_dev *eth_dev, uint16_t mtu);
#if NET_PTYPES_COUNTED
const uint32_t *net_supported_ptypes_get(struct rte_eth_dev *eth_dev, size_t *nb_ptypes);
#else
const uint32_t *net_supported_ptypes_get(struct rte_eth_dev *eth_dev);
#endif

/* queue.c: a queue's memory and state. */

/**
 * Make all queues ready for dev_start: ring memory fits the negotiated features, rings
 * are at zero, offload bits are current, Rx buffers are posted.
 * @return 0, -ENOMEM, -EINVAL: not all configured queues were set up.
 */
int net_queues_prepare(struct rte_eth_dev *eth_dev);
/** Open the gates of all queues without deferred start; close all again. */
void net_queues_open(struct rte_eth_dev *eth_dev);
void net_queues_close(struct rte_eth_dev *eth_dev);
/** Free all mbufs of all queues and reset the rings. The device is stopped. */
void net_queues_drain(struct net_local *local);
/** Drain and post again, for a new peer. The gates are closed. @return 0 or -ENOMEM. */
int net_queues_restart(struct net_local *local);
/** Close or open every queue's gate once more (struct vireo_dev_cb). */
void net_queues_quiesce(struct net_local *local);
void net_queues_resume(struct net_local *local);
/** Recompute the NET_RX_* bits of all Rx queues after a change of offloads while running. */
void net_queues_update_rx(struct rte_eth_dev *eth_dev);
/** The largest frame that every Rx queue that is set up can take without scatter. */
bool net_queues_take_frame(struct rte_eth_dev *eth_dev, uint32_t frame_bytes);
int net_rx_queue_setup(struct rte_eth_dev *eth_dev, uint16_t queue_id, uint16_t nb_desc,
		       unsigned int socket_id, const struct rte_eth_rxconf *conf,
		       struct rte_mempool *mp);
int net_tx_queue_setup(struct rte_eth_dev *eth_dev, uint16_t queue_id, uint16_t nb_desc,
		       unsigned int socket_id, const struct rte_eth_txconf *conf);
void net_rx_queue_release(struct rte_eth_dev *eth_dev, uint16_t queue_id);
void net_tx_queue_release(struct rte_eth_dev *eth_dev, uint16_t queue_id);
int net_rx_queue_start(struct rte_eth_dev *eth_dev, uint16_t queue_id);
int net_rx_queue_stop(struct rte_eth_dev *eth_dev, uint16_t queue_id);
int net_tx_queue_start(struct rte_eth_dev *eth_dev, uint16_t queue_id);
int net_tx_queue_stop(struct rte_eth_dev *eth_dev, uint16_t queue_id);
void net_rxq_info_get(struct rte_eth_dev *eth_dev, uint16_t queue_id,
		      struct rte_eth_rxq_info *info);
void net_txq_info_get(struct rte_eth_dev *eth_dev, uint16_t queue_id,
		      struct rte_eth_txq_info *info);

/* limbo.c: what was in flight to a peer that is gone. */

/** Room for a Tx queue's packets. @return 0 or -ENOMEM. */
int net_limbo_create(struct net_txq *txq);
/** Free the packets that are left, and the room. */
void net_limbo_destroy(struct net_txq *txq);
/** As net_txq_drain(), but the packets are kept, to be freed later. Under the port's mutex. */
void net_limbo_drain(struct net_txq *txq);
/** Free them, for all Tx queues of a port. Without any lock. */
void net_limbo_flush(struct net_local *local);

/* intr.c: Rx interrupts. */

/** Wire ethdev's interrupt handle to the queues' call fds. @return 0 or -errno. */
int net_intr_setup(struct rte_eth_dev *eth_dev);
void net_intr_teardown(struct rte_eth_dev *eth_dev);
int net_rx_queue_intr_enable(struct rte_eth_dev *eth_dev, uint16_t queue_id);
int net_rx_queue_intr_disable(struct rte_eth_dev *eth_dev, uint16_t queue_id);

/* ctrl.c: control commands. */

/**
 * Send one command; a port that is stopped or without a peer is told when it has one.
 * @return 0 or -errno as vireo_dev_ctrl(), after a log line.
 */
int net_ctrl_send(struct rte_eth_dev *eth_dev, uint8_t class_id, uint8_t cmd, const void *data,
		  uint32_t len_bytes);

/** Tell the device everything that was set: at start, and to a new peer. */
void net_ctrl_restore(struct rte_eth_dev *eth_dev);
int net_promiscuous_enable(struct rte_eth_dev *eth_dev);
int net_promiscuous_disable(struct rte_eth_dev *eth_dev);
int net_allmulticast_enable(struct rte_eth_dev *eth_dev);
int net_allmulticast_disable(struct rte_eth_dev *eth_dev);
int net_mac_addr_add(struct rte_eth_dev *eth_dev, struct rte_ether_addr *mac, uint32_t index,
		     uint32_t vmdq);
void net_mac_addr_remove(struct rte_eth_dev *eth_dev, uint32_t index);
int net_mac_addr_set(struct rte_eth_dev *eth_dev, struct rte_ether_addr *mac);
int net_set_mc_addr_list(struct rte_eth_dev *eth_dev, struct rte_ether_addr *list, uint32_t nb);
int net_vlan_filter_set(struct rte_eth_dev *eth_dev, uint16_t vlan_id, int on);
int net_vlan_offload_set(struct rte_eth_dev *eth_dev, int mask);

/* announce.c */

/** Answer GUEST_ANNOUNCE: say where our MAC is, then acknowledge. Interrupt thread. */
void net_announce(struct rte_eth_dev *eth_dev);

/* rss.c: receive side scaling. */

/** RTE_ETH_RSS_* that the device can do; 0: no RSS. */
uint64_t net_rss_offloads(const struct net_port *port);
/** Take mq_mode and rss_conf from dev_configure. @return 0 or -EINVAL. */
int net_rss_configure(struct rte_eth_dev *eth_dev);
/** Tell the device. @return 0, -EIO, -ENOTCONN, -ETIMEDOUT. */
int net_rss_apply(struct rte_eth_dev *eth_dev);
int net_rss_hash_update(struct rte_eth_dev *eth_dev, struct rte_eth_rss_conf *conf);
int net_rss_hash_conf_get(struct rte_eth_dev *eth_dev, struct rte_eth_rss_conf *conf);
int net_reta_update(struct rte_eth_dev *eth_dev, struct rte_eth_rss_reta_entry64 *conf,
		    uint16_t size);
int net_reta_query(struct rte_eth_dev *eth_dev, struct rte_eth_rss_reta_entry64 *conf,
		   uint16_t size);

/* stats.c: statistics, also in secondary processes. */

#if NET_STATS_GET_QUEUES
int net_stats_get(struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats,
		  struct eth_queue_stats *qstats);
#else
int net_stats_get(struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats);
#endif
int net_stats_reset(struct rte_eth_dev *eth_dev);
int net_xstats_get(struct rte_eth_dev *eth_dev, struct rte_eth_xstat *xstats, unsigned int n);
int net_xstats_get_names(struct rte_eth_dev *eth_dev, struct rte_eth_xstat_name *names,
			 unsigned int n);
int net_xstats_get_by_id(struct rte_eth_dev *eth_dev, const uint64_t *ids, uint64_t *values,
			 unsigned int n);
int net_xstats_get_names_by_id(struct rte_eth_dev *eth_dev, const uint64_t *ids,
			       struct rte_eth_xstat_name *names, unsigned int n);
int net_queue_stats_mapping_set(struct rte_eth_dev *eth_dev, uint16_t queue_id, uint8_t stat_idx,
				uint8_t is_rx);

/* numa.c: where a queue's memory and its users are. */

/** Node of the page at addr; -1: the kernel does not say. */
int net_numa_node_of(const void *addr);
/** Report once when no lcore sits on the node of a queue's ring or buffers. */
void net_numa_check(struct rte_eth_dev *eth_dev);

#endif /* NET_ETHDEV_H */
