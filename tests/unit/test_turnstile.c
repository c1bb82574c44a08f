/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/* base/turnstile.h: control work and a poller's bursts exclude each other. */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "base/turnstile.h"
#include "test.h"

#define NB_CLOSES 2000
#define LONG_US 10000000

static int
test_turnstile_open_enters_and_leaves(void)
{
	struct turnstile t = { 0 };
	int i;

	for (i = 0; i < 3; i++) {
		TEST_ASSERT(turnstile_enter(&t));
		TEST_ASSERT_EQUAL(t.inside, 1);
		turnstile_leave(&t);
		TEST_ASSERT_EQUAL(t.inside, 0);
	}
	TEST_ASSERT_EQUAL(t.turned_away, 0);
	return TEST_SUCCESS;
}

static int
test_turnstile_closed_turns_away(void)
{
	struct turnstile t = { 0 };

	TEST_ASSERT_SUCCESS(vireo_turnstile_close(&t, LONG_US));
	TEST_ASSERT(!turnstile_enter(&t));
	TEST_ASSERT_EQUAL(t.inside, 0, "a poller that was turned away must be outside");
	TEST_ASSERT(!turnstile_enter(&t));
	TEST_ASSERT_EQUAL(t.turned_away, 2);
	vireo_turnstile_open(&t);
	TEST_ASSERT(turnstile_enter(&t));
	turnstile_leave(&t);
	return TEST_SUCCESS;
}

static int
test_turnstile_closers_nest(void)
{
	struct turnstile t = { 0 };

	TEST_ASSERT_SUCCESS(vireo_turnstile_close(&t, LONG_US));
	TEST_ASSERT_SUCCESS(vireo_turnstile_close(&t, LONG_US));
	vireo_turnstile_open(&t);
	TEST_ASSERT(!turnstile_enter(&t), "one of two closers is still there");
	vireo_turnstile_open(&t);
	TEST_ASSERT(turnstile_enter(&t));
	turnstile_leave(&t);
	return TEST_SUCCESS;
}

static int
test_turnstile_close_times_out_and_stays_closed(void)
{
	struct timespec t0, t1;
	struct turnstile t = { 0 };
	long long us;

	TEST_ASSERT(turnstile_enter(&t));
	clock_gettime(CLOCK_MONOTONIC, &t0);
	TEST_ASSERT_EQUAL(vireo_turnstile_close(&t, 2000), -ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	us = (t1.tv_sec - t0.tv_sec) * 1000000LL + (t1.tv_nsec - t0.tv_nsec) / 1000;
	TEST_ASSERT(us >= 1999, "gave up after %lld us", us);
	turnstile_leave(&t);
	TEST_ASSERT(!turnstile_enter(&t), "closed also after a time-out");
	vireo_turnstile_open(&t);
	TEST_ASSERT(turnstile_enter(&t));
	turnstile_leave(&t);
	return TEST_SUCCESS;
}

/* What poller and control share besides the turnstile: plain memory, which TSan watches. */
struct shared {
	struct turnstile gate;
	uint64_t control_a; /* written by control while closed; equal whenever seen */
	uint64_t control_b;
	uint64_t poller_a; /* written by the poller inside; equal whenever outside */
	uint64_t poller_b;
	uint64_t nb_torn; /* written by the poller */
	int running; /* atomic: the poller has been inside */
	int stop; /* atomic */
};

static void *
poll_turns(void *arg)
{
	struct shared *s = arg;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		if (!turnstile_enter(&s->gate)) {
			/* Let the closer run when both share a core. */
			sched_yield();
			continue;
		}
		s->nb_torn += s->control_a != s->control_b;
		s->poller_a++;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		s->poller_b++;
		turnstile_leave(&s->gate);
		__atomic_store_n(&s->running, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static int
check_exclusion(struct shared *s)
{
	int i;

	while (!__atomic_load_n(&s->running, __ATOMIC_RELAXED))
		sched_yield();
	for (i = 0; i < NB_CLOSES; i++) {
		TEST_ASSERT_SUCCESS(vireo_turnstile_close(&s->gate, LONG_US), "close %d", i);
		TEST_ASSERT_EQUAL(s->poller_a, s->poller_b, "the poller was inside");
		s->control_a++;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		s->control_b++;
		vireo_turnstile_open(&s->gate);
		if (i % 64 == 0)
			sched_yield();
	}
	return TEST_SUCCESS;
}

static int
run_exclusion(bool fenced)
{
	struct shared s = { 0 };
	pthread_t poller;
	int ret;

	vireo_turnstile_setup();
	if (fenced)
		vireo_turnstile_fenced = true;
	TEST_ASSERT_SUCCESS(pthread_create(&poller, NULL, poll_turns, &s));
	ret = check_exclusion(&s);
	__atomic_store_n(&s.stop, 1, __ATOMIC_RELAXED);
	pthread_join(poller, NULL);
	vireo_turnstile_setup();
	TEST_ASSERT_SUCCESS(ret);
	TEST_ASSERT_EQUAL(s.nb_torn, 0, "control work was seen half done");
	TEST_ASSERT_EQUAL(s.poller_a, s.poller_b);
	return TEST_SUCCESS;
}

static int
test_turnstile_membarrier_excludes(void)
{
	vireo_turnstile_setup();
	if (vireo_turnstile_fenced)
		return TEST_SKIPPED;
	return run_exclusion(false);
}

static int
test_turnstile_fence_excludes(void)
{
	return run_exclusion(true);
}

static int
test_turnstile(void)
{
	static const struct unit_test_case cases[] = {
		TEST_CASE(test_turnstile_open_enters_and_leaves),
		TEST_CASE(test_turnstile_closed_turns_away),
		TEST_CASE(test_turnstile_closers_nest),
		TEST_CASE(test_turnstile_close_times_out_and_stays_closed),
		TEST_CASE(test_turnstile_membarrier_excludes),
		TEST_CASE(test_turnstile_fence_excludes),
		TEST_CASES_END(),
	};
	static const struct unit_test_suite suite = {
		.suite_name = "turnstile",
		.cases = cases,
	};

	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(FAST, turnstile_autotest, test_turnstile);
