/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_version.h>

#include "perf_commit.h"
#include "report.h"

int
perf_json_open(struct perf_json *json, const char *path)
{
	int rc;

	memset(json, 0, sizeof(*json));
	if (path == NULL)
		return 0;
	json->path = strdup(path);
	if (json->path == NULL || asprintf(&json->tmp_path, "%s.tmp.%d", path, (int)getpid()) < 0) {
		json->tmp_path = NULL;
		rc = -ENOMEM;
		goto free_path;
	}
	json->file = fopen(json->tmp_path, "w");
	if (json->file == NULL) {
		rc = -errno;
		goto free_tmp_path;
	}
	fputc('{', json->file);
	json->depth = 1;
	return 0;
free_tmp_path:
	free(json->tmp_path);
free_path:
	free(json->path);
	fprintf(stderr, "vireo-perf: cannot write %s: %s\n", path, strerror(-rc));
	return rc;
}

int
perf_json_close(struct perf_json *json)
{
	int rc = 0;

	if (json->file == NULL)
		return 0;
	fputs("\n}\n", json->file);
	if (ferror(json->file))
		rc = -EIO;
	if (fclose(json->file) != 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(json->tmp_path, json->path) != 0)
		rc = -errno;
	if (rc < 0) {
		fprintf(stderr, "vireo-perf: cannot write %s: %s\n", json->path, strerror(-rc));
		unlink(json->tmp_path);
	}
	free(json->tmp_path);
	free(json->path);
	json->file = NULL;
	return rc;
}

void
perf_json_discard(struct perf_json *json)
{
	if (json->file == NULL)
		return;
	fclose(json->file);
	unlink(json->tmp_path);
	free(json->tmp_path);
	free(json->path);
	json->file = NULL;
}

static void
write_string(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else if (c < 0x20)
			fprintf(file, "\\u%04x", c);
		else
			fputc(c, file);
	}
	fputc('"', file);
}

/* @return whether there is a file to write the value to. */
static int
begin_value(struct perf_json *json, const char *key)
{
	int i;

	if (json->file == NULL)
		return 0;
	if (json->need_comma)
		fputc(',', json->file);
	fputc('\n', json->file);
	for (i = 0; i < json->depth; i++)
		fputc('\t', json->file);
	if (key != NULL) {
		write_string(json->file, key);
		fputs(": ", json->file);
	}
	json->need_comma = 1;
	return 1;
}

static void
begin_group(struct perf_json *json, const char *key, char bracket)
{
	if (!begin_value(json, key))
		return;
	fputc(bracket, json->file);
	json->depth++;
	json->need_comma = 0;
}

static void
end_group(struct perf_json *json, char bracket)
{
	int i;

	if (json->file == NULL)
		return;
	json->depth--;
	fputc('\n', json->file);
	for (i = 0; i < json->depth; i++)
		fputc('\t', json->file);
	fputc(bracket, json->file);
	json->need_comma = 1;
}

void
perf_json_object(struct perf_json *json, const char *key)
{
	begin_group(json, key, '{');
}

void
perf_json_object_end(struct perf_json *json)
{
	end_group(json, '}');
}

void
perf_json_array(struct perf_json *json, const char *key)
{
	begin_group(json, key, '[');
}

void
perf_json_array_end(struct perf_json *json)
{
	end_group(json, ']');
}

void
perf_json_double(struct perf_json *json, const char *key, double value)
{
	if (!begin_value(json, key))
		return;
	if (isfinite(value))
		fprintf(json->file, "%.6g", value);
	else
		fputs("null", json->file);
}

void
perf_json_uint(struct perf_json *json, const char *key, uint64_t value)
{
	if (begin_value(json, key))
		fprintf(json->file, "%llu", (unsigned long long)value);
}

void
perf_json_string(struct perf_json *json, const char *key, const char *value)
{
	if (begin_value(json, key))
		write_string(json->file, value);
}

static void
cpu_model(char *text, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(text, size, "unknown");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		char *value = strchr(line, ':');

		if (value == NULL || strncmp(line, "model name", 10) != 0)
			continue;
		value += strspn(value, ": \t");
		value[strcspn(value, "\n")] = '\0';
		snprintf(text, size, "%s", value);
		break;
	}
	if (file != NULL)
		fclose(file);
}

static const char *
hugepages_text(void)
{
	return rte_eal_has_hugepages() ? "yes" : "no (--no-huge)";
}

void
perf_json_env(struct perf_json *json)
{
	char cpu[128];

	cpu_model(cpu, sizeof(cpu));
	perf_json_object(json, "env");
	perf_json_string(json, "cpu", cpu);
	perf_json_string(json, "dpdk", rte_version());
	perf_json_string(json, "commit", VIREO_PERF_COMMIT);
	perf_json_string(json, "hugepages", hugepages_text());
	perf_json_object_end(json);
}

void
perf_env_print(void)
{
	char cpu[128];

	cpu_model(cpu, sizeof(cpu));
	printf("%s, %s, vireo %s, hugepages: %s\n", cpu, rte_version(), VIREO_PERF_COMMIT,
	       hugepages_text());
}

static int
compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

void
perf_sort(double *values, uint32_t nb)
{
	qsort(values, nb, sizeof(values[0]), compare_doubles);
}

double
perf_quantile(const double *sorted, uint32_t nb, double q)
{
	if (nb == 0)
		return NAN;
	return sorted[(uint32_t)(q * (nb - 1) + 0.5)];
}

double
perf_median(double *values, uint32_t nb)
{
	if (nb == 0)
		return NAN;
	perf_sort(values, nb);
	if (nb % 2 == 1)
		return values[nb / 2];
	return (values[nb / 2 - 1] + values[nb / 2]) / 2;
}
