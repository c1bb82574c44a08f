/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <unistd.h>

#include "../../lib/backend/loopback.h"
#include "dev_fixture.h"

/* The device as its driver sees it: status machine, negotiation, queues, reconnection. */

#define NAME "test_dev"
#define DRIVER_STATUS                                                                              \
	(VIREO_STATUS_ACKNOWLEDGE | VIREO_STATUS_DRIVER | VIREO_STATUS_FEATURES_OK |               \
	 VIREO_STATUS_DRIVER_OK)

static struct vireo_loopback *lb;
static struct vireo_loopback_state state;
static struct vireo_dev_conf conf;
static struct fix fix;

static int
setup(void)
{
	lb = NULL;
	memset(&fix, 0, sizeof(fix));
	fix_conf(&conf, VIREO_DEV_LOOPBACK, NAME);
	return 0;
}

static void
teardown(void)
{
	fix_destroy(&fix);
	vireo_loopback_destroy(lb);
	lb = NULL;
}

static int
make_device(uint64_t features)
{
	const struct vireo_loopback_conf lb_conf = {
		.name = NAME,
		.mode = VIREO_LOOPBACK_REFLECT,
		.features = features,
	};

	return vireo_loopback_create(&lb_conf, &lb);
}

static bool
echoes(void)
{
	uint8_t frame[64], got[64];
	uint32_t tries;
	int len = 0;

	memset(frame, 0xff, sizeof(frame));
	if (fix_send(&fix, 0, frame, sizeof(frame), NULL) < 0)
		return false;
	for (tries = 0; tries < 1000 && len == 0; tries++) {
		/* Nothing happens while the device's own thread has the lock. */
		if (vireo_loopback_poll(lb, 8) == 0)
			usleep(100);
		len = fix_receive(&fix, 0, got, sizeof(got), NULL);
	}
	return len == sizeof(frame);
}

static int
test_status_follows_the_specification(void)
{
	struct vireo_dev_info info;

	TEST_ASSERT_SUCCESS(make_device(0));
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	vireo_loopback_state_get(lb, &state);
	TEST_ASSERT_EQUAL(state.status, DRIVER_STATUS & ~VIREO_STATUS_DRIVER_OK);
	TEST_ASSERT_SUCCESS(fix_setup(&fix, conf.wanted, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	vireo_loopback_state_get(lb, &state);
	TEST_ASSERT_EQUAL(state.status, DRIVER_STATUS);
	TEST_ASSERT_EQUAL(state.features, fix.features);
	vireo_dev_info_get(fix.dev, &info);
	TEST_ASSERT_EQUAL(info.status, DRIVER_STATUS);
	TEST_ASSERT(info.connected && info.started);
	TEST_ASSERT_EQUAL(strcmp(info.transport, "loopback"), 0);
	vireo_dev_stop(fix.dev);
	vireo_loopback_state_get(lb, &state);
	TEST_ASSERT_EQUAL(state.status, 0);
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	vireo_loopback_state_get(lb, &state);
	TEST_ASSERT_EQUAL(state.status, DRIVER_STATUS);
	return 0;
}

static int
test_negotiates_wanted_and_offered(void)
{
	uint64_t features;

	TEST_ASSERT_SUCCESS(make_device(VIREO_F_VERSION_1 | VIREO_F_RING_PACKED));
	conf.wanted = VIREO_F_VERSION_1 | VIREO_NET_F_MRG_RXBUF | VIREO_F_RING_PACKED;
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	TEST_ASSERT_SUCCESS(vireo_dev_negotiate(fix.dev, conf.wanted, &features));
	TEST_ASSERT_EQUAL(features, VIREO_F_VERSION_1 | VIREO_F_RING_PACKED);
	TEST_ASSERT_SUCCESS(vireo_dev_negotiate(fix.dev, VIREO_F_VERSION_1, &features));
	TEST_ASSERT_EQUAL(features, VIREO_F_VERSION_1);
	vireo_loopback_state_get(lb, &state);
	TEST_ASSERT_EQUAL(state.features, VIREO_F_VERSION_1);
	/* Without what is required there is no device. */
	TEST_ASSERT_EQUAL(vireo_dev_negotiate(fix.dev, VIREO_F_RING_PACKED, &features), -ENOTSUP);
	return 0;
}

static int
test_required_feature_is_missing(void)
{
	TEST_ASSERT_SUCCESS(make_device(VIREO_F_VERSION_1));
	conf.required |= VIREO_F_RING_PACKED;
	TEST_ASSERT_EQUAL(fix_create(&fix, &conf), -ENOTSUP);
	return 0;
}

static int
test_features_that_do_not_go_together(void)
{
	TEST_ASSERT_SUCCESS(make_device(0));
	/* MQ without CTRL_VQ: the device does not keep FEATURES_OK. */
	conf.wanted = VIREO_F_VERSION_1 | VIREO_NET_F_MQ;
	TEST_ASSERT_EQUAL(fix_create(&fix, &conf), -ENOTSUP);
	return 0;
}

static int
test_bad_configuration_is_refused(void)
{
	conf.nb_queues_max = 0;
	TEST_ASSERT_EQUAL(fix_create(&fix, &conf), -EINVAL);
	fix_conf(&conf, VIREO_DEV_LOOPBACK, NAME);
	conf.required = 1ULL << 50;
	TEST_ASSERT_EQUAL(fix_create(&fix, &conf), -EINVAL);
	fix_conf(&conf, (enum vireo_dev_transport)9, NAME);
	TEST_ASSERT_EQUAL(fix_create(&fix, &conf), -EINVAL);
	return 0;
}

static int
test_bad_queues_are_refused(void)
{
	struct vireo_dev_queue queues[2];

	TEST_ASSERT_SUCCESS(make_device(0));
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, conf.wanted, 1));
	memset(queues, 0, sizeof(queues));
	TEST_ASSERT_EQUAL(vireo_dev_start(fix.dev, queues, 1), -EINVAL);
	queues[0].vq = &fix.queues[0].vq;
	queues[1] = queues[0];
	TEST_ASSERT_EQUAL(vireo_dev_start(fix.dev, queues, 2), -EINVAL);
	queues[1].idx = 2;
	TEST_ASSERT_EQUAL(vireo_dev_start(fix.dev, queues, 2), -EINVAL);
	/* A refused start leaves nothing behind. */
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	TEST_ASSERT(echoes());
	return 0;
}

