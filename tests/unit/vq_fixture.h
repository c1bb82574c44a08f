/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_VQ_FIXTURE_H
#define VIREO_VQ_FIXTURE_H

/*
 * Two ends of one virtqueue in one thread, and a ledger of every buffer, which checks that
 * the device sees exactly what was posted, and the driver gets each cookie back
 * exactly once with the length that the device wrote.
 *
 * The templates' flags are run-time values here: each test runs the same source for
 * every layout, with one instance of the code.
 */

#include "vq/vq.h"
#include "vq/vq_device.h"
#include "vq/vq_driver.h"

#include "test.h"

/* Descriptors of a table that does not come from the pools. */
#define VQT_EXT_DESCS 16

enum vqt_kind {
	VQT_DIRECT, /* descriptors in the ring */
	VQT_INDIRECT, /* a table of the pools */
	VQT_EXT, /* a table of the caller's */
};

/* One buffer of the ledger; its address is the cookie. */
struct vqt_buf {
	bool posted; /* in flight as the driver's user knows it */
	bool used; /* the device has given it back */
	uint16_t nb_out;
	uint16_t nb_in;
	uint16_t nb_slots;
	uint32_t seed; /* where its pieces lie and how long they are */
	uint32_t in_bytes;
	uint32_t out_bytes;
	uint32_t expect_len; /* that the driver must see */
};

/* A buffer that the device has taken and not used yet. */
struct vqt_held {
	struct vqt_buf *buf;
	uint16_t id;
	uint16_t nb_slots;
};

struct vqt {
	struct vq_drv drv;
	struct vq_dev dev;
	struct vq_conf conf;
	uint32_t f;
	struct vq_mem_size mem;
	uint8_t *shared;
	uint8_t *priv;
	uint64_t bias; /* transport address = virtual address + bias */
	struct vq_regions *regions;
	uint8_t *arena; /* where pieces of buffers lie */
	struct ring_desc (*ext)[VQT_EXT_DESCS]; /* tables for VQT_EXT */
	bool *ext_busy; /* by table */
	struct vqt_buf *bufs;
	uint32_t nb_bufs;
	uint32_t next_buf; /* where to look for a free one */
	struct vqt_buf **order; /* FIFO of buffers that the device has not taken */
	uint32_t order_head;
	uint32_t order_tail;
	struct vqt_held *held_mem;
	struct vqt_held *held; /* taken by the device, oldest first; moves through held_mem */
	uint32_t nb_held;
	struct vq_chain *chain;
	uint32_t seed;
	uint32_t nb_posted; /* in flight as the ledger knows it */
	uint32_t nb_reaped; /* in total */
	uint32_t nb_drained;
};

/** Shorthand for a conf: size and flags, three classes of tables when INDIRECT is there. */
struct vq_conf vqt_conf(uint32_t size, uint32_t flags);

/**
 * Set up both ends. bias 0: the device uses addresses as they are; else it translates by
 * regions. @return 0 or -1 after saying what failed.
 */
int vqt_open(struct vqt *t, const struct vq_conf *conf, uint64_t bias);

/** Free everything; also after a vqt_open() that failed. */
void vqt_close(struct vqt *t);

/** Address of one of our bytes in the transport's space. */
static inline uint64_t
vqt_addr(const struct vqt *t, const void *va)
{
	return (uint64_t)(uintptr_t)va + t->bias;
}

/**
 * Post one buffer of nb_out readable and nb_in writable pieces.
 *
 * @return 0, -ENOSPC: no room (or no table), nothing was posted; -1: the test failed.
 */
int vqt_post(struct vqt *t, struct vq_post *c, enum vqt_kind kind, uint16_t nb_out, uint16_t nb_in);

/** Post and publish one buffer. */
int vqt_post_one(struct vqt *t, enum vqt_kind kind, uint16_t nb_out, uint16_t nb_in);

/**
 * The device takes up to max buffers; each must be what was posted.
 *
 * @return how many (the held list grows by them), -1: the test failed.
 */
int vqt_take(struct vqt *t, uint32_t max);

/** The device uses held buffer number i with `written` bytes; not published yet. */
void vqt_use(struct vqt *t, uint32_t i, uint32_t written);

/** IN_ORDER: one used element for the nb oldest held buffers; written is the last one's. */
void vqt_use_batch(struct vqt *t, uint32_t nb, uint32_t written);

/** Publish, then check the device end. @return 0 or -1. */
int vqt_publish(struct vqt *t);

/**
 * The driver takes up to max buffers back; each must be in flight and used by the device.
 *
 * @return how many, -EPROTO: broken, -1: the test failed.
 */
int vqt_reap(struct vqt *t, uint32_t max);

/** Book one buffer that came back some other way (vq_reap_run()). @return 0 or -1. */
int vqt_book(struct vqt *t, void *cookie, uint32_t len);

/** Everything that is held is used in order with all its writable bytes, and published. */
int vqt_use_all(struct vqt *t);

/** Invariants of both ends and of the ledger. @return 0 or -1. */
int vqt_check(struct vqt *t);

/**
 * Drain the driver, reset both ends: every buffer in flight must come out exactly once, all
 * tables must be back. @return 0 or -1.
 */
int vqt_drain_and_reset(struct vqt *t);

/**
 * Call fn for rings of both layouts, of every class of size, without and with each of the nb
 * flag sets (0 is one if it is named); addresses are translated for every other ring.
 * size_max bounds the sizes. @return 0, or -1 after naming the ring that failed.
 */
int vqt_over_rings(const uint32_t *flag_sets, size_t nb, uint32_t size_max,
		   int (*fn)(struct vqt *t));

#endif /* VIREO_VQ_FIXTURE_H */
