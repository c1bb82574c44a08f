/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_PAIR_H
#define VIREO_PAIR_H

/*
 * Loopback's meeting point: a device and a driver of one process find each other by name.
 * The device brings its ops, the driver calls them between pair_enter() and pair_exit(), and
 * neither knows the other's library.
 *
 * Threads: any; each pair has a recursive lock that is held over an op. Lock order: the
 * driver's own lock, the pair's, the device's own.
 */

#include "../base/vireo_base.h"
#include "vq.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PAIR_NAME_MAX 64
/* How many names may be in use at once. */
#define PAIR_MAX 64

/* Events for the driver; bits. */
#define PAIR_EV_COME 0x1 /* a device took the name */
#define PAIR_EV_GONE 0x2 /* the device has gone */
#define PAIR_EV_CONFIG 0x4 /* its config space has changed */

struct pair;

/* A queue as the driver hands it over; addresses are this process's own. */
struct pair_queue {
	uint16_t idx;
	uint32_t size;
	struct vq_ring_mem ring;
	uint16_t avail_base;
	int kick_fd; /* stays the driver's; the device takes a copy */
	int call_fd; /* the same; -1: none */
};

/* The device's side; all return 0 or -errno. Semantics as transport_ops has them. */
struct pair_dev_ops {
	int (*features_get)(void *arg, uint64_t *features);
	int (*features_set)(void *arg, uint64_t features);
	int (*status_set)(void *arg, uint8_t status);
	int (*status_get)(void *arg, uint8_t *status);
	int (*config_read)(void *arg, uint32_t offset, void *data, uint32_t len_bytes);
	int (*config_write)(void *arg, uint32_t offset, const void *data, uint32_t len_bytes);
	int (*queue_max)(void *arg, uint16_t *nb_queues);
	int (*queue_size_max)(void *arg, uint16_t idx, uint32_t *size);
	int (*queue_set)(void *arg, const struct pair_queue *q);
	int (*queue_enable)(void *arg, uint16_t idx, bool enable);
	int (*queue_stop)(void *arg, uint16_t idx);
	int (*queue_reset)(void *arg, uint16_t idx);
	/* The driver has gone; called without the pair's lock. NULL: does not matter. */
	void (*left)(void *arg);
};

/**
 * Device: take a name. A driver that waits for it is told PAIR_EV_COME.
 * @return 0 and *p, -EEXIST, -EINVAL (an empty or too long name), -ENOSPC.
 */
int pair_offer(const char *name, const struct pair_dev_ops *ops, void *arg, struct pair **p);

/** Device: give the name up; the driver is told PAIR_EV_GONE. No op runs afterwards. */
void pair_withdraw(struct pair *p);

/** Device: tell the driver of events. */
void pair_notify(struct pair *p, uint32_t events);

/**
 * Driver: join the device of that name. When there is none, the maker (see below) is asked
 * for one; when there is no maker either, wait == true joins all the same.
 * notify() must not call back into the pair.
 *
 * @return 0 and *p, -ENOENT, -EBUSY (another driver has joined), -EINVAL, -ENOSPC.
 */
int pair_join(const char *name, bool wait, void (*notify)(void *arg, uint32_t events), void *arg,
	      struct pair **p);

/** Driver: leave. No notify runs afterwards. */
void pair_leave(struct pair *p);

/** Driver: lock the pair. @return the device's ops and *arg, or NULL (not locked): gone. */
const struct pair_dev_ops *pair_enter(struct pair *p, void **arg);
void pair_exit(struct pair *p);

/**
 * Who makes a device for a name that nobody offers; make() calls pair_offer(). Set once, in a
 * constructor.
 */
void pair_set_maker(int (*make)(const char *name));

#ifdef __cplusplus
}
#endif

#endif /* VIREO_PAIR_H */
