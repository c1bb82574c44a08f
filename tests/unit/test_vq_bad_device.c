/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * The driver end of lib/vq against a device that breaks the rules: each case writes into
 * the ring what no honest device would, and shows that the queue breaks with the right
 * violation, that nothing comes back twice, and that draining brings out the rest.
 */

#include "vq_fixture.h"

#define RING_SIZE 8
/* Buffers in flight when the device strikes: single, chain of 2, indirect of 3, single. */
#define NB_GOOD 4

struct bad_case {
	const char *name;
	uint32_t flags;
	void (*strike)(struct vqt *t);
	enum vq_violation expect; /* VQ_OK: the queue must not break */
	int nb_before; /* buffers that may be taken back before it breaks */
};

/* --- The raw device --------------------------------------------------------------- */

/* Split: write used element number `at` (behind the last one taken) and the index. */
static void
raw_used(struct vqt *t, uint16_t at, uint32_t id, uint32_t len)
{
	struct ring_used *used = t->drv.ring.used;

	used->ring[(t->drv.used_idx + at) % RING_SIZE] = (struct ring_used_elem){ id, len };
	used->idx = t->drv.used_idx + at + 1;
}

/* Packed: write a used descriptor over slot `slot` of the first lap. */
static void
raw_pused(struct vqt *t, uint16_t slot, uint16_t id, uint32_t len, uint16_t flags)
{
	struct ring_packed_desc *d = &t->drv.ring.pdesc[slot];

	d->id = id;
	d->len = len;
	d->flags = flags;
}

#define USED_LAP1 (VIREO_DESC_F_AVAIL | VIREO_DESC_F_USED)

/* Slots of the good buffers: 0 | 1 2 | 3 | 4; ids are the first slots. */
#define ID_OUT 0
#define ID_CHAIN 1
#define ID_CHAIN_SECOND 2
#define ID_TABLE 3
#define ID_IN 4
#define ID_FREE 6

static int
post_good(struct vqt *t)
{
	if (t->f & VQ_F_SINGLE) {
		int i;

		for (i = 0; i < NB_GOOD; i++)
			TEST_ASSERT_SUCCESS(vqt_post_one(t, VQT_DIRECT, 0, 1));
		return TEST_SUCCESS;
	}
	TEST_ASSERT_SUCCESS(vqt_post_one(t, VQT_DIRECT, 1, 0));
	TEST_ASSERT_SUCCESS(vqt_post_one(t, VQT_DIRECT, 1, 1));
	TEST_ASSERT_SUCCESS(vqt_post_one(t, VQT_INDIRECT, 1, 2));
	TEST_ASSERT_SUCCESS(vqt_post_one(t, VQT_DIRECT, 0, 1));
	return TEST_SUCCESS;
}

/* The ledger believes whatever the device claims: lengths as an honest one's. */
static void
believe_all(struct vqt *t)
{
	uint32_t i;

	for (i = 0; i < t->nb_bufs; i++) {
		t->bufs[i].used = true;
		t->bufs[i].expect_len = (t->f & VQ_F_NO_LEN) ? 0 : t->bufs[i].in_bytes;
	}
}

/* --- Strikes on a split ring ------------------------------------------------------ */

static void
strike_idx_ahead(struct vqt *t)
{
	t->drv.ring.used->idx = t->drv.used_idx + NB_GOOD + 1;
}

static void
strike_idx_back(struct vqt *t)
{
	t->drv.ring.used->idx = t->drv.used_idx - 1;
}

static void
strike_idx_half(struct vqt *t)
{
	t->drv.ring.used->idx = t->drv.used_idx + 0x8000;
}

static void
strike_id_size(struct vqt *t)
{
	raw_used(t, 0, RING_SIZE, 0);
}

static void
strike_id_huge(struct vqt *t)
{
	raw_used(t, 0, UINT32_MAX, 0);
}

static void
strike_id_high_bits(struct vqt *t)
{
	raw_used(t, 0, 0x10000 | ID_OUT, 0);
}

