/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <stdlib.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "commands.h"
#include "test.h"

#define MAX_EXTRA_ARGS 32

static void
print_usage(const char *prog)
{
	printf("Usage: %s [EAL arguments] [--] [name_autotest ...]\n"
	       "       %s --list [fast|driver|stress|perf]\n"
	       "Which test: environment variable DPDK_TEST, then the arguments, else a prompt.\n"
	       "DPDK_TEST_PARAMS: more EAL arguments; DPDK_TEST_SKIP: tests to skip, a,b,c;\n"
	       "TEST_CASE: run only the cases that contain this text; TEST_SEED: a number.\n"
	       "Exit status: 0 passed, 255 failed, 77 skipped.\n",
	       prog, prog);
}

/* The command line followed by the words of DPDK_TEST_PARAMS; argv of EAL, kept for ever. */
static char **
join_args(int *argc, char **argv)
{
	const char *params = getenv("DPDK_TEST_PARAMS");
	char *words = strdup(params != NULL ? params : "");
	char **all = calloc((size_t)*argc + MAX_EXTRA_ARGS + 1, sizeof(*all));
	char *word, *rest = NULL;
	int nb = 0, i, at = *argc;

	if (words == NULL || all == NULL) {
		free(words);
		free(all);
		return NULL;
	}
	/* EAL stops reading at "--": extra arguments go in front of it. */
	for (i = 0; i < *argc && at == *argc; i++)
		if (strcmp(argv[i], "--") == 0)
			at = i;
	memcpy(all, argv, (size_t)at * sizeof(*all));
	for (word = strtok_r(words, " ", &rest); word != NULL && nb < MAX_EXTRA_ARGS;
	     word = strtok_r(NULL, " ", &rest))
		all[at + nb++] = word;
	memcpy(&all[at + nb], &argv[at], (size_t)(*argc - at) * sizeof(*all));
	*argc += nb;
	return all;
}

static int
run_named(const char *name)
{
	const struct test_command *cmd = test_command_find(name);

	if (cmd == NULL) {
		printf("Error: no test is called '%s'; `--list` prints the names of all\n", name);
		return TEST_FAILED;
	}
	return test_command_run(cmd);
}

/* The tests that were asked for, up to the first that does not pass. */
static int
run_tests(int argc, char **argv)
{
	const char *name = getenv("DPDK_TEST");
	int ret = TEST_SUCCESS, i;

	if (name != NULL && *name != '\0')
		ret = run_named(name);
	else if (argc <= 1)
		return commands_interact();
	for (i = 1; i < argc && ret == TEST_SUCCESS; i++)
		ret = run_named(argv[i]);
	return ret;
}

int
main(int argc, char **argv)
{
	int nb_args = argc, ret;

	if (argc > 1 && strcmp(argv[1], "--list") == 0) {
		ret = test_command_list(argc > 2 ? argv[2] : NULL);
		if (ret != 0)
			printf("Error: '%s' is no suite: fast, driver, stress or perf was expected\n",
			       argv[2]);
		return ret == 0 ? EXIT_SUCCESS : 255;
	}
	if (argc > 1 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)) {
		print_usage(argv[0]);
		return EXIT_SUCCESS;
	}
	/* The prompt writes to the terminal directly: keep lines in order with it. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	argv = join_args(&nb_args, argv);
	if (argv == NULL)
		return 255;
	ret = rte_eal_init(nb_args, argv);
	if (ret < 0) {
		printf("Error: EAL did not start: %s\n", rte_strerror(rte_errno));
		return 255;
	}
	ret = run_tests(nb_args - ret, argv + ret);
	rte_eal_cleanup();
	return ret == TEST_SUCCESS || ret == TEST_SKIPPED ? ret : 255;
}
