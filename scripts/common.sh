# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
#
# Sourced by the scripts of this folder and of devtools/: where the tree is, and how to speak.
# shellcheck shell=bash

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export top

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
warn() { printf '%s: warning: %s\n' "${0##*/}" "$*" >&2; }
die() {
	printf '%s: error: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# Debian's python3, which has the distribution's modules whatever stands first in PATH.
python=/usr/bin/python3
[ -x "$python" ] || python=python3
export python

# tree_files <pattern>...: what the repository holds (added files included), else what lies there.
tree_files() {
	if git -C "$top" rev-parse --git-dir >/dev/null 2>&1; then
		git -C "$top" ls-files --cached --others --exclude-standard -- "$@" |
			while read -r file; do
				[ ! -e "$top/$file" ] || echo "$file"
			done
		return
	fi
	local pattern
	for pattern in "$@"; do
		(cd "$top" && find . \( -path './build*' -o -path './.*' \) -prune -o -name "$pattern" -type f -printf '%P\n')
	done | sort
}