static void
strike_id_free(struct vqt *t)
{
	raw_used(t, 0, ID_FREE, 0);
}

static void
strike_id_inside_chain(struct vqt *t)
{
	raw_used(t, 0, ID_CHAIN_SECOND, 0);
}

static void
strike_id_twice(struct vqt *t)
{
	raw_used(t, 0, ID_OUT, 0);
	raw_used(t, 1, ID_OUT, 0);
}

static void
strike_id_twice_scrambled(struct vqt *t)
{
	uint32_t len = t->bufs[3].in_bytes;

	raw_used(t, 0, ID_IN, len);
	raw_used(t, 1, ID_IN, len);
}

static void
strike_len_above(struct vqt *t)
{
	raw_used(t, 0, ID_IN, t->bufs[3].in_bytes + 1);
}

static void
strike_len_huge(struct vqt *t)
{
	raw_used(t, 0, ID_IN, UINT32_MAX);
}

static void
strike_len_of_readable(struct vqt *t)
{
	raw_used(t, 0, ID_OUT, 1);
}

static void
strike_len_of_table(struct vqt *t)
{
	raw_used(t, 0, ID_TABLE, t->bufs[2].in_bytes + 1);
}

/* IN_ORDER: names the third buffer, but the index covers one only. */
static void
strike_order_skips(struct vqt *t)
{
	raw_used(t, 0, ID_TABLE, 0);
}

/* IN_ORDER: an id that is not among those in flight, for all of them. */
static void
strike_order_unknown(struct vqt *t)
{
	raw_used(t, 0, ID_FREE, 0);
	t->drv.ring.used->idx = t->drv.used_idx + NB_GOOD;
}

static void
strike_order_last_len(struct vqt *t)
{
	raw_used(t, 0, ID_IN, t->bufs[3].in_bytes + 1);
	t->drv.ring.used->idx = t->drv.used_idx + NB_GOOD;
}

static void
strike_single_len(struct vqt *t)
{
	raw_used(t, 0, 0, 64);
	raw_used(t, 1, 1, 65);
}

/* --- Strikes on a packed ring ----------------------------------------------------- */

static void
strike_packed_wrong_wrap(struct vqt *t)
{
	/* Used bits of the lap before: the driver must take it for "not used". */
	raw_pused(t, 0, ID_OUT, 0, 0);
}

static void
strike_packed_half_used(struct vqt *t)
{
	raw_pused(t, 0, ID_OUT, 0, VIREO_DESC_F_USED);
}

static void
strike_packed_id_size(struct vqt *t)
{
	raw_pused(t, 0, RING_SIZE, 0, USED_LAP1);
}

static void
strike_packed_id_huge(struct vqt *t)
{
	raw_pused(t, 0, 0xffff, 0, USED_LAP1);
}

static void
strike_packed_id_free(struct vqt *t)
{
	raw_pused(t, 0, ID_FREE, 0, USED_LAP1);
}

static void
strike_packed_id_inside_chain(struct vqt *t)
{
	raw_pused(t, 0, ID_CHAIN_SECOND, 0, USED_LAP1);
}

static void
strike_packed_id_twice(struct vqt *t)
{
	raw_pused(t, 0, ID_OUT, 0, USED_LAP1);
	raw_pused(t, 1, ID_OUT, 0, USED_LAP1);
}

static void
strike_packed_id_twice_scrambled(struct vqt *t)
{
	raw_pused(t, 0, ID_IN, t->bufs[3].in_bytes, USED_LAP1 | VIREO_DESC_F_WRITE);
	raw_pused(t, 1, ID_IN, t->bufs[3].in_bytes, USED_LAP1 | VIREO_DESC_F_WRITE);
}

static void
strike_packed_len_above(struct vqt *t)
{
	raw_pused(t, 0, ID_IN, t->bufs[3].in_bytes + 1, USED_LAP1 | VIREO_DESC_F_WRITE);
}

