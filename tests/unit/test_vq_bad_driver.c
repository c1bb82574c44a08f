/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * The device end of lib/vq against a driver that breaks the rules: each case writes into
 * the ring what no honest driver would, and shows that the device breaks the queue with
 * the right violation, takes nothing, and reads nothing outside of the shared memory
 * (AddressSanitizer watches).
 */

#include <stdlib.h>

#include "vq_fixture.h"

#define RING_SIZE 8
#define BIAS 0x7000000000
/* Buffers that the device holds when the driver strikes: slots 0 and 1. */
#define NB_GOOD 2
/* A region without memory of ours behind it: the device must only compute with it. */
#define HUGE_ADDR 0x100000000000
#define HUGE_BYTES (8ULL << 30)
#define HUGE_VA 0x10000

/* Regions of the test: the fixture's three, the huge one, two that touch, a short one. */
#define NB_REGIONS 6
#define SEAM_ADDR 0x200000000000
#define SEAM_BYTES 4096

struct world {
	struct vqt t;
	struct vq_regions *regions;
	struct vq_regions *no_regions; /* a list of none: nothing behind it may be read */
	uint8_t *seam[2]; /* neighbours in the driver's space, strangers in ours */
};

struct bad_case {
	const char *name;
	uint32_t flags;
	void (*strike)(struct world *w);
	enum vq_violation expect; /* VQ_OK: one buffer must be taken */
};

/* --- The raw driver --------------------------------------------------------------- */

/* Write a descriptor at a slot behind the good ones, or into a table. */
static void
raw_split(struct ring_desc *table, uint16_t i, uint64_t addr, uint32_t len, uint16_t flags,
	  uint16_t next)
{
	table[i] = (struct ring_desc){ addr, len, flags, next };
}

static void
raw_desc(struct world *w, uint16_t i, uint64_t addr, uint32_t len, uint16_t flags, uint16_t next)
{
	raw_split(w->t.drv.ring.desc, i, addr, len, flags, next);
}

static void
raw_avail(struct world *w, uint16_t head)
{
	struct ring_avail *avail = w->t.drv.ring.avail;

	avail->ring[avail->idx % RING_SIZE] = head;
	avail->idx++;
}

/* Packed: slots behind the good ones are of the first lap: AVAIL set, USED clear. */
static void
raw_packed(struct world *w, uint16_t slot, uint64_t addr, uint32_t len, uint16_t flags)
{
	w->t.drv.ring.pdesc[slot] =
		(struct ring_packed_desc){ addr, len, slot, flags | VIREO_DESC_F_AVAIL };
}

static uint64_t
good_addr(struct world *w)
{
	return vqt_addr(&w->t, w->t.arena);
}

/* The first descriptor of the strike, whatever the layout, ready to be seen. */
static void
strike_one(struct world *w, uint64_t addr, uint32_t len, uint16_t flags)
{
	if (w->t.f & VQ_F_PACKED) {
		raw_packed(w, NB_GOOD, addr, len, flags);
	} else {
		raw_desc(w, NB_GOOD, addr, len, flags, 0);
		raw_avail(w, NB_GOOD);
	}
}

/* Two in a chain. */
static void
strike_two(struct world *w, uint64_t addr0, uint32_t len0, uint16_t flags0, uint64_t addr1,
	   uint32_t len1, uint16_t flags1)
{
	if (w->t.f & VQ_F_PACKED) {
		raw_packed(w, NB_GOOD + 1, addr1, len1, flags1);
		raw_packed(w, NB_GOOD, addr0, len0, flags0 | VIREO_DESC_F_NEXT);
	} else {
		raw_desc(w, NB_GOOD, addr0, len0, flags0 | VIREO_DESC_F_NEXT, NB_GOOD + 1);
		raw_desc(w, NB_GOOD + 1, addr1, len1, flags1, 0);
		raw_avail(w, NB_GOOD);
	}
}

