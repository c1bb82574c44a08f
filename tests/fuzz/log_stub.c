/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * EAL's log in programs without EAL: each line is formatted, so that a bad argument is
 * found, and thrown away.
 */

#include <stdarg.h>
#include <stdio.h>

#include <rte_log.h>

int
rte_log(uint32_t level, uint32_t logtype, const char *format, ...)
{
	char line[512];
	va_list ap;

	(void)level;
	(void)logtype;
	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	return 0;
}

int
rte_log_register_type_and_pick_level(const char *name, uint32_t level_def)
{
	(void)name;
	(void)level_def;
	return 0;
}
