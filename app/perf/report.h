/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef PERF_REPORT_H
#define PERF_REPORT_H

/*
 * What a subcommand hands out: a table on stdout for people, and a JSON file for
 * programs. The file appears whole or not at all.
 */

#include <stdint.h>
#include <stdio.h>

/* A JSON file in the making. Written from the control thread alone. */
struct perf_json {
	FILE *file; /* NULL: no file was asked for, and every call does nothing */
	char *path;
	char *tmp_path;
	int depth;
	int need_comma;
};

/**
 * Begin a file, with its outermost object open. path NULL: none.
 *
 * @return 0 or a negative errno, after saying why on stderr.
 */
int perf_json_open(struct perf_json *json, const char *path);

/** Close the outermost object and put the file in its place. @return 0 or negative errno. */
int perf_json_close(struct perf_json *json);

/** Give the file up: nothing appears. */
void perf_json_discard(struct perf_json *json);

/* Values; key is NULL inside an array. A double that is not finite becomes null. */
void perf_json_object(struct perf_json *json, const char *key);
void perf_json_object_end(struct perf_json *json);
void perf_json_array(struct perf_json *json, const char *key);
void perf_json_array_end(struct perf_json *json);
void perf_json_double(struct perf_json *json, const char *key, double value);
void perf_json_uint(struct perf_json *json, const char *key, uint64_t value);
void perf_json_string(struct perf_json *json, const char *key, const char *value);

/** The key `env`: cpu, dpdk, commit, hugepages. EAL is up. */
void perf_json_env(struct perf_json *json);

/** The same on stdout, one line. */
void perf_env_print(void);

/** Middle value of nb numbers, which are sorted in place; NAN of none. */
double perf_median(double *values, uint32_t nb);

/** Value at quantile q (0 .. 1) of nb sorted numbers; NAN of none. */
double perf_quantile(const double *sorted, uint32_t nb, double q);

/** Sort nb numbers in place. */
void perf_sort(double *values, uint32_t nb);

#endif /* PERF_REPORT_H */
