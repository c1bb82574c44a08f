/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <unistd.h>

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "dev_fixture.h"
#include "fake_backend.h"

/*
 * Memory that comes and goes while a device runs. Needs hugepages and EAL's dynamic memory:
 * `--in-memory --single-file-segments -m 64`; skipped elsewhere.
 */

/* More than EAL starts with. */
#define BLOCK_BYTES (128U << 20)

static char path[64];
static struct fake_backend *fb;
static struct fix fix;
static void *block;

static void
on_memory(enum rte_mem_event type __rte_unused, const void *addr __rte_unused,
	  size_t len __rte_unused, void *arg __rte_unused)
{
}

static int
setup(void)
{
	if (rte_mem_event_callback_register("test_mem_events", on_memory, NULL) != 0)
		return rte_errno == ENOTSUP ? TEST_SKIPPED : TEST_FAILED;
	rte_mem_event_callback_unregister("test_mem_events", NULL);
	snprintf(path, sizeof(path), "/tmp/vireo_test_mem_%d.sock", getpid());
	memset(&fix, 0, sizeof(fix));
	fb = NULL;
	block = NULL;
	return 0;
}

static void
teardown(void)
{
	rte_free(block);
	fix_destroy(&fix);
	fake_stop(fb);
	fb = NULL;
	unlink(path);
}

static int
run(uint64_t protocol)
{
	const struct fake_conf conf = {
		.features = VIREO_F_VERSION_1 | VIREO_F_VHOST_USER_PROTOCOL,
		.protocol = protocol,
		.nb_queues = 1,
		.mem_slots = 32,
	};
	struct vireo_dev_conf dev_conf;
	struct fake_state before, st;
	uint8_t byte;

	fb = fake_start(path, &conf);
	TEST_ASSERT_NOT_NULL(fb);
	fix_conf(&dev_conf, VIREO_DEV_VHOST_USER, path);
	TEST_ASSERT_SUCCESS(fix_create(&fix, &dev_conf));
	TEST_ASSERT_SUCCESS(fix_setup(&fix, VIREO_F_VERSION_1, 1));
	TEST_ASSERT_SUCCESS(fix_start(&fix));
	fake_get(fb, &before);
	/* Comes: the peer has it before the allocator returns, with the data path out. */
	block = rte_malloc(NULL, BLOCK_BYTES, 0);
	TEST_ASSERT_NOT_NULL(block);
	TEST_ASSERT(fix.nb_quiesce >= 1);
	TEST_ASSERT_EQUAL(fix.nb_resume, fix.nb_quiesce);
	memset(block, 0x5a, BLOCK_BYTES);
	TEST_ASSERT(fake_read(fb, (uint64_t)(uintptr_t)block + BLOCK_BYTES - 1, &byte, 1));
	TEST_ASSERT_EQUAL(byte, 0x5a);
	/* The rings are where they were, at no moment without memory. */
	TEST_ASSERT(fake_read(fb, before.rings[0].addr.desc, &byte, 1));
	fake_get(fb, &st);
	TEST_ASSERT_EQUAL(st.count[VHOST_USER_REQ_REM_MEM_REG], 0);
	TEST_ASSERT_EQUAL(st.count[VHOST_USER_REQ_GET_VRING_BASE], 0);
	/* Goes. */
	rte_free(block);
	block = NULL;
	TEST_ASSERT_EQUAL(fix.nb_resume, fix.nb_quiesce);
	TEST_ASSERT(fix.nb_quiesce >= 2);
	TEST_ASSERT(fake_read(fb, before.rings[0].addr.desc, &byte, 1));
	fake_get(fb, &st);
	TEST_ASSERT(st.connected);
	TEST_ASSERT_EQUAL(st.nb_connections, 1);
	if (protocol & VHOST_USER_PROTOCOL_CONFIGURE_MEM_SLOTS)
		TEST_ASSERT(st.count[VHOST_USER_REQ_ADD_MEM_REG] > before.nb_regions);
	else
		TEST_ASSERT(st.count[VHOST_USER_REQ_SET_MEM_TABLE] >=
			    before.count[VHOST_USER_REQ_SET_MEM_TABLE] + 2);
	return 0;
}

static int
test_whole_table(void)
{
	return run(VHOST_USER_PROTOCOL_REPLY_ACK);
}

static int
test_slots(void)
{
	return run(VHOST_USER_PROTOCOL_REPLY_ACK | VHOST_USER_PROTOCOL_CONFIGURE_MEM_SLOTS);
}

static const struct unit_test_case cases[] = {
	TEST_CASE_ST(setup, teardown, test_whole_table),
	TEST_CASE_ST(setup, teardown, test_slots),
	TEST_CASES_END(),
};

static const struct unit_test_suite suite = {
	.suite_name = "memory events",
	.cases = cases,
};

static int
test_mem_events(void)
{
	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(FAST, mem_events_autotest, test_mem_events);
