#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
#
# usage: run.sh [--full] [name...]
# Runs the tests against real peers (all of them, or those named, e.g. net_matrix), a line a case.
# --full: every combination instead of a selection. Last line: "N passed, N failed, N skipped".
set -u -o pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

all="net_errors net_bytes net_matrix net_ethdev net_offload net_hotplug net_multiprocess net_l2fwd net_ovs
	net_reconnect"
# The ones that have something to add for --full.
takes_full=" net_matrix net_reconnect "
# Seconds after which a test is taken to hang.
limit=300 limit_full=3600

usage() {
	echo "usage: run.sh [--full] [name...]; names: $all" >&2
	exit 2
}

full=
names=
for arg in "$@"; do
	case $arg in
	--full) full=--full ;;
	-*) usage ;;
	*)
		[ -x "$here/$arg.sh" ] || usage
		names="$names $arg"
		;;
	esac
done
[ -z "$full" ] || limit=$limit_full

passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

run_one() {
	local name=$1 argument='' status=0 sum p f s
	[[ $takes_full != *" $name "* ]] || argument=$full
	# shellcheck disable=SC2086 # nothing when empty
	timeout -k 10 $limit "$here/$name.sh" $argument </dev/null 2>&1 | tee "$log" |
		grep -vE '^[0-9]+ passed, [0-9]+ failed'
	status=${PIPESTATUS[0]}
	sum=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
	if [ -z "$sum" ]; then
		echo "FAIL $name: ended without a sum, status $status"
		failed=$((failed + 1))
		return
	fi
	read -r p _ f _ s _ <<<"$sum"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
		echo "FAIL $name: all passed, but status $status"
		failed=$((failed + 1))
	fi
}

for name in ${names:-$all}; do
	run_one "$name"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
