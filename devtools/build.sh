# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
#
# Sourced by the checks that build: each has a folder of its own beside build/.
# shellcheck shell=bash disable=SC2154 # top is from common.sh

# meson_dir <name> <meson options...>: configures build-<name> (or leaves it) and prints its path.
meson_dir() {
	local dir=$top/build-$1 log=$top/build-$1.log
	shift
	if [ ! -f "$dir/build.ninja" ] || [ "$(cat "$dir/.options" 2>/dev/null)" != "$*" ]; then
		rm -rf "$dir"
		if ! meson setup "$dir" "$top" "$@" >"$log" 2>&1; then
			tail -n 20 "$log" >&2
			return 1
		fi
		echo "$*" >"$dir/.options"
		rm -f "$log"
	fi
	echo "$dir"
}

# compile <folder> [target...]: quiet unless it fails.
compile() {
	local output dir=$1
	shift
	if ! output=$(ninja -C "$dir" "$@" 2>&1); then
		grep -vE '^\[[0-9]+/[0-9]+\] |^ninja: ' <<<"$output" | tail -n 60 >&2
		return 1
	fi
}
