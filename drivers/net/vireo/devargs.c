/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_kvargs.h>
#include <rte_string_fns.h>

#include "devargs.h"
#include "log.h"

#define LOOPBACK_PREFIX "loopback:"

struct arg_def {
	const char *name;
	const char *expected;
	int (*parse)(const char *value, const struct arg_def *def, struct net_devargs *args);
	size_t offset; /* of the bool that parse_bool sets */
};

static const char *const indirect_names[] = {
	[NET_INDIRECT_AUTO] = "auto",	    [NET_INDIRECT_POOL] = "pool",
	[NET_INDIRECT_MEMPOOL] = "mempool", [NET_INDIRECT_MALLOC] = "malloc",
	[NET_INDIRECT_OFF] = "off",
};

const char *
net_indirect_name(enum net_indirect indirect)
{
	return indirect < RTE_DIM(indirect_names) ? indirect_names[indirect] : "?";
}

/* A whole decimal or 0x number within min .. max. */
static int
parse_number(const char *value, unsigned long min, unsigned long max, unsigned long *out)
{
	char *end;

	if (*value < '0' || *value > '9')
		return -EINVAL;
	errno = 0;
	*out = strtoul(value, &end, 0);
	if (errno != 0 || *end != '\0' || *out < min || *out > max)
		return -EINVAL;
	return 0;
}

static int
parse_bool(const char *value, const struct arg_def *def, struct net_devargs *args)
{
	unsigned long n;

	if (parse_number(value, 0, 1, &n) != 0)
		return -EINVAL;
	if (def->offset != 0)
		*(bool *)RTE_PTR_ADD(args, def->offset) = n != 0;
	return 0;
}

static int
parse_path(const char *value, const struct arg_def *def __rte_unused, struct net_devargs *args)
{
	args->loopback = strncmp(value, LOOPBACK_PREFIX, strlen(LOOPBACK_PREFIX)) == 0;
	if (args->loopback)
		value += strlen(LOOPBACK_PREFIX);
	if (*value == '\0' || rte_strscpy(args->path, value, sizeof(args->path)) < 0)
		return -EINVAL;
	return 0;
}

static int
parse_mac(const char *value, const struct arg_def *def __rte_unused, struct net_devargs *args)
{
	if (rte_ether_unformat_addr(value, &args->mac) != 0 ||
	    !rte_is_valid_assigned_ether_addr(&args->mac))
		return -EINVAL;
	args->has_mac = true;
	return 0;
}

static int
parse_queue_size(const char *value, const struct arg_def *def __rte_unused,
		 struct net_devargs *args)
{
	unsigned long n;

	if (parse_number(value, NET_MIN_DESC, VIREO_RING_SIZE_MAX, &n) != 0)
		return -EINVAL;
	args->queue_size = n;
	return 0;
}

static int
parse_queues(const char *value, const struct arg_def *def __rte_unused, struct net_devargs *args)
{
	unsigned long n;

	if (parse_number(value, 1, VIREO_NET_PAIRS_MAX, &n) != 0)
		return -EINVAL;
	args->queues = n;
	return 0;
}

/* Scripts written for virtio-user's vhost-kernel must not silently get something else. */
static int
refuse_iface(const char *value __rte_unused, const struct arg_def *def __rte_unused,
	     struct net_devargs *args __rte_unused)
{
	return -EINVAL;
}

static int
parse_speed(const char *value, const struct arg_def *def __rte_unused, struct net_devargs *args)
{
	unsigned long n;

	if (parse_number(value, 1, UINT32_MAX, &n) != 0 ||
	    rte_eth_speed_bitflag(n, RTE_ETH_LINK_FULL_DUPLEX) == 0)
		return -EINVAL;
	args->speed = n;
	return 0;
}

