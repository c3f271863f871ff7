#!/usr/bin/env bash
# Compares our reading of debug information with pahole's, member by member: the samples beside this script, built by gcc
# and clang at DWARF 4 and 5, plain and compressed, and every file that is named.
#
# usage: layout/tests/pahole/compare.sh [FILE...]
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)

if ! command -v pahole >/dev/null; then
    echo "pahole is not installed; trying to install dwarves" >&2
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        apt-get update -qq && apt-get install -y -qq dwarves >/dev/null || echo "could not install dwarves" >&2
    fi
fi

files=()
for file in "$@"; do
    files+=("$(realpath "$file")")
done
cd "$root"
LAYOUT_PAHOLE_FILES="${files[*]:-}" cargo test --package nrt-layout --test pahole -- --nocapture
