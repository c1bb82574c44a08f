/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * The two ends of lib/vq in two threads, each sleeping when there is nothing to do: the
 * barriers must publish what they promise (the payload is checked, and ThreadSanitizer
 * watches it), and no wake-up may be lost (a lost one hangs, which a time-out reports).
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "vq_fixture.h"

#define NB_BUFFERS 100000
#define SLEEP_MS 5000
#define PIECE_WORDS 8

struct duo {
	struct vqt t;
	int kick_fd;
	int call_fd;
	int stop; /* atomic: one side failed */
	uint64_t (*words)[PIECE_WORDS]; /* one piece for each slot */
	uint64_t nb_drv_sleeps; /* written by the driver's thread */
	uint64_t nb_dev_sleeps; /* written by the device's thread */
	uint64_t nb_faults_dev;
	const char *fault;
};

static void
wake(int fd)
{
	uint64_t one = 1;

	/* Full means that a wake-up is on its way already. */
	if (write(fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		abort();
}

/* @return false when nobody woke us for a long time. */
static bool
sleep_on(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t n;

	if (poll(&p, 1, SLEEP_MS) <= 0)
		return false;
	return read(fd, &n, sizeof(n)) == sizeof(n) || errno == EAGAIN;
}

/* The device answers each word with its complement. */
static bool
answer_chain(struct duo *d, uint64_t expected)
{
	const struct vq_chain *ch = d->t.chain;
	const uint64_t *out = ch->iov[0].base;
	uint64_t *in = ch->iov[1].base;
	int i;

	if (ch->nb_out != 1 || ch->nb_in != 1)
		return false;
	for (i = 0; i < PIECE_WORDS / 2; i++) {
		if (out[i] != expected + i)
			return false;
		in[i] = ~out[i];
	}
	return true;
}

static bool
dev_burst(struct duo *d, uint64_t *nb_done)
{
	const uint32_t f = d->t.f;
	struct vq_take take;
	int n = 0, rc = vq_dev_begin(&d->t.dev, &take, f);

	while (rc > 0 && n++ < 16) {
		rc = vq_dev_next(&d->t.dev, &take, d->t.chain, f);
		if (rc <= 0)
			break;
		if (!answer_chain(d, *nb_done)) {
			d->fault = "the device saw other bytes than were posted";
			return false;
		}
		vq_dev_use(&d->t.dev, d->t.chain->id, d->t.chain->nb_slots,
			   PIECE_WORDS / 2 * sizeof(uint64_t), f);
		(*nb_done)++;
	}
	vq_dev_publish(&d->t.dev, f);
	if (vq_call_needed(&d->t.dev, f))
		wake(d->call_fd);
	if (rc < 0)
		d->fault = "the device end broke";
	return rc >= 0;
}

static void *
run_device(void *arg)
{
	struct duo *d = arg;
	uint64_t nb_done = 0, before;

	while (nb_done < NB_BUFFERS && !__atomic_load_n(&d->stop, __ATOMIC_RELAXED)) {
		before = nb_done;
		if (!dev_burst(d, &nb_done))
			break;
		if (nb_done != before)
			continue;
		if (!vq_dev_arm(&d->t.dev, d->t.f)) {
			d->nb_dev_sleeps++;
			if (!sleep_on(d->kick_fd) && !__atomic_load_n(&d->stop, __ATOMIC_RELAXED)) {
				d->fault = "nobody woke the device";
				break;
			}
		}
		vq_dev_disarm(&d->t.dev, d->t.f);
	}
	d->nb_faults_dev = d->fault != NULL;
	__atomic_store_n(&d->stop, 1, __ATOMIC_RELAXED);
	wake(d->call_fd);
	return NULL;
}

/* Post as much as there is room for; buffer n's words follow from n. */
static uint64_t
drv_post(struct duo *d, uint64_t next)
{
	struct vq_drv *q = &d->t.drv;
	struct vq_chain_post ch;
	struct vq_post c;
	int i;

	vq_post_begin(q, &c);
	while (vq_post_room(q, &c) >= 2 && next < NB_BUFFERS) {
		uint64_t *w = d->words[next % d->t.conf.size];

		for (i = 0; i < PIECE_WORDS / 2; i++)
			w[i] = next + i;
		vq_chain_begin(q, &c, &ch, 2, 32, w, d->t.f);
		vq_chain_seg(q, &c, &ch, vqt_addr(&d->t, w), 32, 0, true, d->t.f);
		vq_chain_seg(q, &c, &ch, vqt_addr(&d->t, w + PIECE_WORDS / 2), 32,
			     VIREO_DESC_F_WRITE, false, d->t.f);
		next++;
	}
	vq_post_end(q, &c, d->t.f);
	if (vq_kick_needed(q, d->t.f))
		wake(d->kick_fd);
	return next;
}

static int
drv_reap(struct duo *d, uint64_t *done)
{
	struct vq_reap r;
	struct vq_done one;
	int i, n = 0;

	TEST_ASSERT_SUCCESS(vq_reap_begin(&d->t.drv, &r, d->t.f));
	while (vq_reap_next(&d->t.drv, &r, &one, d->t.f) > 0) {
		const uint64_t *w = one.cookie;

		TEST_ASSERT(w == d->words[*done % d->t.conf.size], "order");
		TEST_ASSERT_EQUAL(one.len, 32);
		for (i = 0; i < PIECE_WORDS / 2; i++)
			TEST_ASSERT_EQUAL(w[PIECE_WORDS / 2 + i], ~(*done + i));
		(*done)++;
		n++;
	}
	vq_reap_end(&d->t.drv, &r, d->t.f);
	TEST_ASSERT_EQUAL(d->t.drv.broken, VQ_OK);
	return n;
}

static int
run_driver(struct duo *d)
{
	uint64_t posted = 0, done = 0;
	int n;

	while (done < NB_BUFFERS) {
		posted = drv_post(d, posted);
		n = drv_reap(d, &done);
		TEST_ASSERT(n >= 0);
		if (n != 0)
			continue;
		if (!vq_drv_arm(&d->t.drv, d->t.f)) {
			d->nb_drv_sleeps++;
			TEST_ASSERT(sleep_on(d->call_fd), "nobody woke the driver after %" PRIu64,
				    done);
		}
		vq_drv_disarm(&d->t.drv, d->t.f);
		TEST_ASSERT(done == NB_BUFFERS || d->fault == NULL, "%s", d->fault);
	}
	return TEST_SUCCESS;
}

static int
run_duo(struct vqt *t)
{
	struct duo d = { .t = *t,
			 .kick_fd = eventfd(0, EFD_NONBLOCK),
			 .call_fd = eventfd(0, EFD_NONBLOCK) };
	pthread_t device;
	int ret = TEST_FAILED;

	d.words = calloc(t->conf.size, sizeof(*d.words));
	if (d.words != NULL && pthread_create(&device, NULL, run_device, &d) == 0) {
		ret = run_driver(&d);
		__atomic_store_n(&d.stop, 1, __ATOMIC_RELAXED);
		wake(d.kick_fd);
		pthread_join(device, NULL);
	}
	free(d.words);
	close(d.kick_fd);
	close(d.call_fd);
	TEST_ASSERT_SUCCESS(ret);
	TEST_ASSERT_NULL(d.fault, "%s", d.fault);
	printf("\t%s size %u flags 0x%x: driver slept %" PRIu64 ", device %" PRIu64 " times\n",
	       (t->f & VQ_F_PACKED) ? "packed" : "split", t->conf.size, t->f, d.nb_drv_sleeps,
	       d.nb_dev_sleeps);
	return TEST_SUCCESS;
}

static int
run_size(uint32_t size, uint32_t flags)
{
	struct vq_conf conf = vqt_conf(size, flags);
	struct vqt t;
	int ret = vqt_open(&t, &conf, 0);

	if (ret == TEST_SUCCESS)
		ret = run_duo(&t);
	vqt_close(&t);
	return ret;
}

static int
test_vq_threads_split(void)
{
	TEST_ASSERT_SUCCESS(run_size(2, 0));
	TEST_ASSERT_SUCCESS(run_size(4, VQ_F_EVENT_IDX));
	TEST_ASSERT_SUCCESS(run_size(64, VQ_F_EVENT_IDX | VQ_F_IN_ORDER));
	TEST_ASSERT_SUCCESS(run_size(256, VQ_F_ORDER_PLATFORM));
	return TEST_SUCCESS;
}

static int
test_vq_threads_packed(void)
{
	TEST_ASSERT_SUCCESS(run_size(2, VQ_F_PACKED));
	TEST_ASSERT_SUCCESS(run_size(5, VQ_F_PACKED | VQ_F_EVENT_IDX));
	TEST_ASSERT_SUCCESS(run_size(64, VQ_F_PACKED | VQ_F_EVENT_IDX | VQ_F_IN_ORDER));
	TEST_ASSERT_SUCCESS(run_size(255, VQ_F_PACKED | VQ_F_ORDER_PLATFORM));
	return TEST_SUCCESS;
}

static int
test_vq_threads(void)
{
	static const struct unit_test_case cases[] = {
		TEST_CASE(test_vq_threads_split),
		TEST_CASE(test_vq_threads_packed),
		TEST_CASES_END(),
	};
	static const struct unit_test_suite suite = {
		.suite_name = "virtqueue, each end in a thread of its own",
		.cases = cases,
	};

	return unit_test_suite_runner(&suite);
}

REGISTER_TEST(STRESS, vq_threads_autotest, test_vq_threads);
