/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * Notifications of lib/vq: no wake-up is ever lost. Both ends are cut into the steps between
 * which another CPU can act (publish | decide whether to kick; wish | look again), and every
 * interleaving of these steps is run, from every position of small rings. The fences
 * inside of the steps are what makes interleavings the only possibilities; they are
 * tested with threads in test_vq_threads.c.
 */

#include <stdlib.h>

#include "vq_fixture.h"

/* Rounds of the side that publishes. */
#define NB_ROUNDS 3

/* What one side is about to do. */
enum waker_step {
	WAKER_PUBLISH,
	WAKER_DECIDE,
	WAKER_DONE,
};

enum sleeper_step {
	SLEEPER_WISH,
	SLEEPER_LOOK,
	SLEEPER_DISARM, /* something was there: no notifications while busy */
	SLEEPER_WORK,
	SLEEPER_ASLEEP,
};

/* State beside the rings'; copied at each branch of the search. */
struct play {
	enum waker_step waker;
	enum sleeper_step sleeper;
	uint8_t round;
	uint8_t nb_published;
	uint8_t nb_seen;
	bool wake; /* a notification is on its way */
};

/* Rings and both ends as they were at a branch. */
struct image {
	uint8_t *shared;
	uint8_t *priv;
	struct vq_drv drv;
	struct vq_dev dev;
};

struct search {
	struct vqt t;
	struct image images[NB_ROUNDS * 8 + 16];
	uint64_t nb_ends;
	uint64_t nb_sleeps;
	uint64_t nb_wakes;
	bool to_driver; /* the device wakes the driver; else the other way round */
};

static void
save_image(struct search *s, unsigned int depth)
{
	struct image *im = &s->images[depth];

	memcpy(im->shared, s->t.shared, s->t.mem.shared_bytes);
	memcpy(im->priv, s->t.priv, s->t.mem.private_bytes);
	im->drv = s->t.drv;
	im->dev = s->t.dev;
}

static void
load_image(struct search *s, unsigned int depth)
{
	const struct image *im = &s->images[depth];

	memcpy(s->t.shared, im->shared, s->t.mem.shared_bytes);
	memcpy(s->t.priv, im->priv, s->t.mem.private_bytes);
	s->t.drv = im->drv;
	s->t.dev = im->dev;
}

/* --- The driver wakes the device -------------------------------------------------- */

/* Publish one buffer, when there is room. */
static bool
drv_publish(struct search *s)
{
	struct vq_drv *q = &s->t.drv;
	struct vq_post c;

	vq_post_begin(q, &c);
	if (vq_post_room(q, &c) == 0)
		return false;
	vq_post_single(q, &c, vqt_addr(&s->t, s->t.arena), 16, 0, s, s->t.f);
	vq_post_end(q, &c, s->t.f);
	return true;
}

/* Take everything there is; the buffers are held. */
static unsigned int
dev_work(struct search *s)
{
	struct vq_take take;
	unsigned int n = 0;

	if (vq_dev_begin(&s->t.dev, &take, s->t.f) <= 0)
		return 0;
	while (vq_dev_next(&s->t.dev, &take, s->t.chain, s->t.f) > 0)
		n++;
	return n;
}

/* --- The device wakes the driver -------------------------------------------------- */

/* Use and publish the oldest held buffer, which the set-up made available. */
static bool
dev_publish(struct search *s)
{
	struct vq_take take;

	if (vq_dev_begin(&s->t.dev, &take, s->t.f) <= 0 ||
	    vq_dev_next(&s->t.dev, &take, s->t.chain, s->t.f) <= 0)
		return false;
	vq_dev_use(&s->t.dev, s->t.chain->id, s->t.chain->nb_slots, 0, s->t.f);
	vq_dev_publish(&s->t.dev, s->t.f);
	return true;
}

static unsigned int
drv_work(struct search *s)
{
	struct vq_reap r;
	struct vq_done d;
	unsigned int n = 0;

	if (vq_reap_begin(&s->t.drv, &r, s->t.f) != 0)
		return 0;
	while (vq_reap_next(&s->t.drv, &r, &d, s->t.f) > 0)
		n++;
	vq_reap_end(&s->t.drv, &r, s->t.f);
	return n;
}

/* --- One step of either side ------------------------------------------------------ */