static int
parse_indirect(const char *value, const struct arg_def *def __rte_unused, struct net_devargs *args)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(indirect_names); i++) {
		if (strcmp(value, indirect_names[i]) == 0) {
			args->indirect = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* "4x1024:16x256:64x64": size classes of the pools, smallest tables first. */
static int
parse_classes(const char *value, const struct arg_def *def __rte_unused, struct net_devargs *args)
{
	struct vq_pool_class classes[VQ_NB_CLASSES] = { 0 };
	unsigned int nb_desc, nb_tables, i;
	int used;

	for (i = 0; i < VQ_NB_CLASSES; i++) {
		if (sscanf(value, "%5ux%5u%n", &nb_desc, &nb_tables, &used) != 2)
			return -EINVAL;
		if (nb_desc < 2 || nb_desc > NET_TABLE_DESC_MAX || nb_tables < 1 ||
		    nb_tables > VIREO_RING_SIZE_MAX || (i > 0 && nb_desc <= classes[i - 1].nb_desc))
			return -EINVAL;
		classes[i].nb_desc = nb_desc;
		classes[i].nb_tables = nb_tables;
		value += used;
		if (*value == '\0') {
			memcpy(args->classes, classes, sizeof(classes));
			return 0;
		}
		if (*value++ != ':')
			return -EINVAL;
	}
	return -EINVAL;
}

#define BOOL_ARG(arg)                                                                              \
	{                                                                                          \
#arg, "0 or 1", parse_bool, offsetof(struct net_devargs, arg)                      \
	}

static const struct arg_def arg_defs[] = {
	{ "path", "a UNIX socket's path of at most 107 bytes, or loopback:<name>", parse_path, 0 },
	{ "mac", "a unicast address as xx:xx:xx:xx:xx:xx", parse_mac, 0 },
	BOOL_ARG(cq),
	{ "queue_size", "4 to 32768", parse_queue_size, 0 },
	{ "queues", "1 to 128", parse_queues, 0 },
	{ "iface",
	  "no iface: it belongs to vhost-kernel, which is no transport of net_vireo (path=<UNIX"
	  " socket> or path=loopback:<name> are)",
	  refuse_iface, 0 },
	BOOL_ARG(server),
	BOOL_ARG(mrg_rxbuf),
	BOOL_ARG(in_order),
	BOOL_ARG(packed_vq),
	{ "speed",
	  "one of 10, 100, 1000, 2500, 5000, 10000, 20000, 25000, 40000, 50000, 56000, 100000,"
	  " 200000 (Mb/s)",
	  parse_speed, 0 },
	/* Stock scripts pass it; net_vireo has one data path and picks its own variant. */
	{ "vectorized", "0 or 1 (accepted for stock scripts, without effect)", parse_bool, 0 },
	{ "indirect", "auto, pool, mempool, malloc or off", parse_indirect, 0 },
	{ "indirect_classes",
	  "up to 3 size classes <descriptors 2 to 64>x<tables 1 to 32768>, smallest first, with"
	  " colons between, such as 4x1024:16x256:64x64",
	  parse_classes, 0 },
	BOOL_ARG(event_idx),
	BOOL_ARG(check_mem),
	BOOL_ARG(mac_stats),
};

static void
set_defaults(struct net_devargs *args)
{
	memset(args, 0, sizeof(*args));
	args->mrg_rxbuf = true;
	args->in_order = true;
	args->queues = 1;
	args->speed = RTE_ETH_SPEED_NUM_UNKNOWN;
}

static int
parse_pair(const char *key, const char *value, struct net_devargs *args, uint32_t *seen)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(arg_defs); i++)
		if (strcmp(key, arg_defs[i].name) == 0)
			break;
	if (i == RTE_DIM(arg_defs)) {
		LOG(ERR, "unknown devarg '%s': accepted are %s", key, NET_DEVARGS_PARAM_STRING);
		return -EINVAL;
	}
	if (*seen & (1u << i)) {
		LOG(ERR, "devarg %s is given twice: expected once", key);
		return -EINVAL;
	}
	*seen |= 1u << i;
	if (value == NULL || arg_defs[i].parse(value, &arg_defs[i], args) != 0) {
		LOG(ERR, "devarg %s=%s is refused: expected %s", key, value == NULL ? "" : value,
		    arg_defs[i].expected);
		return -EINVAL;
	}
	return 0;
}

/* What no single argument can tell. */
static int
check_together(struct net_devargs *args, bool cq_given)
{
	if (args->path[0] == '\0') {
		LOG(ERR,
		    "devarg path is missing: expected path=<UNIX socket> or path=loopback:<name>");
		return -EINVAL;
	}
	/* VIRTIO 1.3 section 5.1.3.1: MQ requires CTRL_VQ. */
	if (args->queues > 1 && cq_given && !args->cq) {
		LOG(ERR,
		    "devargs queues=%u,cq=0 are refused: expected cq=1 with more than one queue",
		    args->queues);
		return -EINVAL;
	}
	if (args->queues > 1)
		args->cq = true;
	/* VIRTIO 1.3 section 2.7: the size of a split ring is a power of two. */
	if (args->queue_size != 0 && !args->packed_vq && !rte_is_power_of_2(args->queue_size)) {
		LOG(ERR,
		    "devarg queue_size=%u is refused: expected a power of two for split rings"
		    " (any size with packed_vq=1)",
		    args->queue_size);
		return -EINVAL;
	}
	if (args->loopback && args->server) {
		LOG(ERR, "devarg server=1 is refused: expected 0 with path=loopback:<name>");
		return -EINVAL;
	}
	return 0;
}

int
net_devargs_parse(const char *text, struct net_devargs *args)
{
	struct rte_kvargs *kvlist;
	uint32_t seen = 0;
	unsigned int i;
	bool cq_given;
	int ret = 0;

	set_defaults(args);
	kvlist = rte_kvargs_parse(text == NULL ? "" : text, NULL);
	if (kvlist == NULL) {
		LOG(ERR, "devargs '%s' cannot be read: expected key=value,key=value,...", text);
		return -EINVAL;
	}
	for (i = 0; i < kvlist->count && ret == 0; i++)
		ret = parse_pair(kvlist->pairs[i].key, kvlist->pairs[i].value, args, &seen);
	cq_given = rte_kvargs_count(kvlist, "cq") != 0;
	rte_kvargs_free(kvlist);
	return ret != 0 ? ret : check_together(args, cq_given);
}
