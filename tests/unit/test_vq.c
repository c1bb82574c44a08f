/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * lib/vq with two honest ends: set-up, every class of ring size, direct, chained and
 * indirect buffers, laps beyond 2^16, batches, completion out of order, drain and reset.
 */

#include <stdlib.h>

#include "vq_fixture.h"

/* More than the 2^16 values of an index, so that every ring wraps. */
#define NB_LAP_BUFFERS 70000

static int
test_vq_legal_sizes_are_taken(void)
{
	struct vq_mem_size mem;
	struct vq_conf conf;
	uint32_t size;

	for (size = 0; size <= VIREO_RING_SIZE_MAX + 1; size++) {
		bool power = size != 0 && (size & (size - 1)) == 0;
		bool fits = size >= 1 && size <= VIREO_RING_SIZE_MAX;

		conf = vqt_conf(size, 0);
		TEST_ASSERT_EQUAL(vireo_vq_mem_size(&conf, &mem), power && fits ? 0 : -EINVAL,
				  "split size %u", size);
		conf = vqt_conf(size, VQ_F_PACKED);
		TEST_ASSERT_EQUAL(vireo_vq_mem_size(&conf, &mem), fits ? 0 : -EINVAL,
				  "packed size %u", size);
	}
	conf = vqt_conf(65536, 0);
	TEST_ASSERT_EQUAL(vireo_vq_mem_size(&conf, &mem), -EINVAL);
	conf = vqt_conf(UINT32_MAX, VQ_F_PACKED);
	TEST_ASSERT_EQUAL(vireo_vq_mem_size(&conf, &mem), -EINVAL);
	return TEST_SUCCESS;
}

static int
test_vq_bad_conf_is_refused(void)
{
	struct vq_conf conf = vqt_conf(8, VQ_F_INDIRECT);
	uint8_t mem[64] __rte_aligned(VIREO_CACHE_LINE);
	struct vq_mem_size size;
	struct vq_drv q;

	TEST_ASSERT_SUCCESS(vireo_vq_mem_size(&conf, &size));
	conf.limit = 9;
	TEST_ASSERT_EQUAL(vireo_vq_mem_size(&conf, &size), -EINVAL, "limit above size");
	TEST_ASSERT_EQUAL(vireo_vq_drv_init(&q, &conf, mem, 0, mem), -EINVAL);
	conf.limit = 8;
	TEST_ASSERT_SUCCESS(vireo_vq_mem_size(&conf, &size));
	conf.classes[0].nb_desc = 1;
	TEST_ASSERT_EQUAL(vireo_vq_mem_size(&conf, &size), -EINVAL, "table of one descriptor");
	conf.classes[0].nb_desc = 20;
	TEST_ASSERT_EQUAL(vireo_vq_mem_size(&conf, &size), -EINVAL, "classes not ascending");
	conf.classes[0].nb_tables = 0;
	TEST_ASSERT_SUCCESS(vireo_vq_mem_size(&conf, &size), "a class that is not there");
	conf.classes[1].nb_tables = UINT16_MAX;
	TEST_ASSERT_EQUAL(vireo_vq_mem_size(&conf, &size), -EINVAL, "too many tables");
	return TEST_SUCCESS;
}

static int
check_dev_init_refusals(struct vqt *t)
{
	struct vq_ring_mem ring = t->drv.ring;
	bool packed = (t->f & VQ_F_PACKED) != 0;
	struct vq_dev dev;

	ring.desc = (void *)((uintptr_t)ring.desc + 8);
	TEST_ASSERT_EQUAL(vireo_vq_dev_init(&dev, &ring, 8, t->f, NULL, 0, 0), -EINVAL);
	ring = t->drv.ring;
	ring.avail = (void *)((uintptr_t)ring.avail + 1);
	TEST_ASSERT_EQUAL(vireo_vq_dev_init(&dev, &ring, 8, t->f, NULL, 0, 0), -EINVAL);
	ring = t->drv.ring;
	ring.used = (void *)((uintptr_t)ring.used + 2);
	TEST_ASSERT_EQUAL(vireo_vq_dev_init(&dev, &ring, 8, t->f, NULL, 0, 0), -EINVAL);
	ring = t->drv.ring;
	TEST_ASSERT_EQUAL(vireo_vq_dev_init(&dev, &ring, 0, t->f, NULL, 0, 0), -EINVAL);
	TEST_ASSERT_EQUAL(vireo_vq_dev_init(&dev, &ring, 32769, t->f, NULL, 0, 0), -EINVAL);
	TEST_ASSERT_EQUAL(vireo_vq_dev_init(&dev, &ring, 7, t->f, NULL, 0, 0),
			  packed ? 0 : -EINVAL);
	TEST_ASSERT_EQUAL(vireo_vq_dev_init(&dev, &ring, 8, t->f, NULL, 8, 0), packed ? -EINVAL : 0,
			  "a packed base is a slot");
	TEST_ASSERT_EQUAL(vireo_vq_dev_init(&dev, &ring, 8, t->f, NULL, 0, 8), packed ? -EINVAL : 0,
			  "a packed base is a slot");
	return TEST_SUCCESS;
}

