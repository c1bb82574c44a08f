/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_LOG_H
#define VIREO_LOG_H

/*
 * Log types: "lib.vireo.<part>" for the libraries, "pmd.net.vireo" and
 * "pmd.vsock.vireo" for the drivers. A source file that logs defines the type it
 * uses once with RTE_LOG_REGISTER (EAL's macro) and names it here:
 *
 *	RTE_LOG_REGISTER(transport_logtype, lib.vireo.transport, NOTICE);
 *	#define LOG(level, ...) VIREO_LOG(level, transport_logtype, "transport", __VA_ARGS__)
 *
 * No burst function logs: it counts, and the control thread says what happened.
 */

#include <rte_log.h>

#define VIREO_LOG_FMT(part, fmt) "vireo " part ": " fmt "\n"

/** Log one line. level: ERR, WARNING, NOTICE, INFO or DEBUG; fmt without newline. Any thread. */
#define VIREO_LOG(level, type, part, fmt, ...)                                                     \
	rte_log(RTE_LOG_##level, type, VIREO_LOG_FMT(part, fmt), ##__VA_ARGS__)

#endif /* VIREO_LOG_H */
