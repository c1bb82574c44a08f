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
