/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef PERF_PERF_H
#define PERF_PERF_H

/*
 * vireo-perf: measurements, one file a subcommand. A new one adds its file and its
 * line to the table in main.c.
 */

#include <stdbool.h>
#include <stdint.h>

#include "opts.h"
#include "report.h"

/* What every subcommand takes. */
struct perf_common {
	bool quick; /* end within 20 s */
	const char *json_path;
};

#define PERF_COMMON_OPTS(common)                                                                   \
	{ "quick", "end within 20 s", PERF_OPT_FLAG, &(common)->quick },                           \
	{                                                                                          \
		"json", "also write the results to this file", PERF_OPT_STRING,                    \
			&(common)->json_path                                                       \
	}

struct perf_command {
	const char *name;
	const char *summary;
	const struct perf_opt *opts;
	/* EAL is up and opts hold what was given. @return 0 or negative errno. */
	int (*run)(void);
};

extern const struct perf_command perf_floor;
extern const struct perf_command perf_indirect;
extern const struct perf_command perf_netdev;

/** Set by SIGINT and SIGTERM: long runs end early, and report. Any thread. */
extern volatile bool perf_quit;

/**
 * The CPUs that the two sides of a measurement run on: that of the main lcore and that
 * of the first worker lcore; without a worker, any other CPU this process may use. Main
 * lcore.
 *
 * @return 0, or -ENODEV when there is only one CPU (both are it then).
 */
int perf_cpus(int *cpu_a, int *cpu_b);

/** Pin the calling thread. @return 0 or negative errno. */
int perf_pin(int cpu);

#endif /* PERF_PERF_H */