/* A table of nb entries with good ones in it; the caller spoils one of them. */
static struct ring_desc *
strike_table(struct world *w, uint16_t nb, uint32_t len_bytes, uint16_t flags)
{
	struct ring_desc *table = w->t.ext[0];
	uint16_t i;

	for (i = 0; i < nb; i++) {
		if (w->t.f & VQ_F_PACKED)
			raw_split(table, i, good_addr(w), 16, 0, 0);
		else
			raw_split(table, i, good_addr(w), 16, i + 1 < nb ? VIREO_DESC_F_NEXT : 0,
				  i + 1);
	}
	strike_one(w, vqt_addr(&w->t, table), len_bytes, flags | VIREO_DESC_F_INDIRECT);
	return table;
}

/* Flags of an entry: a packed descriptor has them where a split one has `next`. */
static void
table_flags(struct world *w, struct ring_desc *d, uint16_t flags)
{
	if (w->t.f & VQ_F_PACKED)
		((struct ring_packed_desc *)(void *)d)->flags = flags;
	else
		d->flags = flags | (d->flags & VIREO_DESC_F_NEXT);
}

/* --- Strikes: indices ------------------------------------------------------------- */

static void
strike_avail_ahead(struct world *w)
{
	w->t.drv.ring.avail->idx += RING_SIZE + 1;
}

static void
strike_avail_back(struct world *w)
{
	w->t.drv.ring.avail->idx--;
}

static void
strike_avail_half(struct world *w)
{
	w->t.drv.ring.avail->idx += 0x8000;
}

/* The whole ring again, though the device holds two buffers of it. */
static void
strike_avail_over_held(struct world *w)
{
	int i;

	for (i = 0; i < RING_SIZE; i++) {
		raw_desc(w, i, good_addr(w), 16, 0, 0);
		raw_avail(w, i);
	}
}

static void
strike_head_size(struct world *w)
{
	raw_avail(w, RING_SIZE);
}

static void
strike_head_huge(struct world *w)
{
	raw_avail(w, 0xffff);
}

static void
strike_next_size(struct world *w)
{
	raw_desc(w, NB_GOOD, good_addr(w), 16, VIREO_DESC_F_NEXT, RING_SIZE);
	raw_avail(w, NB_GOOD);
}

static void
strike_next_huge(struct world *w)
{
	raw_desc(w, NB_GOOD, good_addr(w), 16, VIREO_DESC_F_NEXT, 0xffff);
	raw_avail(w, NB_GOOD);
}

static void
strike_loop_self(struct world *w)
{
	raw_desc(w, NB_GOOD, good_addr(w), 16, VIREO_DESC_F_NEXT, NB_GOOD);
	raw_avail(w, NB_GOOD);
}

static void
strike_loop_two(struct world *w)
{
	raw_desc(w, NB_GOOD, good_addr(w), 16, VIREO_DESC_F_NEXT, NB_GOOD + 1);
	raw_desc(w, NB_GOOD + 1, good_addr(w), 16, VIREO_DESC_F_NEXT, NB_GOOD);
	raw_avail(w, NB_GOOD);
}

/* A loop of empty descriptors adds no piece: only the count of links can end it. */
static void
strike_loop_empty(struct world *w)
{
	raw_desc(w, NB_GOOD, good_addr(w), 0, VIREO_DESC_F_NEXT, NB_GOOD);
	raw_avail(w, NB_GOOD);
}

static void
strike_chain_max(struct world *w)
{
	w->t.chain->max = 1;
	strike_two(w, good_addr(w), 16, 0, good_addr(w), 16, 0);
}

static void
strike_packed_endless(struct world *w)
{
	uint16_t i;

	for (i = 0; i < RING_SIZE; i++)
		raw_packed(w, i, good_addr(w), 16, VIREO_DESC_F_NEXT);
}

/* A chain that runs round into the slots that the device still holds. */
static void
strike_packed_over_held(struct world *w)
{
	uint16_t i;

	raw_packed(w, 0, good_addr(w), 16, 0);
	for (i = NB_GOOD; i < RING_SIZE; i++)
		raw_packed(w, i, good_addr(w), 16, VIREO_DESC_F_NEXT);
}

/* --- Strikes: addresses and lengths ----------------------------------------------- */

static void
strike_addr_null(struct world *w)
{
	strike_one(w, 0, 16, 0);
}

static void
strike_addr_outside(struct world *w)
{
	strike_one(w, vqt_addr(&w->t, w->t.arena) - BIAS, 16, VIREO_DESC_F_WRITE);
}

