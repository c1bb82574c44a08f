/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/* Devargs of net_vireo: what is taken, what is refused, and that the log says why. */

#include <stdlib.h>

#include <rte_bus_vdev.h>
#include <rte_log.h>

#include "net_fixture.h"
#include "test.h"

static struct net_fixture fixture;

static void
teardown(void)
{
	net_fixture_close(&fixture);
}

/* Probe and return what was logged meanwhile (to be freed); *ret gets the probe's result. */
static char *
probe_logged(const char *args, int *ret)
{
	char *text = NULL;
	size_t len;
	FILE *stream = open_memstream(&text, &len);

	rte_openlog_stream(stream);
	*ret = rte_vdev_init("net_vireo_args", args);
	if (*ret == 0)
		rte_vdev_uninit("net_vireo_args");
	rte_openlog_stream(NULL);
	fclose(stream);
	return text;
}

struct refusal {
	const char *args;
	const char *expected; /* part of the log line */
};

static const struct refusal refusals[] = {
	{ "", "path is missing" },
	{ "path=", "expected a UNIX socket" },
	{ "path=loopback:", "expected a UNIX socket" },
	{ "path=/nowhere/at/all", "No such file or directory" },
	{ "path=/dev/null", "expected the UNIX socket" },
	{ "path=/x,colour=red", "unknown devarg 'colour': accepted are path=" },
	{ "path=/x,path=/y", "given twice" },
	{ "path=/x,queues=0", "expected 1 to 128" },
	{ "path=/x,queues=129", "expected 1 to 128" },
	{ "path=/x,queues=two", "expected 1 to 128" },
	{ "path=/x,queues=2,cq=0", "expected cq=1" },
	{ "path=/x,queue_size=0", "expected 4 to 32768" },
	{ "path=/x,queue_size=65536", "expected 4 to 32768" },
	{ "path=/x,queue_size=100", "expected a power of two" },
	{ "path=/x,queue_size=256x", "expected 4 to 32768" },
	{ "path=/x,mac=1", "expected a unicast address" },
	{ "path=/x,mac=01:00:5e:00:00:01", "expected a unicast address" },
	{ "path=/x,speed=12345", "expected one of 10," },
	{ "path=/x,iface=tap0", "vhost-kernel" },
	{ "path=/x,server=2", "expected 0 or 1" },
	{ "path=/x,server=-1", "expected 0 or 1" },
	{ "path=/x,in_order=yes", "expected 0 or 1" },
	{ "path=/x,packed_vq", "expected 0 or 1" },
	{ "path=/x,vectorized=2", "expected 0 or 1" },
	{ "path=/x,indirect=some", "expected auto, pool, mempool, malloc or off" },
	{ "path=/x,indirect_classes=1x4", "expected up to 3 size classes" },
	{ "path=/x,indirect_classes=4x8:4x8", "expected up to 3 size classes" },
	{ "path=/x,indirect_classes=4x8:8x8:16x8:32x8", "expected up to 3 size classes" },
	{ "path=loopback:x,server=1", "expected 0 with path=loopback" },
};

static int
test_devargs_bad_are_refused_with_expected(void)
{
	unsigned int i;
	char *text;
	int ret;

	for (i = 0; i < RTE_DIM(refusals); i++) {
		bool said;

		text = probe_logged(refusals[i].args, &ret);
		said = text != NULL && strstr(text, refusals[i].expected) != NULL;
		if (!said)
			printf("log was: %s\n", text);
		free(text);
		TEST_ASSERT(ret < 0, "'%s' was taken", refusals[i].args);
		TEST_ASSERT(said, "'%s': the log lacks '%s'", refusals[i].args,
			    refusals[i].expected);
	}
	return TEST_SUCCESS;
}

