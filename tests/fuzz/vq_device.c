/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * The device end of lib/vq in front of arbitrary driver memory: the input is the memory's
 * first content and a script of bursts and of changes that the driver makes meanwhile.
 * FUZZ_FLAGS chooses the layout. AddressSanitizer shows any access outside of the memory
 * that was shared; each piece that the engine hands out is read or written whole.
 */

#include "fuzz.h"
#include "vq/vq_device.h"

/* Two regions that touch in the driver's space and do not here. */
#define REGION_BYTES 8192
#define SECOND_ADDR REGION_BYTES
#define CHAIN_MAX 24
#define SCRIPT_MAX 4096

struct world {
	uint8_t *mem[2];
	struct vq_regions *regions;
	struct vq_dev dev;
	struct vq_chain *chain;
	uint32_t f;
	uint16_t held_id[256]; /* FIFO of what the device has taken */
	uint16_t held_slots[256];
	uint8_t nb_held;
	uint32_t sum; /* of all that was read: keeps the reads */
};

static void
open_world(struct world *w, struct fuzz_input *in)
{
	uint8_t kind = fuzz_u8(in), size_code = fuzz_u8(in);
	uint32_t size = (FUZZ_FLAGS & VQ_F_PACKED) ? 1 + size_code % 64 : 1u << size_code % 7;
	struct vq_ring_mem ring;

	w->f = FUZZ_FLAGS | (kind & (VQ_F_IN_ORDER | VQ_F_EVENT_IDX | VQ_F_INDIRECT));
	w->mem[0] = calloc(1, REGION_BYTES);
	w->mem[1] = calloc(1, REGION_BYTES);
	w->regions = calloc(1, sizeof(*w->regions) + 2 * sizeof(struct vq_region));
	w->chain = calloc(1, sizeof(*w->chain) + CHAIN_MAX * sizeof(struct vq_iov));
	if (w->mem[0] == NULL || w->mem[1] == NULL || w->regions == NULL || w->chain == NULL)
		abort();
	w->chain->max = CHAIN_MAX;
	w->regions->nb = 2;
	w->regions->region[0] = (struct vq_region){ 0, REGION_BYTES, (uintptr_t)w->mem[0] };
	w->regions->region[1] =
		(struct vq_region){ SECOND_ADDR, REGION_BYTES, (uintptr_t)w->mem[1] };
	/* Descriptors first, the other parts at fixed places, the rest for tables and data. */
	ring.desc = (void *)w->mem[0];
	ring.avail = (void *)(w->mem[0] + 1024);
	ring.used = (void *)(w->mem[0] + 1280);
	FUZZ_ASSERT(vireo_vq_dev_init(&w->dev, &ring, size, w->f, w->regions,
				      (FUZZ_FLAGS & VQ_F_PACKED) ? 0x8000 : 0,
				      (FUZZ_FLAGS & VQ_F_PACKED) ? 0x8000 : 0) == 0);
	fuzz_copy(in, w->mem[0], size * sizeof(struct ring_desc));
	fuzz_copy(in, w->mem[0] + 1024, 4 + 2 * size);
}

static void
close_world(struct world *w)
{
	free(w->mem[0]);
	free(w->mem[1]);
	free(w->regions);
	free(w->chain);
}

static bool
is_inside(const struct world *w, const struct vq_iov *iov)
{
	uintptr_t base = (uintptr_t)iov->base;
	int i;

	for (i = 0; i < 2; i++) {
		uintptr_t mem = (uintptr_t)w->mem[i];

		if (base >= mem && base - mem <= REGION_BYTES &&
		    iov->len <= REGION_BYTES - (base - mem))
			return true;
	}
	return false;
}

