/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_LOOPBACK_PRIV_H
#define VIREO_LOOPBACK_PRIV_H

/*
 * Shared by the parts of the loopback device: loopback.c (life, config space, the pair's
 * ops), loopback_data.c (frames), loopback_ctrl.c (commands), loopback_rss.c (hashes).
 * Everything is under the device's lock, unless stated otherwise.
 */

#include <pthread.h>

#include "../vq/pair.h"
#include "../vq/vq_device.h"
#include "loopback.h"

/* Pieces of a buffer that is kept aside, and how many are: enough for 64 KiB in 1 KiB. */
#define LB_HELD_IOV 16
#define LB_HELD_MAX 128
/* Pieces of a frame that the driver sends. */
#define LB_TX_IOV 1024
/* The longest frame with its header: a 64 KiB packet, Ethernet and VLAN headers. */
#define LB_FRAME_MAX (65535 + 18)
#define LB_VLANS 4096

/* An Rx buffer that was taken and not used yet. */
struct lb_held {
	uint16_t id;
	uint16_t nb_slots;
	uint16_t nb_iov;
	uint32_t in_bytes;
	struct vq_iov iov[LB_HELD_IOV];
};

/* A Tx buffer that was read and is to be completed. */
struct lb_done {
	uint16_t id;
	uint16_t nb_slots;
};

struct lb_queue {
	struct vq_dev vq;
	bool set;
	bool enabled;
	int kick_fd;
	int call_fd;
	enum vireo_loopback_fault fault;
	struct vq_regions *regions;
	struct lb_held *held; /* Rx: LB_HELD_MAX, oldest first */
	uint16_t nb_held;
	struct lb_done *done; /* Tx: LB_HELD_MAX */
	uint16_t nb_done;
};

struct lb_rss {
	uint16_t table_len; /* 0: not configured */
	uint16_t unclassified;
	uint32_t hash_types;
	uint16_t table[VIREO_NET_RSS_TABLE_MAX];
	uint8_t key[VIREO_NET_RSS_KEY_BYTES];
};

struct lb_mac_table {
	uint8_t mac[VIREO_NET_MAC_TABLE_MAX][6];
	uint8_t nb;
	bool overflow; /* more were told than fit: all pass */
};

struct vireo_loopback {
	pthread_mutex_t lock;
	struct vireo_loopback_conf conf;
	char name[PAIR_NAME_MAX];
	struct pair *pair;
	uint64_t features; /* negotiated */
	uint8_t status;
	struct net_config config;
	struct vireo_loopback_state state; /* counters and what commands said */
	struct lb_mac_table unicast;
	struct lb_mac_table multicast;
	uint8_t vlans[LB_VLANS / 8];
	struct lb_rss rss;
	struct vireo_loopback *crossed;
	pthread_t thread;
	int wake_fd; /* eventfd: look at what changed */
	bool stopping;
	bool own; /* made for a driver that asked, goes with it */
	uint16_t nb_queues; /* data queues and the control queue */
	struct lb_queue *queues;
	uint8_t *frame; /* LB_FRAME_MAX bytes: the frame under way */
	struct vq_chain *chain; /* LB_TX_IOV pieces: the Tx buffer or command under way */
	struct vq_chain *rx_chain; /* LB_HELD_IOV pieces */
};

/* A frame under way: lb->frame and what goes with it. */
struct lb_frame {
	struct net_hdr hdr;
	uint32_t len_bytes;
	uint32_t hash;
	uint16_t hash_report;
};

/* The queue that the driver of that pair receives from. */
static inline struct lb_queue *
lb_rxq(struct vireo_loopback *lb, uint16_t pair)
{
	return &lb->queues[VIREO_NET_RXQ_IDX(pair)];
}

/* The queue that the driver of that pair sends to. */
static inline struct lb_queue *
lb_txq(struct vireo_loopback *lb, uint16_t pair)
{
	return &lb->queues[VIREO_NET_TXQ_IDX(pair)];
}

/* Section 5.1.2: pairs that there are with what was negotiated. */
static inline uint16_t
lb_nb_pairs(const struct vireo_loopback *lb)
{
	return lb->features & (VIREO_NET_F_MQ | VIREO_NET_F_RSS) ? lb->conf.nb_pairs : 1;
}

/** Section 5.1.2: the control queue's index with what was negotiated. */
uint16_t lb_ctrl_idx(const struct vireo_loopback *lb);

/** Does a queue run (set, enabled, DRIVER_OK, not broken)? */
bool lb_runs(const struct vireo_loopback *lb, const struct lb_queue *q);

/** Complete a buffer, with the queue's fault if there is one. */
void lb_use(struct lb_queue *q, uint16_t id, uint16_t nb_slots, uint32_t written);

/** Publish what was completed, interrupt the driver if it wants that. */
void lb_publish(struct lb_queue *q);

/** All commands back to what holds after a reset. */
void lb_ctrl_reset(struct vireo_loopback *lb);

/** Serve the control queue: all commands that are there. */
void lb_ctrl_serve(struct vireo_loopback *lb);

/** Hash of lb->frame by the configured types; *report is NONE when none fits. */
uint32_t lb_hash(const struct vireo_loopback *lb, const uint8_t *frame, uint32_t len_bytes,
		 uint16_t *report);

#endif /* VIREO_LOOPBACK_PRIV_H */
