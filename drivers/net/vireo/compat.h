/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef NET_COMPAT_H
#define NET_COMPAT_H

/*
 * What differs between the DPDK versions that the net driver builds against: 22.11,
 * 24.11 and 25.11. Nothing else in this folder tests the version.
 */

#include <bus_vdev_driver.h>
#include <dev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_telemetry.h>
#include <rte_version.h>

/* stats_get has a third argument, and rte_eth_stats no per-queue arrays, since 25.11. */
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
#define NET_STATS_GET_QUEUES 1
#else
#define NET_STATS_GET_QUEUES 0
#endif

/* dev_supported_ptypes_get says how many there are, instead of an end mark, since 24.03. */
#if RTE_VERSION >= RTE_VERSION_NUM(24, 3, 0, 0)
#define NET_PTYPES_COUNTED 1
#else
#define NET_PTYPES_COUNTED 0
#endif

/* rx_queue_count returns int since 25.11. */
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
typedef int net_queue_count_t;
#else
typedef uint32_t net_queue_count_t;
#endif

/* rte_tel_data_add_dict_u64 became _uint in 23.03. */
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
#define net_tel_dict_u64(d, name, value) rte_tel_data_add_dict_uint(d, name, value)
#else
#define net_tel_dict_u64(d, name, value) rte_tel_data_add_dict_u64(d, name, value)
#endif

#endif /* NET_COMPAT_H */