static void
strike_addr_before(struct world *w)
{
	strike_one(w, HUGE_ADDR - 1, 2, 0);
}

static void
strike_addr_at_end(struct world *w)
{
	strike_one(w, HUGE_ADDR + HUGE_BYTES, 1, 0);
}

static void
strike_addr_over_end(struct world *w)
{
	strike_one(w, HUGE_ADDR + HUGE_BYTES - 1, 2, 0);
}

static void
strike_addr_wraps(struct world *w)
{
	strike_one(w, UINT64_MAX - 15, 32, 0);
}

static void
strike_len_sum_wraps(struct world *w)
{
	strike_two(w, HUGE_ADDR, UINT32_MAX, 0, HUGE_ADDR, 1, 0);
}

static void
strike_in_len_sum_wraps(struct world *w)
{
	strike_two(w, HUGE_ADDR, UINT32_MAX, VIREO_DESC_F_WRITE, HUGE_ADDR, UINT32_MAX,
		   VIREO_DESC_F_WRITE);
}

static void
strike_second_addr(struct world *w)
{
	strike_two(w, good_addr(w), 16, 0, 0, 16, VIREO_DESC_F_WRITE);
}

static void
strike_no_regions(struct world *w)
{
	w->t.dev.regions = w->no_regions;
	strike_one(w, good_addr(w), 16, 0);
}

static void
strike_order(struct world *w)
{
	strike_two(w, good_addr(w), 16, VIREO_DESC_F_WRITE, good_addr(w), 16, 0);
}

/* --- Strikes: indirect tables ----------------------------------------------------- */

static void
strike_table_unnegotiated(struct world *w)
{
	strike_table(w, 2, 32, 0);
}

static void
strike_table_next(struct world *w)
{
	strike_table(w, 2, 32, VIREO_DESC_F_NEXT);
}

static void
strike_table_empty(struct world *w)
{
	strike_table(w, 2, 0, 0);
}

static void
strike_table_odd_len(struct world *w)
{
	strike_table(w, 2, 24, 0);
}

static void
strike_table_short_len(struct world *w)
{
	strike_table(w, 2, 15, 0);
}

static void
strike_table_nested(struct world *w)
{
	struct ring_desc *table = strike_table(w, 3, 48, 0);

	table_flags(w, &table[1], VIREO_DESC_F_INDIRECT);
}

static void
strike_table_outside(struct world *w)
{
	strike_one(w, 0x1000, 32, VIREO_DESC_F_INDIRECT);
}

static void
strike_table_huge(struct world *w)
{
	strike_table(w, 2, UINT32_MAX & ~15u, 0);
}

static void
strike_table_wraps(struct world *w)
{
	strike_one(w, UINT64_MAX - 15, 32, VIREO_DESC_F_INDIRECT);
}

static void
strike_table_over_seam(struct world *w)
{
	memset(w->seam[0] + SEAM_BYTES - 16, 0, 16);
	memset(w->seam[1], 0, 16);
	strike_one(w, SEAM_ADDR + SEAM_BYTES - 16, 32, VIREO_DESC_F_INDIRECT);
}

static void
strike_table_link(struct world *w)
{
	strike_table(w, 3, 48, 0)[1].next = 3;
}

static void
strike_table_loop(struct world *w)
{
	struct ring_desc *table = strike_table(w, 3, 48, 0);

	table[2].flags |= VIREO_DESC_F_NEXT;
	table[2].next = 0;
}

static void
strike_table_addr(struct world *w)
{
	strike_table(w, 3, 48, 0)[2].addr = 0x1000;
}

static void
strike_table_order(struct world *w)
{
	table_flags(w, &strike_table(w, 3, 48, 0)[0], VIREO_DESC_F_WRITE);
}

static void
strike_table_chain_max(struct world *w)
{
	w->t.chain->max = 2;
	strike_table(w, 3, 48, 0);
}

static void
strike_table_behind_direct(struct world *w)
{
	strike_table(w, 2, 32, 0);
	/* Undo the announcement and put a direct one in front. */
	if ((w->t.f & VQ_F_PACKED) == 0)
		w->t.drv.ring.avail->idx--;
	strike_two(w, good_addr(w), 16, 0, vqt_addr(&w->t, w->t.ext[0]), 32, VIREO_DESC_F_INDIRECT);
}

