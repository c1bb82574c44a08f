/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_TURNSTILE_H
#define VIREO_TURNSTILE_H

/*
 * The turnstile keeps control work out of a queue that is being polled, at the price
 * of two plain stores a burst and no fence for the poller.
 *
 * Poller (one thread a turnstile)		Control (serialised by its caller)
 *	inside = 1				closed++
 *	compiler barrier			membarrier(PRIVATE_EXPEDITED)
 *	closed? leave				wait until inside == 0
 *	... the burst ...			... control work ...
 *	inside = 0 (release)			closed-- (release)
 *
 * Either the poller's store of `inside` came before the membarrier, and the control
 * side sees it and waits; or it came after, and the poller sees `closed`. The
 * membarrier takes the place of the fence that the poller would need otherwise. Where
 * the kernel refuses membarrier, `vireo_turnstile_fenced` is set at start-up and the
 * poller does pay for the fence.
 */

#include "vireo_base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct turnstile {
	uint32_t inside; /* written by the poller alone */
	uint32_t closed; /* written by control: how many closers there are */
	uint64_t turned_away; /* written by the poller: bursts that found it closed */
};

/** True when this process has no membarrier; set once before the first poller runs. */
extern bool vireo_turnstile_fenced;

/**
 * Find out whether membarrier works here. Call once from a control thread, before
 * pollers start; calling it again is harmless.
 */
void vireo_turnstile_setup(void);

/**
 * Close the turnstile and wait until the poller is outside. Closers nest: each call
 * needs one vireo_turnstile_open(), also after -ETIMEDOUT (it stays closed then, so
 * that a poller that was merely slow cannot come back in).
 *
 * Thread: control, callers serialised. Must not be called by the poller from inside.
 *
 * @return 0, or -ETIMEDOUT when the poller was still inside after timeout_us.
 */
int vireo_turnstile_close(struct turnstile *t, uint32_t timeout_us);

/** Undo one vireo_turnstile_close(). Thread: control, callers serialised. */
void vireo_turnstile_open(struct turnstile *t);

/**
 * Enter for one burst. Thread: the poller that owns the queue.
 *
 * @return true when inside (leave with turnstile_leave()), false when closed.
 */
vireo_inline bool
turnstile_enter(struct turnstile *t)
{
	__atomic_store_n(&t->inside, 1, __ATOMIC_RELAXED);
	/* Pairs with the membarrier in vireo_turnstile_close(); a fence only without it. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (unlikely(vireo_turnstile_fenced))
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* Pairs with the release in vireo_turnstile_open(): see what control work wrote. */
	if (likely(__atomic_load_n(&t->closed, __ATOMIC_ACQUIRE) == 0))
		return true;
	t->turned_away++;
	__atomic_store_n(&t->inside, 0, __ATOMIC_RELEASE);
	return false;
}

/** Leave after a burst. Thread: the poller. */
vireo_inline void
turnstile_leave(struct turnstile *t)
{
	/* Pairs with the acquire in vireo_turnstile_close(): it sees all that the burst wrote. */
	__atomic_store_n(&t->inside, 0, __ATOMIC_RELEASE);
}

#ifdef __cplusplus
}
#endif

#endif /* VIREO_TURNSTILE_H */