static int
test_vq_dev_init_refuses_bad_rings(void)
{
	static const uint32_t sets[] = { 0 };
	struct vq_conf conf = vqt_conf(8, 0);
	struct vqt t;
	int ret;

	ret = vqt_open(&t, &conf, 0);
	if (ret == TEST_SUCCESS)
		ret = check_dev_init_refusals(&t);
	vqt_close(&t);
	TEST_ASSERT_SUCCESS(ret);
	conf = vqt_conf(8, VQ_F_PACKED | sets[0]);
	ret = vqt_open(&t, &conf, 0);
	if (ret == TEST_SUCCESS)
		ret = check_dev_init_refusals(&t);
	vqt_close(&t);
	return ret;
}

/* Post until there is no room, in bursts of changing size; @return how many or -1. */
static int
fill_ring(struct vqt *t, uint16_t nb_out, uint16_t nb_in)
{
	struct vq_post c;
	int ret, n = 0;

	vq_post_begin(&t->drv, &c);
	while ((ret = vqt_post(t, &c, VQT_DIRECT, nb_out, nb_in)) == 0) {
		n++;
		/* Publish in pieces: 1, 2, 3 ... buffers. */
		if (n % (1 + n % 5) == 0) {
			vq_post_end(&t->drv, &c, t->f);
			vq_post_begin(&t->drv, &c);
		}
	}
	vq_post_end(&t->drv, &c, t->f);
	return ret == -ENOSPC ? n : ret;
}

/* One lap: fill, take, use in order, take back. */
static int
run_lap(struct vqt *t, uint16_t nb_out, uint16_t nb_in)
{
	int n = fill_ring(t, nb_out, nb_in);

	TEST_ASSERT_EQUAL(n, t->drv.limit / (nb_out + nb_in));
	TEST_ASSERT_EQUAL(vqt_take(t, UINT32_MAX), n);
	TEST_ASSERT_EQUAL(vqt_take(t, UINT32_MAX), 0);
	TEST_ASSERT_SUCCESS(vqt_check(t));
	TEST_ASSERT_EQUAL(vqt_reap(t, UINT32_MAX), 0, "nothing is used yet");
	TEST_ASSERT_SUCCESS(vqt_use_all(t));
	/* Taking back in two portions. */
	TEST_ASSERT_EQUAL(vqt_reap(t, n / 2), n / 2);
	TEST_ASSERT_SUCCESS(vqt_check(t));
	TEST_ASSERT_EQUAL(vqt_reap(t, UINT32_MAX), n - n / 2);
	return vqt_check(t);
}

static int
run_single_laps(struct vqt *t)
{
	int in = 0;

	while (t->nb_reaped < NB_LAP_BUFFERS) {
		TEST_ASSERT_SUCCESS(run_lap(t, !in, in), "after %u", t->nb_reaped);
		in = (t->f & VQ_F_SINGLE) ? 1 : !in;
	}
	TEST_ASSERT_EQUAL(t->drv.scrambled, 0);
	return vqt_drain_and_reset(t);
}

static int
test_vq_single_laps_beyond_index_wrap(void)
{
	static const uint32_t sets[] = { 0,
					 VQ_F_IN_ORDER,
					 VQ_F_EVENT_IDX,
					 VQ_F_NO_LEN,
					 VQ_F_NO_LEN | VQ_F_IN_ORDER,
					 VQ_F_ORDER_PLATFORM };

	return vqt_over_rings(sets, RTE_DIM(sets), UINT32_MAX, run_single_laps);
}

