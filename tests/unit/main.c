/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * vireo-unit: the units that need no EAL, linked without DPDK's libraries, so that they
 * run under every sanitiser and prove that the engine stands alone.
 *
 *	vireo-unit [--list [suite]] [name_autotest ...]		without names: all
 */
#include <stdlib.h>

#include "test.h"

/* Worst result so far: failed beats skipped beats passed. */
static int
worse_of(int a, int b)
{
	if (a == TEST_FAILED || b == TEST_FAILED)
		return TEST_FAILED;
	return a == TEST_SKIPPED ? a : b;
}

static int
run_all(void)
{
	const struct test_command *cmd;
	int ret = TEST_SUCCESS;

	for (cmd = test_command_first(); cmd != NULL; cmd = cmd->next) {
		printf("%s\n", cmd->name);
		ret = worse_of(ret, test_command_run(cmd));
	}
	return ret;
}

int
main(int argc, char **argv)
{
	int ret = TEST_SUCCESS, i;

	if (argc > 1 && strcmp(argv[1], "--list") == 0)
		return test_command_list(argc > 2 ? argv[2] : NULL) == 0 ? EXIT_SUCCESS : 255;
	if (argc == 1)
		ret = run_all();
	for (i = 1; i < argc; i++) {
		const struct test_command *cmd = test_command_find(argv[i]);

		if (cmd == NULL) {
			printf("Error: no test is called '%s'; --list prints the names\n", argv[i]);
			return 255;
		}
		ret = worse_of(ret, test_command_run(cmd));
	}
	return ret == TEST_SUCCESS || ret == TEST_SKIPPED ? ret : 255;
}
