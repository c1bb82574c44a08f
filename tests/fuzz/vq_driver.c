/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * The driver end of lib/vq in front of an arbitrary device: the input is a script of
 * bursts, of what an honest device would do (so that deep states are met), and of bytes
 * that a bad one writes anywhere in the shared memory. Whatever it writes, each cookie
 * comes back exactly once, tables are neither lost nor given back twice, and draining
 * brings out the rest. FUZZ_FLAGS chooses the layout.
 */

#include "fuzz.h"
#include "vq/vq_device.h"
#include "vq/vq_driver.h"

#define NB_COOKIES 65
#define SCRIPT_MAX 4096
#define SEGS_MAX 20

struct world {
	uint8_t *shared;
	uint8_t *priv;
	struct vq_mem_size mem;
	struct vq_conf conf;
	struct vq_drv drv;
	struct vq_dev honest;
	struct vq_regions *regions; /* the honest one reads what the bad one wrote */
	struct vq_chain *chain;
	uint32_t f;
	uint8_t posted[NB_COOKIES]; /* by cookie number; cookies are &posted[i] */
	uint32_t nb_posted;
	uint32_t nb_ext; /* external tables in flight */
	uint8_t ext[16 * SEGS_MAX] __attribute__((aligned(16)));
};

static void *
alloc_lines(size_t bytes)
{
	size_t n = (bytes + VIREO_CACHE_LINE - 1) & ~(size_t)(VIREO_CACHE_LINE - 1);
	void *p = aligned_alloc(VIREO_CACHE_LINE, n != 0 ? n : VIREO_CACHE_LINE);

	if (p == NULL)
		abort();
	return p;
}

static void
reset_honest(struct world *w)
{
	uint16_t base = (FUZZ_FLAGS & VQ_F_PACKED) ? 0x8000 : 0;

	w->regions->nb = 2;
	w->regions->last = 0;
	w->regions->region[0] = (struct vq_region){ (uintptr_t)w->shared, w->mem.shared_bytes,
						    (uintptr_t)w->shared };
	w->regions->region[1] =
		(struct vq_region){ (uintptr_t)w->ext, sizeof(w->ext), (uintptr_t)w->ext };
	FUZZ_ASSERT(vireo_vq_dev_init(&w->honest, &w->drv.ring, w->conf.size, w->f, w->regions,
				      base, base) == 0);
}

static void
open_world(struct world *w, struct fuzz_input *in)
{
	uint8_t kind = fuzz_u8(in), size_code = fuzz_u8(in);

	w->conf.size = (FUZZ_FLAGS & VQ_F_PACKED) ? 1 + size_code % 64 : 1u << size_code % 7;
	w->f = FUZZ_FLAGS | (kind & (VQ_F_IN_ORDER | VQ_F_EVENT_IDX | VQ_F_SINGLE | VQ_F_NO_LEN));
	if ((w->f & VQ_F_SINGLE) == 0) {
		w->f |= VQ_F_INDIRECT;
		w->conf.classes[0] = (struct vq_pool_class){ 4, 5 };
		w->conf.classes[1] = (struct vq_pool_class){ 16, 2 };
	}
	w->conf.flags = w->f;
	w->conf.buf_bytes = 64;
	FUZZ_ASSERT(vireo_vq_mem_size(&w->conf, &w->mem) == 0);
	w->shared = alloc_lines(w->mem.shared_bytes);
	w->priv = alloc_lines(w->mem.private_bytes);
	w->chain = calloc(1, sizeof(*w->chain) + 256 * sizeof(struct vq_iov));
	w->regions = calloc(1, sizeof(*w->regions) + 2 * sizeof(struct vq_region));
	if (w->chain == NULL || w->regions == NULL)
		abort();
	w->chain->max = 256;
	FUZZ_ASSERT(vireo_vq_drv_init(&w->drv, &w->conf, w->shared, (uintptr_t)w->shared,
				      w->priv) == 0);
	reset_honest(w);
}

static void
close_world(struct world *w)
{
	free(w->shared);
	free(w->priv);
	free(w->chain);
	free(w->regions);
}

static uint8_t *
new_cookie(struct world *w)
{
	int i;

	for (i = 0; i < NB_COOKIES; i++)
		if (!w->posted[i])
			break;
	FUZZ_ASSERT(i < NB_COOKIES);
	w->posted[i] = 1;
	w->nb_posted++;
	return &w->posted[i];
}

static void
came_back(struct world *w, void *cookie)
{
	uint8_t *c = cookie;

	FUZZ_ASSERT(c >= w->posted && c < w->posted + NB_COOKIES);
	FUZZ_ASSERT(*c == 1);
	*c = 0;
	w->nb_posted--;
}

static void
post_chain(struct world *w, struct vq_post *c, uint8_t n)
{
	struct vq_chain_post ch;
	uint8_t i;

	vq_chain_begin(&w->drv, c, &ch, n, (n - n / 2) * 16, new_cookie(w), w->f);
	for (i = 0; i < n; i++)
		vq_chain_seg(&w->drv, c, &ch, (uintptr_t)w->ext, 16,
			     i < n / 2 ? 0 : VIREO_DESC_F_WRITE, i + 1 < n, w->f);
}