static int
run_chain_laps(struct vqt *t)
{
	const uint16_t size = t->conf.size;
	uint32_t len;

	/* Every short length, then longer ones in steps, then the whole ring. */
	for (len = 2; len < size; len += len < 20 ? 1 : 1 + len / 3)
		TEST_ASSERT_SUCCESS(run_lap(t, len / 2, len - len / 2), "chains of %u", len);
	TEST_ASSERT_SUCCESS(run_lap(t, size, 0));
	TEST_ASSERT_SUCCESS(run_lap(t, 0, size));
	return vqt_drain_and_reset(t);
}

static int
test_vq_chains_up_to_ring_size(void)
{
	static const uint32_t sets[] = { 0, VQ_F_IN_ORDER, VQ_F_IN_ORDER | VQ_F_NO_LEN };

	return vqt_over_rings(sets, RTE_DIM(sets), UINT32_MAX, run_chain_laps);
}

/* Buffers of every size class in one burst; what the pools cannot hold goes direct. */
static int
run_indirect_mix(struct vqt *t)
{
	uint32_t nb, len, round;
	int ret, taken;

	for (round = 0; round < 40; round++) {
		nb = 0;
		for (len = 1; len <= 64; len += 3) {
			ret = vqt_post_one(t, len % 2 ? VQT_INDIRECT : VQT_EXT, len / 2,
					   len - len / 2);
			if (ret == -ENOSPC)
				ret = vqt_post_one(t, VQT_DIRECT, len / 2, len - len / 2);
			TEST_ASSERT(ret == 0 || ret == -ENOSPC);
			nb += ret == 0;
			TEST_ASSERT_SUCCESS(vqt_check(t));
		}
		taken = vqt_take(t, UINT32_MAX);
		TEST_ASSERT_EQUAL(taken, nb);
		TEST_ASSERT_SUCCESS(vqt_use_all(t));
		TEST_ASSERT_EQUAL(vqt_reap(t, UINT32_MAX), nb);
		TEST_ASSERT_SUCCESS(vqt_check(t));
	}
	return vqt_drain_and_reset(t);
}

static int
test_vq_indirect_of_each_class(void)
{
	static const uint32_t sets[] = { VQ_F_INDIRECT, VQ_F_INDIRECT | VQ_F_IN_ORDER };

	return vqt_over_rings(sets, RTE_DIM(sets), 4096, run_indirect_mix);
}

static int
run_pool_exhaustion(struct vqt *t)
{
	uint16_t first, i;
	struct vq_table table;

	/* Class by class: small chains take the smallest tables that are left. */
	for (i = 0; i < 8 + 4 + 2; i++) {
		table = vq_table_take(&t->drv, 2);
		TEST_ASSERT_NOT_NULL(table.mem, "table %u", i);
		TEST_ASSERT_EQUAL((uintptr_t)table.mem % VIREO_CACHE_LINE, 0);
		TEST_ASSERT_EQUAL(table.addr, vqt_addr(t, table.mem));
		TEST_ASSERT_EQUAL(table.handle, i);
	}
	TEST_ASSERT_NULL(vq_table_take(&t->drv, 2).mem);
	for (i = 0; i < 8 + 4 + 2; i++)
		vq_table_give(&t->drv, i);
	TEST_ASSERT_NULL(vq_table_take(&t->drv, 65).mem, "no class holds 65");
	for (i = 0; i < 2; i++)
		TEST_ASSERT_NOT_NULL(vq_table_take(&t->drv, 17 + i).mem);
	TEST_ASSERT_NULL(vq_table_take(&t->drv, 64).mem, "the class of 64 is empty");
	vq_table_give(&t->drv, 12);
	vq_table_give(&t->drv, 13);
	TEST_ASSERT_SUCCESS(vqt_check(t));
	/* The one given back last is still in the cache and goes out first. */
	first = vq_table_take(&t->drv, 4).handle;
	vq_table_give(&t->drv, first);
	TEST_ASSERT_EQUAL(vq_table_take(&t->drv, 3).handle, first);
	vq_table_give(&t->drv, first);
	return vqt_drain_and_reset(t);
}

