/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_lcore.h>

#include "perf.h"

volatile bool perf_quit;

static const struct perf_command *const commands[] = {
	&perf_floor,
	&perf_indirect,
	&perf_netdev,
};

/* CPUs that the process was started on, before EAL pinned its threads. */
static cpu_set_t start_cpus;

static void
print_usage(FILE *out)
{
	size_t i;

	fprintf(out,
		"usage: vireo-perf [EAL arguments] -- <subcommand> [options]\n"
		"       vireo-perf -- <subcommand> --help\n"
		"       vireo-perf --help\n\nsubcommands:\n");
	for (i = 0; i < RTE_DIM(commands); i++)
		fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fprintf(out,
		"\nexample: vireo-perf --in-memory --no-pci --lcores 0@0,1@1 -- floor --quick\n");
}

static const struct perf_command *
find_command(const char *name)
{
	size_t i;

	for (i = 0; i < RTE_DIM(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static bool
is_help(const char *arg)
{
	return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0 || strcmp(arg, "help") == 0;
}

/* The arguments after "--"; argc when there is none. */
static int
own_args(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i + 1;
	return argc;
}

/* Help is given before EAL starts, so that it needs no memory and no rights. */
static bool
help_asked(int argc, char **argv, int first, const struct perf_command *command)
{
	int i;

	if (argc > 1 && is_help(argv[1])) {
		print_usage(stdout);
		return true;
	}
	for (i = first; i < argc; i++) {
		if (!is_help(argv[i]))
			continue;
		if (command == NULL) {
			print_usage(stdout);
			return true;
		}
		printf("usage: vireo-perf [EAL arguments] -- %s [options]\n%s\n\noptions:\n",
		       command->name, command->summary);
		perf_opts_help(command->opts);
		return true;
	}
	return false;
}

static void
on_signal(int signum)
{
	(void)signum;
	perf_quit = true;
}

static void
catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int
perf_cpus(int *cpu_a, int *cpu_b)
{
	unsigned int main_lcore = rte_get_main_lcore();
	unsigned int worker = rte_get_next_lcore(main_lcore, 1, 1);
	int cpu;

	*cpu_a = rte_lcore_to_cpu_id((int)main_lcore);
	*cpu_b = *cpu_a;
	if (worker < RTE_MAX_LCORE && rte_lcore_to_cpu_id((int)worker) != *cpu_a) {
		*cpu_b = rte_lcore_to_cpu_id((int)worker);
		return 0;
	}
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &start_cpus) && cpu != *cpu_a) {
			*cpu_b = cpu;
			return 0;
		}
	}
	return -ENODEV;
}

int
perf_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return -pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

int
main(int argc, char **argv)
{
	int first = own_args(argc, argv);
	const struct perf_command *command = first < argc ? find_command(argv[first]) : NULL;
	int rc;

	if (help_asked(argc, argv, first, command))
		return EXIT_SUCCESS;
	if (command == NULL) {
		if (first < argc)
			fprintf(stderr, "vireo-perf: unknown subcommand '%s'\n", argv[first]);
		print_usage(stderr);
		return EXIT_FAILURE;
	}
	if (perf_opts_parse(command->opts, argc - first, argv + first) < 0)
		return EXIT_FAILURE;

	sched_getaffinity(0, sizeof(start_cpus), &start_cpus);
	if (rte_eal_init(first - 1, argv) < 0) {
		fprintf(stderr,
			"vireo-perf: EAL did not start; without hugepages, try "
			"--no-huge -m 512\n");
		return EXIT_FAILURE;
	}
	catch_signals();
	rc = command->run();
	if (rc < 0)
		fprintf(stderr, "vireo-perf: %s failed: %s\n", command->name, strerror(-rc));
	rte_eal_cleanup();
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
