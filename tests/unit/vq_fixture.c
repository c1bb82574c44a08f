/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <stdlib.h>

#include "vq_fixture.h"

#define ARENA_BYTES 65536
#define PIECE_BYTES_MAX 96

struct vq_conf
vqt_conf(uint32_t size, uint32_t flags)
{
	struct vq_conf conf = { .size = size, .flags = flags, .hdr_bytes = 12 };

	if (flags & VQ_F_SINGLE)
		conf.buf_bytes = 64;
	if (flags & VQ_F_INDIRECT) {
		conf.classes[0] = (struct vq_pool_class){ .nb_desc = 4, .nb_tables = 8 };
		conf.classes[1] = (struct vq_pool_class){ .nb_desc = 16, .nb_tables = 4 };
		conf.classes[2] = (struct vq_pool_class){ .nb_desc = 64, .nb_tables = 2 };
	}
	return conf;
}

static void *
alloc_lines(size_t bytes)
{
	size_t lines = (bytes + VIREO_CACHE_LINE - 1) / VIREO_CACHE_LINE;
	void *mem = aligned_alloc(VIREO_CACHE_LINE, RTE_MAX(lines, 1u) * VIREO_CACHE_LINE);

	/* What init leaves out must not be zero by chance. */
	if (mem != NULL)
		memset(mem, 0xa5, RTE_MAX(lines, 1u) * VIREO_CACHE_LINE);
	return mem;
}

static int
open_ledger(struct vqt *t)
{
	t->nb_bufs = t->conf.size + 1;
	t->bufs = calloc(t->nb_bufs, sizeof(*t->bufs));
	t->order = calloc(t->nb_bufs, sizeof(struct vqt_buf *));
	t->held_mem = calloc(2 * t->nb_bufs, sizeof(*t->held_mem));
	t->held = t->held_mem;
	t->chain = calloc(1, sizeof(*t->chain) + (t->conf.size + 64) * sizeof(struct vq_iov));
	t->arena = alloc_lines(ARENA_BYTES);
	t->ext = alloc_lines(t->nb_bufs * sizeof(*t->ext));
	t->ext_busy = calloc(t->nb_bufs, sizeof(bool));
	t->regions = calloc(1, sizeof(*t->regions) + 3 * sizeof(struct vq_region));
	TEST_ASSERT(t->bufs != NULL && t->order != NULL && t->held_mem != NULL &&
		    t->chain != NULL && t->arena != NULL && t->ext != NULL && t->ext_busy != NULL &&
		    t->regions != NULL);
	t->chain->max = RTE_MIN(t->conf.size + 64, UINT16_MAX);
	return TEST_SUCCESS;
}

static int
open_device(struct vqt *t)
{
	const struct vq_region regions[3] = {
		{ vqt_addr(t, t->shared), t->mem.shared_bytes, (uintptr_t)t->shared },
		{ vqt_addr(t, t->arena), ARENA_BYTES, (uintptr_t)t->arena },
		{ vqt_addr(t, t->ext), t->nb_bufs * sizeof(*t->ext), (uintptr_t)t->ext },
	};
	uint16_t base = (t->f & VQ_F_PACKED) ? 0x8000 : 0;

	t->regions->nb = 3;
	t->regions->last = 0;
	memcpy(t->regions->region, regions, sizeof(regions));
	TEST_ASSERT_SUCCESS(vireo_vq_dev_init(&t->dev, &t->drv.ring, t->conf.size, t->f,
					      t->bias != 0 ? t->regions : NULL, base, base));
	return TEST_SUCCESS;
}

int
vqt_open(struct vqt *t, const struct vq_conf *conf, uint64_t bias)
{
	memset(t, 0, sizeof(*t));
	t->conf = *conf;
	t->f = conf->flags;
	t->bias = bias;
	TEST_ASSERT_SUCCESS(open_ledger(t));
	TEST_ASSERT_SUCCESS(vireo_vq_mem_size(conf, &t->mem), "size %u", conf->size);
	t->shared = alloc_lines(t->mem.shared_bytes);
	t->priv = alloc_lines(t->mem.private_bytes);
	TEST_ASSERT(t->shared != NULL && t->priv != NULL);
	TEST_ASSERT_SUCCESS(
		vireo_vq_drv_init(&t->drv, conf, t->shared, vqt_addr(t, t->shared), t->priv));
	TEST_ASSERT_SUCCESS(open_device(t));
	return vqt_check(t);
}