/* --- What looks odd but is legal -------------------------------------------------- */

static void
strike_table_write_flag(struct world *w)
{
	strike_table(w, 2, 32, VIREO_DESC_F_WRITE);
}

static void
strike_buffer_over_seam(struct world *w)
{
	strike_one(w, SEAM_ADDR + SEAM_BYTES - 10, 30, 0);
}

static void
strike_whole_region(struct world *w)
{
	strike_one(w, HUGE_ADDR + HUGE_BYTES - UINT32_MAX, UINT32_MAX, 0);
}

/* --- The check -------------------------------------------------------------------- */

static int
open_world(struct world *w, uint32_t flags)
{
	struct vq_conf conf = vqt_conf(RING_SIZE, flags);
	struct vq_region *r;
	int i;

	memset(w, 0, sizeof(*w));
	TEST_ASSERT_SUCCESS(vqt_open(&w->t, &conf, BIAS));
	w->regions = calloc(1, sizeof(*w->regions) + NB_REGIONS * sizeof(*r));
	w->no_regions = calloc(1, sizeof(*w->no_regions));
	w->seam[0] = calloc(1, SEAM_BYTES);
	w->seam[1] = calloc(1, SEAM_BYTES);
	TEST_ASSERT(w->regions != NULL && w->no_regions != NULL && w->seam[0] != NULL &&
		    w->seam[1] != NULL);
	r = w->regions->region;
	memcpy(r, w->t.regions->region, 3 * sizeof(*r));
	r[3] = (struct vq_region){ HUGE_ADDR, HUGE_BYTES, HUGE_VA };
	r[4] = (struct vq_region){ SEAM_ADDR, SEAM_BYTES, (uintptr_t)w->seam[0] };
	r[5] = (struct vq_region){ SEAM_ADDR + SEAM_BYTES, SEAM_BYTES, (uintptr_t)w->seam[1] };
	w->regions->nb = NB_REGIONS;
	w->t.dev.regions = w->regions;
	for (i = 0; i < NB_GOOD; i++)
		TEST_ASSERT_SUCCESS(vqt_post_one(&w->t, VQT_DIRECT, 1, 0));
	TEST_ASSERT_EQUAL(vqt_take(&w->t, NB_GOOD), NB_GOOD);
	return TEST_SUCCESS;
}

static void
close_world(struct world *w)
{
	free(w->no_regions);
	free(w->regions);
	free(w->seam[0]);
	free(w->seam[1]);
	vqt_close(&w->t);
}

/* Take until nothing is left or the queue breaks; @return how many, or -1. */
static int
take_raw(struct world *w)
{
	struct vq_take take;
	int rc, n = 0;

	rc = vq_dev_begin(&w->t.dev, &take, w->t.f);
	while (rc > 0) {
		rc = vq_dev_next(&w->t.dev, &take, w->t.chain, w->t.f);
		n += rc > 0;
		TEST_ASSERT(n <= RING_SIZE, "the device took more than the ring holds");
	}
	TEST_ASSERT(rc == 0 || rc == -EPROTO);
	TEST_ASSERT_EQUAL(rc == -EPROTO, w->t.dev.broken != VQ_OK);
	return n;
}

static int
check_broken(struct world *w, const struct bad_case *bc)
{
	struct vq_dev *dev = &w->t.dev;
	struct vq_take take;
	bool over_held =
		bc->strike == strike_avail_over_held || bc->strike == strike_packed_over_held;

	TEST_ASSERT(dev->broken == bc->expect, "broke with: %s",
		    vireo_vq_violation_str(dev->broken));
	TEST_ASSERT_EQUAL(dev->nb_violations, 1);
	TEST_ASSERT(dev->nb_inflight <= RING_SIZE);
	TEST_ASSERT(over_held || dev->nb_inflight == NB_GOOD);
	/* It stays broken. */
	TEST_ASSERT_EQUAL(vq_dev_begin(dev, &take, w->t.f), -EPROTO);
	TEST_ASSERT_EQUAL(vq_dev_next(dev, &take, w->t.chain, w->t.f), -EPROTO);
	TEST_ASSERT(!vq_dev_arm(dev, w->t.f));
	TEST_ASSERT_EQUAL(dev->nb_violations, 1);
	TEST_ASSERT_NULL(vireo_vq_dev_check(dev));
	return TEST_SUCCESS;
}

