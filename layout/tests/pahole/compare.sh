#!/usr/bin/env bash
# Compares our reading of debug information with pahole's, member by member: the samples of the tests, built by gcc and
# clang at DWARF 4 and 5, plain, compressed and split, and every file that is named.
#
# usage: layout/tests/pahole/compare.sh [FILE...]
#
# Large public files, from Debian (apt-get download PACKAGE; dpkg -x PACKAGE.deb FOLDER): linux-image-*-cloud-amd64-dbg
# (usr/lib/debug/vmlinux-*), libc6-dbg, python3.11-dbg, ceph-osd-dbg (usr/lib/debug/.build-id/*/*.debug).
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)

if ! command -v pahole >/dev/null; then
    echo "pahole is not installed; trying to install dwarves" >&2
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        apt-get update -qq && apt-get install -y -qq dwarves >/dev/null || echo "could not install dwarves" >&2
    fi
fi
if ! command -v pahole >/dev/null; then
    echo "NOT COMPARED: pahole is not installed" >&2
    exit 3
fi

files=()
for file in "$@"; do
    files+=("$(realpath "$file")")
done
cd "$root"
NRT_TOOLS_REQUIRED=pahole LAYOUT_PAHOLE_FILES="${files[*]:-}" cargo test --package nrt-layout --test layout pahole:: -- --nocapture
