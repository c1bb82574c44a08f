/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opts.h"

static bool
is_choice(const char *choices, const char *value)
{
	size_t len = strlen(value);
	const char *at = choices;

	while (at != NULL && len > 0) {
		if (strncmp(at, value, len) == 0 && (at[len] == '|' || at[len] == '\0'))
			return true;
		at = strchr(at, '|');
		if (at != NULL)
			at++;
	}
	return false;
}

static int
set_uint(const struct perf_opt *opt, const char *value)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 0);
	if (errno != 0 || end == value || *end != '\0' || value[0] == '-' || number < opt->min ||
	    number > opt->max) {
		fprintf(stderr, "vireo-perf: --%s %s: expected a number from %u to %u\n", opt->name,
			value, opt->min, opt->max);
		return -EINVAL;
	}
	*(uint32_t *)opt->out = (uint32_t)number;
	return 0;
}

static int
set_value(const struct perf_opt *opt, const char *value)
{
	if (opt->kind == PERF_OPT_UINT)
		return set_uint(opt, value);
	if (opt->kind == PERF_OPT_CHOICE && !is_choice(opt->choices, value)) {
		fprintf(stderr, "vireo-perf: --%s %s: expected one of %s\n", opt->name, value,
			opt->choices);
		return -EINVAL;
	}
	*(const char **)opt->out = value;
	return 0;
}

static const struct perf_opt *
find_opt(const struct perf_opt *table, const char *arg)
{
	const char *equals = strchr(arg, '=');
	size_t len = equals != NULL ? (size_t)(equals - arg) : strlen(arg);

	for (; table->name != NULL; table++)
		if (strlen(table->name) == len && strncmp(table->name, arg, len) == 0)
			return table;
	return NULL;
}

int
perf_opts_parse(const struct perf_opt *table, int argc, char **argv)
{
	const struct perf_opt *opt;
	const char *value;
	int i, rc;

	for (i = 1; i < argc; i++) {
		opt = strncmp(argv[i], "--", 2) == 0 ? find_opt(table, argv[i] + 2) : NULL;
		if (opt == NULL) {
			fprintf(stderr, "vireo-perf: unknown argument '%s'; expected:\n", argv[i]);
			for (; table->name != NULL; table++)
				fprintf(stderr, "  --%s\n", table->name);
			return -EINVAL;
		}
		value = strchr(argv[i], '=');
		if (opt->kind == PERF_OPT_FLAG) {
			if (value != NULL) {
				fprintf(stderr, "vireo-perf: --%s takes no value\n", opt->name);
				return -EINVAL;
			}
			*(bool *)opt->out = true;
			continue;
		}
		value = value != NULL ? value + 1 : argv[++i];
		if (i >= argc) {
			fprintf(stderr, "vireo-perf: --%s needs a value\n", opt->name);
			return -EINVAL;
		}
		rc = set_value(opt, value);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void
perf_opts_help(const struct perf_opt *table)
{
	const char *text;
	char left[48];

	for (; table->name != NULL; table++) {
		switch (table->kind) {
		case PERF_OPT_FLAG:
			snprintf(left, sizeof(left), "--%s", table->name);
			printf("  %-28s %s\n", left, table->help);
			break;
		case PERF_OPT_UINT:
			snprintf(left, sizeof(left), "--%s N", table->name);
			printf("  %-28s %s (%u .. %u, default %u)\n", left, table->help, table->min,
			       table->max, *(uint32_t *)table->out);
			break;
		case PERF_OPT_STRING:
			snprintf(left, sizeof(left), "--%s TEXT", table->name);
			text = *(const char **)table->out;
			printf("  %-28s %s%s%s%s\n", left, table->help, text ? " (default " : "",
			       text ? text : "", text ? ")" : "");
			break;
		case PERF_OPT_CHOICE:
			snprintf(left, sizeof(left), "--%s %s", table->name, table->choices);
			text = *(const char **)table->out;
			printf("  %-28s %s (default %s)\n", left, table->help,
			       text ? text : "none: must be given");
			break;
		}
	}
}
