/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef NET_LOG_H
#define NET_LOG_H

/* The net driver's log type pmd.net.vireo, defined in ethdev.c. Control work only. */

#include "../../../lib/base/log.h"

extern int net_vireo_logtype;

#define LOG(level, ...) VIREO_LOG(level, net_vireo_logtype, "net", __VA_ARGS__)

#endif /* NET_LOG_H */
