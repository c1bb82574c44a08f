#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
#
# usage: run.sh [work folder]
# Installs into a prefix of its own, builds open_port.c with `pkg-config vireo`, shared and static,
# and opens a net_vireo port with both; then lets a stock program load the installed plugin.
set -eu -o pipefail
# shellcheck source=../../scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"

if [ $# -gt 0 ]; then
	work=$1
	mkdir -p "$work"
else
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
fi
prefix=$work/prefix
log=$work/build.log

step() {
	local name=$1
	shift
	# Not as a condition: -e holds inside.
	("$@") >"$log" 2>&1 &
	if ! wait $!; then
		tail -n 40 "$log" >&2
		die "$name failed"
	fi
	say "$name: ok"
}

install_tree() {
	rm -rf "$prefix"
	[ -f "$work/build/build.ninja" ] ||
		meson setup "$work/build" "$top" --prefix "$prefix" -Dtests=false -Dapps=false
	meson install -C "$work/build"
}

# open_port <program> <EAL arguments...>
open_port() {
	local program=$1
	shift
	timeout -k 5 60 "$program" --no-huge -m 256 --no-pci --no-telemetry --no-shconf -l 0 "$@" \
		--vdev "net_vireo0,server=1,path=$work/vhost.sock"
}

build_shared() {
	local flags libs
	read -ra flags < <(pkg-config --cflags vireo)
	read -ra libs < <(pkg-config --libs vireo)
	gcc -O2 "${flags[@]}" -o "$work/open_port_shared" "$top/tests/packaging/open_port.c" \
		"${libs[@]}" -Wl,-rpath,"$libdir"
}

build_static() {
	local flags libs
	read -ra flags < <(pkg-config --static --cflags vireo)
	read -ra libs < <(pkg-config --static --libs vireo)
	gcc -O2 "${flags[@]}" -o "$work/open_port_static" "$top/tests/packaging/open_port.c" "${libs[@]}"
}

# The examples as their own Makefiles build them: shared, then static.
build_examples() {
	local makefile name
	for makefile in "$top"/examples/*/Makefile; do
		name=$(basename "$(dirname "$makefile")")
		rm -rf "${work:?}/$name"
		cp -r "$(dirname "$makefile")" "$work/$name"
		make -C "$work/$name" "$name" CFLAGS='-O2 -Wall -Wextra -Werror'
		needs "$work/$name/$name" librte_net_vireo
		rm "$work/$name/$name"
		make -C "$work/$name" static CFLAGS='-O2 -Wall -Wextra -Werror'
		needs_not "$work/$name/$name" 'lib.*vireo'
	done
}

needs() { readelf -d "$1" | grep -q "NEEDED.*\[$2"; }
needs_not() { ! needs "$@"; }

# testpmd knows nothing of Vireo; the loader finds the plugin by its name in the plugin folder.
# Started without a tty it quits at once, after it has listed its ports.
load_plugin() {
	LD_LIBRARY_PATH=$libdir/vireo/pmds timeout -k 5 60 dpdk-testpmd --no-huge -m 256 --no-pci \
		--no-telemetry --no-shconf -l 0,1 -d librte_net_vireo.so \
		--vdev "net_vireo0,server=1,path=$work/vhost.sock" -- --total-num-mbufs=2048 \
		--disable-link-check </dev/null
	grep -q 'Configuring Port 0' "$log"
}

step "install into a prefix" install_tree
pc=$(find "$prefix" -name vireo.pc)
[ -n "$pc" ] || die "vireo.pc was not installed"
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH="$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"

step "build, shared" build_shared
step "the plugin is not dropped by the linker" needs "$work/open_port_shared" librte_net_vireo
step "open a port, shared" open_port "$work/open_port_shared"
step "build, static" build_static
step "nothing of Vireo is linked as a shared object" needs_not "$work/open_port_static" 'lib.*vireo'
step "open a port, static" open_port "$work/open_port_static"
step "build the examples, shared and static" build_examples
step "a stock program loads the plugin" load_plugin
