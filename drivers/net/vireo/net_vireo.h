/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef NET_VIREO_H
#define NET_VIREO_H

/*
 * The net driver's own structures and the border between its parts: ethdev.c, devargs.c,
 * ctrl.c and stats.c (control) and rxtx.c (data path).
 *
 * What is where: struct net_port and the queues lie in shared memory (dev_private and
 * rte_zmalloc), so that secondary processes can read statistics and configuration; they
 * hold no function pointer and no fd. Those are in struct net_local, in the primary's heap,
 * reached through process_private and, for the kick, through a queue's `local` pointer,
 * which only the primary follows.
 */

#include <pthread.h>

#include <ethdev_driver.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "../../../lib/base/turnstile.h"
#include "../../../lib/dev/vireo_dev.h"
#include "../../../lib/vq/vq.h"
#include "../../../lib/wire/net_abi.h"
#include "compat.h"

#define NET_MAX_PKT_BYTES 9728
#define NET_MIN_MTU 68
#define NET_MIN_DESC 4
#define NET_SIZE_BINS 8
/* Descriptors in the largest indirect table, and in each table of indirect=mempool. */
#define NET_TABLE_DESC_MAX 64
#define NET_XSTATS_MAX 24 /* of one queue */

/* How indirect tables are had (devarg indirect=). */
enum net_indirect {
	NET_INDIRECT_AUTO, /* pool or off, as the peer and layout favour */
	NET_INDIRECT_POOL,
	NET_INDIRECT_MEMPOOL,
	NET_INDIRECT_MALLOC,
	NET_INDIRECT_OFF,
};

/* Counters are never reset, for the lcore owns them: a reset keeps their values here. */
struct net_stats_base {
	uint64_t value[NET_XSTATS_MAX]; /* in the order of stats.c's tables */
};

/* Process-local part of one queue: what must not lie in shared memory. */
struct net_queue_local {
	int kick_fd;
	int call_fd;
};

/* Counters that both directions have; written by the owner lcore only. */
struct net_counters {
	uint64_t packets;
	uint64_t bytes;
	uint64_t errors;
	uint64_t multicast;
	uint64_t broadcast;
	uint64_t size_bins[NET_SIZE_BINS]; /* <64, 64, -127, -255, -511, -1023, -1518, above */
};

struct net_rxq {
	struct turnstile gate;
	struct vq_drv vq __rte_cache_aligned;
	/* Read in the data path, written by control. */
	struct rte_mempool *mp;
	uint64_t rearm; /* mbuf rearm word: data_off, refcnt 1, nb_segs 1, port */
	uint16_t addr_off; /* of the mbuf field that holds the buffer's address */
	uint16_t hdr_bytes; /* 12 or 20 */
	uint16_t port_id;
	uint16_t queue_id;
	uint32_t offloads; /* NET_RX_* below */
	uint32_t buf_bytes; /* posted length: header and data room */
	uint8_t deferred;
	uint8_t started;
	uint8_t mac_stats; /* count multicast and broadcast: reads a line of every packet */
	struct rte_mbuf *pkt_first; /* mergeable: packet whose rest has not arrived yet */
	struct rte_mbuf *pkt_last;
	uint16_t pkt_missing; /* buffers of it still to come */
	struct net_queue_local *local;
	struct net_counters stats;
	uint64_t nobuf; /* refill found no mbuf */
	uint64_t csum_bad;
	uint64_t lro;
	const struct rte_memzone *mz;
	void *priv;
	uint16_t nb_desc;
	int socket_id;
	/* Control only. */
	uint64_t built; /* features that the ring memory was laid out for */
	uint32_t conf_offloads; /* RTE_ETH_RX_OFFLOAD_* of this queue alone, folded to NET_RX_* */
	uint16_t free_thresh;
	uint8_t reported; /* its violation was reported */
	struct net_stats_base base;
};

/* Bits of net_rxq.offloads and net_txq.offloads: what the burst functions must do. */
#define NET_RX_CSUM 0x1u
#define NET_RX_LRO 0x2u
#define NET_RX_VLAN_STRIP 0x4u
#define NET_RX_HASH 0x8u
#define NET_TX_CSUM 0x1u
#define NET_TX_TSO 0x2u
#define NET_TX_VLAN 0x4u
#define NET_TX_FAST_FREE 0x8u
#define NET_TX_MULTI_SEG 0x10u
#define NET_TX_CHECK_MEM 0x20u

struct net_txq {
	struct turnstile gate;
	struct vq_drv vq __rte_cache_aligned;
	uint16_t addr_off;
	uint16_t hdr_bytes;
	uint16_t port_id;
	uint16_t queue_id;
	uint32_t offloads;
	uint16_t free_thresh; /* reclaim when fewer slots than this are free */
	uint16_t direct_max; /* chains up to this long go direct while there is room */
	uint8_t indirect; /* enum net_indirect, never AUTO once set up */
	uint8_t deferred;
	uint8_t started;
	uint8_t mac_stats;
	uint64_t zero_hdr_addr; /* one constant header that every plain packet can share */
	struct net_queue_local *local;
	struct net_counters stats;
	uint64_t indirect_packets;
	uint64_t indirect_pool_empty;
	uint64_t indirect_too_long;
	uint64_t dropped_too_long; /* never fits the ring */
	uint64_t dropped_no_mem; /* check_mem: memory that the device does not have */
	struct rte_mempool *table_mp; /* indirect=mempool */
	const struct rte_memzone *mz;
	void *priv;
	uint16_t nb_desc;
	int socket_id;
	/* Control only. */
	uint64_t built; /* features that the ring memory was laid out for */
	uint32_t conf_offloads; /* RTE_ETH_TX_OFFLOAD_* of this queue alone, folded to NET_TX_* */
	struct rte_mbuf **limbo; /* packets that a lost peer left, to be freed: limbo.c */
	uint32_t nb_limbo;
	void *limbo_tables; /* their indirect tables, linked by their first word */
	uint8_t reported; /* its violation was reported */
	struct net_stats_base base;
};