/* Do with a buffer what a device does: read all of it that is readable, write the rest. */
static void
touch_chain(struct world *w)
{
	const struct vq_chain *ch = w->chain;
	uint64_t out = 0, in = 0;
	uint32_t i, k;

	FUZZ_ASSERT(ch->nb_out + ch->nb_in <= CHAIN_MAX);
	FUZZ_ASSERT(ch->nb_slots >= 1 && ch->nb_slots <= w->dev.size);
	for (i = 0; i < (uint32_t)ch->nb_out + ch->nb_in; i++) {
		FUZZ_ASSERT(is_inside(w, &ch->iov[i]));
		if (i < ch->nb_out) {
			out += ch->iov[i].len;
			for (k = 0; k < ch->iov[i].len; k++)
				w->sum += ((const uint8_t *)ch->iov[i].base)[k];
		} else {
			in += ch->iov[i].len;
		}
	}
	FUZZ_ASSERT(out == ch->out_bytes && in == ch->in_bytes);
}

static void
take(struct world *w, uint8_t max)
{
	struct vq_take t;
	int rc = vq_dev_begin(&w->dev, &t, w->f);

	while (rc > 0 && max-- != 0 && w->nb_held < 255) {
		rc = vq_dev_next(&w->dev, &t, w->chain, w->f);
		if (rc <= 0)
			break;
		touch_chain(w);
		if (max == 7) {
			vq_dev_untake(&w->dev, &t, w->chain, w->f);
			break;
		}
		w->held_id[w->nb_held] = w->chain->id;
		w->held_slots[w->nb_held++] = w->chain->nb_slots;
	}
	FUZZ_ASSERT((rc == -EPROTO) == (w->dev.broken != VQ_OK));
}

static void
use(struct world *w, uint8_t i, uint16_t written)
{
	if (w->nb_held == 0)
		return;
	i %= w->nb_held;
	if (w->f & VQ_F_IN_ORDER)
		i = 0;
	vq_dev_use(&w->dev, w->held_id[i], w->held_slots[i], written, w->f);
	w->nb_held--;
	memmove(&w->held_id[i], &w->held_id[i + 1], (w->nb_held - i) * sizeof(w->held_id[0]));
	memmove(&w->held_slots[i], &w->held_slots[i + 1],
		(w->nb_held - i) * sizeof(w->held_slots[0]));
}

/* The driver writes anything anywhere in what it shares. */
static void
poke(struct world *w, struct fuzz_input *in)
{
	uint16_t at = fuzz_u16(in) % (2 * REGION_BYTES);
	uint8_t n = 1 + fuzz_u8(in) % 32;
	uint8_t bytes[32] = { 0 };
	uint8_t *mem = w->mem[at / REGION_BYTES];

	fuzz_copy(in, bytes, n);
	at %= REGION_BYTES;
	memcpy(mem + at, bytes, n <= REGION_BYTES - at ? n : REGION_BYTES - at);
}

static void
restart(struct world *w)
{
	uint16_t avail, used;
	struct vq_ring_mem ring = w->dev.ring;

	if (w->nb_held != 0 || w->dev.nb_pending != 0)
		return;
	vireo_vq_dev_base(&w->dev, &avail, &used);
	FUZZ_ASSERT(avail == used);
	FUZZ_ASSERT(vireo_vq_dev_init(&w->dev, &ring, w->dev.size, w->f, w->regions, avail, used) ==
		    0);
}

static void
step(struct world *w, struct fuzz_input *in)
{
	uint8_t op = fuzz_u8(in);

	switch (op % 8) {
	case 0:
	case 1:
		take(w, 1 + op / 8);
		break;
	case 2:
		use(w, op / 8, fuzz_u16(in));
		break;
	case 3:
		vq_dev_publish(&w->dev, w->f);
		(void)vq_call_needed(&w->dev, w->f);
		break;
	case 4:
	case 5:
		poke(w, in);
		break;
	case 6:
		if (op & 8)
			(void)vq_dev_arm(&w->dev, w->f);
		else
			vq_dev_disarm(&w->dev, w->f);
		break;
	case 7:
		restart(w);
		break;
	}
	FUZZ_ASSERT(w->dev.nb_inflight <= w->dev.size);
	FUZZ_ASSERT(vireo_vq_dev_check(&w->dev) == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size < SCRIPT_MAX ? size : SCRIPT_MAX };
	struct world w = { 0 };

	open_world(&w, &in);
	while (in.left != 0)
		step(&w, &in);
	close_world(&w);
	return 0;
}