static void
step_waker(struct search *s, struct play *p)
{
	if (p->waker == WAKER_PUBLISH) {
		if (s->to_driver ? dev_publish(s) : drv_publish(s))
			p->nb_published++;
		p->waker = WAKER_DECIDE;
		return;
	}
	if (s->to_driver ? vq_call_needed(&s->t.dev, s->t.f) : vq_kick_needed(&s->t.drv, s->t.f)) {
		p->wake = true;
		s->nb_wakes++;
	}
	p->round++;
	p->waker = p->round == NB_ROUNDS ? WAKER_DONE : WAKER_PUBLISH;
}

static void
sleeper_wish(struct search *s)
{
	/* vq_drv_arm() and vq_dev_arm() without the look. */
	if (s->to_driver) {
		s->t.drv.armed = 1;
		VQ_LAYOUT(s->t.f, drv_arm, &s->t.drv, s->t.f);
	} else {
		s->t.dev.armed = 1;
		VQ_LAYOUT(s->t.f, dev_arm, &s->t.dev, s->t.f);
	}
}

static bool
sleeper_looks(struct search *s)
{
	struct vq_take take;

	if (s->to_driver)
		return vq_drv_pending(&s->t.drv, s->t.f);
	return vq_dev_begin(&s->t.dev, &take, s->t.f) > 0;
}

static void
step_sleeper(struct search *s, struct play *p)
{
	switch (p->sleeper) {
	case SLEEPER_WISH:
		sleeper_wish(s);
		p->sleeper = SLEEPER_LOOK;
		break;
	case SLEEPER_LOOK:
		p->sleeper = sleeper_looks(s) ? SLEEPER_DISARM : SLEEPER_ASLEEP;
		s->nb_sleeps += p->sleeper == SLEEPER_ASLEEP;
		break;
	case SLEEPER_ASLEEP:
		/* Runs only when it was woken. */
		p->wake = false;
		p->sleeper = SLEEPER_DISARM;
		break;
	case SLEEPER_DISARM:
		if (s->to_driver)
			vq_drv_disarm(&s->t.drv, s->t.f);
		else
			vq_dev_disarm(&s->t.dev, s->t.f);
		p->sleeper = SLEEPER_WORK;
		break;
	case SLEEPER_WORK:
		p->nb_seen += s->to_driver ? drv_work(s) : dev_work(s);
		p->sleeper = SLEEPER_WISH;
		break;
	}
}

/* Nobody can move: everything that was published must have been seen. */
static int
check_end(struct search *s, const struct play *p)
{
	s->nb_ends++;
	TEST_ASSERT_EQUAL(p->nb_seen, p->nb_published, "a wake-up was lost");
	TEST_ASSERT_EQUAL(s->t.drv.broken, VQ_OK);
	TEST_ASSERT_EQUAL(s->t.dev.broken, VQ_OK);
	return TEST_SUCCESS;
}

static int
explore(struct search *s, const struct play *p, unsigned int depth)
{
	bool waker_can = p->waker != WAKER_DONE;
	bool sleeper_can = p->sleeper != SLEEPER_ASLEEP || p->wake;
	struct play next;

	if (!waker_can && !sleeper_can)
		return check_end(s, p);
	/* A sleeper alone could go round for ever; in this many steps it cannot. */
	TEST_ASSERT(depth + 1 < RTE_DIM(s->images), "the two never come to rest");
	save_image(s, depth);
	if (waker_can) {
		next = *p;
		step_waker(s, &next);
		TEST_ASSERT_SUCCESS(explore(s, &next, depth + 1));
		load_image(s, depth);
	}
	/* While the waker can move, idle rounds of the sleeper change nothing: bound them. */
	if (sleeper_can && (!waker_can || depth < RTE_DIM(s->images) - 12u)) {
		next = *p;
		step_sleeper(s, &next);
		TEST_ASSERT_SUCCESS(explore(s, &next, depth + 1));
		load_image(s, depth);
	}
	return TEST_SUCCESS;
}

/* The ring turns by `turns` buffers before the search begins. */
static int
turn_ring(struct search *s, uint32_t turns)
{
	uint32_t i;

	for (i = 0; i < turns; i++) {
		TEST_ASSERT(drv_publish(s));
		vq_kick_needed(&s->t.drv, s->t.f);
		TEST_ASSERT(dev_publish(s));
		vq_call_needed(&s->t.dev, s->t.f);
		TEST_ASSERT_EQUAL(drv_work(s), 1);
	}
	return TEST_SUCCESS;
}

