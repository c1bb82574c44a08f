/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef PERF_OPTS_H
#define PERF_OPTS_H

/*
 * Options of a subcommand as a table: parsing, checking and --help come from the same
 * lines, so that they cannot disagree.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum perf_opt_kind {
	PERF_OPT_FLAG, /* out: bool */
	PERF_OPT_UINT, /* out: uint32_t, min .. max */
	PERF_OPT_STRING, /* out: const char * */
	PERF_OPT_CHOICE, /* out: const char *, one of choices, separated by '|' */
};

struct perf_opt {
	const char *name; /* without the dashes; NULL ends a table */
	const char *help;
	enum perf_opt_kind kind;
	void *out; /* holds the default before parsing */
	const char *choices;
	uint32_t min;
	uint32_t max;
};

/**
 * Parse argv[1] .. argv[argc - 1] by one table. What is wrong is printed to stderr with
 * what was expected. Control thread.
 *
 * @return 0 or -EINVAL.
 */
int perf_opts_parse(const struct perf_opt *table, int argc, char **argv);

/** Print one line for each option, with its default. */
void perf_opts_help(const struct perf_opt *table);

#endif /* PERF_OPTS_H */
