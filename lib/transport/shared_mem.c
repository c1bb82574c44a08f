/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <stdlib.h>
#include <string.h>

#include "shared_mem.h"

void
shared_mem_clear(struct shared_mem *m)
{
	free(m->ranges);
	memset(m, 0, sizeof(*m));
}

/* The same file, mapped so that both ranges could be one mapping. */
static bool
same_mapping(const struct shared_range *a, const struct shared_range *b)
{
	return a->fd == b->fd && a->va - a->offset == b->va - b->offset;
}

int
shared_mem_append(struct shared_mem *m, const struct shared_range *r)
{
	struct shared_range *ranges;
	uint32_t room;

	if (m->ranges == NULL || m->nb == m->room) {
		room = m->room == 0 ? 16 : m->room * 2;
		ranges = realloc(m->ranges, room * sizeof(*ranges));
		if (ranges == NULL)
			return -ENOMEM;
		m->ranges = ranges;
		m->room = room;
	}
	m->ranges[m->nb++] = *r;
	return 0;
}

int
shared_mem_add(struct shared_mem *m, const struct shared_range *r)
{
	struct shared_range *last = m->nb > 0 ? &m->ranges[m->nb - 1] : NULL;

	if (last != NULL && same_mapping(last, r) && last->va + last->len_bytes == r->va) {
		last->len_bytes += r->len_bytes;
		return 0;
	}
	return shared_mem_append(m, r);
}

int
shared_mem_limit(struct shared_mem *m, uint32_t max_ranges)
{
	struct shared_range *r, *into;
	uint64_t end, start;
	uint32_t i, j, nb = 0;

	if (m->nb <= max_ranges)
		return 0;
	for (i = 0; i < m->nb; i++) {
		r = &m->ranges[i];
		for (j = 0; j < nb && !same_mapping(&m->ranges[j], r); j++)
			;
		into = &m->ranges[j];
		if (j == nb) {
			*into = *r;
			nb++;
			continue;
		}
		end = RTE_MAX(into->va + into->len_bytes, r->va + r->len_bytes);
		start = RTE_MIN(into->va, r->va);
		into->offset -= into->va - start;
		into->va = start;
		into->len_bytes = end - start;
	}
	m->nb = nb;
	return nb <= max_ranges ? 0 : -E2BIG;
}

/* The range of m that holds the byte at va of r's mapping, or that comes next after it. */
static const struct shared_range *
range_at(const struct shared_mem *m, const struct shared_range *r, uint64_t va)
{
	const struct shared_range *best = NULL;
	uint32_t i;

	for (i = 0; i < m->nb; i++) {
		if (!same_mapping(&m->ranges[i], r) ||
		    m->ranges[i].va + m->ranges[i].len_bytes <= va)
			continue;
		if (best == NULL || m->ranges[i].va < best->va)
			best = &m->ranges[i];
	}
	return best;
}

bool
shared_mem_uncovered(const struct shared_mem *m, const struct shared_range *r, uint64_t *at,
		     struct shared_range *piece)
{
	const uint64_t end = r->va + r->len_bytes;
	const struct shared_range *next;
	uint64_t va = r->va + *at;
	uint64_t stop;

	for (;;) {
		if (va >= end)
			return false;
		next = range_at(m, r, va);
		if (next == NULL || next->va > va)
			break;
		va = next->va + next->len_bytes;
	}
	stop = next == NULL ? end : RTE_MIN(end, next->va);
	piece->fd = r->fd;
	piece->va = va;
	piece->len_bytes = stop - va;
	piece->offset = r->offset + (va - r->va);
	*at = stop - r->va;
	return true;
}

bool
shared_mem_overlaps(const struct shared_mem *m, const struct shared_range *r)
{
	const struct shared_range *next = range_at(m, r, r->va);

	return next != NULL && next->va < r->va + r->len_bytes;
}
