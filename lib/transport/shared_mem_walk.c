/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <rte_errno.h>
#include <rte_memory.h>

#include "../base/log.h"
#include "shared_mem.h"

/* The only part of shared_mem.h that knows EAL. */

RTE_LOG_REGISTER(shared_mem_logtype, lib.vireo.transport.mem, NOTICE);
#define LOG(level, ...) VIREO_LOG(level, shared_mem_logtype, "memory", __VA_ARGS__)

struct walk {
	struct shared_mem *m;
	uint64_t gone;
	uint64_t gone_end;
	int ret;
};

static int
walk_segment(const struct rte_memseg_list *msl, const struct rte_memseg *ms, void *arg)
{
	struct walk *w = arg;
	struct shared_range r = { .va = (uint64_t)(uintptr_t)ms->addr, .len_bytes = ms->len };
	size_t offset;

	if (msl->external)
		return 0;
	/* Memory is freed in whole segments, so one that is touched is gone. */
	if (r.va < w->gone_end && r.va + r.len_bytes > w->gone)
		return 0;
	r.fd = rte_memseg_get_fd_thread_unsafe(ms);
	if (r.fd < 0 || rte_memseg_get_fd_offset_thread_unsafe(ms, &offset) < 0) {
		LOG(ERR,
		    "memory at %p has no file descriptor to share (%s): expected hugepages"
		    " without --legacy-mem, or --no-huge with memfd",
		    ms->addr, rte_strerror(rte_errno));
		w->ret = -ENOTSUP;
		return -1;
	}
	r.offset = offset;
	w->ret = shared_mem_add(w->m, &r);
	return w->ret;
}

int
shared_mem_walk(struct shared_mem *m, const void *gone, size_t gone_bytes)
{
	struct walk w = {
		.m = m,
		.gone = (uint64_t)(uintptr_t)gone,
		.gone_end = (uint64_t)(uintptr_t)gone + gone_bytes,
	};

	shared_mem_clear(m);
	if (rte_memseg_walk_thread_unsafe(walk_segment, &w) != 0)
		return w.ret < 0 ? w.ret : -ENOTSUP;
	return 0;
}
