/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * The invariants checker itself: each kind of damage done to a healthy queue must be
 * found, for a checker that finds nothing lets every other test pass.
 */

#include "vq_fixture.h"

#define RING_SIZE 8

struct damage {
	const char *name;
	uint32_t flags;
	void (*hurt)(struct vqt *t);
	bool scrambled; /* do it to a queue that has seen another order */
	bool device; /* the device end's checker must find it */
};

static void
hurt_cookie(struct vqt *t)
{
	t->drv.cookie[t->drv.tail] = NULL;
}

static void
hurt_nb_desc_zero(struct vqt *t)
{
	t->drv.meta[t->drv.tail].nb_desc = 0;
}

static void
hurt_nb_desc_huge(struct vqt *t)
{
	t->drv.meta[t->drv.tail].nb_desc = RING_SIZE + 1;
}

static void
hurt_head(struct vqt *t)
{
	t->drv.head = RING_SIZE;
}

static void
hurt_tail(struct vqt *t)
{
	t->drv.tail = RING_SIZE;
}

static void
hurt_head_by_one(struct vqt *t)
{
	t->drv.head = (t->drv.head + 1) % RING_SIZE;
}

static void
hurt_nb_free(struct vqt *t)
{
	t->drv.nb_free++;
}

static void
hurt_avail_idx(struct vqt *t)
{
	t->drv.avail_idx++;
}

static void
hurt_used_idx(struct vqt *t)
{
	t->drv.used_idx++;
}

static void
hurt_pool_count(struct vqt *t)
{
	t->drv.pools[0].nb_free = t->drv.pools[0].nb_tables + 1;
}

static void
hurt_pool_foreign(struct vqt *t)
{
	t->drv.pools[1].stack[0] = t->drv.pools[0].first;
}

static void
hurt_pool_twice(struct vqt *t)
{
	t->drv.pools[1].stack[0] = t->drv.pools[1].stack[1];
}

static void
hurt_pool_lost(struct vqt *t)
{
	t->drv.pools[2].nb_free--;
}

static void
hurt_ids_lost(struct vqt *t)
{
	t->drv.nb_ids--;
}

static void
hurt_ids_inflight(struct vqt *t)
{
	uint16_t id;

	for (id = 0; t->drv.cookie[id] == NULL; id++)
		;
	t->drv.ids[0] = id;
}

static void
hurt_ids_range(struct vqt *t)
{
	t->drv.ids[0] = RING_SIZE;
}

static void
hurt_scrambled_count(struct vqt *t)
{
	uint16_t id;

	for (id = 0; t->drv.cookie[id] == NULL; id++)
		;
	t->drv.cookie[id] = NULL;
}

static void
hurt_avail_wrap(struct vqt *t)
{
	t->drv.avail_wrap = 0;
}

static void
hurt_used_wrap(struct vqt *t)
{
	t->drv.used_wrap = VIREO_DESC_F_AVAIL;
}

static void
hurt_wrap_flipped(struct vqt *t)
{
	t->drv.avail_wrap ^= PACKED_BITS;
}

static void
hurt_wrap_of_empty(struct vqt *t)
{
	if (vqt_take(t, UINT32_MAX) > 0 && vqt_use_all(t) == TEST_SUCCESS)
		vqt_reap(t, UINT32_MAX);
	t->drv.used_wrap ^= PACKED_BITS;
}

static void
hurt_dev_inflight(struct vqt *t)
{
	t->dev.nb_inflight++;
}

static void
hurt_dev_avail(struct vqt *t)
{
	t->dev.avail_idx = RING_SIZE;
}

static void
hurt_dev_used(struct vqt *t)
{
	t->dev.used_idx = RING_SIZE;
}

