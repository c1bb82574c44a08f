/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_VHOST_USER_ABI_H
#define VIREO_VHOST_USER_ABI_H

/*
 * The vhost-user protocol, as QEMU's docs/interop/vhost-user.rst describes it: messages
 * of the front end (us) and of the back end, protocol features and payload layouts. All
 * numbers are in the machine's byte order, which both ends share.
 */

#include "../base/vireo_base.h"

/* "Front-end message types". */
enum vhost_user_request {
	VHOST_USER_REQ_NONE = 0,
	VHOST_USER_REQ_GET_FEATURES = 1,
	VHOST_USER_REQ_SET_FEATURES = 2,
	VHOST_USER_REQ_SET_OWNER = 3,
	VHOST_USER_REQ_RESET_OWNER = 4,
	VHOST_USER_REQ_SET_MEM_TABLE = 5,
	VHOST_USER_REQ_SET_LOG_BASE = 6,
	VHOST_USER_REQ_SET_LOG_FD = 7,
	VHOST_USER_REQ_SET_VRING_NUM = 8,
	VHOST_USER_REQ_SET_VRING_ADDR = 9,
	VHOST_USER_REQ_SET_VRING_BASE = 10,
	VHOST_USER_REQ_GET_VRING_BASE = 11,
	VHOST_USER_REQ_SET_VRING_KICK = 12,
	VHOST_USER_REQ_SET_VRING_CALL = 13,
	VHOST_USER_REQ_SET_VRING_ERR = 14,
	VHOST_USER_REQ_GET_PROTOCOL_FEATURES = 15,
	VHOST_USER_REQ_SET_PROTOCOL_FEATURES = 16,
	VHOST_USER_REQ_GET_QUEUE_NUM = 17,
	VHOST_USER_REQ_SET_VRING_ENABLE = 18,
	VHOST_USER_REQ_SEND_RARP = 19,
	VHOST_USER_REQ_NET_SET_MTU = 20,
	VHOST_USER_REQ_SET_BACKEND_REQ_FD = 21,
	VHOST_USER_REQ_IOTLB_MSG = 22,
	VHOST_USER_REQ_GET_CONFIG = 24,
	VHOST_USER_REQ_SET_CONFIG = 25,
	VHOST_USER_REQ_GET_INFLIGHT_FD = 31,
	VHOST_USER_REQ_SET_INFLIGHT_FD = 32,
	VHOST_USER_REQ_GET_MAX_MEM_SLOTS = 36,
	VHOST_USER_REQ_ADD_MEM_REG = 37,
	VHOST_USER_REQ_REM_MEM_REG = 38,
	VHOST_USER_REQ_SET_STATUS = 39,
	VHOST_USER_REQ_GET_STATUS = 40,
};

/* "Back-end message types", on the channel of SET_BACKEND_REQ_FD. */
enum vhost_user_backend_request {
	VHOST_USER_BACKEND_IOTLB_MSG = 1,
	VHOST_USER_BACKEND_CONFIG_CHANGE_MSG = 2,
};

/* "Protocol features", as masks. */
#define VHOST_USER_PROTOCOL_MQ (1ULL << 0)
#define VHOST_USER_PROTOCOL_LOG_SHMFD (1ULL << 1)
#define VHOST_USER_PROTOCOL_RARP (1ULL << 2)
#define VHOST_USER_PROTOCOL_REPLY_ACK (1ULL << 3)
#define VHOST_USER_PROTOCOL_MTU (1ULL << 4)
#define VHOST_USER_PROTOCOL_BACKEND_REQ (1ULL << 5)
#define VHOST_USER_PROTOCOL_CONFIG (1ULL << 9)
#define VHOST_USER_PROTOCOL_INFLIGHT_SHMFD (1ULL << 12)
#define VHOST_USER_PROTOCOL_CONFIGURE_MEM_SLOTS (1ULL << 15)
#define VHOST_USER_PROTOCOL_STATUS (1ULL << 16)

/* "Header": flags. */
#define VHOST_USER_FLAG_VERSION 0x1U
#define VHOST_USER_FLAG_VERSION_MASK 0x3U
#define VHOST_USER_FLAG_REPLY (1U << 2)
#define VHOST_USER_FLAG_NEED_REPLY (1U << 3)