static int
test_vq_pools_are_lifo_and_run_out(void)
{
	static const uint32_t sets[] = { VQ_F_INDIRECT };

	return vqt_over_rings(sets, RTE_DIM(sets), 4, run_pool_exhaustion);
}

/* Post 1 .. 3 descriptors a buffer, alternating in and out. */
static int
fill_mixed(struct vqt *t)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; ret == 0; i++)
		ret = (t->f & VQ_F_SINGLE) ? vqt_post_one(t, VQT_DIRECT, 0, 1)
					   : vqt_post_one(t, VQT_DIRECT, i % 2, 1 + i % 2);
	TEST_ASSERT_EQUAL(ret, -ENOSPC);
	return i - 1;
}

static int
run_in_order_batches(struct vqt *t)
{
	uint32_t lap, batch;
	int n;

	for (lap = 0; lap < 60; lap++) {
		n = fill_mixed(t);
		TEST_ASSERT(n > 0);
		TEST_ASSERT_EQUAL(vqt_take(t, UINT32_MAX), n);
		/* Batches of 1, 2, 3 ...; the last one's length is less than its room. */
		for (batch = 1; t->nb_held != 0; batch++) {
			uint32_t nb = RTE_MIN(batch, t->nb_held);
			uint32_t room = t->held[nb - 1].buf->in_bytes;

			vqt_use_batch(t, nb, room - room / 3);
		}
		TEST_ASSERT_SUCCESS(vqt_publish(t));
		TEST_ASSERT_EQUAL(vqt_reap(t, n / 3), n / 3, "a reap may end inside of a batch");
		TEST_ASSERT_SUCCESS(vqt_check(t));
		TEST_ASSERT(n == n / 3 || vq_drv_pending(&t->drv, t->f));
		TEST_ASSERT_EQUAL(vqt_reap(t, UINT32_MAX), n - n / 3);
		TEST_ASSERT(!vq_drv_pending(&t->drv, t->f));
		TEST_ASSERT_SUCCESS(vqt_check(t));
	}
	TEST_ASSERT_EQUAL(t->drv.scrambled, 0);
	return vqt_drain_and_reset(t);
}

static int
test_vq_in_order_one_used_for_many(void)
{
	static const uint32_t sets[] = { VQ_F_IN_ORDER, VQ_F_IN_ORDER | VQ_F_NO_LEN,
					 VQ_F_IN_ORDER | VQ_F_SINGLE,
					 VQ_F_IN_ORDER | VQ_F_EVENT_IDX };

	return vqt_over_rings(sets, RTE_DIM(sets), 1024, run_in_order_batches);
}

/* Used last first, then first and last in turns, then in order again. */
static int
run_scrambled(struct vqt *t)
{
	uint32_t lap, k;
	int n;

	for (lap = 0; lap < 300 || t->nb_reaped < 3u * t->conf.size; lap++) {
		n = fill_mixed(t);
		TEST_ASSERT_SUCCESS(vqt_check(t));
		TEST_ASSERT_EQUAL(vqt_take(t, UINT32_MAX), n);
		for (k = 0; t->nb_held > (lap % 4 == 3 ? t->conf.size / 2 : 0); k++) {
			uint32_t i = lap % 3 == 0	     ? t->nb_held - 1
				: lap % 3 == 1 && k % 2 == 0 ? t->nb_held - 1
							     : 0;

			vqt_use(t, i, t->held[i].buf->in_bytes / 2);
		}
		TEST_ASSERT_SUCCESS(vqt_publish(t));
		TEST_ASSERT(vqt_reap(t, UINT32_MAX) >= 0);
		TEST_ASSERT_SUCCESS(vqt_check(t));
	}
	TEST_ASSERT(t->conf.size < 4 || t->drv.scrambled == 1);
	TEST_ASSERT(fill_mixed(t) >= 0);
	return vqt_drain_and_reset(t);
}

static int
test_vq_completion_out_of_order(void)
{
	static const uint32_t sets[] = { 0, VQ_F_NO_LEN, VQ_F_SINGLE, VQ_F_EVENT_IDX,
					 VQ_F_INDIRECT };

	return vqt_over_rings(sets, RTE_DIM(sets), 1024, run_scrambled);
}

