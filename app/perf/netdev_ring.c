/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

#include "netdev_ring.h"

/* The header's place, or NULL with the reason in the ring. */
static void *
finish_chain(struct netdev_ring *ring, const struct netdev_chain *chain)
{
	if (chain->broken == VQ_OK && chain->bytes >= ring->fill_bytes)
		return chain->hdr;
	ring->broken = chain->broken != VQ_OK ? chain->broken : VQ_BAD_CHAIN_LEN;
	return NULL;
}

static void
add_split_table(struct netdev_ring *ring, struct netdev_chain *chain, uint64_t addr, uint32_t len)
{
	const struct ring_desc *table = netdev_translate(ring->regions, addr, len);
	const uint32_t nb = len / sizeof(*table);
	uint32_t i, seen;
	uint16_t flags;

	/* Section 2.7.5.3: a table is whole descriptors, linked by next, and not nested. */
	if (table == NULL || nb == 0 || len % sizeof(*table) != 0) {
		chain->broken = VQ_BAD_INDIRECT;
		return;
	}
	for (i = 0, seen = 0; seen < nb && i < nb; seen++) {
		flags = table[i].flags;
		if (flags & VIREO_DESC_F_INDIRECT) {
			chain->broken = VQ_BAD_INDIRECT;
			return;
		}
		netdev_chain_add(ring, chain, table[i].addr, table[i].len, flags);
		if ((flags & VIREO_DESC_F_NEXT) == 0)
			return;
		i = table[i].next;
	}
	chain->broken = VQ_BAD_DESC_IDX;
}

void *
netdev_split_chain(struct netdev_ring *ring, uint16_t id)
{
	struct netdev_chain chain = { 0 };
	uint32_t seen;
	uint16_t flags;

	for (seen = 0; seen < ring->size && id < ring->size; seen++) {
		const struct ring_desc *desc = &ring->mem.desc[id];

		flags = desc->flags;
		id = desc->next;
		if (flags & VIREO_DESC_F_INDIRECT)
			add_split_table(ring, &chain, desc->addr, desc->len);
		else
			netdev_chain_add(ring, &chain, desc->addr, desc->len, flags);
		if ((flags & VIREO_DESC_F_NEXT) == 0)
			return finish_chain(ring, &chain);
	}
	ring->broken = VQ_BAD_DESC_IDX;
	return NULL;
}

static void
add_packed_table(struct netdev_ring *ring, struct netdev_chain *chain, uint64_t addr, uint32_t len)
{
	const struct ring_packed_desc *table = netdev_translate(ring->regions, addr, len);
	const uint32_t nb = len / sizeof(*table);
	uint32_t i;

	/* Section 2.8.7: the length says how many; only WRITE is valid in there. */
	if (table == NULL || nb == 0 || len % sizeof(*table) != 0) {
		chain->broken = VQ_BAD_INDIRECT;
		return;
	}
	for (i = 0; i < nb; i++)
		netdev_chain_add(ring, chain, table[i].addr, table[i].len, table[i].flags);
}

void *
netdev_packed_chain(struct netdev_ring *ring, uint16_t slot, uint16_t *nb_slots, uint16_t *id)
{
	struct netdev_chain chain = { 0 };
	uint16_t seen, flags;

	for (seen = 1; seen <= ring->size; seen++) {
		const struct ring_packed_desc *desc = &ring->mem.pdesc[slot];

		flags = desc->flags;
		*id = desc->id;
		if (flags & VIREO_DESC_F_INDIRECT)
			add_packed_table(ring, &chain, desc->addr, desc->len);
		else
			netdev_chain_add(ring, &chain, desc->addr, desc->len, flags);
		if ((flags & VIREO_DESC_F_NEXT) == 0) {
			*nb_slots = seen;
			return finish_chain(ring, &chain);
		}
		slot = (uint16_t)(slot + 1 == ring->size ? 0 : slot + 1);
	}
	ring->broken = VQ_BAD_CHAIN_LEN;
	return NULL;
}
