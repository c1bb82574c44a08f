/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "dev_fixture.h"
#include "fake_backend.h"

/* The vhost-user front end against a back end of this test. */

#define ALL_PROTOCOL                                                                               \
	(VHOST_USER_PROTOCOL_MQ | VHOST_USER_PROTOCOL_REPLY_ACK | VHOST_USER_PROTOCOL_CONFIG |     \
	 VHOST_USER_PROTOCOL_BACKEND_REQ | VHOST_USER_PROTOCOL_INFLIGHT_SHMFD |                    \
	 VHOST_USER_PROTOCOL_CONFIGURE_MEM_SLOTS | VHOST_USER_PROTOCOL_STATUS)

#define OFFERED                                                                                    \
	(VIREO_F_VERSION_1 | VIREO_F_RING_PACKED | VIREO_F_INDIRECT_DESC | VIREO_NET_F_MRG_RXBUF | \
	 VIREO_NET_F_MQ | VIREO_NET_F_STATUS | VIREO_NET_F_MAC | VIREO_F_VHOST_USER_PROTOCOL)

#define DRIVER_STATUS                                                                              \
	(VIREO_STATUS_ACKNOWLEDGE | VIREO_STATUS_DRIVER | VIREO_STATUS_FEATURES_OK |               \
	 VIREO_STATUS_DRIVER_OK)

/* What a peer that never answers is given. */
#define SILENCE_MS 300
/* Far above what it takes, far below for ever. */
#define BOUND_MS 30000

static char path[64];
static struct fake_conf honest;
static struct fake_backend *fb;
static struct fix fix;
static uint32_t timeout_ms;

static int
setup(void)
{
	snprintf(path, sizeof(path), "/tmp/vireo_test_%d.sock", getpid());
	honest = (struct fake_conf){
		.features = OFFERED,
		.protocol = ALL_PROTOCOL,
		.nb_queues = 2,
		.mem_slots = 32,
	};
	fb = NULL;
	timeout_ms = FIX_TIMEOUT_MS;
	memset(&fix, 0, sizeof(fix));
	return 0;
}

static void
teardown(void)
{
	fix_destroy(&fix);
	fake_stop(fb);
	fb = NULL;
	unlink(path);
}

/* Start the back end and a device that is its client. @return the device's result. */
static int
connect_to(const struct fake_conf *conf)
{
	struct vireo_dev_conf dev_conf;

	fb = fake_start(path, conf);
	if (fb == NULL)
		return -EIO;
	fix_conf(&dev_conf, VIREO_DEV_VHOST_USER, path);
	dev_conf.timeout_ms = timeout_ms;
	return fix_create(&fix, &dev_conf);
}

static uint64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int
check_started(const struct fake_state *st)
{
	const struct ring_packed_desc *desc;
	struct ring_packed_desc seen;
	uint16_t i;

	TEST_ASSERT_EQUAL(st->status, DRIVER_STATUS);
	for (i = 0; i < 2; i++) {
		TEST_ASSERT_EQUAL(st->rings[i].num, FIX_RING_SIZE);
		TEST_ASSERT_EQUAL(st->rings[i].base, 0x8000);
		TEST_ASSERT(st->rings[i].enabled && st->rings[i].has_kick);
		/* The fixture wants calls for Rx only. */
		TEST_ASSERT_EQUAL(st->rings[i].has_call, i == 0);
		TEST_ASSERT_EQUAL(st->rings[i].nb_get_base, 0);
	}
	/* What the driver wrote is what the back end reads through the regions. */
	desc = fix.queues[0].vq.ring.pdesc;
	TEST_ASSERT(fake_read(fb, st->rings[0].addr.desc, &seen, sizeof(seen)));
	TEST_ASSERT_BUFFERS_ARE_EQUAL(&seen, desc, sizeof(seen));
	TEST_ASSERT(fake_read(fb, seen.addr, &seen, sizeof(seen)));
	TEST_ASSERT(!fake_read(fb, 16, &seen, sizeof(seen)));
	return 0;
}