void
vqt_close(struct vqt *t)
{
	free(t->shared);
	free(t->priv);
	free(t->bufs);
	free(t->order);
	free(t->held_mem);
	free(t->chain);
	free(t->arena);
	free(t->ext);
	free(t->ext_busy);
	free(t->regions);
	memset(t, 0, sizeof(*t));
}

/* Piece i of a buffer: any place and length that follow from the buffer's seed. */
static uint8_t *
piece_of(const struct vqt *t, const struct vqt_buf *b, uint16_t i, uint32_t *len)
{
	uint32_t mix = (b->seed + i) * 2654435761u;

	*len = (t->f & VQ_F_SINGLE) ? t->conf.buf_bytes : 1 + (mix >> 8) % PIECE_BYTES_MAX;
	return t->arena + (mix >> 16) % (ARENA_BYTES - PIECE_BYTES_MAX);
}

static struct vqt_buf *
find_free_buf(struct vqt *t)
{
	uint32_t i;

	for (i = 0; i < t->nb_bufs; i++) {
		struct vqt_buf *b = &t->bufs[t->next_buf];

		t->next_buf = (t->next_buf + 1) % t->nb_bufs;
		if (!b->posted)
			return b;
	}
	return NULL;
}

static void
fill_buf(struct vqt *t, struct vqt_buf *b, uint16_t nb_out, uint16_t nb_in)
{
	uint32_t len;
	uint16_t i;

	*b = (struct vqt_buf){ .nb_out = nb_out, .nb_in = nb_in, .seed = t->seed };
	t->seed += nb_out + nb_in;
	for (i = 0; i < nb_out + nb_in; i++) {
		piece_of(t, b, i, &len);
		if (i < nb_out)
			b->out_bytes += len;
		else
			b->in_bytes += len;
	}
}

static void
post_direct(struct vqt *t, struct vq_post *c, struct vqt_buf *b)
{
	uint16_t nb = b->nb_out + b->nb_in, i;
	struct vq_chain_post ch;
	uint32_t len;

	b->nb_slots = nb;
	if (nb == 1) {
		uint64_t addr = vqt_addr(t, piece_of(t, b, 0, &len));

		vq_post_single(&t->drv, c, addr, len, b->nb_in != 0 ? VIREO_DESC_F_WRITE : 0, b,
			       t->f);
		return;
	}
	vq_chain_begin(&t->drv, c, &ch, nb, b->in_bytes, b, t->f);
	for (i = 0; i < nb; i++) {
		uint64_t addr = vqt_addr(t, piece_of(t, b, i, &len));

		vq_chain_seg(&t->drv, c, &ch, addr, len, i < b->nb_out ? 0 : VIREO_DESC_F_WRITE,
			     i + 1 < nb, t->f);
	}
}

static void
post_table(struct vqt *t, struct vq_post *c, struct vqt_buf *b, const struct vq_table *table,
	   bool ext)
{
	uint16_t nb = b->nb_out + b->nb_in, i;
	uint32_t len;

	b->nb_slots = 1;
	for (i = 0; i < nb; i++) {
		uint64_t addr = vqt_addr(t, piece_of(t, b, i, &len));

		vq_table_seg(table->mem, i, addr, len, i < b->nb_out ? 0 : VIREO_DESC_F_WRITE,
			     i + 1 == nb, t->f);
	}
	vq_post_indirect(&t->drv, c, table->addr, nb, table->handle, ext ? table->mem : NULL,
			 b->in_bytes, b, t->f);
}

