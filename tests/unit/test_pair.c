/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/* vq/pair.h: a device and a driver meet by name, leave in any order, and may race. */

#include <pthread.h>
#include <sched.h>

#include "test.h"
#include "vq/pair.h"

#define NB_TURNS 3000

/* What a device's op and a driver's notify leave behind. */
struct side {
	struct pair *p;
	uint32_t events;
	unsigned int nb_left;
	unsigned int nb_ops;
};

static int
count_op(void *arg, uint8_t status)
{
	struct side *dev = arg;

	dev->nb_ops++;
	/* The pair's lock is recursive: an op may tell the driver of something. */
	pair_notify(dev->p, status);
	return 0;
}

static void
count_left(void *arg)
{
	((struct side *)arg)->nb_left++;
}

static const struct pair_dev_ops ops = {
	.status_set = count_op,
	.left = count_left,
};

static void
note_events(void *arg, uint32_t events)
{
	((struct side *)arg)->events |= events;
}

static int
call_op(struct side *drv, uint8_t status)
{
	const struct pair_dev_ops *o;
	void *arg;

	o = pair_enter(drv->p, &arg);
	if (o == NULL)
		return -ENOTCONN;
	o->status_set(arg, status);
	pair_exit(drv->p);
	return 0;
}

static int
test_pair_meets_by_name(void)
{
	struct side dev = { 0 }, drv = { 0 };

	TEST_ASSERT_SUCCESS(pair_offer("meets", &ops, &dev, &dev.p));
	TEST_ASSERT_EQUAL(pair_join("other", false, note_events, &drv, &drv.p), -ENOENT);
	TEST_ASSERT_SUCCESS(pair_join("meets", false, note_events, &drv, &drv.p));
	TEST_ASSERT_SUCCESS(call_op(&drv, PAIR_EV_CONFIG));
	TEST_ASSERT_EQUAL(dev.nb_ops, 1);
	TEST_ASSERT_EQUAL(drv.events, PAIR_EV_CONFIG);
	pair_leave(drv.p);
	TEST_ASSERT_EQUAL(dev.nb_left, 1);
	pair_notify(dev.p, PAIR_EV_GONE);
	TEST_ASSERT_EQUAL(drv.events, PAIR_EV_CONFIG, "told after it left");
	pair_withdraw(dev.p);
	return TEST_SUCCESS;
}

static int
test_pair_each_side_once(void)
{
	struct side dev = { 0 }, drv = { 0 };
	struct pair *p;

	TEST_ASSERT_SUCCESS(pair_offer("once", &ops, &dev, &dev.p));
	TEST_ASSERT_EQUAL(pair_offer("once", &ops, &dev, &p), -EEXIST);
	TEST_ASSERT_SUCCESS(pair_join("once", false, note_events, &drv, &drv.p));
	TEST_ASSERT_EQUAL(pair_join("once", false, note_events, &drv, &p), -EBUSY);
	TEST_ASSERT_EQUAL(pair_join("once", true, note_events, &drv, &p), -EBUSY);
	pair_leave(drv.p);
	pair_withdraw(dev.p);
	TEST_ASSERT_SUCCESS(pair_offer("once", &ops, &dev, &dev.p), "free again");
	pair_withdraw(dev.p);
	return TEST_SUCCESS;
}

static int
test_pair_driver_waits_and_device_returns(void)
{
	struct side dev = { 0 }, drv = { 0 };
	int i;

	TEST_ASSERT_SUCCESS(pair_join("waits", true, note_events, &drv, &drv.p));
	TEST_ASSERT_EQUAL(call_op(&drv, 0), -ENOTCONN);
	for (i = 0; i < 3; i++) {
		drv.events = 0;
		TEST_ASSERT_SUCCESS(pair_offer("waits", &ops, &dev, &dev.p));
		TEST_ASSERT_EQUAL(drv.events, PAIR_EV_COME);
		TEST_ASSERT_SUCCESS(call_op(&drv, 0));
		pair_withdraw(dev.p);
		TEST_ASSERT_EQUAL(drv.events, PAIR_EV_COME | PAIR_EV_GONE);
		TEST_ASSERT_EQUAL(call_op(&drv, 0), -ENOTCONN);
	}
	TEST_ASSERT_EQUAL(dev.nb_ops, 3);
	pair_leave(drv.p);
	TEST_ASSERT_EQUAL(dev.nb_left, 0, "the device had gone before");
	return TEST_SUCCESS;
}