/* Take back by runs; whatever ends a run is left to vq_reap_next(). */
static int
reap_by_runs(struct vqt *t, uint16_t max)
{
	uint32_t lens[64];
	struct vq_reap r;
	struct vq_done d;
	uint32_t nb = 0;
	void **cookies;
	uint16_t n, i;
	int rc;

	TEST_ASSERT_SUCCESS(vq_reap_begin(&t->drv, &r, t->f));
	do {
		n = vq_reap_run(&t->drv, &r, &cookies, lens, max, t->f);
		for (i = 0; i < n; i++)
			TEST_ASSERT_SUCCESS(vqt_book(t, cookies[i], lens[i]));
		nb += n;
		rc = n != 0 ? 1 : vq_reap_next(&t->drv, &r, &d, t->f);
		if (n == 0 && rc > 0) {
			TEST_ASSERT_SUCCESS(vqt_book(t, d.cookie, d.len));
			nb++;
		}
	} while (rc > 0);
	vq_reap_end(&t->drv, &r, t->f);
	return rc < 0 ? rc : (int)nb;
}

static int
run_single_runs(struct vqt *t)
{
	uint32_t lap;
	int n;

	for (lap = 0; lap < 50; lap++) {
		n = fill_mixed(t);
		TEST_ASSERT_EQUAL(n, t->drv.limit);
		TEST_ASSERT_EQUAL(vqt_take(t, UINT32_MAX), n);
		while (t->nb_held > 0 && (t->f & VQ_F_IN_ORDER))
			vqt_use_batch(t, RTE_MIN(1 + lap % 7, t->nb_held), lap % 64);
		while (t->nb_held > 0)
			vqt_use(t, lap > 40 ? t->nb_held - 1 : 0, lap % 65);
		TEST_ASSERT_SUCCESS(vqt_publish(t));
		TEST_ASSERT_EQUAL(reap_by_runs(t, 1 + lap), n);
		TEST_ASSERT_SUCCESS(vqt_check(t));
	}
	return vqt_drain_and_reset(t);
}

static int
test_vq_single_runs(void)
{
	static const uint32_t sets[] = { VQ_F_SINGLE, VQ_F_SINGLE | VQ_F_IN_ORDER };

	return vqt_over_rings(sets, RTE_DIM(sets), 1024, run_single_runs);
}

/* vq_post_placed(): cookies are put beforehand where the slots are. */
static int
run_placed(struct vqt *t)
{
	uint16_t mask_or_size = t->conf.size;
	struct vq_post c;
	struct vq_take take;
	uint32_t i, lap;

	for (lap = 0; lap < 5; lap++) {
		vq_post_begin(&t->drv, &c);
		for (i = 0; i < mask_or_size; i++) {
			t->drv.cookie[c.slot] = &t->bufs[i];
			vq_post_placed(&t->drv, &c, vqt_addr(t, t->arena + i % 1000),
				       t->conf.buf_bytes, VIREO_DESC_F_WRITE, t->f);
		}
		vq_post_end(&t->drv, &c, t->f);
		TEST_ASSERT_SUCCESS(vqt_check(t) == 0 || mask_or_size <= 299 ? 0 : -1);
		TEST_ASSERT_EQUAL(vq_dev_begin(&t->dev, &take, t->f), 1);
		for (i = 0; i < mask_or_size; i++) {
			TEST_ASSERT_EQUAL(vq_dev_next(&t->dev, &take, t->chain, t->f), 1);
			TEST_ASSERT(t->chain->iov[0].base == t->arena + i % 1000);
			t->bufs[i] =
				(struct vqt_buf){ .posted = true, .used = true, .expect_len = 64 };
			t->nb_posted++;
			vq_dev_use(&t->dev, t->chain->id, 1, 64, t->f);
		}
		TEST_ASSERT_SUCCESS(vqt_publish(t));
		TEST_ASSERT_EQUAL(reap_by_runs(t, 64), mask_or_size);
	}
	return vqt_drain_and_reset(t);
}

static int
test_vq_post_placed(void)
{
	static const uint32_t sets[] = { VQ_F_SINGLE };

	return vqt_over_rings(sets, RTE_DIM(sets), 256, run_placed);
}

