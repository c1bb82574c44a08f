/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef NET_DEVARGS_H
#define NET_DEVARGS_H

/*
 * The net driver's device arguments. Names and defaults are stock virtio-user's where it
 * has the argument; unknown, doubled and bad ones are refused with what was expected.
 */

#include "net_vireo.h"

/* For pmdinfo and for messages; the table in devargs.c has one line for each. */
#define NET_DEVARGS_PARAM_STRING                                                                   \
	"path=<UNIX socket>|loopback:<name> "                                                      \
	"mac=<mac addr> "                                                                          \
	"cq=<0|1> "                                                                                \
	"queue_size=<int> "                                                                        \
	"queues=<int> "                                                                            \
	"iface=<string> "                                                                          \
	"server=<0|1> "                                                                            \
	"mrg_rxbuf=<0|1> "                                                                         \
	"in_order=<0|1> "                                                                          \
	"packed_vq=<0|1> "                                                                         \
	"speed=<int> "                                                                             \
	"vectorized=<0|1> "                                                                        \
	"indirect=auto|pool|mempool|malloc|off "                                                   \
	"indirect_classes=<descriptors>x<tables>[:...] "                                           \
	"event_idx=<0|1> "                                                                         \
	"check_mem=<0|1> "                                                                         \
	"mac_stats=<0|1>"

/**
 * Parse a device's argument string ("path=...,queues=2") over the defaults. Control thread.
 *
 * @return 0, or -EINVAL after a log line that says what was expected.
 */
int net_devargs_parse(const char *text, struct net_devargs *args);

/** "auto", "pool", ... as the devarg has it. */
const char *net_indirect_name(enum net_indirect indirect);

#endif /* NET_DEVARGS_H */