/* A table for nb descriptors; mem is NULL when there is none. */
static struct vq_table
get_table(struct vqt *t, enum vqt_kind kind, uint16_t nb)
{
	struct vq_table table = { .handle = VQ_TABLE_EXT };
	uint32_t i;

	if (kind == VQT_INDIRECT)
		return vq_table_take(&t->drv, nb);
	for (i = 0; i < t->nb_bufs && nb <= VQT_EXT_DESCS; i++) {
		if (t->ext_busy[i])
			continue;
		t->ext_busy[i] = true;
		table.mem = t->ext[i];
		table.addr = vqt_addr(t, table.mem);
		break;
	}
	return table;
}

int
vqt_post(struct vqt *t, struct vq_post *c, enum vqt_kind kind, uint16_t nb_out, uint16_t nb_in)
{
	uint16_t nb_slots = kind == VQT_DIRECT ? nb_out + nb_in : 1;
	struct vq_table table = { 0 };
	struct vqt_buf *b;

	if (vq_post_room(&t->drv, c) < nb_slots)
		return -ENOSPC;
	if (kind != VQT_DIRECT) {
		table = get_table(t, kind, nb_out + nb_in);
		if (table.mem == NULL)
			return -ENOSPC;
	}
	b = find_free_buf(t);
	TEST_ASSERT_NOT_NULL(b, "more in flight than the ring has slots");
	fill_buf(t, b, nb_out, nb_in);
	if (kind == VQT_DIRECT)
		post_direct(t, c, b);
	else
		post_table(t, c, b, &table, kind == VQT_EXT);
	b->posted = true;
	t->nb_posted++;
	t->order[t->order_head] = b;
	t->order_head = (t->order_head + 1) % t->nb_bufs;
	return 0;
}

int
vqt_post_one(struct vqt *t, enum vqt_kind kind, uint16_t nb_out, uint16_t nb_in)
{
	struct vq_post c;
	int ret;

	vq_post_begin(&t->drv, &c);
	ret = vqt_post(t, &c, kind, nb_out, nb_in);
	vq_post_end(&t->drv, &c, t->f);
	return ret;
}

static int
check_chain(struct vqt *t, const struct vqt_buf *b)
{
	const struct vq_chain *ch = t->chain;
	uint32_t len;
	uint16_t i;

	TEST_ASSERT_EQUAL(ch->nb_out, b->nb_out);
	TEST_ASSERT_EQUAL(ch->nb_in, b->nb_in);
	TEST_ASSERT_EQUAL(ch->out_bytes, b->out_bytes);
	TEST_ASSERT_EQUAL(ch->in_bytes, b->in_bytes);
	TEST_ASSERT_EQUAL(ch->nb_slots, b->nb_slots);
	for (i = 0; i < b->nb_out + b->nb_in; i++) {
		TEST_ASSERT(ch->iov[i].base == piece_of(t, b, i, &len), "piece %u", i);
		TEST_ASSERT_EQUAL(ch->iov[i].len, len, "piece %u", i);
	}
	return TEST_SUCCESS;
}

int
vqt_take(struct vqt *t, uint32_t max)
{
	struct vq_take take;
	uint32_t nb = 0;
	int rc;

	rc = vq_dev_begin(&t->dev, &take, t->f);
	TEST_ASSERT(rc >= 0, "the device end broke: %s", vireo_vq_violation_str(t->dev.broken));
	while (rc > 0 && nb < max) {
		struct vqt_buf *b = t->order[t->order_tail];

		rc = vq_dev_next(&t->dev, &take, t->chain, t->f);
		TEST_ASSERT(rc >= 0, "broke: %s", vireo_vq_violation_str(t->dev.broken));
		if (rc == 0)
			break;
		TEST_ASSERT(t->order_tail != t->order_head, "a buffer that was not posted");
		TEST_ASSERT_SUCCESS(check_chain(t, b));
		t->order_tail = (t->order_tail + 1) % t->nb_bufs;
		t->held[t->nb_held++] = (struct vqt_held){ b, t->chain->id, t->chain->nb_slots };
		nb++;
	}
	return nb;
}