static int
test_eventfds_are_there_from_create_on(void)
{
	TEST_ASSERT_SUCCESS(make_device(0));
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	TEST_ASSERT(vireo_dev_kick_fd(fix.dev, 0) >= 0);
	TEST_ASSERT(vireo_dev_call_fd(fix.dev, 1) >= 0);
	TEST_ASSERT_EQUAL(vireo_dev_kick_fd(fix.dev, 2), -EINVAL);
	return 0;
}

static int
test_queue_pause_and_reset(void)
{
	TEST_ASSERT_SUCCESS(make_device(0));
	conf.wanted |= VIREO_F_RING_RESET;
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, conf.wanted, 1));
	TEST_ASSERT_EQUAL(vireo_dev_queue_enable(fix.dev, 0, false), -EINVAL);
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	TEST_ASSERT(echoes());
	TEST_ASSERT_SUCCESS(vireo_dev_queue_enable(fix.dev, 1, false));
	TEST_ASSERT(!echoes());
	/* What was sent meanwhile is not lost. */
	TEST_ASSERT_SUCCESS(vireo_dev_queue_enable(fix.dev, 1, true));
	TEST_ASSERT(echoes());
	TEST_ASSERT(echoes());
	TEST_ASSERT_SUCCESS(vireo_dev_queue_reset(fix.dev, 1));
	TEST_ASSERT(vireo_vq_drv_drain(&fix.queues[1].vq, NULL, NULL, NULL) > 0);
	vireo_vq_drv_reset(&fix.queues[1].vq);
	TEST_ASSERT_SUCCESS(vireo_dev_queue_enable(fix.dev, 1, true));
	TEST_ASSERT(echoes());
	return 0;
}

static int
test_reset_needs_the_feature(void)
{
	TEST_ASSERT_SUCCESS(make_device(0));
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, conf.wanted, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	TEST_ASSERT_EQUAL(vireo_dev_queue_reset(fix.dev, 0), -ENOTSUP);
	TEST_ASSERT_EQUAL(vireo_dev_queue_reset(fix.dev, 9), -EINVAL);
	return 0;
}

static int
test_device_goes_and_comes_back(void)
{
	struct vireo_dev_info info;
	uint32_t i;

	TEST_ASSERT_SUCCESS(make_device(0));
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, conf.wanted, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	for (i = 1; i <= 5; i++) {
		TEST_ASSERT(echoes());
		vireo_loopback_destroy(lb);
		lb = NULL;
		TEST_ASSERT(fix_wait(&fix.nb_link_down, i, WAIT_MS));
		TEST_ASSERT_EQUAL(fix.nb_quiesce, i);
		TEST_ASSERT_EQUAL(vireo_dev_ctrl(fix.dev, 0, 0, "\1", 1), -ENOTCONN);
		TEST_ASSERT_SUCCESS(make_device(0));
		TEST_ASSERT(fix_wait(&fix.nb_link_up, i, WAIT_MS));
		TEST_ASSERT_EQUAL(fix.nb_restart, i);
		TEST_ASSERT_EQUAL(fix.nb_resume, i);
	}
	TEST_ASSERT(echoes());
	vireo_dev_info_get(fix.dev, &info);
	TEST_ASSERT_EQUAL(info.nb_connects, 6);
	TEST_ASSERT_EQUAL(info.nb_disconnects, 5);
	return 0;
}