/* Drain in every state: some posted, taken, used, published, taken back. */
static int
run_drains(struct vqt *t)
{
	uint32_t step, n;

	for (step = 0; step < 48; step++) {
		for (n = 0; n < 4; n++) {
			int ret = vqt_post_one(t,
					       (t->f & VQ_F_INDIRECT) ? (step + n) % 3 : VQT_DIRECT,
					       1, n % 3);

			TEST_ASSERT(ret == 0 || ret == -ENOSPC);
		}
		if (step % 2)
			TEST_ASSERT(vqt_take(t, step % 5) >= 0);
		if (step % 8 > 3 && t->nb_held > 1 && (t->f & VQ_F_IN_ORDER) == 0)
			vqt_use(t, t->nb_held - 1, 0);
		if (step % 16 > 7 && t->nb_held > 0)
			vqt_use(t, 0, t->held[0].buf->in_bytes);
		TEST_ASSERT_SUCCESS(vqt_publish(t));
		if (step % 3 == 0)
			TEST_ASSERT(vqt_reap(t, 1) >= 0);
		TEST_ASSERT_SUCCESS(vqt_check(t));
		if (step % 4 == 3)
			TEST_ASSERT_SUCCESS(vqt_drain_and_reset(t), "step %u", step);
	}
	/* And it works as new. */
	return run_lap(t, 1, 0);
}

static int
test_vq_drain_gives_each_cookie_once(void)
{
	static const uint32_t sets[] = { 0, VQ_F_IN_ORDER, VQ_F_INDIRECT,
					 VQ_F_INDIRECT | VQ_F_IN_ORDER | VQ_F_EVENT_IDX };

	return vqt_over_rings(sets, RTE_DIM(sets), 256, run_drains);
}

static int
check_limit(uint32_t flags, uint32_t size, uint32_t limit)
{
	struct vq_conf conf = vqt_conf(size, flags);
	struct vqt t;
	int ret, lap;

	conf.limit = limit;
	ret = vqt_open(&t, &conf, 0);
	for (lap = 0; lap < 20 && ret == TEST_SUCCESS; lap++) {
		ret = run_lap(&t, 1, 0);
		if (ret == TEST_SUCCESS && limit >= 3)
			ret = run_lap(&t, 1, 2);
	}
	if (ret == TEST_SUCCESS)
		ret = vqt_drain_and_reset(&t);
	vqt_close(&t);
	return ret;
}

static int
test_vq_limit_below_size(void)
{
	uint32_t limit;

	for (limit = 1; limit <= 16; limit++) {
		TEST_ASSERT_SUCCESS(check_limit(0, 16, limit), "limit %u", limit);
		TEST_ASSERT_SUCCESS(check_limit(VQ_F_IN_ORDER, 16, limit), "limit %u", limit);
		TEST_ASSERT_SUCCESS(check_limit(VQ_F_PACKED, 17, limit), "limit %u", limit);
		TEST_ASSERT_SUCCESS(check_limit(VQ_F_PACKED | VQ_F_IN_ORDER, 17, limit));
	}
	return TEST_SUCCESS;
}

static int
run_untake(struct vqt *t)
{
	struct vq_take take;
	uint16_t id;
	int lap;

	for (lap = 0; lap < 40; lap++) {
		TEST_ASSERT_SUCCESS(vqt_post_one(t, VQT_DIRECT, 1, lap % 2));
		TEST_ASSERT_EQUAL(vq_dev_begin(&t->dev, &take, t->f), 1);
		TEST_ASSERT_EQUAL(vq_dev_next(&t->dev, &take, t->chain, t->f), 1);
		id = t->chain->id;
		vq_dev_untake(&t->dev, &take, t->chain, t->f);
		TEST_ASSERT_SUCCESS(vqt_check(t));
		TEST_ASSERT_EQUAL(vq_dev_next(&t->dev, &take, t->chain, t->f), 1);
		TEST_ASSERT_EQUAL(t->chain->id, id);
		TEST_ASSERT_EQUAL(vq_dev_next(&t->dev, &take, t->chain, t->f), 0);
		/* And across bursts. */
		t->chain->id = id;
		t->chain->nb_slots = 1 + lap % 2;
		vq_dev_untake(&t->dev, &take, t->chain, t->f);
		TEST_ASSERT_EQUAL(vqt_take(t, UINT32_MAX), 1);
		TEST_ASSERT_SUCCESS(vqt_use_all(t));
		TEST_ASSERT_EQUAL(vqt_reap(t, UINT32_MAX), 1);
		TEST_ASSERT_SUCCESS(vqt_check(t));
	}
	return vqt_drain_and_reset(t);
}

