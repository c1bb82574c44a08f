/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "turnstile.h"

VIREO_EXPORT bool vireo_turnstile_fenced;

static int
membarrier_call(int cmd)
{
	return syscall(__NR_membarrier, cmd, 0, 0) == 0 ? 0 : -errno;
}

VIREO_EXPORT void
vireo_turnstile_setup(void)
{
	vireo_turnstile_fenced = membarrier_call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0 ||
		membarrier_call(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
}

static uint64_t
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

VIREO_EXPORT int
vireo_turnstile_close(struct turnstile *t, uint32_t timeout_us)
{
	uint64_t deadline_us = now_us() + timeout_us;

	__atomic_fetch_add(&t->closed, 1, __ATOMIC_SEQ_CST);
	/* Pairs with the signal fence (or the real one) in turnstile_enter(). */
	if (vireo_turnstile_fenced || membarrier_call(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* Acquire pairs with the release in turnstile_leave(). */
	while (__atomic_load_n(&t->inside, __ATOMIC_ACQUIRE) != 0) {
		if (now_us() > deadline_us)
			return -ETIMEDOUT;
		/* The poller may share this core. */
		sched_yield();
	}
	return 0;
}

VIREO_EXPORT void
vireo_turnstile_open(struct turnstile *t)
{
	/* Pairs with the acquire in turnstile_enter(). */
	__atomic_fetch_sub(&t->closed, 1, __ATOMIC_RELEASE);
}
