#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
exec /usr/bin/python3 "$(dirname "$0")/net_ethdev.py" "$@"
