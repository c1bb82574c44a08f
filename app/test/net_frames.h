/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_NET_FRAMES_H
#define VIREO_NET_FRAMES_H

/*
 * Frames with a content that follows from a seed, for tests that compare every byte, and the
 * layouts of devargs that data path tests run over. On top of net_fixture.h.
 */

#include "net_fixture.h"
#include "test.h"

/* The longest frame that the tests move: a chain as long as a ring of small segments. */
#define NET_FRAME_MAX 65535

/** Devargs of all layouts and table policies; ends with NULL. */
extern const char *const net_variants[];

/** Write frame number `seed` of len bytes: to the port, from an address of ours. */
void net_frame_write(const struct net_fixture *f, uint8_t *frame, uint32_t len, uint32_t seed);

/** @return 0 when frame is what net_frame_write() writes for seed, else -1 after saying where. */
int net_frame_check(const struct net_fixture *f, const uint8_t *frame, uint32_t len,
		    uint32_t want_len, uint32_t seed);

/**
 * Frame number `seed` of len bytes in nb_segs mbufs of nearly equal length, from mp.
 * @return NULL: no mbuf, or a segment does not fit.
 */
struct rte_mbuf *net_frame_mbuf(const struct net_fixture *f, struct rte_mempool *mp, uint32_t len,
				uint16_t nb_segs, uint32_t seed);

/** As net_frame_check() for a received packet: its chain must be consistent as well. */
int net_frame_check_mbuf(const struct net_fixture *f, const struct rte_mbuf *m, uint32_t want_len,
			 uint32_t seed);

/** Device side: take one frame that must be number `seed`. @return 0, or -1 after saying why. */
int net_frame_take(struct net_fixture *f, uint16_t pair, uint32_t want_len, uint32_t seed,
		   struct net_hdr *hdr);

/** All mbufs must be back in the pool (after stop or close). @return 0 or -1. */
int net_pool_check(const struct rte_mempool *mp);

/**
 * Run fn on a started port with these devargs, on a device of `mode`; the pool must be whole
 * after the stop. @return 0 or -1.
 */
int net_run_on(const char *devargs, enum vireo_loopback_mode mode, uint16_t nb_queues,
	       uint16_t nb_desc, const struct rte_eth_conf *conf, int (*fn)(struct net_fixture *f));

/** The same for each of net_variants. */
int net_over_variants(enum vireo_loopback_mode mode, uint16_t nb_queues, uint16_t nb_desc,
		      const struct rte_eth_conf *conf, int (*fn)(struct net_fixture *f));

#endif /* VIREO_NET_FRAMES_H */