static int
test_devargs_unknown_lists_all(void)
{
	static const char *const names[] = {
		"path=",
		"mac=",
		"cq=",
		"queue_size=",
		"queues=",
		"iface=",
		"server=",
		"mrg_rxbuf=",
		"in_order=",
		"packed_vq=",
		"speed=",
		"indirect=",
		"event_idx=",
		"check_mem=",
		"vectorized=",
		"mac_stats=",
		"indirect_classes=",
	};
	unsigned int i;
	char *text;
	int ret;

	text = probe_logged("path=/x,frob=1", &ret);
	TEST_ASSERT(ret < 0);
	for (i = 0; i < RTE_DIM(names); i++)
		if (strstr(text, names[i]) == NULL)
			break;
	free(text);
	TEST_ASSERT_EQUAL(i, RTE_DIM(names), "the list lacks %s",
			  i < RTE_DIM(names) ? names[i] : "");
	return TEST_SUCCESS;
}

static const char *const good[] = {
	"",
	"cq=1,mrg_rxbuf=0,in_order=0",
	"packed_vq=1,queue_size=100",
	"queue_size=256,vectorized=1",
	"indirect=pool,indirect_classes=4x64:16x32:64x8",
	"indirect=mempool",
	"indirect=malloc",
	"indirect=off",
	"event_idx=1,check_mem=1,mac_stats=1",
	"server=0,speed=10000",
};

static int
test_devargs_good_carry_traffic(void)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(good); i++) {
		TEST_ASSERT_SUCCESS(net_fixture_open(&fixture, NULL, good[i]), "%s", good[i]);
		TEST_ASSERT_SUCCESS(net_fixture_start(&fixture, 1, 64, NULL), "%s", good[i]);
		TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 200, 100), 200, "%s", good[i]);
		net_fixture_close(&fixture);
	}
	return TEST_SUCCESS;
}

static int
test_devargs_mac_and_speed_show(void)
{
	static const struct rte_ether_addr wanted = { { 2, 0x11, 0x22, 0x33, 0x44, 0x55 } };
	struct rte_eth_dev_info info;
	struct rte_ether_addr mac;
	struct rte_eth_link link;

	TEST_ASSERT_SUCCESS(net_fixture_open(&fixture, NULL, "mac=02:11:22:33:44:55,speed=25000"));
	TEST_ASSERT_SUCCESS(rte_eth_macaddr_get(fixture.port_id, &mac));
	TEST_ASSERT(rte_is_same_ether_addr(&mac, &wanted));
	TEST_ASSERT_SUCCESS(rte_eth_dev_info_get(fixture.port_id, &info));
	TEST_ASSERT_EQUAL(info.speed_capa, RTE_ETH_LINK_SPEED_25G);
	TEST_ASSERT_SUCCESS(net_fixture_start(&fixture, 1, 64, NULL));
	TEST_ASSERT_SUCCESS(rte_eth_link_get_nowait(fixture.port_id, &link));
	TEST_ASSERT_EQUAL(link.link_speed, 25000);
	return TEST_SUCCESS;
}

static int
test_devargs_queue_size_wins_over_descriptors(void)
{
	struct rte_eth_rxq_info info;

	TEST_ASSERT_SUCCESS(net_fixture_open(&fixture, NULL, "queue_size=128"));
	TEST_ASSERT_SUCCESS(net_fixture_start(&fixture, 1, 1024, NULL));
	TEST_ASSERT_SUCCESS(rte_eth_rx_queue_info_get(fixture.port_id, 0, &info));
	TEST_ASSERT_EQUAL(info.nb_desc, 128);
	TEST_ASSERT_EQUAL(net_fixture_round(&fixture, 0, 500, 64), 500);
	return TEST_SUCCESS;
}

static const struct unit_test_suite suite = {
	.suite_name = "devargs of net_vireo",
	.cases =
		(const struct unit_test_case[]){
			TEST_CASE(test_devargs_bad_are_refused_with_expected),
			TEST_CASE(test_devargs_unknown_lists_all),
			TEST_CASE_ST(NULL, teardown, test_devargs_good_carry_traffic),
			TEST_CASE_ST(NULL, teardown, test_devargs_mac_and_speed_show),
			TEST_CASE_ST(NULL, teardown, test_devargs_queue_size_wins_over_descriptors),
			TEST_CASES_END(),
		},
};

static int
test_devargs(void)
{
	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(DRIVER, devargs_autotest, test_devargs)
