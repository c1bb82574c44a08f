/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_TEST_H
#define VIREO_TEST_H

/*
 * The test harness, after the conventions of DPDK's own dpdk-test: a unit is one file
 * that registers one command; a command is a function that returns 0 (pass), -1 (fail)
 * or 77 (skip). Nothing here needs EAL, so that the same units run in vireo-test (with
 * EAL) and in vireo-unit (without, under any sanitiser).
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#define TEST_SUCCESS 0
#define TEST_FAILED (-1)
#define TEST_SKIPPED 77

/* Suites that meson sorts the commands into. */
enum test_suite {
	TEST_SUITE_FAST, /* seconds, anywhere */
	TEST_SUITE_DRIVER, /* net_vireo ports over loopback */
	TEST_SUITE_STRESS, /* threads against each other */
	TEST_SUITE_PERF, /* prints figures; proves nothing on a busy machine */
	TEST_NB_SUITES,
};

/** Name of a suite as meson and the prompt know it. */
const char *test_suite_name(enum test_suite suite);

/* One registered command. */
struct test_command {
	struct test_command *next;
	const char *name; /* ends in _autotest */
	int (*fn)(void);
	enum test_suite suite;
};

/** Put a command into the list, which is kept sorted by name. Constructors only. */
void test_command_add(struct test_command *cmd);

/** First command of the list, NULL when there is none; go on with ->next. */
struct test_command *test_command_first(void);

/** Command of that name or NULL. */
struct test_command *test_command_find(const char *name);

/**
 * Run one command and print "Test OK", "Test Failed" or "Test Skipped". Commands that
 * DPDK_TEST_SKIP names (separated by commas) are skipped.
 *
 * @return what the command returned.
 */
int test_command_run(const struct test_command *cmd);

/**
 * Print the names of all commands of a suite, one a line; suite NULL: all.
 *
 * @return 0, or -EINVAL: no such suite.
 */
int test_command_list(const char *suite);

/* Register `name` (an identifier that ends in _autotest) in a suite: FAST, DRIVER, ... */
#define REGISTER_TEST(suite_, name_, fn_)                                                          \
	static struct test_command test_command_##name_ = {                                        \
		.name = #name_,                                                                    \
		.fn = fn_,                                                                         \
		.suite = TEST_SUITE_##suite_,                                                      \
	};                                                                                         \
	RTE_INIT(test_register_##name_)                                                            \
	{                                                                                          \
		test_command_add(&test_command_##name_);                                           \
	}

/* One case of a suite; data is handed to fn_data. */
struct unit_test_case {
	const char *name;
	int (*setup)(void);
	void (*teardown)(void);
	int (*fn)(void);
	int (*fn_data)(const void *data);
	const void *data;
};

struct unit_test_suite {
	const char *suite_name;
	int (*setup)(void);
	void (*teardown)(void);
	const struct unit_test_case *cases; /* ends with TEST_CASES_END() */
};

#define TEST_CASE(fn_)                                                                             \
	{                                                                                          \
		.name = #fn_, .fn = fn_                                                            \
	}
#define TEST_CASE_ST(setup_, teardown_, fn_)                                                       \
	{                                                                                          \
		.name = #fn_, .setup = setup_, .teardown = teardown_, .fn = fn_                    \
	}
#define TEST_CASE_NAMED_WITH_DATA(name_, setup_, teardown_, fn_, data_)                            \
	{                                                                                          \
		.name = name_, .setup = setup_, .teardown = teardown_, .fn_data = fn_,             \
		.data = data_                                                                      \
	}
#define TEST_CASES_END()                                                                           \
	{                                                                                          \
		.name = NULL                                                                       \
	}

/**
 * Run all cases of a suite, print a line for each and a summary. TEST_CASE=<text> in
 * the environment runs only the cases whose names contain the text.
 *
 * @return 0; -1 when a case or the set-up failed; 77 when everything was skipped.
 */
int unit_test_suite_runner(const struct unit_test_suite *suite);

/** Say where and why an assertion failed. */
void test_fail(const char *file, int line, const char *func, const char *expr, const char *fmt, ...)
	__rte_format_printf(5, 6);

/* Each makes the calling function return -1 after saying why. */
#define TEST_ASSERT(cond, ...)                                                                     \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			test_fail(__FILE__, __LINE__, __func__, #cond, " " __VA_ARGS__);           \
			return TEST_FAILED;                                                        \
		}                                                                                  \
	} while (0)

#define TEST_ASSERT_EQUAL(a, b, ...)                                                               \
	do {                                                                                       \
		const long long a_ = (long long)(a), b_ = (long long)(b);                          \
		if (a_ != b_) {                                                                    \
			test_fail(__FILE__, __LINE__, __func__, #a " == " #b, " " __VA_ARGS__);    \
			printf("\tleft %lld (0x%llx), right %lld (0x%llx)\n", a_, a_, b_, b_);     \
			return TEST_FAILED;                                                        \
		}                                                                                  \
	} while (0)

#define TEST_ASSERT_SUCCESS(val, ...) TEST_ASSERT_EQUAL(val, 0, __VA_ARGS__)
#define TEST_ASSERT_NULL(val, ...) TEST_ASSERT((val) == NULL, __VA_ARGS__)
#define TEST_ASSERT_NOT_NULL(val, ...) TEST_ASSERT((val) != NULL, __VA_ARGS__)
#define TEST_ASSERT_BUFFERS_ARE_EQUAL(a, b, len, ...)                                              \
	TEST_ASSERT(memcmp(a, b, len) == 0, __VA_ARGS__)

/* A small generator for model-based tests: same seed, same run, on every machine. */
struct test_rand {
	uint64_t state;
};

/** Seed from the environment's TEST_SEED, else from the clock; prints it. */
void test_rand_init(struct test_rand *r, const char *who);

static inline uint32_t
test_rand_u32(struct test_rand *r)
{
	/* xorshift64*: short, and good enough to choose operations. */
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return (uint32_t)((r->state * UINT64_C(0x2545F4914F6CDD1D)) >> 32);
}

/** Uniform enough in 0 .. bound - 1. */
static inline uint32_t
test_rand_below(struct test_rand *r, uint32_t bound)
{
	return (uint32_t)(((uint64_t)test_rand_u32(r) * bound) >> 32);
}

#endif /* VIREO_TEST_H */
