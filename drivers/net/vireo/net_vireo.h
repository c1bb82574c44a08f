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

#include <ethdev_driver.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_spinlock.h>

#include "../../../lib/base/turnstile.h"
#include "../../../lib/dev/vireo_dev.h"
#include "../../../lib/vq/vq.h"
#include "../../../lib/wire/net_abi.h"

#define NET_MAX_PKT_BYTES 9728
#define NET_MIN_MTU 68
#define NET_SIZE_BINS 8

/* How indirect tables are had (devarg indirect=). */
enum net_indirect {
	NET_INDIRECT_AUTO, /* pool or off, as the peer and layout favour */
	NET_INDIRECT_POOL,
	NET_INDIRECT_MEMPOOL,
	NET_INDIRECT_MALLOC,
	NET_INDIRECT_OFF,
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
	uint8_t indirect; /* enum net_indirect, never AUTO once set up */
	uint8_t deferred;
	uint8_t started;
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
	struct rte_ether_addr mac;
	uint32_t queue_size; /* 0: from nb_desc */
	uint16_t queues;
	uint32_t speed; /* Mb/s */
	enum net_indirect indirect;
	struct vq_pool_class classes[VQ_NB_CLASSES];
};

/* dev_private: shared between processes. */
struct net_port {
	struct net_devargs args;
	uint64_t negotiated;
	struct rte_ether_addr mac;
	uint16_t nb_pairs_max;
	uint16_t port_id;
	uint8_t hdr_bytes;
	uint8_t use_va; /* mbuf addresses are virtual (vhost-user, loopback) */
	uint8_t started;
	uint8_t link_up;
	uint8_t promisc;
	uint8_t allmulti;
	uint64_t nb_broken; /* queues that were broken by the other side so far */
	rte_spinlock_t lock;
};

/* process_private of the primary. */
struct net_local {
	struct vireo_dev *dev;
	struct rte_eth_dev *eth_dev;
	struct net_queue_local *queues; /* rx0, tx0, rx1, ... */
};

/* rxtx.c: the data path and its set-up. All of it runs with the gate closed. */

/** Post Rx buffers until the ring (or nb_desc) is full. @return 0, -ENOMEM: none at all. */
int net_rxq_fill(struct net_rxq *rxq);
/** Free all mbufs that a stopped queue holds, and reset its ring to zero. */
void net_rxq_drain(struct net_rxq *rxq);
void net_txq_drain(struct net_txq *txq);
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
uint32_t net_rx_queue_count(void *rxq);
int net_rx_monitor_addr(void *rxq, struct rte_power_monitor_cond *cond);
/**
 * Ask for (or stop) an interrupt when the next packet comes; Rx interrupts.
 * @return 1 when packets are already waiting, else 0.
 */
int net_rxq_arm(struct net_rxq *rxq);
void net_rxq_disarm(struct net_rxq *rxq);

#endif /* NET_VIREO_H */