static int
test_everything_offered_is_used(void)
{
	struct fake_state st;

	TEST_ASSERT_SUCCESS(connect_to(&honest));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, OFFERED | VIREO_NET_F_CTRL_VQ, 1));
	/* Answered by the transport, never offered to the peer. */
	TEST_ASSERT(fix.features & VIREO_NET_F_CTRL_VQ);
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	fake_get(fb, &st);
	TEST_ASSERT_EQUAL(st.protocol, ALL_PROTOCOL);
	TEST_ASSERT_EQUAL(st.features, OFFERED);
	TEST_ASSERT_SUCCESS(check_started(&st));
	TEST_ASSERT_EQUAL(st.count[VHOST_USER_REQ_SET_MEM_TABLE], 0);
	TEST_ASSERT_EQUAL(st.count[VHOST_USER_REQ_ADD_MEM_REG], st.nb_regions);
	TEST_ASSERT(st.has_inflight_fd);
	TEST_ASSERT_EQUAL(st.inflight.queue_size, FIX_RING_SIZE);
	TEST_ASSERT_EQUAL(st.inflight.nb_queues, 2);
	vireo_dev_stop(fix.dev);
	fake_get(fb, &st);
	TEST_ASSERT_EQUAL(st.rings[0].nb_get_base, 1);
	TEST_ASSERT_EQUAL(st.rings[1].nb_get_base, 1);
	TEST_ASSERT_EQUAL(st.status, 0);
	return 0;
}

static int
test_restart_sets_everything_up_again(void)
{
	struct fake_state st;
	uint32_t nb_regions;

	TEST_ASSERT_SUCCESS(connect_to(&honest));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, OFFERED, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	TEST_ASSERT_EQUAL(fix_start(&fix), -EBUSY);
	TEST_ASSERT_EQUAL(vireo_dev_negotiate(fix.dev, OFFERED, &fix.features), -EBUSY);
	fake_get(fb, &st);
	nb_regions = st.nb_regions;
	vireo_dev_stop(fix.dev);
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	fake_get(fb, &st);
	TEST_ASSERT_EQUAL(st.status, DRIVER_STATUS);
	TEST_ASSERT(st.rings[0].enabled && st.rings[1].enabled);
	/* Memory did not change: nothing new was said about it. */
	TEST_ASSERT_EQUAL(st.count[VHOST_USER_REQ_ADD_MEM_REG], nb_regions);
	TEST_ASSERT_EQUAL(st.count[VHOST_USER_REQ_REM_MEM_REG], 0);
	TEST_ASSERT_EQUAL(st.count[VHOST_USER_REQ_GET_INFLIGHT_FD], 2);
	return 0;
}

static int
test_without_reply_ack_get_features_is_the_fence(void)
{
	struct fake_conf conf = honest;
	struct fake_state st;
	uint32_t sets;

	conf.protocol = VHOST_USER_PROTOCOL_MQ;
	TEST_ASSERT_SUCCESS(connect_to(&conf));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, OFFERED, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	fake_get(fb, &st);
	sets = st.count[VHOST_USER_REQ_SET_MEM_TABLE] + st.count[VHOST_USER_REQ_SET_VRING_KICK] +
		st.count[VHOST_USER_REQ_SET_VRING_ENABLE];
	TEST_ASSERT(sets >= 6);
	TEST_ASSERT(st.count[VHOST_USER_REQ_GET_FEATURES] > sets);
	TEST_ASSERT_EQUAL(st.count[VHOST_USER_REQ_SET_STATUS], 0);
	TEST_ASSERT_EQUAL(st.count[VHOST_USER_REQ_SET_INFLIGHT_FD], 0);
	TEST_ASSERT(st.rings[0].enabled);
	/* Nobody has config space: its features are not offered. */
	TEST_ASSERT_EQUAL(fix.features & (VIREO_NET_F_STATUS | VIREO_NET_F_MAC), 0);
	TEST_ASSERT_EQUAL(vireo_dev_config_read(fix.dev, 0, &st, 6), -ENOTSUP);
	return 0;
}

