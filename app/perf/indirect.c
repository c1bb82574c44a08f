/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * vireo-perf indirect: what an indirect table costs on raw rings. A driver core posts
 * buffers of several segments, a device core walks and returns them; nothing but the
 * rings and the tables is touched. Where a table comes from is the axis: the queue's own
 * pool, an rte_mempool, malloc for each buffer (the seed's "before"), or none at all.
 */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <rte_pause.h>

#include "../../lib/vq/vq_device.h"
#include "../../lib/vq/vq_driver.h"
#include "floor.h"
#include "perf.h"

enum table_mode { TABLE_POOL, TABLE_MEMPOOL, TABLE_MALLOC, TABLE_OFF, NB_TABLE_MODES };

static const char *const mode_names[NB_TABLE_MODES] = { "pool", "mempool", "malloc", "off" };

#define NB_LAYOUTS 2
static const char *const layout_names[NB_LAYOUTS] = { "split", "packed" };

#define NB_SEGS 3
static const uint16_t seg_counts[NB_SEGS] = { 1, 4, 16 };

#define NB_CELLS (NB_LAYOUTS * NB_TABLE_MODES * NB_SEGS)
#define NB_ROUNDS_MAX 15
#define SEGS_MAX 16
#define SEG_BYTES 64
#define BURST 32

/* What every queue here is: in order of use, lengths do not matter. */
#define RING_FLAGS (VQ_F_INDIRECT | VQ_F_NO_LEN)

static struct perf_common common;
static uint32_t opt_ring_size = 1024;
static uint32_t opt_window_ms;

static const struct perf_opt opts[] = {
	{ "ring-size", "descriptors in the ring, a power of two", PERF_OPT_UINT, &opt_ring_size,
	  NULL, 64, 32768 },
	{ "window", "ms of a reading, 0: 100, quick 40", PERF_OPT_UINT, &opt_window_ms, NULL, 0,
	  10000 },
	PERF_COMMON_OPTS(&common),
	{ NULL },
};

struct cell {
	uint8_t layout;
	uint8_t mode;
	uint16_t nb_segs;
	uint32_t nb_rounds;
	double mpps[NB_ROUNDS_MAX];
};

/* A ring between the two cores. */
struct bench {
	struct vq_drv drv __rte_aligned(VIREO_CACHE_LINE);
	struct vq_dev dev __rte_aligned(VIREO_CACHE_LINE);
	struct rte_mempool *tables;
	uint8_t *payload; /* SEGS_MAX segments for each slot; described, never touched */
	void *shared;
	void *priv;
	uint16_t nb_segs;
	uint64_t stop_tsc;
	/* Device core's results. */
	uint64_t nb_buffers;
	uint64_t nb_pieces;
	int error;
	/* Written by the driver core when it has got everything back. */
	bool done __rte_aligned(VIREO_CACHE_LINE);
};

static struct bench bench;

/* --- driver core ------------------------------------------------------------------- */

struct table {
	void *mem;
	uint64_t addr;
	uint16_t handle;
};

vireo_inline struct table
take_table(struct bench *b, const enum table_mode mode)
{
	struct table table = { .handle = VQ_TABLE_EXT };
	struct vq_table pooled;

	switch (mode) {
	case TABLE_POOL:
		pooled = vq_table_take(&b->drv, b->nb_segs);
		return (struct table){ pooled.mem, pooled.addr, pooled.handle };
	case TABLE_MEMPOOL:
		if (rte_mempool_get(b->tables, &table.mem) != 0)
			table.mem = NULL;
		break;
	case TABLE_MALLOC:
		table.mem = malloc(b->nb_segs * sizeof(struct ring_desc));
		break;
	default:
		break;
	}
	table.addr = (uintptr_t)table.mem;
	return table;
}

vireo_inline void
free_table(struct bench *b, void *mem, const enum table_mode mode)
{
	if (mode == TABLE_MEMPOOL)
		rte_mempool_put(b->tables, mem);
	else
		free(mem);
}

/* One buffer. @return false when there is no room for it now. */
vireo_inline bool
post_buffer(struct bench *b, struct vq_post *c, const enum table_mode mode, const uint32_t f)
{
	uint8_t *at = b->payload + (uint32_t)c->slot * SEGS_MAX * SEG_BYTES;
	const uint16_t nb_segs = b->nb_segs;
	struct vq_chain_post chain;
	struct table table;
	uint16_t i;

	if (nb_segs == 1) {
		if (vq_post_room(&b->drv, c) == 0)
			return false;
		vq_post_single(&b->drv, c, (uintptr_t)at, SEG_BYTES, 0, at, f);
		return true;
	}
	if (mode == TABLE_OFF) {
		if (vq_post_room(&b->drv, c) < nb_segs)
			return false;
		vq_chain_begin(&b->drv, c, &chain, nb_segs, 0, at, f);
		for (i = 0; i < nb_segs; i++)
			vq_chain_seg(&b->drv, c, &chain, (uintptr_t)at + i * SEG_BYTES, SEG_BYTES,
				     0, i + 1 < nb_segs, f);
		return true;
	}
	if (vq_post_room(&b->drv, c) == 0)
		return false;
	table = take_table(b, mode);
	if (table.mem == NULL)
		return false;
	for (i = 0; i < nb_segs; i++)
		vq_table_seg(table.mem, i, (uintptr_t)at + i * SEG_BYTES, SEG_BYTES, 0,
			     i + 1 == nb_segs, f);
	vq_post_indirect(&b->drv, c, table.addr, nb_segs, table.handle, table.mem, 0, at, f);
	return true;
}

vireo_inline uint32_t
take_back(struct bench *b, const enum table_mode mode, const uint32_t f)
{
	struct vq_done done;
	struct vq_reap reap;
	uint32_t nb = 0;

	if (vq_reap_begin(&b->drv, &reap, f) != 0)
		return 0;
	while (vq_reap_next(&b->drv, &reap, &done, f) > 0) {
		if (done.table == VQ_TABLE_EXT)
			free_table(b, b->drv.ext_table[done.id], mode);
		nb++;
	}
	vq_reap_end(&b->drv, &reap, f);
	return nb;
}

/* Post and take back until the time is up, then wait for what is still out, bounded. */
vireo_inline int
drive(struct bench *b, const enum table_mode mode, const uint32_t f)
{
	uint64_t posted = 0, back = 0, give_up;
	struct vq_post c;
	uint16_t i;

	while (rte_rdtsc() < b->stop_tsc) {
		back += take_back(b, mode, f);
		vq_post_begin(&b->drv, &c);
		for (i = 0; i < BURST && post_buffer(b, &c, mode, f); i++)
			posted++;
		vq_post_end(&b->drv, &c, f);
	}
	give_up = rte_rdtsc() + rte_get_tsc_hz();
	while (back < posted && !b->drv.broken && rte_rdtsc() < give_up)
		back += take_back(b, mode, f);
	__atomic_store_n(&b->done, true, __ATOMIC_RELEASE);
	return back == posted ? 0 : -EPROTO;
}

typedef int (*drive_fn)(struct bench *b);

/* Constant mode and flags, so that only what is measured is executed. */
#define DRIVE_FN(name, mode, flags)                                                                \
	static int drive_##name(struct bench *b)                                                   \
	{                                                                                          \
		return drive(b, mode, flags);                                                      \
	}

DRIVE_FN(split_pool, TABLE_POOL, RING_FLAGS)
DRIVE_FN(split_mempool, TABLE_MEMPOOL, RING_FLAGS)
DRIVE_FN(split_malloc, TABLE_MALLOC, RING_FLAGS)
DRIVE_FN(split_off, TABLE_OFF, RING_FLAGS)
DRIVE_FN(packed_pool, TABLE_POOL, RING_FLAGS | VQ_F_PACKED)
DRIVE_FN(packed_mempool, TABLE_MEMPOOL, RING_FLAGS | VQ_F_PACKED)
DRIVE_FN(packed_malloc, TABLE_MALLOC, RING_FLAGS | VQ_F_PACKED)
DRIVE_FN(packed_off, TABLE_OFF, RING_FLAGS | VQ_F_PACKED)

static const drive_fn drive_fns[NB_LAYOUTS][NB_TABLE_MODES] = {
	{ drive_split_pool, drive_split_mempool, drive_split_malloc, drive_split_off },
	{ drive_packed_pool, drive_packed_mempool, drive_packed_malloc, drive_packed_off },
};

/* --- device core --------------------------------------------------------------------- */

/* Walk every descriptor, as a device that is about to read the payload must. */
vireo_inline int
serve(struct bench *b, const uint32_t f)
{
	uint8_t room[sizeof(struct vq_chain) + SEGS_MAX * sizeof(struct vq_iov)] __rte_aligned(
		VIREO_CACHE_LINE);
	struct vq_chain *chain = (struct vq_chain *)room;
	struct vq_take take;
	uint32_t i;
	int rc = 0;

	chain->max = SEGS_MAX;
	while (rc >= 0 && !__atomic_load_n(&b->done, __ATOMIC_ACQUIRE)) {
		rc = vq_dev_begin(&b->dev, &take, f);
		if (rc <= 0)
			continue;
		for (i = 0; i < BURST; i++) {
			rc = vq_dev_next(&b->dev, &take, chain, f);
			if (rc <= 0)
				break;
			b->nb_buffers++;
			b->nb_pieces += chain->nb_out;
			vq_dev_use(&b->dev, chain->id, chain->nb_slots, 0, f);
		}
		vq_dev_publish(&b->dev, f);
	}
	b->error = rc < 0 ? rc : 0;
	return 0;
}

static int
serve_split(void *arg)
{
	return serve(arg, RING_FLAGS);
}

static int
serve_packed(void *arg)
{
	return serve(arg, RING_FLAGS | VQ_F_PACKED);
}

/* --- control --------------------------------------------------------------------------- */

static int
setup_rings(struct bench *b, const struct cell *cell)
{
	struct vq_conf conf = {
		.size = opt_ring_size,
		.flags = RING_FLAGS | (cell->layout == 1 ? VQ_F_PACKED : 0),
	};
	struct vq_mem_size size;
	int rc;

	if (cell->mode == TABLE_POOL) {
		conf.classes[0] = (struct vq_pool_class){ 4, (uint16_t)opt_ring_size };
		conf.classes[1] = (struct vq_pool_class){ 16, (uint16_t)opt_ring_size };
	}
	rc = vireo_vq_mem_size(&conf, &size);
	if (rc < 0)
		return rc;
	b->shared = rte_zmalloc("rings", size.shared_bytes, VIREO_CACHE_LINE);
	b->priv = rte_zmalloc("cookies", size.private_bytes, VIREO_CACHE_LINE);
	if (b->shared == NULL || b->priv == NULL)
		return -ENOMEM;
	rc = vireo_vq_drv_init(&b->drv, &conf, b->shared, (uintptr_t)b->shared, b->priv);
	if (rc < 0)
		return rc;
	/* A packed ring starts at slot 0 with its wrap counter set. */
	return vireo_vq_dev_init(&b->dev, &b->drv.ring, conf.size, conf.flags, NULL,
				 cell->layout == 1 ? 1u << VIREO_EVENT_WRAP_BIT : 0,
				 cell->layout == 1 ? 1u << VIREO_EVENT_WRAP_BIT : 0);
}

static int
setup_bench(struct bench *b, const struct cell *cell)
{
	memset(b, 0, sizeof(*b));
	b->nb_segs = cell->nb_segs;
	b->payload = rte_zmalloc("payload", (size_t)opt_ring_size * SEGS_MAX * SEG_BYTES,
				 VIREO_CACHE_LINE);
	if (b->payload == NULL)
		return -ENOMEM;
	if (cell->mode == TABLE_MEMPOOL) {
		b->tables = rte_mempool_create("tables", opt_ring_size * 2 - 1,
					       RTE_MAX(cell->nb_segs, 4) * sizeof(struct ring_desc),
					       256, 0, NULL, NULL, NULL, NULL, SOCKET_ID_ANY, 0);
		if (b->tables == NULL)
			return -ENOMEM;
	}
	return setup_rings(b, cell);
}

static void
teardown_bench(struct bench *b)
{
	rte_mempool_free(b->tables);
	rte_free(b->payload);
	rte_free(b->shared);
	rte_free(b->priv);
}

/* One reading of one cell. */
static int
measure_cell(struct cell *cell, unsigned int device_lcore, uint32_t window_ms)
{
	struct bench *b = &bench;
	uint64_t start, hz = rte_get_tsc_hz();
	int rc;

	rc = setup_bench(b, cell);
	if (rc < 0)
		goto teardown;
	start = rte_rdtsc();
	b->stop_tsc = start + hz / 1000 * window_ms;
	rte_eal_remote_launch(cell->layout == 1 ? serve_packed : serve_split, b, device_lcore);
	rc = drive_fns[cell->layout][cell->mode](b);
	start = rte_rdtsc() - start;
	rte_eal_wait_lcore(device_lcore);
	if (rc == 0)
		rc = b->error;
	/* The device saw what was meant to be measured. */
	if (rc == 0 && (b->nb_buffers == 0 || b->nb_pieces != b->nb_buffers * cell->nb_segs))
		rc = -EPROTO;
	if (rc == 0)
		cell->mpps[cell->nb_rounds++] =
			(double)b->nb_buffers / ((double)start / (double)hz) / 1e6;
teardown:
	teardown_bench(b);
	return rc;
}

static void
init_cells(struct cell cells[NB_CELLS])
{
	uint32_t i;

	for (i = 0; i < NB_CELLS; i++) {
		cells[i].mode = i % NB_TABLE_MODES;
		cells[i].nb_segs = seg_counts[i / NB_TABLE_MODES % NB_SEGS];
		cells[i].layout = i / NB_TABLE_MODES / NB_SEGS;
		cells[i].nb_rounds = 0;
	}
}

static void
report_cells(struct perf_json *json, struct cell cells[NB_CELLS])
{
	double mpps[NB_TABLE_MODES];
	uint32_t i, mode;

	printf("%-8s %5s %10s %10s %10s %10s   Mpps\n", "layout", "segs", mode_names[0],
	       mode_names[1], mode_names[2], mode_names[3]);
	perf_json_array(json, "indirect");
	for (i = 0; i < NB_CELLS; i += NB_TABLE_MODES) {
		for (mode = 0; mode < NB_TABLE_MODES; mode++) {
			struct cell *cell = &cells[i + mode];

			mpps[mode] = perf_median(cell->mpps, cell->nb_rounds);
			perf_json_object(json, NULL);
			perf_json_string(json, "mode", mode_names[mode]);
			perf_json_string(json, "layout", layout_names[cell->layout]);
			perf_json_uint(json, "segs", cell->nb_segs);
			perf_json_double(json, "mpps", mpps[mode]);
			perf_json_object_end(json);
		}
		printf("%-8s %5u %10.2f %10.2f %10.2f %10.2f\n", layout_names[cells[i].layout],
		       cells[i].nb_segs, mpps[0], mpps[1], mpps[2], mpps[3]);
	}
	perf_json_array_end(json);
}

static int
measure_all(struct cell cells[NB_CELLS], unsigned int device_lcore)
{
	const uint32_t nb_rounds = common.quick ? 5 : NB_ROUNDS_MAX;
	uint32_t window_ms = opt_window_ms, round, i;
	int rc;

	if (window_ms == 0)
		window_ms = common.quick ? 40 : 100;
	for (round = 0; round < nb_rounds && !perf_quit; round++) {
		for (i = 0; i < NB_CELLS; i++) {
			rc = measure_cell(&cells[i], device_lcore, window_ms);
			if (rc < 0)
				return rc;
		}
		if (!common.quick)
			printf("round %u of %u\n", round + 1, nb_rounds);
	}
	return 0;
}

static int
run(void)
{
	unsigned int device_lcore = rte_get_next_lcore(rte_get_main_lcore(), 1, 0);
	static struct cell cells[NB_CELLS];
	struct floor_result floor;
	struct perf_json json;
	int rc;

	if (device_lcore >= RTE_MAX_LCORE) {
		fprintf(stderr, "indirect: two lcores are needed: --lcores 0@0,1@1\n");
		return -EINVAL;
	}
	if ((opt_ring_size & (opt_ring_size - 1)) != 0) {
		fprintf(stderr, "indirect: --ring-size %u: expected a power of two\n",
			opt_ring_size);
		return -EINVAL;
	}
	rc = perf_json_open(&json, common.json_path);
	if (rc < 0)
		return rc;
	perf_env_print();
	init_cells(cells);
	rc = perf_floor_measure(&floor, true);
	if (rc == 0)
		rc = measure_all(cells, device_lcore);
	if (rc < 0) {
		perf_json_discard(&json);
		return rc;
	}
	perf_json_env(&json);
	perf_floor_json(&json, &floor);
	report_cells(&json, cells);
	return perf_json_close(&json);
}

const struct perf_command perf_indirect = {
	.name = "indirect",
	.summary = "raw rings: indirect tables from a pool, a mempool, malloc, or none",
	.opts = opts,
	.run = run,
};