static int
test_poorer_device_is_refused(void)
{
	struct vireo_dev_info info;

	TEST_ASSERT_SUCCESS(make_device(0));
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, conf.wanted, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	vireo_loopback_destroy(lb);
	TEST_ASSERT(fix_wait(&fix.nb_link_down, 1, WAIT_MS));
	TEST_ASSERT_SUCCESS(make_device(VIREO_F_VERSION_1));
	TEST_ASSERT(!fix_wait(&fix.nb_link_up, 1, 100));
	vireo_dev_info_get(fix.dev, &info);
	TEST_ASSERT_NOT_NULL(strstr(info.last_error, "lacks features in use"));
	/* Stopping works without a device, and the next good one is taken. */
	vireo_dev_stop(fix.dev);
	vireo_loopback_destroy(lb);
	TEST_ASSERT_SUCCESS(make_device(0));
	TEST_ASSERT(fix_wait(&fix.nb_link_up, 1, WAIT_MS));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	return 0;
}

static int
test_default_device_reflects(void)
{
	struct vireo_dev_conf own;
	uint8_t frame[64], got[64];
	uint32_t tries;
	int len = 0;

	/* Nobody made it: a device comes with the driver and goes with it. */
	fix_conf(&own, VIREO_DEV_LOOPBACK, NAME "_default");
	TEST_ASSERT_SUCCESS(fix_create(&fix, &own));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, own.wanted, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	memset(frame, 0xff, sizeof(frame));
	TEST_ASSERT_SUCCESS(fix_send(&fix, 0, frame, sizeof(frame), NULL));
	for (tries = 0; tries < 1000 && len == 0; tries++) {
		usleep(1000);
		len = fix_receive(&fix, 0, got, sizeof(got), NULL);
	}
	TEST_ASSERT_EQUAL(len, sizeof(frame));
	return 0;
}

static int
test_one_driver_a_device(void)
{
	static struct fix other;

	TEST_ASSERT_SUCCESS(make_device(0));
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	TEST_ASSERT_EQUAL(fix_create(&other, &conf), -EBUSY);
	fix_destroy(&fix);
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	return 0;
}

static int
test_nothing_is_left_open(void)
{
	uint32_t nb_fds;
	int i;

	TEST_ASSERT_SUCCESS(make_device(0));
	nb_fds = fix_nb_fds();
	for (i = 0; i < 3; i++) {
		TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
		TEST_ASSERT_SUCCESS(fix_setup(&fix, conf.wanted, 1));
		TEST_ASSERT_SUCCESS(fix_start(&fix));
		fix_destroy(&fix);
	}
	/* The device's thread may just be looking at its own copy of a kick. */
	for (i = 0; i < 100 && fix_nb_fds() != nb_fds; i++)
		usleep(1000);
	TEST_ASSERT_EQUAL(fix_nb_fds(), nb_fds);
	return 0;
}

static const struct unit_test_case cases[] = {
	TEST_CASE_ST(setup, teardown, test_status_follows_the_specification),
	TEST_CASE_ST(setup, teardown, test_negotiates_wanted_and_offered),
	TEST_CASE_ST(setup, teardown, test_required_feature_is_missing),
	TEST_CASE_ST(setup, teardown, test_features_that_do_not_go_together),
	TEST_CASE_ST(setup, teardown, test_bad_configuration_is_refused),
	TEST_CASE_ST(setup, teardown, test_bad_queues_are_refused),
	TEST_CASE_ST(setup, teardown, test_eventfds_are_there_from_create_on),
	TEST_CASE_ST(setup, teardown, test_queue_pause_and_reset),
	TEST_CASE_ST(setup, teardown, test_reset_needs_the_feature),
	TEST_CASE_ST(setup, teardown, test_device_goes_and_comes_back),
	TEST_CASE_ST(setup, teardown, test_poorer_device_is_refused),
	TEST_CASE_ST(setup, teardown, test_default_device_reflects),
	TEST_CASE_ST(setup, teardown, test_one_driver_a_device),
	TEST_CASE_ST(setup, teardown, test_nothing_is_left_open),
	TEST_CASES_END(),
};

static const struct unit_test_suite suite = {
	.suite_name = "device",
	.cases = cases,
};

static int
test_dev(void)
{
	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(FAST, dev_autotest, test_dev);
