/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_VQ_H
#define VIREO_VQ_H

/*
 * The virtqueue: set-up, state and memory of either end, and the invariants checker.
 * The data path stands in vq_driver.h and vq_device.h, both on the layout primitives of
 * split.h and packed.h.
 *
 * This part knows no protocol, no mbuf and no EAL, and never allocates: the caller asks
 * for sizes, brings memory and calls init. A buffer is (address, length, cookie); the
 * address is in the transport's space (virtual or IOVA) and means nothing here.
 *
 * Threads: one lcore owns a queue's data path. Everything declared in this header is
 * control work: it runs while no data path does (the queue's turnstile is closed).
 */

#include "../base/vireo_base.h"
#include "../wire/ring_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of a queue: what was negotiated, as the templates' constants test it. */
#define VQ_F_PACKED 0x0001u
#define VQ_F_IN_ORDER 0x0002u
#define VQ_F_EVENT_IDX 0x0004u
#define VQ_F_INDIRECT 0x0008u
#define VQ_F_ORDER_PLATFORM 0x0010u
#define VQ_F_NOTIF_DATA 0x0020u
/* Every buffer is one descriptor of the same length, buf_bytes (Rx): no vq_meta is kept. */
#define VQ_F_SINGLE 0x0040u
/* Used lengths do not matter (Tx): in order, used elements need not be read at all. */
#define VQ_F_NO_LEN 0x0080u

/* Why a queue is broken: what the other side did. 0: it is not. */
enum vq_violation {
	VQ_OK = 0,
	VQ_BAD_USED_IDX, /* used index ran ahead of what is in flight */
	VQ_BAD_USED_ID, /* used id that is not in flight, or out of order with IN_ORDER */
	VQ_BAD_USED_LEN, /* used length above what was posted */
	VQ_BAD_AVAIL_IDX, /* avail index ran ahead of the ring */
	VQ_BAD_DESC_IDX, /* head or next outside the table, or a looping chain */
	VQ_BAD_DESC_ADDR, /* a buffer outside of the memory that was shared */
	VQ_BAD_DESC_ORDER, /* a readable descriptor behind a writable one */
	VQ_BAD_INDIRECT, /* nested, chained, empty, misaligned or unnegotiated table */
	VQ_BAD_CHAIN_LEN, /* more descriptors than the ring or the chain array can hold */
	VQ_NB_VIOLATIONS,
};

/** Text of a violation for logs. Any thread. */
const char *vireo_vq_violation_str(enum vq_violation v);

/* Where the parts of a ring lie; virtual addresses of this process. */
struct vq_ring_mem {
	union {
		struct ring_desc *desc; /* split */
		struct ring_packed_desc *pdesc; /* packed */
	};
	union {
		struct ring_avail *avail; /* split */
		struct ring_event *drv_event; /* packed */
	};
	union {
		struct ring_used *used; /* split */
		struct ring_event *dev_event; /* packed */
	};
};

/* What is kept for each buffer in flight, by id. */
struct vq_meta {
	uint32_t len; /* bytes the device may write */
	uint16_t nb_desc; /* ring slots taken */
	uint16_t table; /* VQ_TABLE_NONE or the handle of the indirect table in use */
};

#define VQ_TABLE_NONE 0xffff
/* The table was not taken from the pools: its pointer stands in ext_table[id]. */
#define VQ_TABLE_EXT 0xfffe

/* Indirect-table pools: size classes of a queue, smallest first. */
#define VQ_NB_CLASSES 3

struct vq_pool_class {
	uint16_t nb_desc; /* descriptors in a table */
	uint16_t nb_tables;
};

struct vq_pool {
	uint8_t *base; /* first table; tables of a class lie one after the other */
	uint64_t addr; /* base in the transport's space */
	uint16_t *stack; /* LIFO of free table handles */
	uint16_t nb_free;
	uint16_t nb_desc; /* descriptors that a table holds */
	uint16_t nb_tables;
	uint16_t first; /* handle of the first table of this class */
	uint32_t table_bytes;
};