static int
test_vq_device_untakes(void)
{
	static const uint32_t rings[] = { 0, VQ_F_PACKED };
	struct vqt t;
	size_t i;
	int ret;

	for (i = 0; i < RTE_DIM(rings); i++) {
		struct vq_conf conf = vqt_conf(i == 0 ? 4 : 5, rings[i]);

		ret = vqt_open(&t, &conf, 0);
		if (ret == TEST_SUCCESS)
			ret = run_untake(&t);
		vqt_close(&t);
		TEST_ASSERT_SUCCESS(ret);
	}
	return TEST_SUCCESS;
}

/* A device end that goes and comes back where it stood (vhost-user's vring base). */
static int
run_rebase(struct vqt *t)
{
	uint16_t avail, used;
	int i, n;

	for (i = 0; i < 200; i++) {
		n = fill_mixed(t);
		TEST_ASSERT(n >= 0);
		TEST_ASSERT(vqt_take(t, i % 5) >= 0);
		TEST_ASSERT_SUCCESS(vqt_use_all(t));
		vireo_vq_dev_base(&t->dev, &avail, &used);
		TEST_ASSERT_EQUAL(avail, used, "nothing is held");
		TEST_ASSERT_SUCCESS(vireo_vq_dev_init(&t->dev, &t->drv.ring, t->conf.size, t->f,
						      t->bias != 0 ? t->regions : NULL, avail,
						      used));
		TEST_ASSERT(vqt_reap(t, UINT32_MAX) >= 0);
		TEST_ASSERT_SUCCESS(vqt_check(t));
	}
	return vqt_drain_and_reset(t);
}

static int
test_vq_device_comes_back_at_its_base(void)
{
	static const uint32_t sets[] = { 0, VQ_F_IN_ORDER };

	return vqt_over_rings(sets, RTE_DIM(sets), 256, run_rebase);
}

static int
test_vq_violations_have_texts(void)
{
	int v, k;

	for (v = VQ_OK; v < VQ_NB_VIOLATIONS; v++) {
		TEST_ASSERT_NOT_NULL(vireo_vq_violation_str(v));
		for (k = 0; k < v; k++)
			TEST_ASSERT(strcmp(vireo_vq_violation_str(v), vireo_vq_violation_str(k)) !=
				    0);
	}
	TEST_ASSERT(strcmp(vireo_vq_violation_str(VQ_NB_VIOLATIONS), "unknown") == 0);
	return TEST_SUCCESS;
}

static int
test_vq(void)
{
	static const struct unit_test_case cases[] = {
		TEST_CASE(test_vq_legal_sizes_are_taken),
		TEST_CASE(test_vq_bad_conf_is_refused),
		TEST_CASE(test_vq_dev_init_refuses_bad_rings),
		TEST_CASE(test_vq_single_laps_beyond_index_wrap),
		TEST_CASE(test_vq_chains_up_to_ring_size),
		TEST_CASE(test_vq_indirect_of_each_class),
		TEST_CASE(test_vq_pools_are_lifo_and_run_out),
		TEST_CASE(test_vq_in_order_one_used_for_many),
		TEST_CASE(test_vq_completion_out_of_order),
		TEST_CASE(test_vq_single_runs),
		TEST_CASE(test_vq_post_placed),
		TEST_CASE(test_vq_drain_gives_each_cookie_once),
		TEST_CASE(test_vq_limit_below_size),
		TEST_CASE(test_vq_device_untakes),
		TEST_CASE(test_vq_device_comes_back_at_its_base),
		TEST_CASE(test_vq_violations_have_texts),
		TEST_CASES_END(),
	};
	static const struct unit_test_suite suite = {
		.suite_name = "virtqueue, two honest ends",
		.cases = cases,
	};

	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(FAST, vq_autotest, test_vq);
