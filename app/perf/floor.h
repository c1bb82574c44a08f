/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef PERF_FLOOR_H
#define PERF_FLOOR_H

/*
 * What this machine can do at best between two cores, and what the kernel's own
 * transports do on the same cores: the limits and rivals of everything else that
 * vireo-perf measures. Every subcommand's JSON file carries them under `floor`.
 *
 * Gb/s are 10^9 bits of payload a second. A value that could not be measured (a single
 * CPU, no TCP) is NAN, in JSON null.
 */

#include <stdbool.h>

#include "report.h"

#define FLOOR_NB_SIZES 5

struct floor_result {
	double cacheline_rtt_ns;
	double memcpy_hot_gbps;
	double memcpy_dram_gbps;
	double memcpy_xcore_gbps;
	double unix_rtt_ns;
	double tcp_rtt_ns;
	double unix_stream_gbps[FLOOR_NB_SIZES]; /* by perf_floor_sizes */
};

extern const uint32_t perf_floor_sizes[FLOOR_NB_SIZES];

/**
 * Measure everything, the parts in turns, medians of the rounds: two virtual CPUs
 * change their distance while a program runs. Takes about 2 s when quick, else 15 s.
 * Control thread; no lcore polls meanwhile.
 *
 * @return 0, or -ENODEV when there is one CPU only, -ENOMEM.
 */
int perf_floor_measure(struct floor_result *floor, bool quick);

/** One reading of the cache-line round trip alone, for runs that repeat it between rounds. */
double perf_floor_cacheline_rtt_ns(void);

/** The key `floor`. */
void perf_floor_json(struct perf_json *json, const struct floor_result *floor);

#endif /* PERF_FLOOR_H */
