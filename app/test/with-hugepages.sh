#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
#
# with-hugepages.sh PAGES COMMAND...: runs the command when that many 2 MB pages are free and
# ours to take, else says why not and exits with 77 (meson: skipped).
pages=$1
shift
free=$(cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages 2>/dev/null || echo 0)
if [ "$free" -lt "$pages" ]; then
	echo "skipped: $free hugepages of 2 MB are free, $pages are needed"
	exit 77
fi
exec "$@"
