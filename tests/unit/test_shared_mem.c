/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include "../../lib/transport/shared_mem.h"
#include "test.h"

/* Ranges of files: merging, limiting, and what is new or gone between two lists. */

#define PAGE 0x200000ULL
#define BASE 0x100000000ULL

static struct shared_mem mem;

static void
teardown(void)
{
	shared_mem_clear(&mem);
}

/* Pages of fd at BASE + page number; the offset in the file is the page number. */
static int
add(struct shared_mem *m, int fd, uint64_t page, uint64_t nb_pages)
{
	const struct shared_range r = {
		.va = BASE + page * PAGE,
		.len_bytes = nb_pages * PAGE,
		.offset = page * PAGE,
		.fd = fd,
	};

	return shared_mem_add(m, &r);
}

static int
test_neighbours_are_merged(void)
{
	struct shared_range r = { .va = BASE + 4 * PAGE, .len_bytes = PAGE, .fd = 3 };
	uint64_t page;

	for (page = 0; page < 3; page++)
		TEST_ASSERT_SUCCESS(add(&mem, 3, page, 1));
	TEST_ASSERT_EQUAL(mem.nb, 1);
	TEST_ASSERT_EQUAL(mem.ranges[0].len_bytes, 3 * PAGE);
	/* Another file, and the same file elsewhere in it. */
	TEST_ASSERT_SUCCESS(add(&mem, 4, 3, 1));
	TEST_ASSERT_SUCCESS(shared_mem_add(&mem, &r));
	TEST_ASSERT_EQUAL(mem.nb, 3);
	/* A hole keeps ranges apart. */
	TEST_ASSERT_SUCCESS(add(&mem, 5, 10, 1));
	TEST_ASSERT_SUCCESS(add(&mem, 5, 12, 1));
	TEST_ASSERT_EQUAL(mem.nb, 5);
	for (page = 0; page < 100; page++)
		TEST_ASSERT_SUCCESS(add(&mem, 6, 100 + 2 * page, 1));
	TEST_ASSERT_EQUAL(mem.nb, 105);
	return 0;
}

static int
test_append_never_merges(void)
{
	const struct shared_range a = { .va = BASE, .len_bytes = PAGE, .fd = 3 };
	const struct shared_range b = {
		.va = BASE + PAGE, .len_bytes = PAGE, .offset = PAGE, .fd = 3
	};

	TEST_ASSERT_SUCCESS(shared_mem_append(&mem, &a));
	TEST_ASSERT_SUCCESS(shared_mem_append(&mem, &b));
	TEST_ASSERT_EQUAL(mem.nb, 2);
	return 0;
}

static int
test_limit_joins_over_holes_of_one_file(void)
{
	uint64_t i;

	for (i = 0; i < 8; i++)
		TEST_ASSERT_SUCCESS(add(&mem, 3 + (int)(i % 2), 4 * i, 1));
	TEST_ASSERT_SUCCESS(shared_mem_limit(&mem, 8));
	TEST_ASSERT_EQUAL(mem.nb, 8);
	TEST_ASSERT_SUCCESS(shared_mem_limit(&mem, 7));
	TEST_ASSERT_EQUAL(mem.nb, 2);
	TEST_ASSERT_EQUAL(mem.ranges[0].va, BASE);
	TEST_ASSERT_EQUAL(mem.ranges[0].len_bytes, 25 * PAGE);
	TEST_ASSERT_EQUAL(mem.ranges[1].va, BASE + 4 * PAGE);
	TEST_ASSERT_EQUAL(mem.ranges[1].offset, 4 * PAGE);
	TEST_ASSERT_EQUAL(shared_mem_limit(&mem, 1), -E2BIG);
	return 0;
}

static int
test_many_files_are_too_many(void)
{
	int fd;

	for (fd = 0; fd < 9; fd++)
		TEST_ASSERT_SUCCESS(add(&mem, fd, (uint64_t)fd, 1));
	TEST_ASSERT_EQUAL(shared_mem_limit(&mem, 8), -E2BIG);
	return 0;
}

static int
test_uncovered_parts_come_one_by_one(void)
{
	const struct shared_range all = { .va = BASE, .len_bytes = 10 * PAGE, .fd = 3 };
	const struct shared_range other = { .va = BASE, .len_bytes = PAGE, .fd = 4 };
	struct shared_range piece;
	uint64_t at = 0;

	/* Known: pages 2, 3 and 6; and page 8 of another file. */
	TEST_ASSERT_SUCCESS(add(&mem, 3, 6, 1));
	TEST_ASSERT_SUCCESS(add(&mem, 3, 2, 2));
	TEST_ASSERT_SUCCESS(add(&mem, 4, 8, 1));
	TEST_ASSERT(shared_mem_uncovered(&mem, &all, &at, &piece));
	TEST_ASSERT_EQUAL(piece.va, BASE);
	TEST_ASSERT_EQUAL(piece.len_bytes, 2 * PAGE);
	TEST_ASSERT(shared_mem_uncovered(&mem, &all, &at, &piece));
	TEST_ASSERT_EQUAL(piece.va, BASE + 4 * PAGE);
	TEST_ASSERT_EQUAL(piece.offset, 4 * PAGE);
	TEST_ASSERT_EQUAL(piece.len_bytes, 2 * PAGE);
	TEST_ASSERT(shared_mem_uncovered(&mem, &all, &at, &piece));
	TEST_ASSERT_EQUAL(piece.va, BASE + 7 * PAGE);
	TEST_ASSERT_EQUAL(piece.len_bytes, 3 * PAGE);
	TEST_ASSERT(!shared_mem_uncovered(&mem, &all, &at, &piece));
	at = 0;
	TEST_ASSERT(shared_mem_uncovered(&mem, &other, &at, &piece));
	TEST_ASSERT_EQUAL(piece.len_bytes, PAGE);
	TEST_ASSERT(!shared_mem_uncovered(&mem, &other, &at, &piece));
	return 0;
}

static int
test_overlap_is_of_the_same_mapping(void)
{
	const struct shared_range in = {
		.va = BASE + PAGE, .len_bytes = 4 * PAGE, .offset = PAGE, .fd = 3
	};
	const struct shared_range behind = {
		.va = BASE + 4 * PAGE, .len_bytes = PAGE, .offset = 4 * PAGE, .fd = 3
	};
	const struct shared_range moved = { .va = BASE + PAGE, .len_bytes = PAGE, .fd = 3 };

	TEST_ASSERT_SUCCESS(add(&mem, 3, 2, 2));
	TEST_ASSERT(shared_mem_overlaps(&mem, &in));
	TEST_ASSERT(!shared_mem_overlaps(&mem, &behind));
	TEST_ASSERT(!shared_mem_overlaps(&mem, &moved));
	return 0;
}

static const struct unit_test_case cases[] = {
	TEST_CASE_ST(NULL, teardown, test_neighbours_are_merged),
	TEST_CASE_ST(NULL, teardown, test_append_never_merges),
	TEST_CASE_ST(NULL, teardown, test_limit_joins_over_holes_of_one_file),
	TEST_CASE_ST(NULL, teardown, test_many_files_are_too_many),
	TEST_CASE_ST(NULL, teardown, test_uncovered_parts_come_one_by_one),
	TEST_CASE_ST(NULL, teardown, test_overlap_is_of_the_same_mapping),
	TEST_CASES_END(),
};

static const struct unit_test_suite suite = {
	.suite_name = "shared memory ranges",
	.cases = cases,
};

static int
test_shared_mem(void)
{
	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(FAST, shared_mem_autotest, test_shared_mem);