static void
drop_held(struct vqt *t, uint32_t i, uint32_t nb)
{
	t->nb_held -= nb;
	if (i == 0) {
		/* The usual case: no move, until the memory's end comes near. */
		t->held += nb;
		if (t->held < t->held_mem + t->nb_bufs)
			return;
		memmove(t->held_mem, t->held, t->nb_held * sizeof(*t->held));
		t->held = t->held_mem;
		return;
	}
	memmove(&t->held[i], &t->held[i + nb], (t->nb_held - i) * sizeof(*t->held));
}

static void
mark_used(struct vqt *t, struct vqt_buf *b, uint32_t written)
{
	b->used = true;
	b->expect_len = (t->f & VQ_F_NO_LEN) ? 0 : written;
}

void
vqt_use(struct vqt *t, uint32_t i, uint32_t written)
{
	struct vqt_held h = t->held[i];

	mark_used(t, h.buf, written);
	vq_dev_use(&t->dev, h.id, h.nb_slots, written, t->f);
	drop_held(t, i, 1);
}

void
vqt_use_batch(struct vqt *t, uint32_t nb, uint32_t written)
{
	uint16_t nb_slots = 0;
	uint32_t i;

	for (i = 0; i < nb; i++) {
		nb_slots += t->held[i].nb_slots;
		/* Section 2.7.11: the skipped ones were used wholly. */
		mark_used(t, t->held[i].buf, i + 1 < nb ? t->held[i].buf->in_bytes : written);
	}
	vq_dev_use_batch(&t->dev, t->held[nb - 1].id, nb, nb_slots, written, t->f);
	drop_held(t, 0, nb);
}

int
vqt_publish(struct vqt *t)
{
	vq_dev_publish(&t->dev, t->f);
	TEST_ASSERT_NULL(vireo_vq_dev_check(&t->dev), "%s", vireo_vq_dev_check(&t->dev));
	return TEST_SUCCESS;
}

int
vqt_book(struct vqt *t, void *cookie, uint32_t len)
{
	struct vqt_buf *b = cookie;

	TEST_ASSERT(b >= t->bufs && b < t->bufs + t->nb_bufs, "no cookie of ours");
	TEST_ASSERT(b->posted, "a cookie came back twice");
	TEST_ASSERT(b->used, "a cookie came back that the device still has");
	TEST_ASSERT_EQUAL(len, b->expect_len);
	b->posted = false;
	b->used = false;
	t->nb_posted--;
	t->nb_reaped++;
	return TEST_SUCCESS;
}

static int
free_ext(struct vqt *t, const void *table)
{
	uintptr_t i = ((uintptr_t)table - (uintptr_t)t->ext) / sizeof(*t->ext);

	TEST_ASSERT(i < t->nb_bufs, "no table of ours");
	TEST_ASSERT(t->ext_busy[i], "a table was freed twice");
	t->ext_busy[i] = false;
	return TEST_SUCCESS;
}

int
vqt_reap(struct vqt *t, uint32_t max)
{
	struct vq_reap r;
	struct vq_done d;
	uint32_t nb = 0;
	int rc = vq_reap_begin(&t->drv, &r, t->f);

	if (rc < 0)
		return rc;
	while (nb < max) {
		rc = vq_reap_next(&t->drv, &r, &d, t->f);
		if (rc <= 0)
			break;
		TEST_ASSERT_SUCCESS(vqt_book(t, d.cookie, d.len));
		if (d.table == VQ_TABLE_EXT)
			TEST_ASSERT_SUCCESS(free_ext(t, t->drv.ext_table[d.id]));
		nb++;
	}
	vq_reap_end(&t->drv, &r, t->f);
	return rc < 0 ? rc : (int)nb;
}

int
vqt_use_all(struct vqt *t)
{
	while (t->nb_held != 0)
		vqt_use(t, 0, t->held[0].buf->in_bytes);
	return vqt_publish(t);
}

int
vqt_check(struct vqt *t)
{
	uint32_t nb_posted = 0, i;

	TEST_ASSERT_NULL(vireo_vq_drv_check(&t->drv), "%s", vireo_vq_drv_check(&t->drv));
	TEST_ASSERT_NULL(vireo_vq_dev_check(&t->dev), "%s", vireo_vq_dev_check(&t->dev));
	/* The ledger is walked for small rings only: after each step it would take long. */
	if (t->nb_bufs > 300)
		return TEST_SUCCESS;
	for (i = 0; i < t->nb_bufs; i++)
		nb_posted += t->bufs[i].posted;
	TEST_ASSERT_EQUAL(nb_posted, t->nb_posted);
	return TEST_SUCCESS;
}