static int
test_peer_without_protocol_features(void)
{
	struct fake_conf conf = honest;
	struct fake_state st;

	conf.features &= ~VIREO_F_VHOST_USER_PROTOCOL;
	TEST_ASSERT_SUCCESS(connect_to(&conf));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, OFFERED, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	fake_get(fb, &st);
	TEST_ASSERT_EQUAL(st.count[VHOST_USER_REQ_GET_PROTOCOL_FEATURES], 0);
	TEST_ASSERT_EQUAL(st.features & VIREO_F_VHOST_USER_PROTOCOL, 0);
	TEST_ASSERT(st.rings[0].has_kick && st.rings[1].has_kick);
	/* Its rings run from the start and cannot be paused. */
	TEST_ASSERT_EQUAL(st.count[VHOST_USER_REQ_SET_VRING_ENABLE], 0);
	TEST_ASSERT_EQUAL(vireo_dev_queue_enable(fix.dev, 0, false), -ENOTSUP);
	vireo_dev_stop(fix.dev);
	fake_get(fb, &st);
	TEST_ASSERT_EQUAL(st.count[VHOST_USER_REQ_GET_VRING_BASE], 2);
	TEST_ASSERT(st.connected);
	return 0;
}

static int
test_queue_pauses_without_get_vring_base(void)
{
	const uint16_t one_pair = 1;
	struct fake_state st;

	TEST_ASSERT_SUCCESS(connect_to(&honest));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, OFFERED | VIREO_NET_F_CTRL_VQ, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	TEST_ASSERT_SUCCESS(vireo_dev_queue_enable(fix.dev, 1, false));
	fake_get(fb, &st);
	TEST_ASSERT(st.rings[0].enabled && !st.rings[1].enabled);
	TEST_ASSERT_EQUAL(st.count[VHOST_USER_REQ_GET_VRING_BASE], 0);
	TEST_ASSERT_SUCCESS(vireo_dev_queue_enable(fix.dev, 1, true));
	fake_get(fb, &st);
	TEST_ASSERT(st.rings[1].enabled);
	TEST_ASSERT_EQUAL(vireo_dev_queue_enable(fix.dev, 2, true), -EINVAL);
	TEST_ASSERT_EQUAL(vireo_dev_queue_reset(fix.dev, 0), -ENOTSUP);
	/* Commands that the transport answers. */
	TEST_ASSERT_SUCCESS(vireo_dev_ctrl(fix.dev, VIREO_NET_CTRL_RX, 0, "\1", 1));
	TEST_ASSERT_SUCCESS(vireo_dev_ctrl(fix.dev, VIREO_NET_CTRL_MQ, 0, &one_pair, 2));
	TEST_ASSERT_EQUAL(vireo_dev_ctrl(fix.dev, VIREO_NET_CTRL_VLAN, 0, &one_pair, 2), -ENOTSUP);
	return 0;
}

static int
test_pairs_set_enables_queues(void)
{
	struct vireo_dev_conf conf;
	struct fake_state st;
	uint16_t nb_pairs;

	fb = fake_start(path, &honest);
	TEST_ASSERT_NOT_NULL(fb);
	fix_conf(&conf, VIREO_DEV_VHOST_USER, path);
	conf.nb_queues_max = 4;
	conf.wanted |= VIREO_NET_F_MQ;
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, conf.wanted, 2));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	nb_pairs = 1;
	TEST_ASSERT_SUCCESS(vireo_dev_ctrl(fix.dev, VIREO_NET_CTRL_MQ, 0, &nb_pairs, 2));
	fake_get(fb, &st);
	TEST_ASSERT(st.rings[0].enabled && st.rings[1].enabled);
	TEST_ASSERT(!st.rings[2].enabled && !st.rings[3].enabled);
	nb_pairs = 2;
	TEST_ASSERT_SUCCESS(vireo_dev_ctrl(fix.dev, VIREO_NET_CTRL_MQ, 0, &nb_pairs, 2));
	fake_get(fb, &st);
	TEST_ASSERT(st.rings[2].enabled && st.rings[3].enabled);
	return 0;
}