static int
search_from(struct search *s, uint32_t turns)
{
	struct play p = { 0 };
	uint32_t i;

	TEST_ASSERT_SUCCESS(turn_ring(s, turns));
	for (i = 0; s->to_driver && i < NB_ROUNDS; i++) {
		if (!drv_publish(s))
			break;
	}
	return explore(s, &p, 0);
}

static int
run_search(uint32_t size, uint32_t flags, bool to_driver, uint32_t turns, struct search *s)
{
	struct vq_conf conf = vqt_conf(size, flags);
	size_t i;
	int ret;

	memset(s, 0, sizeof(*s));
	s->to_driver = to_driver;
	ret = vqt_open(&s->t, &conf, 0);
	for (i = 0; i < RTE_DIM(s->images) && ret == TEST_SUCCESS; i++) {
		s->images[i].shared = malloc(s->t.mem.shared_bytes);
		s->images[i].priv = malloc(s->t.mem.private_bytes);
		if (s->images[i].shared == NULL || s->images[i].priv == NULL)
			ret = TEST_FAILED;
	}
	if (ret == TEST_SUCCESS)
		ret = search_from(s, turns);
	for (i = 0; i < RTE_DIM(s->images); i++) {
		free(s->images[i].shared);
		free(s->images[i].priv);
	}
	vqt_close(&s->t);
	if (ret != TEST_SUCCESS)
		printf("\tsize %u, flags 0x%x, to the %s, after %u turns\n", size, flags,
		       to_driver ? "driver" : "device", turns);
	return ret;
}

static int
search_ring(uint32_t size, uint32_t flags, bool to_driver)
{
	static struct search s;
	uint64_t nb_ends = 0, nb_sleeps = 0, nb_wakes = 0;
	uint32_t turns;

	for (turns = 0; turns <= 2 * size + 1; turns++) {
		TEST_ASSERT_SUCCESS(run_search(size, flags, to_driver, turns, &s));
		nb_ends += s.nb_ends;
		nb_sleeps += s.nb_sleeps;
		nb_wakes += s.nb_wakes;
	}
	/* Positions at which 16-bit indices wrap (each lap sets the wrap counter anew). */
	for (turns = 65533; turns <= 65536 && size <= 4; turns++)
		TEST_ASSERT_SUCCESS(run_search(size, flags, to_driver, turns, &s));
	/* The search must have met what it is about. */
	TEST_ASSERT(nb_ends > 100 && nb_sleeps > 0 && nb_wakes > 0);
	printf("\t%s size %u flags 0x%x: %" PRIu64 " interleavings\n",
	       (flags & VQ_F_PACKED) ? "packed" : "split", size, flags, nb_ends);
	return TEST_SUCCESS;
}

static int
search_all(bool to_driver)
{
	static const uint32_t sets[] = { 0, VQ_F_EVENT_IDX, VQ_F_EVENT_IDX | VQ_F_IN_ORDER };
	size_t i;

	for (i = 0; i < RTE_DIM(sets); i++) {
		TEST_ASSERT_SUCCESS(search_ring(1, sets[i], to_driver));
		TEST_ASSERT_SUCCESS(search_ring(2, sets[i], to_driver));
		TEST_ASSERT_SUCCESS(search_ring(4, sets[i], to_driver));
		TEST_ASSERT_SUCCESS(search_ring(1, sets[i] | VQ_F_PACKED, to_driver));
		TEST_ASSERT_SUCCESS(search_ring(2, sets[i] | VQ_F_PACKED, to_driver));
		TEST_ASSERT_SUCCESS(search_ring(3, sets[i] | VQ_F_PACKED, to_driver));
		TEST_ASSERT_SUCCESS(search_ring(5, sets[i] | VQ_F_PACKED, to_driver));
	}
	return TEST_SUCCESS;
}

static int
test_vq_notify_kick_is_never_lost(void)
{
	return search_all(false);
}

static int
test_vq_notify_call_is_never_lost(void)
{
	return search_all(true);
}