static int
strike_and_check(struct world *w, const struct bad_case *bc)
{
	int taken;

	bc->strike(w);
	taken = take_raw(w);
	TEST_ASSERT(taken >= 0);
	if (bc->expect == VQ_OK) {
		TEST_ASSERT_EQUAL(taken, 1);
		TEST_ASSERT_EQUAL(w->t.dev.broken, VQ_OK);
	} else {
		TEST_ASSERT_SUCCESS(check_broken(w, bc));
	}
	if (bc->strike == strike_buffer_over_seam) {
		TEST_ASSERT_EQUAL(w->t.chain->nb_out, 2);
		TEST_ASSERT(w->t.chain->iov[0].base == w->seam[0] + SEAM_BYTES - 10);
		TEST_ASSERT_EQUAL(w->t.chain->iov[0].len, 10);
		TEST_ASSERT(w->t.chain->iov[1].base == w->seam[1]);
		TEST_ASSERT_EQUAL(w->t.chain->iov[1].len, 20);
	}
	/* The driver's two good buffers come out of a drain once, and all is as new. */
	w->t.dev.regions = w->regions;
	w->t.chain->max = RING_SIZE + 64;
	TEST_ASSERT_SUCCESS(vqt_drain_and_reset(&w->t));
	TEST_ASSERT_EQUAL(w->t.nb_drained, NB_GOOD);
	TEST_ASSERT_SUCCESS(vqt_post_one(&w->t, VQT_DIRECT, 2, 3));
	TEST_ASSERT_EQUAL(vqt_take(&w->t, 9), 1);
	TEST_ASSERT_SUCCESS(vqt_use_all(&w->t));
	TEST_ASSERT_EQUAL(vqt_reap(&w->t, 9), 1);
	return vqt_check(&w->t);
}

static int
run_bad_case(const void *data)
{
	const struct bad_case *bc = data;
	struct world w;
	int ret;

	ret = open_world(&w, bc->flags);
	if (ret == TEST_SUCCESS)
		ret = strike_and_check(&w, bc);
	close_world(&w);
	return ret;
}

/* The same strike on both layouts. */
#define BOTH(name_, strike_, expect_)                                                              \
	{ "split_" name_, VQ_F_INDIRECT, strike_, expect_ },                                       \
	{                                                                                          \
		"packed_" name_, VQ_F_INDIRECT | VQ_F_PACKED, strike_, expect_                     \
	}