static int
test_config_space(void)
{
	struct fake_state st;
	uint8_t data[6];

	TEST_ASSERT_SUCCESS(connect_to(&honest));
	TEST_ASSERT_SUCCESS(vireo_dev_config_write(fix.dev, 0, "\2\3\4\5\6\7", 6));
	fake_get(fb, &st);
	TEST_ASSERT_BUFFERS_ARE_EQUAL(st.config, "\2\3\4\5\6\7", 6);
	TEST_ASSERT_SUCCESS(vireo_dev_config_read(fix.dev, 0, data, 6));
	TEST_ASSERT_BUFFERS_ARE_EQUAL(data, "\2\3\4\5\6\7", 6);
	/* Beyond what the peer has, and beyond what a message holds. */
	TEST_ASSERT_EQUAL(vireo_dev_config_read(fix.dev, 60, data, 6), -EIO);
	TEST_ASSERT_EQUAL(vireo_dev_config_read(fix.dev, 251, data, 6), -EINVAL);
	TEST_ASSERT_EQUAL(fix.nb_config, 0);
	TEST_ASSERT(fake_config_changed(fb));
	TEST_ASSERT(fix_wait(&fix.nb_config, 1, WAIT_MS));
	TEST_ASSERT_SUCCESS(vireo_dev_config_read(fix.dev, 0, data, 1));
	TEST_ASSERT_EQUAL(data[0], 3);
	fake_get(fb, &st);
	TEST_ASSERT_EQUAL(st.nb_config_acks, 1);
	return 0;
}

static int
test_peer_that_offers_nothing_is_refused(void)
{
	struct fake_conf conf = { .nb_queues = 1 };

	TEST_ASSERT_EQUAL(connect_to(&conf), -ENOTSUP);
	return 0;
}

static int
test_too_little_room_for_memory_is_refused(void)
{
	struct fake_conf conf = honest;

	conf.mem_slots = 0;
	TEST_ASSERT_EQUAL(connect_to(&conf), -E2BIG);
	return 0;
}

/* One fault at one request: an error in bounded time, nothing left open. */
static int
meet_fault(enum fake_fault fault, uint32_t request, uint64_t protocol)
{
	struct fake_conf conf = honest;
	uint64_t begin_ms = now_ms();
	uint32_t nb_fds = fix_nb_fds();
	int ret;

	conf.fault = fault;
	conf.at_request = request;
	conf.protocol = protocol;
	ret = connect_to(&conf);
	if (ret == 0) {
		ret = fix_setup(&fix, OFFERED, 1);
		if (ret == 0)
			ret = fix_start(&fix);
	}
	TEST_ASSERT(fault != FAKE_SILENT || now_ms() - begin_ms < BOUND_MS, "request %u fault %d",
		    request, fault);
	fix_destroy(&fix);
	fake_stop(fb);
	fb = NULL;
	/* EAL may have had one more for a moment when the count began. */
	TEST_ASSERT(fix_nb_fds() <= nb_fds, "request %u fault %d", request, fault);
	return ret;
}

static const uint32_t handshake[] = {
	VHOST_USER_REQ_GET_FEATURES,	VHOST_USER_REQ_GET_PROTOCOL_FEATURES,
	VHOST_USER_REQ_SET_OWNER,	VHOST_USER_REQ_GET_QUEUE_NUM,
	VHOST_USER_REQ_SET_FEATURES,	VHOST_USER_REQ_GET_STATUS,
	VHOST_USER_REQ_ADD_MEM_REG,	VHOST_USER_REQ_GET_MAX_MEM_SLOTS,
	VHOST_USER_REQ_GET_INFLIGHT_FD, VHOST_USER_REQ_SET_INFLIGHT_FD,
};

static int
expect_fault(enum fake_fault fault, int err)
{
	unsigned int i;
	int ret;

	for (i = 0; i < RTE_DIM(handshake); i++) {
		ret = meet_fault(fault, handshake[i], ALL_PROTOCOL);
		TEST_ASSERT_EQUAL(ret, err, "at request %u", handshake[i]);
	}
	return 0;
}

static int
test_garbage_is_refused(void)
{
	TEST_ASSERT_SUCCESS(expect_fault(FAKE_GARBAGE, -EPROTO));
	TEST_ASSERT_SUCCESS(expect_fault(FAKE_HUGE, -EPROTO));
	TEST_ASSERT_SUCCESS(expect_fault(FAKE_WRONG_REQUEST, -EPROTO));
	TEST_ASSERT_SUCCESS(expect_fault(FAKE_WRONG_SIZE, -EPROTO));
	return 0;
}

