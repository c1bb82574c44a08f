/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_LOOPBACK_H
#define VIREO_LOOPBACK_H

/*
 * A network device in this process, for tests and measuring: everything of VIRTIO 1.3
 * section 5.1 that Vireo's driver can use, with a control queue of its own, and the means to
 * take and inject frames, to complete out of order and to misbehave. A driver joins it by
 * name (devargs path=loopback:<name>).
 *
 * Threads: any; a device has one lock, which its own thread, pollers and the driver's control
 * work take in turn. Polling never waits for the lock: it does nothing when another has it.
 */

#include "../base/vireo_base.h"
#include "../wire/net_abi.h"
#include "../wire/ring_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vireo_loopback;

/* What becomes of frames that the driver sends, and whether it is sent any. */
enum vireo_loopback_mode {
	VIREO_LOOPBACK_REFLECT, /* they come back, on the same pair unless RSS says otherwise */
	VIREO_LOOPBACK_SINK, /* they are completed unread */
	VIREO_LOOPBACK_SOURCE, /* as sink, and the driver receives without end */
	VIREO_LOOPBACK_HOOK, /* only vireo_loopback_tx_take() takes them */
};

struct vireo_loopback_conf {
	const char *name;
	enum vireo_loopback_mode mode;
	uint64_t features; /* offered; 0: all that there are */
	uint16_t nb_pairs; /* 0: 1 */
	uint16_t mtu; /* 0: 9710 */
	uint32_t ring_size_max; /* 0: 32768 */
	uint32_t speed; /* Mb/s; 0: unknown */
	uint8_t mac[6]; /* all zero: 02:00:00:00:00:01 */
	bool service; /* the device's own thread polls the data queues too */
	uint16_t reorder; /* complete up to this many buffers in reverse order; 0, 1: in order */
	bool batch; /* IN_ORDER: one used element for all buffers of a burst (Tx) */
	uint16_t source_bytes; /* length of the frames of SOURCE; 0: 64 */
	/*
	 * ACCESS_PLATFORM: addresses in descriptors are virtual addresses plus this (above all
	 * virtual addresses, so that plain ones are found out: 1 << 62, say). A driver
	 * that does not know of it leaves it 0.
	 */
	uint64_t addr_offset;
};

/* Ways to break the rules at the next opportunity, once. */
enum vireo_loopback_fault {
	VIREO_LOOPBACK_FAULT_NONE,
	VIREO_LOOPBACK_FAULT_ID, /* a used id beyond the ring */
	VIREO_LOOPBACK_FAULT_TWICE, /* the same buffer is used twice */
	VIREO_LOOPBACK_FAULT_LEN, /* more bytes written than the buffer has */
	VIREO_LOOPBACK_FAULT_IDX, /* split: the used index runs ahead by more than the ring */
	/* Control queue only, until another fault is set: */
	VIREO_LOOPBACK_FAULT_SILENT, /* commands are not answered */
	VIREO_LOOPBACK_FAULT_REFUSE, /* commands are refused */
	VIREO_LOOPBACK_FAULT_NO_ACK, /* commands are completed without an answer written */
};

/* What the driver has told by control commands. */
struct vireo_loopback_state {
	bool promisc;
	bool allmulti;
	uint8_t status; /* VIREO_STATUS_* */
	uint8_t mac[6];
	uint8_t nb_unicast; /* in the MAC table */
	uint8_t nb_multicast;
	uint16_t nb_vlans;
	uint16_t nb_pairs; /* in use */
	uint16_t rss_table_len; /* 0: RSS is not configured */
	uint32_t hash_types;
	uint64_t guest_offloads;
	uint64_t features; /* negotiated */
	uint64_t nb_commands;
	uint64_t nb_announce_acks;
	uint64_t nb_tx; /* frames from the driver */
	uint64_t nb_rx; /* frames to the driver */
	uint64_t nb_filtered; /* not for the driver's addresses or VLANs */
	uint64_t nb_dropped; /* fit no buffers, or need what was not negotiated */
	uint64_t nb_violations; /* by the driver */
};

/**
 * Create a device; a driver that waits for the name is connected. Control thread, not under
 * EAL's memory lock.
 *
 * @return 0 and *lb; -EEXIST: the name is taken; -EINVAL; -ENOMEM; errors of thread creation.
 */
int vireo_loopback_create(const struct vireo_loopback_conf *conf, struct vireo_loopback **lb);

/** The device goes; its driver sees a disconnection. No poll may run on it afterwards. */
void vireo_loopback_destroy(struct vireo_loopback *lb);

/**
 * Serve the data queues of one pair once, or of all pairs, at most budget frames each way and
 * pair.
 *
 * @return frames moved.
 */
uint32_t vireo_loopback_poll_pair(struct vireo_loopback *lb, uint16_t pair, uint32_t budget);
uint32_t vireo_loopback_poll(struct vireo_loopback *lb, uint32_t budget);

/** Frames that a's driver sends are received by b's and the other way round; NULL: undo. */
void vireo_loopback_cross(struct vireo_loopback *a, struct vireo_loopback *b);

/**
 * Hand the driver a frame on a pair. hdr: flags, gso_*, csum_* are handed over as they are;
 * NULL: none. Filters and RSS are not applied.
 *
 * @return 0; -EAGAIN: not enough buffers now; -EMSGSIZE: never fits; -ENOTCONN: the queue
 * does not run.
 */
int vireo_loopback_rx_inject(struct vireo_loopback *lb, uint16_t pair, const void *frame,
			     uint32_t len_bytes, const struct net_hdr *hdr);

/**
 * Take a frame that the driver sent on a pair and complete it.
 *
 * @return its length; 0: none; -EMSGSIZE: longer than size_bytes (completed, lost); -EPROTO:
 * the driver broke the ring; -ENOTCONN: the queue does not run.
 */
int vireo_loopback_tx_take(struct vireo_loopback *lb, uint16_t pair, void *frame,
			   uint32_t size_bytes, struct net_hdr *hdr);

/** Break the rules once on the queue of that index (rx0, tx0, ...; UINT16_MAX: control). */
void vireo_loopback_fault(struct vireo_loopback *lb, uint16_t queue_idx,
			  enum vireo_loopback_fault fault);

/** Change the link bit of config space, or ask for an announcement; the driver is told. */
void vireo_loopback_link_set(struct vireo_loopback *lb, bool up);
void vireo_loopback_announce(struct vireo_loopback *lb);

/** What the driver has set so far: a copy. Any thread. */
void vireo_loopback_state_get(struct vireo_loopback *lb, struct vireo_loopback_state *state);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_LOOPBACK_H */