static const struct bad_case bad_cases[] = {
	{ "split_avail_idx_ahead", 0, strike_avail_ahead, VQ_BAD_AVAIL_IDX },
	{ "split_avail_idx_back", 0, strike_avail_back, VQ_BAD_AVAIL_IDX },
	{ "split_avail_idx_half", 0, strike_avail_half, VQ_BAD_AVAIL_IDX },
	{ "split_avail_over_held", 0, strike_avail_over_held, VQ_BAD_AVAIL_IDX },
	{ "split_head_size", 0, strike_head_size, VQ_BAD_DESC_IDX },
	{ "split_head_huge", 0, strike_head_huge, VQ_BAD_DESC_IDX },
	{ "split_next_size", 0, strike_next_size, VQ_BAD_DESC_IDX },
	{ "split_next_huge", 0, strike_next_huge, VQ_BAD_DESC_IDX },
	{ "split_loop_self", 0, strike_loop_self, VQ_BAD_DESC_IDX },
	{ "split_loop_two", 0, strike_loop_two, VQ_BAD_DESC_IDX },
	{ "split_loop_empty", 0, strike_loop_empty, VQ_BAD_DESC_IDX },
	{ "packed_chain_endless", VQ_F_PACKED, strike_packed_endless, VQ_BAD_CHAIN_LEN },
	{ "packed_chain_over_held", VQ_F_PACKED, strike_packed_over_held, VQ_BAD_CHAIN_LEN },
	BOTH("chain_max", strike_chain_max, VQ_BAD_CHAIN_LEN),
	BOTH("addr_null", strike_addr_null, VQ_BAD_DESC_ADDR),
	BOTH("addr_outside", strike_addr_outside, VQ_BAD_DESC_ADDR),
	BOTH("addr_before", strike_addr_before, VQ_BAD_DESC_ADDR),
	BOTH("addr_at_end", strike_addr_at_end, VQ_BAD_DESC_ADDR),
	BOTH("addr_over_end", strike_addr_over_end, VQ_BAD_DESC_ADDR),
	BOTH("addr_wraps", strike_addr_wraps, VQ_BAD_DESC_ADDR),
	BOTH("second_addr", strike_second_addr, VQ_BAD_DESC_ADDR),
	BOTH("no_regions", strike_no_regions, VQ_BAD_DESC_ADDR),
	BOTH("len_sum_wraps", strike_len_sum_wraps, VQ_BAD_DESC_ADDR),
	BOTH("in_len_sum_wraps", strike_in_len_sum_wraps, VQ_BAD_DESC_ADDR),
	BOTH("readable_behind_writable", strike_order, VQ_BAD_DESC_ORDER),
	{ "split_table_unnegotiated", 0, strike_table_unnegotiated, VQ_BAD_INDIRECT },
	{ "packed_table_unnegotiated", VQ_F_PACKED, strike_table_unnegotiated, VQ_BAD_INDIRECT },
	BOTH("table_next", strike_table_next, VQ_BAD_INDIRECT),
	BOTH("table_empty", strike_table_empty, VQ_BAD_INDIRECT),
	BOTH("table_odd_len", strike_table_odd_len, VQ_BAD_INDIRECT),
	BOTH("table_short_len", strike_table_short_len, VQ_BAD_INDIRECT),
	BOTH("table_nested", strike_table_nested, VQ_BAD_INDIRECT),
	BOTH("table_outside", strike_table_outside, VQ_BAD_DESC_ADDR),
	BOTH("table_huge", strike_table_huge, VQ_BAD_DESC_ADDR),
	BOTH("table_wraps", strike_table_wraps, VQ_BAD_DESC_ADDR),
	BOTH("table_over_seam", strike_table_over_seam, VQ_BAD_DESC_ADDR),
	BOTH("table_addr", strike_table_addr, VQ_BAD_DESC_ADDR),
	BOTH("table_order", strike_table_order, VQ_BAD_DESC_ORDER),
	BOTH("table_chain_max", strike_table_chain_max, VQ_BAD_CHAIN_LEN),
	{ "split_table_link", VQ_F_INDIRECT, strike_table_link, VQ_BAD_DESC_IDX },
	{ "split_table_loop", VQ_F_INDIRECT, strike_table_loop, VQ_BAD_DESC_IDX },
	{ "packed_table_behind_direct", VQ_F_INDIRECT | VQ_F_PACKED, strike_table_behind_direct,
	  VQ_BAD_INDIRECT },
	/* Section 2.7.5.3.1 allows one table behind direct descriptors. */
	{ "split_table_behind_direct", VQ_F_INDIRECT, strike_table_behind_direct, VQ_OK },
	BOTH("table_write_flag", strike_table_write_flag, VQ_OK),
	BOTH("buffer_over_seam", strike_buffer_over_seam, VQ_OK),
	BOTH("whole_region", strike_whole_region, VQ_OK),
};

static int
test_vq_bad_driver(void)
{
	struct unit_test_case cases[RTE_DIM(bad_cases) + 1];
	struct unit_test_suite suite = {
		.suite_name = "device end against a malicious driver",
		.cases = cases,
	};
	size_t i;

	for (i = 0; i < RTE_DIM(bad_cases); i++)
		cases[i] = (struct unit_test_case)TEST_CASE_NAMED_WITH_DATA(bad_cases[i].name, NULL,
									    NULL, run_bad_case,
									    &bad_cases[i]);
	cases[i] = (struct unit_test_case)TEST_CASES_END();
	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(FAST, vq_bad_driver_autotest, test_vq_bad_driver);