static int
test_extra_fds_are_closed_and_refused(void)
{
	TEST_ASSERT_SUCCESS(expect_fault(FAKE_EXTRA_FDS, -EPROTO));
	TEST_ASSERT_SUCCESS(expect_fault(FAKE_MANY_FDS, -EPROTO));
	return 0;
}

static int
test_silence_times_out(void)
{
	timeout_ms = SILENCE_MS;
	TEST_ASSERT_SUCCESS(expect_fault(FAKE_SILENT, -ETIMEDOUT));
	return 0;
}

static int
test_refusal_is_reported(void)
{
	TEST_ASSERT_EQUAL(meet_fault(FAKE_REFUSES, VHOST_USER_REQ_SET_FEATURES, ALL_PROTOCOL),
			  -EIO);
	TEST_ASSERT_EQUAL(meet_fault(FAKE_REFUSES, VHOST_USER_REQ_SET_VRING_ADDR, ALL_PROTOCOL),
			  -EIO);
	return 0;
}

static int
test_close_in_mid_handshake_is_reported(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < RTE_DIM(handshake); i++) {
		TEST_ASSERT_EQUAL(meet_fault(FAKE_CLOSES_MIDWAY, handshake[i], ALL_PROTOCOL),
				  -EPROTO, "at request %u", handshake[i]);
		ret = meet_fault(FAKE_CLOSES, handshake[i], ALL_PROTOCOL);
		/* After the first messages a peer that goes is a peer that went: start waits. */
		if (handshake[i] == VHOST_USER_REQ_GET_INFLIGHT_FD ||
		    handshake[i] == VHOST_USER_REQ_SET_INFLIGHT_FD)
			TEST_ASSERT_SUCCESS(ret);
		else
			TEST_ASSERT(ret < 0, "at request %u: %d", handshake[i], ret);
	}
	/* The same without REPLY_ACK, where the fence finds it. */
	TEST_ASSERT(meet_fault(FAKE_CLOSES, VHOST_USER_REQ_SET_OWNER, 0) < 0);
	TEST_ASSERT(meet_fault(FAKE_CLOSES, VHOST_USER_REQ_SET_MEM_TABLE, 0) < 0);
	return 0;
}

static int
test_wrong_paths_are_reported(void)
{
	struct vireo_dev_conf conf;
	char long_path[200];
	FILE *file;

	fix_conf(&conf, VIREO_DEV_VHOST_USER, path);
	unlink(path);
	TEST_ASSERT_EQUAL(fix_create(&fix, &conf), -ENOENT);
	file = fopen(path, "w");
	TEST_ASSERT_NOT_NULL(file);
	fclose(file);
	TEST_ASSERT_EQUAL(fix_create(&fix, &conf), -ECONNREFUSED);
	conf.server = true;
	TEST_ASSERT_EQUAL(fix_create(&fix, &conf), -EADDRINUSE);
	memset(long_path, 'x', sizeof(long_path));
	long_path[sizeof(long_path) - 1] = '\0';
	conf.path = long_path;
	TEST_ASSERT_EQUAL(fix_create(&fix, &conf), -EINVAL);
	conf.path = "";
	TEST_ASSERT_EQUAL(fix_create(&fix, &conf), -EINVAL);
	return 0;
}

