#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
#
# usage: run.sh [name...]
# Runs the tests against peers that others wrote, all net_*.sh of this folder or those named
# (net_bytes, ...), and sums up what they count. Last line: "N passed, N failed, N skipped".
set -u -o pipefail
# shellcheck source=../../scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"

here=$top/tests/interop
if [ $# -eq 0 ]; then
	tests=("$here"/net_*.sh)
else
	tests=("${@/#/$here/}")
	tests=("${tests[@]/%/.sh}")
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT

passed=0 failed=0 skipped=0
for test in "${tests[@]}"; do
	name=$(basename "$test" .sh)
	[ -x "$test" ] || die "there is no test '$name' in tests/interop"
	echo "-- $name"
	begin=$SECONDS
	status=0
	"$test" </dev/null 2>&1 | tee "$log" || status=$?
	sum=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
	read -r p _ f _ s _ <<<"${sum:-0 passed, 0 failed, 0 skipped}"
	if [ $status -ne 0 ] && [ "$f" -eq 0 ]; then
		echo "$name: ended with status $status"
		f=1
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	echo "-- $name: $((SECONDS - begin)) s"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
