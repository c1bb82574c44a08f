/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_RING_ABI_H
#define VIREO_RING_ABI_H

/*
 * Virtqueue layouts, as VIRTIO 1.3 sections 2.7 (split) and 2.8 (packed) lay them out
 * in memory, and the device-independent feature bits of section 6. All fields are
 * little-endian; Vireo runs on little-endian machines only, which this header checks.
 */

#include "../base/vireo_base.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Vireo needs a little-endian machine: ring fields are used without conversion"
#endif

/* Section 6: reserved feature bits, as masks. */
#define VIREO_F_INDIRECT_DESC (1ULL << 28)
#define VIREO_F_EVENT_IDX (1ULL << 29)
#define VIREO_F_VHOST_USER_PROTOCOL (1ULL << 30) /* vhost-user's own, never a ring feature */
#define VIREO_F_VERSION_1 (1ULL << 32)
#define VIREO_F_ACCESS_PLATFORM (1ULL << 33)
#define VIREO_F_RING_PACKED (1ULL << 34)
#define VIREO_F_IN_ORDER (1ULL << 35)
#define VIREO_F_ORDER_PLATFORM (1ULL << 36)
#define VIREO_F_NOTIFICATION_DATA (1ULL << 38)
#define VIREO_F_RING_RESET (1ULL << 40)

/* Section 2.1: device status bits. */
#define VIREO_STATUS_ACKNOWLEDGE 0x01
#define VIREO_STATUS_DRIVER 0x02
#define VIREO_STATUS_DRIVER_OK 0x04
#define VIREO_STATUS_FEATURES_OK 0x08
#define VIREO_STATUS_NEEDS_RESET 0x40
#define VIREO_STATUS_FAILED 0x80

/* Sections 2.7.5 and 2.8.1: descriptor flags. AVAIL and USED exist in packed rings only. */
#define VIREO_DESC_F_NEXT 0x0001
#define VIREO_DESC_F_WRITE 0x0002
#define VIREO_DESC_F_INDIRECT 0x0004
#define VIREO_DESC_F_AVAIL 0x0080
#define VIREO_DESC_F_USED 0x8000

/* Section 2.7.7 and 2.7.10: notification suppression in split rings, the flags form. */
#define VIREO_AVAIL_F_NO_INTERRUPT 1
#define VIREO_USED_F_NO_NOTIFY 1

/* Section 2.8.10: notification suppression in packed rings. */
#define VIREO_EVENT_F_ENABLE 0
#define VIREO_EVENT_F_DISABLE 1
#define VIREO_EVENT_F_DESC 2
#define VIREO_EVENT_OFF_MASK 0x7fff
#define VIREO_EVENT_WRAP_BIT 15

/* Largest rings: section 2.7 (split, a power of two) and 2.8.10.1 (packed, any size). */
#define VIREO_RING_SIZE_MAX 32768

/* Section 2.7.5: descriptor of a split ring, and of every indirect table of one. */
struct ring_desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags;
	uint16_t next;
};

/* Section 2.7.6: followed by `uint16_t used_event`. */
struct ring_avail {
	uint16_t flags;
	uint16_t idx;
	uint16_t ring[];
};

/* Section 2.7.8. */
struct ring_used_elem {
	uint32_t id;
	uint32_t len;
};

/* Section 2.7.8: followed by `uint16_t avail_event`. */
struct ring_used {
	uint16_t flags;
	uint16_t idx;
	struct ring_used_elem ring[];
};

/* Section 2.8.13: descriptor of a packed ring, and of every indirect table of one. */
struct ring_packed_desc {
	uint64_t addr;
	uint32_t len;
	uint16_t id;
	uint16_t flags;
};

/* Section 2.8.14: driver and device event suppression. */
struct ring_event {
	uint16_t off_wrap;
	uint16_t flags;
};

VIREO_STATIC_ASSERT(sizeof(struct ring_desc) == 16, "split descriptor");
VIREO_STATIC_ASSERT(offsetof(struct ring_desc, next) == 14, "split descriptor");
VIREO_STATIC_ASSERT(sizeof(struct ring_avail) == 4, "avail ring");
VIREO_STATIC_ASSERT(sizeof(struct ring_used_elem) == 8, "used element");
VIREO_STATIC_ASSERT(sizeof(struct ring_used) == 4, "used ring");
VIREO_STATIC_ASSERT(sizeof(struct ring_packed_desc) == 16, "packed descriptor");
VIREO_STATIC_ASSERT(offsetof(struct ring_packed_desc, flags) == 14, "packed descriptor");
VIREO_STATIC_ASSERT(sizeof(struct ring_event) == 4, "event suppression");

/* Section 2.7: alignments of the three parts of a split ring; 2.8: of a packed one. */
#define VIREO_DESC_ALIGN 16
#define VIREO_AVAIL_ALIGN 2
#define VIREO_USED_ALIGN 4
#define VIREO_EVENT_ALIGN 4

#endif /* VIREO_RING_ABI_H */
