/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_CTRL_H
#define VIREO_CTRL_H

/*
 * The driver end of a control virtqueue, VIRTIO 1.3 section 5.1.6.5, for transports whose
 * device has one: one command at a time, header, data and answer in memory of its own,
 * every wait bounded.
 *
 * Threads: control work under the device's lock.
 */

#include "../base/vireo_base.h"
#include "../vq/vq.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Longest command: MAC_TABLE_SET with two full tables and the RSS command both fit. */
#define CTRL_DATA_MAX_BYTES 4096

struct ctrl_queue;

/**
 * Memory and eventfd for a control queue. EAL's memory lock must not be held.
 * @return 0 and *cq, -ENOMEM, or the errno of eventfd().
 */
int ctrl_queue_create(struct ctrl_queue **cq);
void ctrl_queue_destroy(struct ctrl_queue *cq);

/** Rings from zero for these negotiated features; before the queue is set at the device. */
int ctrl_queue_init(struct ctrl_queue *cq, uint64_t features);

/** The queue for transport_queue, and the eventfd that kicks the device. */
struct vq_drv *ctrl_queue_vq(struct ctrl_queue *cq);
int ctrl_queue_kick_fd(const struct ctrl_queue *cq);

/**
 * Post a command and wait for its answer.
 *
 * @return VIREO_NET_ACK_*, -EINVAL: data too long, -ETIMEDOUT: no answer within timeout_ms;
 * the queue takes no further command then until ctrl_queue_init(), because the device may
 * still write the answer: -EBUSY; -EPROTO: the device broke the ring.
 */
int ctrl_queue_exec(struct ctrl_queue *cq, uint8_t class_id, uint8_t cmd, const void *data,
		    uint32_t len_bytes, uint32_t timeout_ms);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_CTRL_H */