/* Devargs as parsed; defaults are stock virtio-user's where it has the argument. */
struct net_devargs {
	char path[108]; /* sun_path */
	char iface[16];
	bool loopback; /* path=loopback:<name> */
	bool server;
	bool has_mac;
	bool cq;
	bool mrg_rxbuf;
	bool in_order;
	bool packed_vq;
	bool event_idx;
	bool check_mem;
	bool mac_stats;
	struct rte_ether_addr mac;
	uint32_t queue_size; /* 0: from nb_desc */
	uint16_t queues;
	uint32_t speed; /* Mb/s */
	enum net_indirect indirect;
	struct vq_pool_class classes[VQ_NB_CLASSES];
};

/* Receive side scaling as configured; told to the device at each start and connection. */
struct net_rss {
	uint32_t supported; /* VIREO_NET_HASH_TYPE_* of the device */
	uint32_t hash_types;
	uint16_t reta_queues; /* number of queues that reta was made for */
	uint16_t reta[VIREO_NET_RSS_TABLE_MAX];
	uint8_t key[VIREO_NET_RSS_KEY_BYTES];
};

/* dev_private: shared between processes. */
struct net_port {
	struct net_devargs args;
	uint64_t offered; /* by the device; before a server's first connection: what may come */
	uint64_t negotiated;
	struct rte_ether_addr mac;
	uint16_t nb_pairs_max;
	uint16_t port_id;
	uint16_t max_mtu;
	uint8_t hdr_bytes;
	uint8_t use_va; /* mbuf addresses are virtual (vhost-user, loopback) */
	uint8_t started;
	uint8_t connected; /* a peer is there and its queues are set up */
	uint8_t carrier; /* config space's link status, 1 when the device has none */
	uint8_t numa_reported;
	uint32_t speed; /* Mb/s, RTE_ETH_SPEED_NUM_UNKNOWN when nobody says */
	uint32_t nb_mc;
	uint64_t nb_broken; /* queues that were broken by the other side so far */
	struct net_rss rss;
	struct rte_ether_addr mc[VIREO_NET_MAC_TABLE_MAX];
};

/*
 * process_private of the primary. Locks: the device's lock is taken before mutex, never the
 * other way round: code that holds mutex calls no vireo_dev_*().
 */
struct net_local {
	struct vireo_dev *dev;
	struct rte_eth_dev *eth_dev;
	struct net_queue_local *queues; /* rx0, tx0, rx1, ... */
	pthread_mutex_t mutex; /* all below, and every queue against callbacks */
	uint32_t nb_quiesced; /* quiesce calls not yet resumed; each queue's gate counts them too */
	uint32_t nb_link_events;
	bool ready; /* probed: alarms may run */
	bool closing; /* arm no more alarms */
	bool ctrl_stale; /* a new peer has not been told the control state */
	bool config_stale; /* config space is to be read again */
	bool lsc_pending; /* the link changed and the application was not told */
	struct net_rxq *rxqs[VIREO_NET_PAIRS_MAX];
	struct net_txq *txqs[VIREO_NET_PAIRS_MAX];
};

/* rxtx.c: the data path and its set-up. All of it runs with the gate closed. */

/** Post Rx buffers until the ring (or nb_desc) is full. @return 0, -ENOMEM: none at all. */
int net_rxq_fill(struct net_rxq *rxq);
/** Free all mbufs that a stopped queue holds, and reset its ring to zero. */
void net_rxq_drain(struct net_rxq *rxq);
void net_txq_drain(struct net_txq *txq);
/** indirect=malloc: is the calling thread inside this gate, in an allocation? tx.c. */
bool net_tx_is_allocating(const struct turnstile *gate);
/** Choose the burst functions and tx_pkt_prepare from what was negotiated and configured. */
void net_rxtx_select(struct rte_eth_dev *eth_dev);
/** ethdev ops with ethdev's semantics. */
int net_rx_burst_mode_get(struct rte_eth_dev *eth_dev, uint16_t queue_id,
			  struct rte_eth_burst_mode *mode);
int net_tx_burst_mode_get(struct rte_eth_dev *eth_dev, uint16_t queue_id,
			  struct rte_eth_burst_mode *mode);
int net_tx_done_cleanup(void *txq, uint32_t free_cnt);
int net_rx_descriptor_status(void *rxq, uint16_t offset);
int net_tx_descriptor_status(void *txq, uint16_t offset);
net_queue_count_t net_rx_queue_count(void *rxq);
int net_rx_monitor_addr(void *rxq, struct rte_power_monitor_cond *cond);
/**
 * Ask for (or stop) an interrupt when the next packet comes; Rx interrupts.
 * @return 1 when packets are already waiting, else 0.
 */
int net_rxq_arm(struct net_rxq *rxq);
void net_rxq_disarm(struct net_rxq *rxq);

#endif /* NET_VIREO_H */
