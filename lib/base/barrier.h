/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_BARRIER_H
#define VIREO_BARRIER_H

/*
 * The two things that C11 atomics do not say well: a cheap full fence on x86, and typed
 * accesses to memory that another process writes at the same time. All ring memory
 * goes through these, so that what the other side writes is read exactly once.
 */

#include <rte_atomic.h>

#include "vireo_base.h"

/** Full fence: stores before it are visible before loads after it are done. */
vireo_inline void
vireo_full_fence(void)
{
#if defined(__x86_64__)
	/* A locked add on our own stack is about half the price of mfence. */
	__asm__ volatile("lock addl $0, -64(%%rsp)" ::: "memory", "cc");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* VIRTIO 1.3 section 6, ORDER_PLATFORM: order against a device that is not a CPU. */
#define vireo_platform_wmb() rte_io_wmb()
#define vireo_platform_rmb() rte_io_rmb()

#define vireo_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define vireo_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define vireo_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define vireo_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#endif /* VIREO_BARRIER_H */
