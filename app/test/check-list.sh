#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
#
# check-list.sh <vireo-test> <suite> <names...>: does the list that meson runs equal what the
# program has? A test that is registered but never run would otherwise go unnoticed.
set -eu

program=$1
suite=$2
shift 2
expected=$(printf '%s\n' "$@" | sort)
listed=$("$program" --list "$suite" | sort)
if [ "$expected" != "$listed" ]; then
	echo "app/test/meson.build and vireo-test differ in suite '$suite':" >&2
	echo "meson.build has:" $expected >&2
	echo "vireo-test has: " $listed >&2
	exit 1
fi