/* What to build; the same for size queries and init. */
struct vq_conf {
	uint32_t size; /* ring size in descriptors */
	uint32_t flags; /* VQ_F_* */
	uint32_t limit; /* most descriptors in flight; 0: size */
	uint32_t buf_bytes; /* VQ_F_SINGLE: length of every buffer */
	uint32_t hdr_bytes; /* bytes of header kept for each id beside the ring, 0: none */
	struct vq_pool_class classes[VQ_NB_CLASSES]; /* driver: nb_tables 0: no such class */
};

/*
 * Driver end. The slots of the ring are numbered 0 .. size - 1. As long as the device
 * uses buffers in the order in which they were made available, the id of a buffer is
 * the slot of its first descriptor: ids, split avail entries and `next` links then keep
 * the values that init gave them, and nothing but descriptors is written by posting.
 * The first completion out of order "scrambles" the queue: from then on ids come from
 * a stack and cookies tell which are in flight.
 */
struct vq_drv {
	/* Line 0: written by init only. */
	struct vq_ring_mem ring;
	void **cookie; /* by id; NULL when not in flight (kept so once scrambled) */
	struct vq_meta *meta; /* by id */
	uint16_t *ids; /* stack of free ids (scrambled) */
	uint16_t *links; /* by id: the next id of a split chain (scrambled) */
	void **ext_table; /* by id: table that is not ours (VQ_TABLE_EXT) */
	uint16_t size;
	uint16_t mask; /* size - 1 for split */
	uint32_t flags;
	/* Line 1: written by the owner lcore. */
	uint16_t head __rte_aligned(VIREO_CACHE_LINE); /* slot that the next post takes */
	uint16_t tail; /* oldest slot in flight; packed: where the next used one appears */
	uint16_t nb_free; /* slots that may be posted */
	uint16_t avail_idx; /* buffers posted so far, free-running */
	uint16_t used_idx; /* buffers taken back so far, free-running */
	uint16_t avail_wrap; /* packed: AVAIL and USED bits that make a descriptor available */
	uint16_t used_wrap; /* packed: the same bits as the device leaves them when used */
	uint16_t since_kick; /* split: buffers, packed: slots published since the last look */
	uint16_t nb_ids; /* scrambled: free ids on the stack */
	uint16_t batch_id; /* IN_ORDER: last buffer covered by the used element read last */
	uint32_t batch_len; /* IN_ORDER: used length of that last buffer */
	uint8_t in_batch; /* IN_ORDER: the batch is not taken back wholly */
	uint8_t scrambled;
	uint8_t broken; /* enum vq_violation */
	uint8_t armed; /* the device was asked to interrupt */
	uint16_t limit; /* most slots in flight */
	uint32_t buf_bytes;
	struct vq_pool pools[VQ_NB_CLASSES];
	uint8_t *hdrs; /* hdr_bytes for each id, beside the ring */
	uint64_t hdrs_addr;
	uint32_t hdr_bytes;
	uint64_t nb_kicks;
	uint64_t nb_violations;
};

/* One region of the other side's memory, for the device end. */
struct vq_region {
	uint64_t addr; /* in the transport's space */
	uint64_t len_bytes;
	uintptr_t va;
};

struct vq_regions {
	uint32_t nb;
	uint32_t last; /* cache of the last hit; written by the owner lcore */
	struct vq_region region[];
};

/* Device end: ids are the driver's affair, so there is no state for each id. */
struct vq_dev {
	struct vq_ring_mem ring;
	struct vq_regions *regions; /* NULL: addresses are this process's own (loopback) */
	uint16_t size;
	uint16_t mask;
	uint32_t flags;
	uint16_t avail_idx __rte_aligned(VIREO_CACHE_LINE); /* split: next to see; packed: slot */
	uint16_t used_idx; /* split: free-running; packed: slot of the next used descriptor */
	uint16_t avail_wrap; /* packed: bits that an available descriptor shows at avail_idx */
	uint16_t used_wrap; /* packed: bits to write at used_idx */
	uint16_t nb_inflight; /* split: buffers, packed: slots taken and not yet used */
	uint16_t nb_pending; /* split: buffers, packed: slots used and not published */
	uint16_t since_call; /* split: buffers, packed: slots published since the last look */
	uint8_t broken;
	uint8_t armed; /* the driver was asked to kick */
	uint16_t pend_first; /* packed: slot and flags of the first unpublished used descriptor */
	uint16_t pend_flags;
	uint64_t nb_calls;
	uint64_t nb_violations;
};