/* Disarmed ends are not notified, however far the indices run (EVENT_IDX parks its index). */
static int
run_silent(struct vqt *t)
{
	uint32_t i;

	for (i = 0; i < 200000; i++) {
		TEST_ASSERT_SUCCESS(vqt_post_one(t, VQT_DIRECT, 1, 0));
		TEST_ASSERT(!vq_kick_needed(&t->drv, t->f), "kicked after %u", i);
		TEST_ASSERT_EQUAL(vqt_take(t, 1), 1);
		vqt_use(t, 0, 0);
		TEST_ASSERT_SUCCESS(vqt_publish(t));
		TEST_ASSERT(!vq_call_needed(&t->dev, t->f), "called after %u", i);
		TEST_ASSERT_EQUAL(vqt_reap(t, 1), 1);
	}
	/* And nothing was published: no look at the other side at all. */
	TEST_ASSERT(!vq_kick_needed(&t->drv, t->f));
	TEST_ASSERT(!vq_call_needed(&t->dev, t->f));
	return TEST_SUCCESS;
}

static int
test_vq_notify_disarmed_is_silent(void)
{
	static const uint32_t sets[] = { 0, VQ_F_EVENT_IDX };

	return vqt_over_rings(sets, RTE_DIM(sets), 8, run_silent);
}

/* Armed once, notified once: EVENT_IDX names one index. */
static int
run_once(struct vqt *t)
{
	bool event_idx = (t->f & VQ_F_EVENT_IDX) != 0;
	uint32_t i;

	for (i = 0; i < 3000; i++) {
		TEST_ASSERT(!vq_dev_arm(&t->dev, t->f));
		TEST_ASSERT(!vq_drv_arm(&t->drv, t->f));
		TEST_ASSERT_SUCCESS(vqt_post_one(t, VQT_DIRECT, 1, 0));
		TEST_ASSERT(vq_kick_needed(&t->drv, t->f));
		TEST_ASSERT_SUCCESS(vqt_post_one(t, VQT_DIRECT, 1, 0));
		TEST_ASSERT_EQUAL(vq_kick_needed(&t->drv, t->f), !event_idx);
		TEST_ASSERT(vq_dev_arm(&t->dev, t->f), "two are waiting");
		vq_dev_disarm(&t->dev, t->f);
		TEST_ASSERT_EQUAL(vqt_take(t, 2), 2);
		vqt_use(t, 0, 0);
		TEST_ASSERT_SUCCESS(vqt_publish(t));
		TEST_ASSERT(vq_call_needed(&t->dev, t->f));
		vqt_use(t, 0, 0);
		TEST_ASSERT_SUCCESS(vqt_publish(t));
		TEST_ASSERT_EQUAL(vq_call_needed(&t->dev, t->f), !event_idx);
		TEST_ASSERT(vq_drv_arm(&t->drv, t->f), "two are waiting");
		vq_drv_disarm(&t->drv, t->f);
		TEST_ASSERT_EQUAL(vqt_reap(t, 9), 2);
	}
	return TEST_SUCCESS;
}

static int
test_vq_notify_armed_is_told_once(void)
{
	struct vqt t;
	size_t i;

	for (i = 0; i < 8; i++) {
		struct vq_conf conf =
			vqt_conf(i % 4 == 3 ? 4 : 2 + (i & 2),
				 (i & 1 ? VQ_F_EVENT_IDX : 0) | (i & 4 ? VQ_F_PACKED : 0));
		int ret = vqt_open(&t, &conf, 0);

		if (ret == TEST_SUCCESS)
			ret = run_once(&t);
		vqt_close(&t);
		TEST_ASSERT_SUCCESS(ret, "round %zu", i);
	}
	return TEST_SUCCESS;
}

static int
test_vq_notify(void)
{
	static const struct unit_test_case cases[] = {
		TEST_CASE(test_vq_notify_kick_is_never_lost),
		TEST_CASE(test_vq_notify_call_is_never_lost),
		TEST_CASE(test_vq_notify_disarmed_is_silent),
		TEST_CASE(test_vq_notify_armed_is_told_once),
		TEST_CASES_END(),
	};
	static const struct unit_test_suite suite = {
		.suite_name = "virtqueue notifications",
		.cases = cases,
	};

	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(FAST, vq_notify_autotest, test_vq_notify);