static void
strike_packed_len_of_readable(struct vqt *t)
{
	raw_pused(t, 0, ID_OUT, 1, USED_LAP1 | VIREO_DESC_F_WRITE);
}

/* Section 2.8.5: without WRITE the length is reserved, and ignored by the driver. */
static void
strike_packed_len_without_write(struct vqt *t)
{
	raw_pused(t, 0, ID_OUT, 0xdeadbeef, USED_LAP1);
}

static void
strike_packed_order_unknown(struct vqt *t)
{
	raw_pused(t, 0, ID_FREE, 0, USED_LAP1);
}

static void
strike_packed_order_last_len(struct vqt *t)
{
	raw_pused(t, 0, ID_IN, t->bufs[3].in_bytes + 1, USED_LAP1 | VIREO_DESC_F_WRITE);
}

static void
strike_packed_single_len(struct vqt *t)
{
	raw_pused(t, 0, 0, 64, USED_LAP1 | VIREO_DESC_F_WRITE);
	raw_pused(t, 1, 1, 65, USED_LAP1 | VIREO_DESC_F_WRITE);
}

/* --- The check -------------------------------------------------------------------- */

static int
check_broken(struct vqt *t, const struct bad_case *bc)
{
	uint32_t nb_reaped;

	TEST_ASSERT_EQUAL(vqt_reap(t, UINT32_MAX), -EPROTO, "the queue did not break");
	TEST_ASSERT(t->drv.broken == bc->expect, "broke with: %s",
		    vireo_vq_violation_str(t->drv.broken));
	TEST_ASSERT_EQUAL(t->drv.nb_violations, 1);
	TEST_ASSERT_EQUAL(t->nb_reaped, bc->nb_before);
	/* It stays broken, and takes nothing more. */
	nb_reaped = t->nb_reaped;
	TEST_ASSERT_EQUAL(vqt_reap(t, UINT32_MAX), -EPROTO);
	TEST_ASSERT(!vq_drv_pending(&t->drv, t->f));
	TEST_ASSERT(!vq_drv_arm(&t->drv, t->f));
	TEST_ASSERT_EQUAL(t->nb_reaped, nb_reaped);
	TEST_ASSERT_EQUAL(t->drv.nb_violations, 1, "one violation is counted once");
	return TEST_SUCCESS;
}

static int
check_unbroken(struct vqt *t, const struct bad_case *bc)
{
	TEST_ASSERT_EQUAL(vqt_reap(t, UINT32_MAX), bc->nb_before);
	TEST_ASSERT(t->drv.broken == VQ_OK, "broke with: %s",
		    vireo_vq_violation_str(t->drv.broken));
	return TEST_SUCCESS;
}

static int
strike_and_check(struct vqt *t, const struct bad_case *bc)
{
	int i;

	TEST_ASSERT_SUCCESS(post_good(t));
	believe_all(t);
	/* A length without meaning reads as none. */
	if (bc->strike == strike_packed_len_without_write)
		t->bufs[0].expect_len = 0;
	bc->strike(t);
	if (bc->expect == VQ_OK)
		TEST_ASSERT_SUCCESS(check_unbroken(t, bc));
	else
		TEST_ASSERT_SUCCESS(check_broken(t, bc));
	TEST_ASSERT_EQUAL(t->nb_posted, NB_GOOD - bc->nb_before);
	/* All that is left comes out once; afterwards the queue is as new. */
	TEST_ASSERT_SUCCESS(vqt_drain_and_reset(t));
	TEST_ASSERT_EQUAL(t->nb_drained, NB_GOOD - bc->nb_before);
	TEST_ASSERT_EQUAL(t->drv.broken, VQ_OK);
	for (i = 0; i < 5; i++) {
		TEST_ASSERT_SUCCESS(post_good(t));
		TEST_ASSERT_EQUAL(vqt_take(t, UINT32_MAX), NB_GOOD);
		TEST_ASSERT_SUCCESS(vqt_use_all(t));
		TEST_ASSERT_EQUAL(vqt_reap(t, UINT32_MAX), NB_GOOD);
		TEST_ASSERT_SUCCESS(vqt_check(t));
	}
	return TEST_SUCCESS;
}

