#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
#
# usage: demo.sh [part...]
# Sets the machine up, then shows the main job on real traffic, a part for each half of Vireo. Ends
# with 0 only when every part saw its traffic arrive. About a minute after set-up.
set -eu -o pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Each part is scripts/demo_<part>.py: it prints its table and ends with 0 when it worked.
parts="net"

for part in "$@"; do
	[[ " $parts " == *" $part "* ]] || die "unknown part '$part'; accepted: $parts"
done

"$top/scripts/setup.sh"

failed=
# shellcheck disable=SC2048 # a list of words
for part in ${*:-$parts}; do
	echo
	VIREO_BUILD=$top/build timeout -k 5 300 "$python" "$top/scripts/demo_$part.py" ||
		failed="$failed $part"
done
[ -z "$failed" ] || die "did not work:$failed"
