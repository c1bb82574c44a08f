#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
#
# Makes a fresh Debian 12 machine ready: packages, driver SDK headers, hugepages, build/.
# Does only what is missing, so that a second call ends within seconds.
set -eu -o pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
	cat <<'END'
usage: setup.sh [--tests] [--no-hugepages] [--no-build]

  --tests         also install what the tests and devtools/check-all need
  --no-hugepages  leave hugepages alone
  --no-build      stop before meson setup and compile

Without root (and without sudo) it works when the packages are installed already.
END
}

# To build, and to run the demonstration.
packages_demo="ca-certificates dpdk gcc libdpdk-dev libnuma-dev libpcap-dev meson ninja-build
	openvswitch-switch-dpdk pkg-config procps xz-utils"
# To test and check as well.
packages_tests="clang-14 clang-format-14 clang-tidy-14 cppcheck dpdk-dev g++ gcovr git
	libclang-rt-14-dev libsystemd-dev make python3 python3-pyelftools shellcheck
	valgrind"

# Driver SDK headers, as they lie in DPDK's source tree.
sdk_headers="drivers/bus/pci/bus_pci_driver.h drivers/bus/vdev/bus_vdev_driver.h
	lib/eal/include/bus_driver.h lib/eal/include/dev_driver.h lib/ethdev/ethdev_driver.h
	lib/ethdev/ethdev_pci.h lib/ethdev/ethdev_vdev.h"

hugepages_wanted=1024

with_tests=no with_hugepages=yes with_build=yes
for arg in "$@"; do
	case $arg in
	--tests) with_tests=yes ;;
	--no-hugepages) with_hugepages=no ;;
	--no-build) with_build=no ;;
	-h | --help)
		usage
		exit 0
		;;
	*)
		usage >&2
		die "unknown argument '$arg'"
		;;
	esac
done

as_root=
if [ "$(id -u)" -ne 0 ]; then
	as_root=none
	if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
		as_root="sudo -n"
	fi
fi

# --- packages ----------------------------------------------------------------

missing_packages() {
	local wanted=$packages_demo installed p
	[ $with_tests = no ] || wanted="$wanted $packages_tests"
	# shellcheck disable=SC2086 # a list of words
	installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $wanted 2>/dev/null |
		awk '$1 == "ii" { print $2 }' || true)
	for p in $wanted; do
		grep -qx "$p" <<<"$installed" || echo "$p"
	done
}

install_packages() {
	local missing
	if ! command -v dpkg-query >/dev/null; then
		warn "this is no Debian: see to a DPDK >= 22.11 with its driver SDK yourself"
		return
	fi
	missing=$(missing_packages | tr '\n' ' ')
	if [ -z "$missing" ]; then
		say "packages: all there"
		return
	fi
	if [ "$as_root" = none ]; then
		die "these packages are missing and neither root nor sudo is at hand; as root, run:
  apt-get update && apt-get install --no-install-recommends $missing"
	fi
	say "packages: installing $missing"
	$as_root apt-get -qq update </dev/null
	# shellcheck disable=SC2086 # lists of words
	$as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq install --no-install-recommends -y $missing </dev/null >/dev/null
}

# --- driver SDK headers --------------------------------------------------------

have_installed_sdk() {
	# shellcheck disable=SC2046 # flags
	echo '#include <ethdev_driver.h>' |
		${CC:-cc} $(pkg-config --cflags libdpdk) -DALLOW_INTERNAL_API -E - >/dev/null 2>&1
}

# signed_by <file>:<number>: the keyring named by that stanza of a .sources file, or by that line
# of a .list file, else Debian's own where it is installed, else nothing (apt's trusted keys).
signed_by() {
	local file=${1%:*} number=${1##*:} key=
	case $file in
	*.sources)
		key=$(awk -v RS= -v n="$number" 'NR == n' "$file" | sed -n 's/^Signed-By:[ \t]*//Ip')
		;;
	*) key=$(sed -n "${number}s/.*signed-by=\([^] ]*\).*/\1/p" "$file") ;;
	esac
	[ -r "$key" ] || key=/usr/share/keyrings/debian-archive-keyring.gpg
	[ ! -r "$key" ] || printf '[signed-by=%s] ' "$key"
}

# The archives that apt is configured for, as deb-src lines: theirs are the mirror and the keys.
source_list() {
	local uri release entry
	apt-get indextargets --format '$(REPO_URI)|$(RELEASE)|$(SOURCESENTRY)' \
		'Created-By: Packages' 'Component: main' 'Origin: Debian' 2>/dev/null | sort -u |
		while IFS='|' read -r uri release entry; do
			echo "deb-src $(signed_by "$entry")$uri $release main"
		done
}

# fetch_source <folder> <version>: DPDK's source archive, checked by apt against its keys.
fetch_source() {
	local apt
	apt="apt-get -qq -o Dir::Etc::SourceList=$1/sources.list -o Dir::Etc::SourceParts=$1/parts
		-o Dir::State::Lists=$1/lists -o Dir::Cache=$1/cache -o Acquire::Languages=none
		-o APT::Sandbox::User=$(id -un)"

	mkdir -p "$1/parts" "$1/lists/partial" "$1/cache/archives/partial"
	source_list >"$1/sources.list"
	if [ ! -s "$1/sources.list" ] && [ "$as_root" != none ]; then
		# Never updated: apt does not know yet whose archives these are.
		$as_root apt-get -qq update </dev/null
		source_list >"$1/sources.list"
	fi
	if [ ! -s "$1/sources.list" ]; then
		warn "apt knows no archive of Debian: run 'apt-get update' as root"
		return 1
	fi
	(
		cd "$1"
		# shellcheck disable=SC2086 # a command with its options
		$apt update </dev/null &&
			$apt source --download-only --tar-only "dpdk=$2" </dev/null >/dev/null
	)
}