struct drain_state {
	struct vqt *t;
	uint32_t nb_faults;
};

static void
drain_cookie(void *cookie, void *arg)
{
	struct drain_state *s = arg;
	struct vqt_buf *b = cookie;

	if (b < s->t->bufs || b >= s->t->bufs + s->t->nb_bufs || !b->posted) {
		s->nb_faults++;
		return;
	}
	b->posted = false;
	b->used = false;
	s->t->nb_posted--;
	s->t->nb_drained++;
}

static void
drain_table(void *table, void *arg)
{
	struct drain_state *s = arg;

	s->nb_faults += free_ext(s->t, table) != TEST_SUCCESS;
}

int
vqt_drain_and_reset(struct vqt *t)
{
	struct drain_state s = { .t = t };
	uint32_t expected = t->nb_posted, nb_tables = 0, i;

	TEST_ASSERT_EQUAL(vireo_vq_drv_drain(&t->drv, drain_cookie, drain_table, &s), expected);
	TEST_ASSERT_EQUAL(s.nb_faults, 0, "a cookie or table came out twice, or was never in");
	TEST_ASSERT_EQUAL(t->nb_posted, 0, "a cookie was lost");
	TEST_ASSERT_EQUAL(vireo_vq_drv_drain(&t->drv, drain_cookie, drain_table, &s), 0);
	for (i = 0; i < VQ_NB_CLASSES; i++)
		nb_tables += t->conf.classes[i].nb_tables;
	TEST_ASSERT_EQUAL(vireo_vq_nb_free_tables(&t->drv), nb_tables, "a table was lost");
	for (i = 0; i < t->nb_bufs; i++)
		TEST_ASSERT(!t->ext_busy[i], "an external table was lost");
	vireo_vq_drv_reset(&t->drv);
	t->nb_held = 0;
	t->order_head = 0;
	t->order_tail = 0;
	TEST_ASSERT_SUCCESS(open_device(t));
	return vqt_check(t);
}

static int
run_ring(uint32_t size, uint32_t flags, uint64_t bias, int (*fn)(struct vqt *t))
{
	struct vq_conf conf = vqt_conf(size, flags);
	struct vqt t;
	int ret = vqt_open(&t, &conf, bias);

	if (ret == TEST_SUCCESS)
		ret = fn(&t);
	vqt_close(&t);
	if (ret != TEST_SUCCESS)
		printf("\tring: %s, size %u, flags 0x%x, bias 0x%" PRIx64 "\n",
		       (flags & VQ_F_PACKED) ? "packed" : "split", size, flags, bias);
	return ret;
}

int
vqt_over_rings(const uint32_t *flag_sets, size_t nb, uint32_t size_max, int (*fn)(struct vqt *t))
{
	static const uint32_t split_sizes[] = { 1,   2,	  4,	8,    16,   32,	  64,	 128,
						256, 512, 1024, 2048, 4096, 8192, 16384, 32768 };
	static const uint32_t packed_sizes[] = { 1, 2, 3, 5, 7, 100, 255, 256, 1000, 32767, 32768 };
	uint64_t bias = 0;
	size_t i, k;

	for (i = 0; i < nb; i++) {
		for (k = 0; k < RTE_DIM(split_sizes) && split_sizes[k] <= size_max; k++) {
			bias ^= 0x7000000000;
			TEST_ASSERT_SUCCESS(run_ring(split_sizes[k], flag_sets[i], bias, fn));
		}
		for (k = 0; k < RTE_DIM(packed_sizes) && packed_sizes[k] <= size_max; k++) {
			bias ^= 0x7000000000;
			TEST_ASSERT_SUCCESS(
				run_ring(packed_sizes[k], flag_sets[i] | VQ_F_PACKED, bias, fn));
		}
	}
	return TEST_SUCCESS;
}
