/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * Both ends of lib/vq over many random operations, against the ledger of vq_fixture.h and
 * the invariants checker after each step. A failure prints the seed that repeats it.
 */

#include "vq_fixture.h"

#define NB_RINGS 300
#define NB_STEPS 6000

static const uint32_t split_sizes[] = { 1, 2, 4, 8, 16, 64, 256 };
static const uint32_t packed_sizes[] = { 1, 2, 3, 5, 7, 16, 100, 255 };

static int
step_post(struct vqt *t, struct test_rand *r)
{
	uint32_t nb = 1 + test_rand_below(r, 8);
	struct vq_post c;
	int ret = 0;

	vq_post_begin(&t->drv, &c);
	while (nb-- != 0 && ret == 0) {
		uint16_t nb_out = test_rand_below(r, 4), nb_in = test_rand_below(r, 4);
		enum vqt_kind kind = VQT_DIRECT;

		if (t->f & VQ_F_SINGLE) {
			nb_out = 0;
			nb_in = 1;
		} else if (nb_out + nb_in == 0) {
			nb_out = 1;
		}
		if ((t->f & VQ_F_INDIRECT) && nb_out + nb_in > 1)
			kind = test_rand_below(r, 3);
		/* Sometimes more than the largest class holds. */
		if (kind != VQT_DIRECT && test_rand_below(r, 8) == 0)
			nb_in += test_rand_below(r, 70);
		ret = vqt_post(t, &c, kind, nb_out, nb_in);
		if (ret == -ENOSPC && kind != VQT_DIRECT)
			ret = vqt_post(t, &c, VQT_DIRECT, nb_out, nb_in);
	}
	vq_post_end(&t->drv, &c, t->f);
	vq_kick_needed(&t->drv, t->f);
	return ret == -ENOSPC ? 0 : ret;
}

static int
step_use(struct vqt *t, struct test_rand *r)
{
	uint32_t nb = test_rand_below(r, 8);

	while (nb-- != 0 && t->nb_held != 0) {
		uint32_t i = (t->f & VQ_F_IN_ORDER) ? 0 : test_rand_below(r, t->nb_held);
		uint32_t in_bytes = t->held[i].buf->in_bytes;

		if ((t->f & VQ_F_IN_ORDER) && test_rand_below(r, 2)) {
			uint32_t batch = 1 + test_rand_below(r, t->nb_held);

			in_bytes = t->held[batch - 1].buf->in_bytes;
			vqt_use_batch(t, batch, test_rand_below(r, in_bytes + 1));
			continue;
		}
		vqt_use(t, i, test_rand_below(r, in_bytes + 1));
	}
	if (test_rand_below(r, 2) == 0)
		return TEST_SUCCESS;
	TEST_ASSERT_SUCCESS(vqt_publish(t));
	vq_call_needed(&t->dev, t->f);
	return TEST_SUCCESS;
}

static int
step_any(struct vqt *t, struct test_rand *r)
{
	uint32_t dice = test_rand_below(r, 1000);
	int ret;

	if (dice < 300)
		return step_post(t, r);
	if (dice < 550)
		return vqt_take(t, test_rand_below(r, 12)) < 0 ? TEST_FAILED : TEST_SUCCESS;
	if (dice < 800)
		return step_use(t, r);
	if (dice < 990) {
		ret = vqt_reap(t, test_rand_below(r, 12));
		TEST_ASSERT(ret >= 0, "broke: %s", vireo_vq_violation_str(t->drv.broken));
		return TEST_SUCCESS;
	}
	if (dice < 994) {
		vq_dev_arm(&t->dev, t->f);
		vq_drv_disarm(&t->drv, t->f);
		return TEST_SUCCESS;
	}
	if (dice < 998) {
		vq_dev_disarm(&t->dev, t->f);
		vq_drv_arm(&t->drv, t->f);
		return TEST_SUCCESS;
	}
	return vqt_drain_and_reset(t);
}

static struct vq_conf
any_conf(struct test_rand *r)
{
	uint32_t flags = 0;
	struct vq_conf conf;
	bool packed = test_rand_below(r, 2);

	if (test_rand_below(r, 3) == 0)
		flags |= VQ_F_IN_ORDER;
	if (test_rand_below(r, 2))
		flags |= VQ_F_EVENT_IDX;
	if (test_rand_below(r, 4) == 0)
		flags |= VQ_F_NO_LEN;
	if (test_rand_below(r, 5) == 0)
		flags |= VQ_F_SINGLE;
	else if (test_rand_below(r, 3))
		flags |= VQ_F_INDIRECT;
	conf = packed ? vqt_conf(packed_sizes[test_rand_below(r, RTE_DIM(packed_sizes))],
				 flags | VQ_F_PACKED)
		      : vqt_conf(split_sizes[test_rand_below(r, RTE_DIM(split_sizes))], flags);
	if (test_rand_below(r, 3) == 0)
		conf.limit = 1 + test_rand_below(r, conf.size);
	return conf;
}

static int
run_ring(struct test_rand *r)
{
	struct vq_conf conf = any_conf(r);
	struct vqt t;
	int ret, step;

	ret = vqt_open(&t, &conf, test_rand_below(r, 2) ? 0x1000000000 : 0);
	for (step = 0; step < NB_STEPS && ret == TEST_SUCCESS; step++) {
		ret = step_any(&t, r);
		if (ret == TEST_SUCCESS)
			ret = vqt_check(&t);
	}
	if (ret == TEST_SUCCESS)
		ret = vqt_drain_and_reset(&t);
	if (ret != TEST_SUCCESS)
		printf("\tin step %d, size %u, limit %u, flags 0x%x\n", step, conf.size, conf.limit,
		       conf.flags);
	vqt_close(&t);
	return ret;
}

static int
test_vq_model_random_operations(void)
{
	struct test_rand r;
	int i;

	test_rand_init(&r, "vq_model");
	for (i = 0; i < NB_RINGS; i++)
		TEST_ASSERT_SUCCESS(run_ring(&r), "ring %d", i);
	return TEST_SUCCESS;
}

static int
test_vq_model(void)
{
	static const struct unit_test_case cases[] = {
		TEST_CASE(test_vq_model_random_operations),
		TEST_CASES_END(),
	};
	static const struct unit_test_suite suite = {
		.suite_name = "virtqueue against a model",
		.cases = cases,
	};

	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(FAST, vq_model_autotest, test_vq_model);