/* Some buffers in flight of each kind, some taken by the device. */
static int
fill_some(struct vqt *t, bool scrambled)
{
	TEST_ASSERT_SUCCESS(vqt_post_one(t, VQT_DIRECT, 1, 0));
	TEST_ASSERT_SUCCESS(vqt_post_one(t, VQT_DIRECT, 1, 1));
	TEST_ASSERT_SUCCESS(vqt_post_one(t, VQT_INDIRECT, 1, 2));
	TEST_ASSERT_EQUAL(vqt_take(t, 2), 2);
	if (scrambled) {
		vqt_use(t, 1, 0);
		TEST_ASSERT_SUCCESS(vqt_publish(t));
		TEST_ASSERT_EQUAL(vqt_reap(t, 1), 1);
	}
	return vqt_check(t);
}

static int
run_damage(const void *data)
{
	const struct damage *d = data;
	struct vq_conf conf = vqt_conf(RING_SIZE, d->flags | VQ_F_INDIRECT);
	const char *found = NULL;
	struct vqt t;
	int ret;

	ret = vqt_open(&t, &conf, 0);
	if (ret == TEST_SUCCESS)
		ret = fill_some(&t, d->scrambled);
	if (ret == TEST_SUCCESS) {
		d->hurt(&t);
		found = d->device ? vireo_vq_dev_check(&t.dev) : vireo_vq_drv_check(&t.drv);
	}
	vqt_close(&t);
	TEST_ASSERT_SUCCESS(ret);
	TEST_ASSERT_NOT_NULL(found, "the checker did not find it");
	return TEST_SUCCESS;
}

#define PKD VQ_F_PACKED

static const struct damage damages[] = {
	{ "no_cookie", 0, hurt_cookie, false, false },
	{ "no_slots", 0, hurt_nb_desc_zero, false, false },
	{ "too_many_slots", 0, hurt_nb_desc_huge, false, false },
	{ "head_outside", 0, hurt_head, false, false },
	{ "tail_outside", PKD, hurt_tail, false, false },
	{ "head_moved", 0, hurt_head_by_one, false, false },
	{ "packed_head_moved", PKD, hurt_head_by_one, false, false },
	{ "nb_free_high", 0, hurt_nb_free, false, false },
	{ "avail_idx_high", 0, hurt_avail_idx, false, false },
	{ "used_idx_high", PKD, hurt_used_idx, false, false },
	{ "pool_count_high", 0, hurt_pool_count, false, false },
	{ "pool_foreign_table", 0, hurt_pool_foreign, false, false },
	{ "pool_table_twice", 0, hurt_pool_twice, false, false },
	{ "pool_table_lost", PKD, hurt_pool_lost, false, false },
	{ "scrambled_id_lost", 0, hurt_ids_lost, true, false },
	{ "scrambled_id_in_flight", 0, hurt_ids_inflight, true, false },
	{ "scrambled_id_outside", PKD, hurt_ids_range, true, false },
	{ "scrambled_cookie_lost", PKD, hurt_scrambled_count, true, false },
	{ "packed_avail_wrap", PKD, hurt_avail_wrap, false, false },
	{ "packed_used_wrap", PKD, hurt_used_wrap, false, false },
	{ "packed_wrap_flipped", PKD, hurt_wrap_flipped, false, false },
	{ "packed_wrap_of_empty", PKD, hurt_wrap_of_empty, false, false },
	{ "device_inflight", 0, hurt_dev_inflight, false, true },
	{ "packed_device_inflight", PKD, hurt_dev_inflight, false, true },
	{ "packed_device_avail", PKD, hurt_dev_avail, false, true },
	{ "packed_device_used", PKD, hurt_dev_used, false, true },
};

static int
test_vq_check(void)
{
	struct unit_test_case cases[RTE_DIM(damages) + 1];
	struct unit_test_suite suite = {
		.suite_name = "the invariants checker finds damage",
		.cases = cases,
	};
	size_t i;

	for (i = 0; i < RTE_DIM(damages); i++)
		cases[i] = (struct unit_test_case)TEST_CASE_NAMED_WITH_DATA(damages[i].name, NULL,
									    NULL, run_damage,
									    &damages[i]);
	cases[i] = (struct unit_test_case)TEST_CASES_END();
	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(FAST, vq_check_autotest, test_vq_check);
