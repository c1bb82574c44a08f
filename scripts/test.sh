#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
#
# usage: test.sh [--fast]
# Sets the machine up, then runs all tests: unit and packaging tests by meson, then the runs against
# real peers. --fast leaves the latter two out. Last line: "N passed, N failed[, N skipped]".
set -eu -o pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

fast=no
case ${1:-} in
'') ;;
--fast) fast=yes ;;
*) die "unknown argument '$1'; accepted: --fast" ;;
esac

"$top/scripts/setup.sh" --tests

passed=0 failed=0 skipped=0

# count_meson <log>: meson's own record, one JSON object a line.
count_meson() {
	"$python" - "$1" <<'END'
import json, sys
count = {"passed": 0, "failed": 0, "skipped": 0}
for line in open(sys.argv[1]):
    result = json.loads(line)["result"]
    count[{"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}.get(result, "failed")] += 1
print(count["passed"], count["failed"], count["skipped"])
END
}

run_meson_tests() {
	local suite=(--suite fast) log=$top/build/meson-logs/testlog.json p f s
	[ $fast = yes ] || suite=(--no-suite perf)
	say "meson test ${suite[*]}"
	rm -f "$log"
	meson test -C "$top/build" --no-rebuild --print-errorlogs "${suite[@]}" </dev/null || true
	if [ ! -s "$log" ]; then
		say "meson ran no test"
		failed=$((failed + 1))
		return
	fi
	read -r p f s < <(count_meson "$log")
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# The runs against peers end with a line of the same form as ours.
run_interop() {
	local log=$top/build/interop.log status=0 sum
	say "tests/interop/run.sh"
	"$top/tests/interop/run.sh" </dev/null 2>&1 | tee "$log" || status=$?
	sum=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
	if [ -z "$sum" ]; then
		say "tests/interop/run.sh ended without a sum (status $status)"
		failed=$((failed + 1))
		return
	fi
	passed=$((passed + $(cut -d' ' -f1 <<<"$sum")))
	failed=$((failed + $(cut -d' ' -f3 <<<"$sum")))
	skipped=$((skipped + $(sed -nE 's/.*, ([0-9]+) skipped.*/\1/p; t; s/.*/0/p' <<<"$sum")))
	# A sum that is at odds with the exit status is not believed.
	if [ $status -ne 0 ] && [ "$(cut -d' ' -f3 <<<"$sum")" -eq 0 ]; then
		failed=$((failed + 1))
	fi
}

run_meson_tests
[ $fast = yes ] || run_interop

if [ $skipped -gt 0 ]; then
	echo "$passed passed, $failed failed, $skipped skipped"
else
	echo "$passed passed, $failed failed"
fi
[ $failed -eq 0 ] && [ $passed -gt 0 ]