static void
post_table(struct world *w, struct vq_post *c, uint8_t n, bool ext)
{
	struct vq_table table = { w->ext, (uintptr_t)w->ext, VQ_TABLE_EXT };
	uint8_t i;

	if (!ext)
		table = vq_table_take(&w->drv, n);
	if (table.mem == NULL)
		return;
	w->nb_ext += ext;
	for (i = 0; i < n; i++)
		vq_table_seg(table.mem, i, (uintptr_t)w->ext, 16,
			     i < n / 2 ? 0 : VIREO_DESC_F_WRITE, i + 1 == n, w->f);
	vq_post_indirect(&w->drv, c, table.addr, n, table.handle, ext ? table.mem : NULL,
			 (n - n / 2) * 16, new_cookie(w), w->f);
}

static void
post(struct world *w, struct fuzz_input *in)
{
	uint8_t nb = 1 + fuzz_u8(in) % 8;
	struct vq_post c;

	vq_post_begin(&w->drv, &c);
	while (nb-- != 0) {
		uint8_t what = fuzz_u8(in), n = 2 + (what >> 2) % (SEGS_MAX - 2);

		if (w->f & VQ_F_SINGLE)
			what = 0;
		if (vq_post_room(&w->drv, &c) < (what % 4 == 1 ? n : 1))
			break;
		if (what % 4 == 0)
			vq_post_single(&w->drv, &c, (uintptr_t)w->ext, 64, VIREO_DESC_F_WRITE,
				       new_cookie(w), w->f);
		else if (what % 4 == 1)
			post_chain(w, &c, n);
		else
			post_table(w, &c, n, what % 4 == 3);
	}
	vq_post_end(&w->drv, &c, w->f);
	(void)vq_kick_needed(&w->drv, w->f);
}

static void
reap_next(struct world *w, struct vq_reap *r, uint8_t max)
{
	struct vq_done d;

	while (max-- != 0 && vq_reap_next(&w->drv, r, &d, w->f) > 0) {
		came_back(w, d.cookie);
		FUZZ_ASSERT(d.len <= SEGS_MAX * 16 || (w->f & VQ_F_SINGLE) || d.len <= 64);
		if (d.table == VQ_TABLE_EXT) {
			FUZZ_ASSERT(w->drv.ext_table[d.id] == w->ext && w->nb_ext != 0);
			w->nb_ext--;
		}
	}
}

static void
reap(struct world *w, uint8_t how)
{
	uint32_t lens[16];
	void **cookies;
	struct vq_reap r;
	uint16_t n, i;

	if (vq_reap_begin(&w->drv, &r, w->f) != 0)
		return;
	if ((how & 1) && (w->f & VQ_F_SINGLE)) {
		n = vq_reap_run(&w->drv, &r, &cookies, lens, 1 + how % 16, w->f);
		for (i = 0; i < n; i++) {
			FUZZ_ASSERT(lens[i] <= 64);
			came_back(w, cookies[i]);
		}
	}
	reap_next(w, &r, how);
	vq_reap_end(&w->drv, &r, w->f);
}

/* What an honest device does, as long as the memory lets it. */
static void
be_honest(struct world *w, uint8_t max)
{
	struct vq_take t;

	if (vq_dev_begin(&w->honest, &t, w->f) <= 0)
		return;
	while (max-- != 0 && vq_dev_next(&w->honest, &t, w->chain, w->f) > 0)
		vq_dev_use(&w->honest, w->chain->id, w->chain->nb_slots,
			   w->chain->in_bytes < 64 ? w->chain->in_bytes : 0, w->f);
	vq_dev_publish(&w->honest, w->f);
}

static void
poke(struct world *w, struct fuzz_input *in)
{
	size_t at = fuzz_u16(in) % w->mem.shared_bytes, n = 1 + fuzz_u8(in) % 24;
	uint8_t bytes[24] = { 0 };

	fuzz_copy(in, bytes, n);
	memcpy(w->shared + at, bytes, n <= w->mem.shared_bytes - at ? n : w->mem.shared_bytes - at);
}

static void
drained_cookie(void *cookie, void *arg)
{
	came_back(arg, cookie);
}

static void
drained_table(void *table, void *arg)
{
	struct world *w = arg;

	FUZZ_ASSERT(table == w->ext && w->nb_ext != 0);
	w->nb_ext--;
}

static void
drain(struct world *w)
{
	uint32_t expected = w->nb_posted;

	FUZZ_ASSERT(vireo_vq_drv_drain(&w->drv, drained_cookie, drained_table, w) == expected);
	FUZZ_ASSERT(w->nb_posted == 0 && w->nb_ext == 0);
	FUZZ_ASSERT(vireo_vq_nb_free_tables(&w->drv) ==
		    (uint32_t)w->conf.classes[0].nb_tables + w->conf.classes[1].nb_tables);
	vireo_vq_drv_reset(&w->drv);
	reset_honest(w);
}

static void
step(struct world *w, struct fuzz_input *in)
{
	uint8_t op = fuzz_u8(in);

	switch (op % 8) {
	case 0:
	case 1:
		if (!w->drv.broken)
			post(w, in);
		break;
	case 2:
	case 3:
		reap(w, op / 8);
		break;
	case 4:
		be_honest(w, 1 + op / 8);
		break;
	case 5:
	case 6:
		poke(w, in);
		break;
	case 7:
		if (op == 7 * 8 + 7)
			drain(w);
		else if (op & 8)
			(void)vq_drv_arm(&w->drv, w->f);
		else
			vq_drv_disarm(&w->drv, w->f);
		break;
	}
	FUZZ_ASSERT(vireo_vq_drv_check(&w->drv) == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size < SCRIPT_MAX ? size : SCRIPT_MAX };
	static struct world w;

	memset(&w, 0, sizeof(w));
	open_world(&w, &in);
	while (in.left != 0)
		step(&w, &in);
	drain(&w);
	close_world(&w);
	return 0;
}