static int
test_client_reconnects(void)
{
	struct vireo_dev_info info;
	struct fake_state st;
	uint32_t i;

	TEST_ASSERT_SUCCESS(connect_to(&honest));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, OFFERED, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	for (i = 1; i <= 5; i++) {
		fake_stop(fb);
		TEST_ASSERT(fix_wait(&fix.nb_link_down, i, WAIT_MS));
		TEST_ASSERT_EQUAL(fix.nb_quiesce, i);
		TEST_ASSERT_EQUAL(vireo_dev_config_read(fix.dev, 0, &info, 1), -ENOTCONN);
		/* A while without anybody there. */
		usleep(250 * 1000);
		fb = fake_start(path, &honest);
		TEST_ASSERT(fix_wait(&fix.nb_link_up, i, WAIT_MS));
		TEST_ASSERT_EQUAL(fix.nb_restart, i);
		TEST_ASSERT_EQUAL(fix.nb_resume, i);
		fake_get(fb, &st);
		TEST_ASSERT_SUCCESS(check_started(&st));
		TEST_ASSERT(st.has_inflight_fd);
	}
	vireo_dev_info_get(fix.dev, &info);
	TEST_ASSERT_EQUAL(info.nb_connects, 6);
	TEST_ASSERT_EQUAL(info.nb_disconnects, 5);
	TEST_ASSERT(info.connected && info.started);
	return 0;
}

static int
test_stop_without_peer_then_peer(void)
{
	struct fake_state st;

	TEST_ASSERT_SUCCESS(connect_to(&honest));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, OFFERED, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	fake_stop(fb);
	TEST_ASSERT(fix_wait(&fix.nb_link_down, 1, WAIT_MS));
	vireo_dev_stop(fix.dev);
	/* What was quiesced is resumed, once. */
	TEST_ASSERT_EQUAL(fix.nb_resume, fix.nb_quiesce);
	fb = fake_start(path, &honest);
	TEST_ASSERT(fix_wait(&fix.nb_link_up, 1, WAIT_MS));
	TEST_ASSERT_EQUAL(fix.nb_restart, 0);
	fake_get(fb, &st);
	TEST_ASSERT_EQUAL(st.count[VHOST_USER_REQ_SET_VRING_KICK], 0);
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	fake_get(fb, &st);
	TEST_ASSERT_EQUAL(st.status, DRIVER_STATUS);
	return 0;
}

static int
test_peer_without_what_is_in_use_is_refused(void)
{
	struct fake_conf poor = honest;
	struct vireo_dev_info info;

	TEST_ASSERT_SUCCESS(connect_to(&honest));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, OFFERED, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	fake_stop(fb);
	TEST_ASSERT(fix_wait(&fix.nb_link_down, 1, WAIT_MS));
	poor.features &= ~VIREO_NET_F_MRG_RXBUF;
	fb = fake_start(path, &poor);
	TEST_ASSERT(!fix_wait(&fix.nb_link_up, 1, 600));
	vireo_dev_info_get(fix.dev, &info);
	TEST_ASSERT(!info.connected);
	TEST_ASSERT_NOT_NULL(strstr(info.last_error, "lacks features in use"));
	fake_stop(fb);
	/* Config space is nothing that a running driver leans on. */
	poor = honest;
	poor.protocol &= ~VHOST_USER_PROTOCOL_CONFIG;
	fb = fake_start(path, &poor);
	TEST_ASSERT(fix_wait(&fix.nb_link_up, 1, WAIT_MS));
	vireo_dev_info_get(fix.dev, &info);
	TEST_ASSERT_EQUAL(info.negotiated & VIREO_NET_F_STATUS, 0);
	return 0;
}

static int
test_unasked_message_disconnects(void)
{
	TEST_ASSERT_SUCCESS(connect_to(&honest));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, OFFERED, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	fake_send_unasked(fb);
	TEST_ASSERT(fix_wait(&fix.nb_link_down, 1, WAIT_MS));
	TEST_ASSERT(fix_wait(&fix.nb_link_up, 1, WAIT_MS));
	return 0;
}

static int
test_restart_that_fails_keeps_the_link_down(void)
{
	TEST_ASSERT_SUCCESS(connect_to(&honest));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, OFFERED, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	fake_stop(fb);
	TEST_ASSERT(fix_wait(&fix.nb_link_down, 1, WAIT_MS));
	__atomic_store_n(&fix.restart_ret, -ENOMEM, __ATOMIC_SEQ_CST);
	fb = fake_start(path, &honest);
	TEST_ASSERT(fix_wait(&fix.nb_restart, 1, WAIT_MS));
	TEST_ASSERT(!fix_wait(&fix.nb_link_up, 1, 100));
	__atomic_store_n(&fix.restart_ret, 0, __ATOMIC_SEQ_CST);
	TEST_ASSERT(fix_wait(&fix.nb_link_up, 1, WAIT_MS));
	return 0;
}