static int
run_bad_case(const void *data)
{
	const struct bad_case *bc = data;
	struct vq_conf conf =
		vqt_conf(RING_SIZE, bc->flags | ((bc->flags & VQ_F_SINGLE) ? 0 : VQ_F_INDIRECT));
	struct vqt t;
	int ret;

	ret = vqt_open(&t, &conf, 0);
	if (ret == TEST_SUCCESS)
		ret = strike_and_check(&t, bc);
	vqt_close(&t);
	return ret;
}

/* The rings run whole laps before the strike: positions and wraps are not the first ones. */
static int
test_vq_bad_device_after_laps(void)
{
	static const uint32_t sets[] = { 0, VQ_F_PACKED };
	size_t i, k;

	for (i = 0; i < RTE_DIM(sets); i++) {
		struct vq_conf conf = vqt_conf(RING_SIZE, sets[i] | VQ_F_INDIRECT);
		struct vqt t;
		int ret = vqt_open(&t, &conf, 0);

		for (k = 0; k < 13 && ret == TEST_SUCCESS; k++) {
			ret = vqt_post_one(&t, VQT_DIRECT, 1, 0);
			if (ret == TEST_SUCCESS && vqt_take(&t, 1) == 1)
				ret = vqt_use_all(&t);
			if (ret == TEST_SUCCESS && k < 12)
				ret = vqt_reap(&t, 1) == 1 ? TEST_SUCCESS : TEST_FAILED;
		}
		/* The element that was just used is now said to be nobody's. */
		if (ret == TEST_SUCCESS && (sets[i] & VQ_F_PACKED))
			t.drv.ring.pdesc[t.drv.tail].id ^= 2;
		else if (ret == TEST_SUCCESS)
			t.drv.ring.used->ring[t.drv.used_idx % RING_SIZE].id ^= 2;
		if (ret == TEST_SUCCESS)
			ret = vqt_reap(&t, 1) == -EPROTO && t.drv.broken == VQ_BAD_USED_ID
				? vqt_drain_and_reset(&t)
				: TEST_FAILED;
		vqt_close(&t);
		TEST_ASSERT_SUCCESS(ret);
	}
	return TEST_SUCCESS;
}

#define PKD VQ_F_PACKED
#define INO VQ_F_IN_ORDER
#define SNG VQ_F_SINGLE