/* Regions of a SET_MEM_TABLE, and so descriptors beside a message. */
#define VHOST_USER_MEM_REGIONS_MAX 8
/* "Virtio device config space": bytes in one message. */
#define VHOST_USER_CONFIG_MAX_BYTES 256
/* "A vring descriptor for ...": index and "there is no descriptor" in a u64. */
#define VHOST_USER_VRING_IDX_MASK 0xffULL
#define VHOST_USER_VRING_NOFD (1ULL << 8)

struct vhost_user_hdr {
	uint32_t request;
	uint32_t flags;
	uint32_t size_bytes; /* of the payload */
};

/* "A vring state description". */
struct vhost_user_vring_state {
	uint32_t idx;
	uint32_t num;
};

/* "A vring address description": user addresses of the front end, log address unused. */
struct vhost_user_vring_addr {
	uint32_t idx;
	uint32_t flags;
	uint64_t desc;
	uint64_t used;
	uint64_t avail;
	uint64_t log;
};

/* "Memory region description". */
struct vhost_user_mem_region {
	uint64_t guest_addr;
	uint64_t len_bytes;
	uint64_t user_addr;
	uint64_t mmap_offset;
};

/* "Multiple memory regions description". */
struct vhost_user_mem_table {
	uint32_t nb_regions;
	uint32_t padding;
	struct vhost_user_mem_region regions[VHOST_USER_MEM_REGIONS_MAX];
};

/* "Single memory region description". */
struct vhost_user_mem_single {
	uint64_t padding;
	struct vhost_user_mem_region region;
};

/* "Virtio device config space". */
struct vhost_user_config {
	uint32_t offset;
	uint32_t size_bytes;
	uint32_t flags;
	uint8_t data[VHOST_USER_CONFIG_MAX_BYTES];
};

#define VHOST_USER_CONFIG_HDR_BYTES offsetof(struct vhost_user_config, data)

/* "Inflight description": 20 bytes on the wire, without the tail padding of C. */
struct vhost_user_inflight {
	uint64_t mmap_size_bytes;
	uint64_t mmap_offset;
	uint16_t nb_queues;
	uint16_t queue_size;
};

#define VHOST_USER_INFLIGHT_BYTES 20

union vhost_user_payload {
	uint64_t u64;
	struct vhost_user_vring_state state;
	struct vhost_user_vring_addr addr;
	struct vhost_user_mem_table mem;
	struct vhost_user_mem_single mem_single;
	struct vhost_user_config config;
	struct vhost_user_inflight inflight;
	uint8_t bytes[sizeof(struct vhost_user_mem_table)];
};

VIREO_STATIC_ASSERT(sizeof(struct vhost_user_hdr) == 12, "message header");
VIREO_STATIC_ASSERT(sizeof(struct vhost_user_vring_state) == 8, "vring state");
VIREO_STATIC_ASSERT(sizeof(struct vhost_user_vring_addr) == 40, "vring address");
VIREO_STATIC_ASSERT(offsetof(struct vhost_user_vring_addr, desc) == 8, "vring address");
VIREO_STATIC_ASSERT(offsetof(struct vhost_user_vring_addr, avail) == 24, "vring address");
VIREO_STATIC_ASSERT(sizeof(struct vhost_user_mem_region) == 32, "memory region");
VIREO_STATIC_ASSERT(offsetof(struct vhost_user_mem_table, regions) == 8, "memory table");
VIREO_STATIC_ASSERT(sizeof(struct vhost_user_mem_table) == 264, "memory table");
VIREO_STATIC_ASSERT(sizeof(struct vhost_user_mem_single) == 40, "single region");
VIREO_STATIC_ASSERT(VHOST_USER_CONFIG_HDR_BYTES == 12, "config space");
VIREO_STATIC_ASSERT(sizeof(struct vhost_user_config) == 268, "config space");
VIREO_STATIC_ASSERT(offsetof(struct vhost_user_inflight, queue_size) == 18, "inflight");

#endif /* VIREO_VHOST_USER_ABI_H */
