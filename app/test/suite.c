/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "test.h"

static struct test_command *commands;

static const char *const suite_names[TEST_NB_SUITES] = {
	[TEST_SUITE_FAST] = "fast",
	[TEST_SUITE_DRIVER] = "driver",
	[TEST_SUITE_STRESS] = "stress",
	[TEST_SUITE_PERF] = "perf",
};

const char *
test_suite_name(enum test_suite suite)
{
	return suite_names[suite];
}

void
test_command_add(struct test_command *cmd)
{
	struct test_command **at = &commands;

	while (*at != NULL && strcmp((*at)->name, cmd->name) < 0)
		at = &(*at)->next;
	cmd->next = *at;
	*at = cmd;
}

struct test_command *
test_command_first(void)
{
	return commands;
}

struct test_command *
test_command_find(const char *name)
{
	struct test_command *cmd;

	for (cmd = commands; cmd != NULL; cmd = cmd->next)
		if (strcmp(cmd->name, name) == 0)
			return cmd;
	return NULL;
}

int
test_command_list(const char *suite)
{
	const struct test_command *cmd;
	unsigned int i;

	for (i = 0; suite != NULL && i < TEST_NB_SUITES; i++)
		if (strcmp(suite, suite_names[i]) == 0)
			break;
	if (i == TEST_NB_SUITES)
		return -EINVAL;
	for (cmd = commands; cmd != NULL; cmd = cmd->next)
		if (suite == NULL || cmd->suite == i)
			printf("%s\n", cmd->name);
	return 0;
}

/* True when `name` is one of the words of a list separated by commas. */
static bool
is_in_list(const char *list, const char *name)
{
	size_t len = strlen(name);
	const char *at = list;

	while (at != NULL && *at != '\0') {
		if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == '\0'))
			return true;
		at = strchr(at, ',');
		if (at != NULL)
			at++;
	}
	return false;
}

int
test_command_run(const struct test_command *cmd)
{
	int ret;

	if (is_in_list(getenv("DPDK_TEST_SKIP"), cmd->name)) {
		printf("%s: named in DPDK_TEST_SKIP\n", cmd->name);
		ret = TEST_SKIPPED;
	} else {
		ret = cmd->fn();
	}
	printf("%s\n",
	       ret == TEST_SUCCESS	     ? "Test OK"
		       : ret == TEST_SKIPPED ? "Test Skipped"
					     : "Test Failed");
	fflush(stdout);
	return ret;
}

static int
run_case(const struct unit_test_case *tc)
{
	int ret = TEST_SUCCESS;

	if (tc->setup != NULL)
		ret = tc->setup();
	if (ret == TEST_SUCCESS)
		ret = tc->fn != NULL ? tc->fn() : tc->fn_data(tc->data);
	/* Also after a set-up that failed half-way. */
	if (tc->teardown != NULL)
		tc->teardown();
	return ret;
}

int
unit_test_suite_runner(const struct unit_test_suite *suite)
{
	unsigned int nb_run = 0, nb_failed = 0, nb_skipped = 0;
	const char *only = getenv("TEST_CASE");
	const struct unit_test_case *tc;
	int ret = TEST_SUCCESS;

	printf(" + Test Suite : %s\n", suite->suite_name);
	if (suite->setup != NULL)
		ret = suite->setup();
	if (ret != TEST_SUCCESS) {
		printf(" + set-up %s\n", ret == TEST_SKIPPED ? "skipped" : "failed");
		goto teardown;
	}
	for (tc = suite->cases; tc->name != NULL; tc++) {
		if (only != NULL && strstr(tc->name, only) == NULL)
			continue;
		ret = run_case(tc);
		nb_run++;
		nb_failed += ret != TEST_SUCCESS && ret != TEST_SKIPPED;
		nb_skipped += ret == TEST_SKIPPED;
		printf(" + TestCase [%2u] : %s %s\n", nb_run, tc->name,
		       ret == TEST_SUCCESS	     ? "succeeded"
			       : ret == TEST_SKIPPED ? "skipped"
						     : "failed");
		fflush(stdout);
	}
	printf(" + Tests Total : %u, Passed : %u, Skipped : %u, Failed : %u\n", nb_run,
	       nb_run - nb_failed - nb_skipped, nb_skipped, nb_failed);
	/* A suite in which nothing ran has shown nothing. */
	if (nb_failed != 0 || (nb_run == 0 && only == NULL))
		ret = TEST_FAILED;
	else
		ret = nb_run == nb_skipped ? TEST_SKIPPED : TEST_SUCCESS;
teardown:
	if (suite->teardown != NULL)
		suite->teardown();
	return ret;
}

void
test_fail(const char *file, int line, const char *func, const char *expr, const char *fmt, ...)
{
	va_list ap;

	printf("%s:%d: %s: failed: %s:", file, line, func, expr);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

void
test_rand_init(struct test_rand *r, const char *who)
{
	const char *seed = getenv("TEST_SEED");
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	r->state = seed != NULL ? strtoull(seed, NULL, 0)
				: (uint64_t)now.tv_sec * 1000000007 + (uint64_t)now.tv_nsec;
	/* The generator is stuck at zero. */
	if (r->state == 0)
		r->state = 1;
	printf("%s: seed %" PRIu64 " (repeat with TEST_SEED=%" PRIu64 ")\n", who, r->state,
	       r->state);
}