fetch_sdk() {
	local version package_version sdk tmp
	pkg-config --exists libdpdk || die "pkg-config does not find libdpdk: install libdpdk-dev or set PKG_CONFIG_PATH"
	version=$(pkg-config --modversion libdpdk)
	sdk=$top/.sdk/dpdk-$version
	if have_installed_sdk; then
		say "driver SDK headers: installed with DPDK $version"
		return
	fi
	if [ -f "$sdk/complete" ]; then
		say "driver SDK headers: .sdk/dpdk-$version"
		return
	fi
	package_version=$(dpkg-query -W -f '${source:Version}' libdpdk-dev 2>/dev/null || true)
	case $package_version in
	"$version"-*) ;;
	*) die "DPDK $version comes from no package of this machine and has no driver SDK headers:
  build it with -Denable_driver_sdk=true" ;;
	esac

	say "driver SDK headers: fetching them from the source package dpdk $package_version"
	tmp=$(mktemp -d)
	# shellcheck disable=SC2064 # the folder of now
	trap "rm -rf '$tmp'" EXIT
	fetch_source "$tmp" "$package_version" || die "the source of dpdk $package_version cannot be fetched.
  Either the network is down, or the archive has moved on to a newer point release; then run
  apt-get update && apt-get install dpdk libdpdk-dev, and this script again."
	mkdir -p "$tmp/src" "$tmp/sdk"
	# shellcheck disable=SC2046,SC2086 # lists of words
	tar -C "$tmp/src" --strip-components=1 --wildcards -xf "$tmp"/dpdk_*.orig.tar.* \
		$(printf '*/%s ' $sdk_headers)
	for h in $sdk_headers; do
		cp "$tmp/src/$h" "$tmp/sdk/"
	done
	mkdir -p "$sdk"
	cp "$tmp"/sdk/*.h "$sdk/"
	touch "$sdk/complete"
	say "driver SDK headers: now in .sdk/dpdk-$version"
}

# --- hugepages -----------------------------------------------------------------

hugepage_dir=/sys/kernel/mm/hugepages/hugepages-2048kB

root_write() { # root_write <value> <file>
	if [ "$as_root" = none ]; then
		return 1
	fi
	echo "$1" | $as_root tee "$2" >/dev/null 2>&1
}

mount_hugetlbfs() {
	grep -q ' hugetlbfs ' /proc/mounts && return 0
	[ "$as_root" != none ] || return 1
	$as_root mkdir -p /dev/hugepages &&
		$as_root mount -t hugetlbfs -o pagesize=2M hugetlbfs /dev/hugepages 2>/dev/null
}

setup_hugepages() {
	local now available_kb
	if [ ! -r $hugepage_dir/nr_hugepages ]; then
		say "hugepages: none of 2 MB here; everything works with --no-huge, only slower"
		return
	fi
	now=$(cat $hugepage_dir/nr_hugepages)
	available_kb=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
	# Half of what is free stays free.
	if [ "$now" -lt $hugepages_wanted ] &&
		[ "$available_kb" -gt $(((hugepages_wanted - now) * 2048 * 2)) ]; then
		root_write $hugepages_wanted $hugepage_dir/nr_hugepages || true
		now=$(cat $hugepage_dir/nr_hugepages)
	fi
	if [ "$now" -eq 0 ]; then
		say "hugepages: could not reserve any; everything works with --no-huge, only slower"
	elif ! mount_hugetlbfs; then
		say "hugepages: $now x 2 MB, but hugetlbfs cannot be mounted: use --in-memory or --no-huge"
	else
		say "hugepages: $now x 2 MB"
	fi
}

# --- build ---------------------------------------------------------------------

# build/ was configured for the DPDK that is installed now.
build_is_current() {
	[ -f "$top/build/build.ninja" ] &&
		[ "$(cat "$top/build/.dpdk-version" 2>/dev/null)" = "$(pkg-config --modversion libdpdk)" ]
}

compile() {
	local log=$top/.sdk/setup.log wipe=
	if ! build_is_current; then
		say "build/: configuring"
		mkdir -p "$top/.sdk"
		[ ! -f "$top/build/build.ninja" ] || wipe=--wipe
		if ! meson setup $wipe "$top/build" "$top" >"$log" 2>&1; then
			tail -n 20 "$log" >&2
			die "meson setup failed"
		fi
		pkg-config --modversion libdpdk >"$top/build/.dpdk-version"
	fi
	say "build/: compiling"
	ninja -C "$top/build" --quiet
	say "done: build/lib/libvireo.so, build/drivers/net/vireo/librte_net_vireo.so, build/app/"
}

install_packages
fetch_sdk
[ $with_hugepages = no ] || setup_hugepages
[ $with_build = no ] || compile