static int
test_pair_bad_names_and_too_many(void)
{
	struct side dev[PAIR_MAX], one = { 0 };
	char name[PAIR_NAME_MAX + 1];
	int i;

	TEST_ASSERT_EQUAL(pair_offer("", &ops, &one, &one.p), -EINVAL);
	memset(name, 'x', sizeof(name));
	name[PAIR_NAME_MAX] = '\0';
	TEST_ASSERT_EQUAL(pair_offer(name, &ops, &one, &one.p), -EINVAL);
	TEST_ASSERT_EQUAL(pair_join(name, true, note_events, &one, &one.p), -EINVAL);
	name[PAIR_NAME_MAX - 1] = '\0';
	TEST_ASSERT_SUCCESS(pair_offer(name, &ops, &one, &one.p));
	pair_withdraw(one.p);
	for (i = 0; i < PAIR_MAX; i++) {
		snprintf(name, sizeof(name), "many%d", i);
		dev[i] = (struct side){ 0 };
		TEST_ASSERT_SUCCESS(pair_offer(name, &ops, &dev[i], &dev[i].p));
	}
	TEST_ASSERT_EQUAL(pair_offer("more", &ops, &one, &one.p), -ENOSPC);
	TEST_ASSERT_EQUAL(pair_join("more", true, note_events, &one, &one.p), -ENOSPC);
	for (i = 0; i < PAIR_MAX; i++)
		pair_withdraw(dev[i].p);
	TEST_ASSERT_SUCCESS(pair_offer("more", &ops, &one, &one.p));
	pair_withdraw(one.p);
	return TEST_SUCCESS;
}

static struct side made;

static int
make_device(const char *name)
{
	return strcmp(name, "made") == 0 ? pair_offer(name, &ops, &made, &made.p) : -ENOENT;
}

static int
test_pair_maker_makes_what_is_missing(void)
{
	struct side drv = { 0 };

	pair_set_maker(make_device);
	TEST_ASSERT_SUCCESS(pair_join("made", false, note_events, &drv, &drv.p));
	TEST_ASSERT_SUCCESS(call_op(&drv, 0));
	TEST_ASSERT_EQUAL(made.nb_ops, 1);
	pair_leave(drv.p);
	pair_withdraw(made.p);
	TEST_ASSERT_EQUAL(pair_join("unmade", false, note_events, &drv, &drv.p), -ENOENT);
	pair_set_maker(NULL);
	return TEST_SUCCESS;
}

struct race {
	struct side drv;
	int stop; /* atomic */
	unsigned int nb_calls;
};

static void *
call_ops(void *arg)
{
	struct race *r = arg;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED))
		r->nb_calls += call_op(&r->drv, 0) == 0;
	return NULL;
}

/* The device comes and goes while the driver calls: no op runs on a device that has gone. */
static int
test_pair_withdraw_against_calls(void)
{
	struct race r = { 0 };
	unsigned int nb_ops = 0;
	pthread_t caller;
	int i, ret = TEST_SUCCESS;

	TEST_ASSERT_SUCCESS(pair_join("race", true, note_events, &r.drv, &r.drv.p));
	TEST_ASSERT_SUCCESS(pthread_create(&caller, NULL, call_ops, &r));
	for (i = 0; i < NB_TURNS && ret == TEST_SUCCESS; i++) {
		struct side dev = { 0 };

		/* The op needs the pair: it is the driver's, already known. */
		dev.p = r.drv.p;
		ret = pair_offer("race", &ops, &dev, &dev.p);
		if (i % 8 == 0)
			sched_yield();
		pair_withdraw(dev.p);
		/* Behind the withdrawal this is a plain read; ThreadSanitizer watches it. */
		nb_ops += dev.nb_ops;
		memset(&dev, 0xff, sizeof(dev));
	}
	__atomic_store_n(&r.stop, 1, __ATOMIC_RELAXED);
	pthread_join(caller, NULL);
	pair_leave(r.drv.p);
	TEST_ASSERT_SUCCESS(ret);
	TEST_ASSERT_EQUAL(r.nb_calls, nb_ops);
	return TEST_SUCCESS;
}

static int
test_pair(void)
{
	static const struct unit_test_case cases[] = {
		TEST_CASE(test_pair_meets_by_name),
		TEST_CASE(test_pair_each_side_once),
		TEST_CASE(test_pair_driver_waits_and_device_returns),
		TEST_CASE(test_pair_bad_names_and_too_many),
		TEST_CASE(test_pair_maker_makes_what_is_missing),
		TEST_CASE(test_pair_withdraw_against_calls),
		TEST_CASES_END(),
	};
	static const struct unit_test_suite suite = {
		.suite_name = "loopback's meeting point",
		.cases = cases,
	};

	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(FAST, pair_autotest, test_pair);