static const struct bad_case bad_cases[] = {
	{ "split_used_idx_ahead", 0, strike_idx_ahead, VQ_BAD_USED_IDX, 0 },
	{ "split_used_idx_back", 0, strike_idx_back, VQ_BAD_USED_IDX, 0 },
	{ "split_used_idx_half", 0, strike_idx_half, VQ_BAD_USED_IDX, 0 },
	{ "split_in_order_idx_ahead", INO, strike_idx_ahead, VQ_BAD_USED_IDX, 0 },
	{ "split_no_len_idx_ahead", INO | VQ_F_NO_LEN, strike_idx_ahead, VQ_BAD_USED_IDX, 0 },
	{ "split_used_id_size", 0, strike_id_size, VQ_BAD_USED_ID, 0 },
	{ "split_used_id_huge", 0, strike_id_huge, VQ_BAD_USED_ID, 0 },
	{ "split_used_id_high_bits", 0, strike_id_high_bits, VQ_BAD_USED_ID, 0 },
	{ "split_used_id_free", 0, strike_id_free, VQ_BAD_USED_ID, 0 },
	{ "split_used_id_inside_chain", 0, strike_id_inside_chain, VQ_BAD_USED_ID, 0 },
	{ "split_used_id_twice", 0, strike_id_twice, VQ_BAD_USED_ID, 1 },
	{ "split_used_id_twice_scrambled", 0, strike_id_twice_scrambled, VQ_BAD_USED_ID, 1 },
	{ "split_no_len_id_twice", VQ_F_NO_LEN, strike_id_twice, VQ_BAD_USED_ID, 1 },
	{ "split_used_len_above", 0, strike_len_above, VQ_BAD_USED_LEN, 0 },
	{ "split_used_len_huge", 0, strike_len_huge, VQ_BAD_USED_LEN, 0 },
	{ "split_used_len_of_readable", 0, strike_len_of_readable, VQ_BAD_USED_LEN, 0 },
	{ "split_used_len_of_table", 0, strike_len_of_table, VQ_BAD_USED_LEN, 0 },
	{ "split_in_order_skips", INO, strike_order_skips, VQ_BAD_USED_ID, 1 },
	{ "split_in_order_unknown", INO, strike_order_unknown, VQ_BAD_USED_ID, NB_GOOD },
	{ "split_in_order_id_size", INO, strike_id_size, VQ_BAD_USED_ID, 0 },
	{ "split_in_order_last_len", INO, strike_order_last_len, VQ_BAD_USED_LEN, NB_GOOD - 1 },
	{ "split_single_len", SNG, strike_single_len, VQ_BAD_USED_LEN, 1 },
	{ "split_single_id_size", SNG, strike_id_size, VQ_BAD_USED_ID, 0 },
	{ "packed_wrong_wrap", PKD, strike_packed_wrong_wrap, VQ_OK, 0 },
	{ "packed_half_used", PKD, strike_packed_half_used, VQ_OK, 0 },
	{ "packed_used_id_size", PKD, strike_packed_id_size, VQ_BAD_USED_ID, 0 },
	{ "packed_used_id_huge", PKD, strike_packed_id_huge, VQ_BAD_USED_ID, 0 },
	{ "packed_used_id_free", PKD, strike_packed_id_free, VQ_BAD_USED_ID, 0 },
	{ "packed_used_id_inside_chain", PKD, strike_packed_id_inside_chain, VQ_BAD_USED_ID, 0 },
	{ "packed_used_id_twice", PKD, strike_packed_id_twice, VQ_BAD_USED_ID, 1 },
	{ "packed_used_id_twice_scrambled", PKD, strike_packed_id_twice_scrambled, VQ_BAD_USED_ID,
	  1 },
	{ "packed_used_len_above", PKD, strike_packed_len_above, VQ_BAD_USED_LEN, 0 },
	{ "packed_used_len_of_readable", PKD, strike_packed_len_of_readable, VQ_BAD_USED_LEN, 0 },
	{ "packed_used_len_without_write", PKD, strike_packed_len_without_write, VQ_OK, 1 },
	{ "packed_in_order_unknown", PKD | INO, strike_packed_order_unknown, VQ_BAD_USED_ID,
	  NB_GOOD },
	{ "packed_in_order_id_size", PKD | INO, strike_packed_id_size, VQ_BAD_USED_ID, 0 },
	{ "packed_in_order_last_len", PKD | INO, strike_packed_order_last_len, VQ_BAD_USED_LEN,
	  NB_GOOD - 1 },
	{ "packed_single_len", PKD | SNG, strike_packed_single_len, VQ_BAD_USED_LEN, 1 },
	{ "packed_single_id_size", PKD | SNG, strike_packed_id_size, VQ_BAD_USED_ID, 0 },
};

static int
test_vq_bad_device(void)
{
	struct unit_test_case cases[RTE_DIM(bad_cases) + 2];
	struct unit_test_suite suite = {
		.suite_name = "driver end against a malicious device",
		.cases = cases,
	};
	size_t i;

	for (i = 0; i < RTE_DIM(bad_cases); i++)
		cases[i] = (struct unit_test_case)TEST_CASE_NAMED_WITH_DATA(bad_cases[i].name, NULL,
									    NULL, run_bad_case,
									    &bad_cases[i]);
	cases[i++] = (struct unit_test_case)TEST_CASE(test_vq_bad_device_after_laps);
	cases[i] = (struct unit_test_case)TEST_CASES_END();
	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(FAST, vq_bad_device_autotest, test_vq_bad_device);