/* A driver queue's memory needs. */
struct vq_mem_size {
	size_t shared_bytes; /* rings, headers, tables: seen by the device */
	size_t private_bytes; /* cookies, meta, stacks: this process's own */
};

/**
 * How much memory a driver-side queue needs. Control thread.
 *
 * @return 0, or -EINVAL: no legal ring size for the layout (split: a power of two up to
 * 32768; packed: 1 .. 32768), limit above size, or a class with tables of less than 2
 * descriptors.
 * Source: VIRTIO 1.3 sections 2.7 and 2.8.10.1.
 */
int vireo_vq_mem_size(const struct vq_conf *conf, struct vq_mem_size *out);

/**
 * Set up a driver-side queue in memory of vireo_vq_mem_size()'s sizes, aligned to
 * VIREO_CACHE_LINE each. shared_addr is shared's address in the transport's space.
 * Nothing is in flight afterwards; notifications from the device are off.
 *
 * @return 0 or -EINVAL as vireo_vq_mem_size().
 */
int vireo_vq_drv_init(struct vq_drv *q, const struct vq_conf *conf, void *shared,
		      uint64_t shared_addr, void *priv);

/**
 * Take every buffer still in flight out of a driver-side queue, each exactly once, and
 * hand its cookie to fn; indirect tables go back to their pools. Only after the device
 * was stopped or has gone. fn may be NULL. ext_free (may be NULL when the queue has no
 * tables of the kind) gets tables that were not the pools'.
 *
 * @return how many buffers there were.
 */
uint32_t vireo_vq_drv_drain(struct vq_drv *q, void (*fn)(void *cookie, void *arg),
			    void (*ext_free)(void *table, void *arg), void *arg);

/**
 * Rings restart from zero (new connection, queue reset): everything as after init.
 * The queue must be drained first.
 */
void vireo_vq_drv_reset(struct vq_drv *q);

/**
 * Set up a device-side queue on rings that the driver laid out. avail_base and
 * used_base are split: the next avail and used index; packed: slot in bits 0 .. 14 and
 * wrap counter in bit 15 (as vhost-user's vring base has them).
 *
 * @return 0, or -EINVAL: no legal size, a base beyond the ring, misaligned parts.
 */
int vireo_vq_dev_init(struct vq_dev *q, const struct vq_ring_mem *ring, uint32_t size,
		      uint32_t flags, struct vq_regions *regions, uint16_t avail_base,
		      uint16_t used_base);

/** Device-side position in the form of vireo_vq_dev_init(): where avail and used stand. */
void vireo_vq_dev_base(const struct vq_dev *q, uint16_t *avail_base, uint16_t *used_base);

/**
 * Check everything that must hold between bursts: counts, ids, pools, wrap counters.
 * For tests and debug builds (O(size)).
 *
 * @return NULL, or a static text that says what is wrong.
 */
const char *vireo_vq_drv_check(const struct vq_drv *q);
const char *vireo_vq_dev_check(const struct vq_dev *q);

/** Number of free tables over all classes; tests and telemetry. */
uint32_t vireo_vq_nb_free_tables(const struct vq_drv *q);

/* VQ_F_* of a set of negotiated feature bits. */
static inline uint32_t
vq_flags_of_features(uint64_t features)
{
	uint32_t flags = 0;

	if (features & VIREO_F_RING_PACKED)
		flags |= VQ_F_PACKED;
	if (features & VIREO_F_IN_ORDER)
		flags |= VQ_F_IN_ORDER;
	if (features & VIREO_F_EVENT_IDX)
		flags |= VQ_F_EVENT_IDX;
	if (features & VIREO_F_INDIRECT_DESC)
		flags |= VQ_F_INDIRECT;
	if (features & VIREO_F_ORDER_PLATFORM)
		flags |= VQ_F_ORDER_PLATFORM;
	if (features & VIREO_F_NOTIFICATION_DATA)
		flags |= VQ_F_NOTIF_DATA;
	return flags;
}

#ifdef __cplusplus
}
#endif

#endif /* VIREO_VQ_H */