static int
test_server_waits_for_its_peer(void)
{
	struct vireo_dev_conf conf;
	struct vireo_dev_info info;
	struct fake_conf client = honest;
	struct fake_state st;
	uint32_t i;

	fix_conf(&conf, VIREO_DEV_VHOST_USER, path);
	conf.server = true;
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	vireo_dev_info_get(fix.dev, &info);
	TEST_ASSERT(!info.connected);
	/* All that is wanted counts as offered, save what cannot be carried. */
	TEST_ASSERT_EQUAL(info.offered, conf.wanted);
	TEST_ASSERT_SUCCESS(fix_setup(&fix, OFFERED, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	TEST_ASSERT_EQUAL(fix.nb_quiesce, 1);
	client.connects = true;
	for (i = 1; i <= 3; i++) {
		fb = fake_start(path, &client);
		TEST_ASSERT_NOT_NULL(fb);
		TEST_ASSERT(fix_wait(&fix.nb_link_up, i, WAIT_MS));
		fake_get(fb, &st);
		TEST_ASSERT_SUCCESS(check_started(&st));
		TEST_ASSERT_EQUAL(fix.nb_resume, i);
		fake_stop(fb);
		fb = NULL;
		TEST_ASSERT(fix_wait(&fix.nb_link_down, i, WAIT_MS));
	}
	return 0;
}

static int
test_server_takes_one_peer_at_a_time(void)
{
	struct fake_conf client = honest;
	struct fake_backend *second;
	struct vireo_dev_conf conf;
	struct fake_state st;

	fix_conf(&conf, VIREO_DEV_VHOST_USER, path);
	conf.server = true;
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	client.connects = true;
	fb = fake_start(path, &client);
	TEST_ASSERT_NOT_NULL(fb);
	TEST_ASSERT(fix_wait(&fix.nb_link_up, 1, WAIT_MS));
	second = fake_start(path, &client);
	TEST_ASSERT_NOT_NULL(second);
	usleep(100 * 1000);
	fake_get(second, &st);
	TEST_ASSERT_EQUAL(st.count[VHOST_USER_REQ_GET_FEATURES], 0);
	/* When the first has gone, the second has its turn. */
	fake_stop(fb);
	fb = second;
	TEST_ASSERT(fix_wait(&fix.nb_link_up, 2, WAIT_MS));
	fake_get(fb, &st);
	TEST_ASSERT(st.count[VHOST_USER_REQ_GET_FEATURES] > 0);
	return 0;
}

static int
test_server_refuses_a_path_in_use(void)
{
	struct vireo_dev_conf conf;
	struct fix other;
	struct stat sb;

	fix_conf(&conf, VIREO_DEV_VHOST_USER, path);
	conf.server = true;
	/* A file that a dead process has left behind is removed. */
	fb = fake_start(path, &honest);
	fake_stop(fb);
	fb = NULL;
	TEST_ASSERT_SUCCESS(stat(path, &sb));
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	TEST_ASSERT_EQUAL(fix_create(&other, &conf), -EADDRINUSE);
	/* The loser must not take the winner's file away, the winner takes its own. */
	TEST_ASSERT_SUCCESS(stat(path, &sb));
	fix_destroy(&fix);
	TEST_ASSERT(stat(path, &sb) < 0);
	return 0;
}

static int
test_server_without_descriptors_does_not_spin(void)
{
	struct rlimit before, none;
	struct vireo_dev_conf conf;
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	clock_t busy;
	int fd;

	fix_conf(&conf, VIREO_DEV_VHOST_USER, path);
	conf.server = true;
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	memcpy(sa.sun_path, path, sizeof(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	TEST_ASSERT(fd >= 0);
	/* EAL needs one itself when it takes note of a new source. */
	usleep(100 * 1000);
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	busy = clock();
	TEST_ASSERT_SUCCESS(connect(fd, (const struct sockaddr *)&sa, sizeof(sa)));
	usleep(300 * 1000);
	busy = clock() - busy;
	setrlimit(RLIMIT_NOFILE, &before);
	close(fd);
	TEST_ASSERT(busy < CLOCKS_PER_SEC / 10, "%ld us of CPU time", (long)busy);
	/* With descriptors again, peers are taken again. */
	honest.connects = true;
	fb = fake_start(path, &honest);
	TEST_ASSERT(fix_wait(&fix.nb_link_up, 1, WAIT_MS));
	return 0;
}

static int
test_server_survives_bad_peers(void)
{
	struct fake_conf client = honest;
	struct vireo_dev_conf conf;
	struct vireo_dev_info info;

	fix_conf(&conf, VIREO_DEV_VHOST_USER, path);
	conf.server = true;
	conf.timeout_ms = SILENCE_MS;
	TEST_ASSERT_SUCCESS(fix_create(&fix, &conf));
	client.connects = true;
	client.at_request = VHOST_USER_REQ_GET_PROTOCOL_FEATURES;
	for (client.fault = FAKE_CLOSES; client.fault <= FAKE_MANY_FDS; client.fault++) {
		fb = fake_start(path, &client);
		TEST_ASSERT_NOT_NULL(fb);
		TEST_ASSERT(!fix_wait(&fix.nb_link_up, 1, 2 * SILENCE_MS));
		fake_stop(fb);
		fb = NULL;
	}
	client.fault = FAKE_HONEST;
	fb = fake_start(path, &client);
	TEST_ASSERT(fix_wait(&fix.nb_link_up, 1, WAIT_MS));
	vireo_dev_info_get(fix.dev, &info);
	TEST_ASSERT(info.nb_timeouts >= 1);
	return 0;
}

static const struct unit_test_case cases[] = {
	TEST_CASE_ST(setup, teardown, test_everything_offered_is_used),
	TEST_CASE_ST(setup, teardown, test_restart_sets_everything_up_again),
	TEST_CASE_ST(setup, teardown, test_without_reply_ack_get_features_is_the_fence),
	TEST_CASE_ST(setup, teardown, test_peer_without_protocol_features),
	TEST_CASE_ST(setup, teardown, test_queue_pauses_without_get_vring_base),
	TEST_CASE_ST(setup, teardown, test_pairs_set_enables_queues),
	TEST_CASE_ST(setup, teardown, test_config_space),
	TEST_CASE_ST(setup, teardown, test_peer_that_offers_nothing_is_refused),
	TEST_CASE_ST(setup, teardown, test_too_little_room_for_memory_is_refused),
	TEST_CASE_ST(setup, teardown, test_garbage_is_refused),
	TEST_CASE_ST(setup, teardown, test_extra_fds_are_closed_and_refused),
	TEST_CASE_ST(setup, teardown, test_silence_times_out),
	TEST_CASE_ST(setup, teardown, test_refusal_is_reported),
	TEST_CASE_ST(setup, teardown, test_close_in_mid_handshake_is_reported),
	TEST_CASE_ST(setup, teardown, test_wrong_paths_are_reported),
	TEST_CASE_ST(setup, teardown, test_client_reconnects),
	TEST_CASE_ST(setup, teardown, test_stop_without_peer_then_peer),
	TEST_CASE_ST(setup, teardown, test_peer_without_what_is_in_use_is_refused),
	TEST_CASE_ST(setup, teardown, test_unasked_message_disconnects),
	TEST_CASE_ST(setup, teardown, test_restart_that_fails_keeps_the_link_down),
	TEST_CASE_ST(setup, teardown, test_server_waits_for_its_peer),
	TEST_CASE_ST(setup, teardown, test_server_takes_one_peer_at_a_time),
	TEST_CASE_ST(setup, teardown, test_server_refuses_a_path_in_use),
	TEST_CASE_ST(setup, teardown, test_server_without_descriptors_does_not_spin),
	TEST_CASE_ST(setup, teardown, test_server_survives_bad_peers),
	TEST_CASES_END(),
};

static const struct unit_test_suite suite = {
	.suite_name = "vhost-user front end",
	.cases = cases,
};

static int
test_vhost_user(void)
{
	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(FAST, vhost_user_autotest, test_vhost_user);
