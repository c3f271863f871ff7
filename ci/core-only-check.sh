#!/usr/bin/env bash
# Checks that crates, with everything they depend on, need nothing but libcore: no std, no alloc, no libc.
#
# usage: ci/core-only-check.sh [--features LIST] CRATE...        e.g. ci/core-only-check.sh nrt-core nrt-linux
#
# The crates are checked against a sysroot of links to libcore and compiler_builtins of the installed toolchain, and
# nothing else. A last check of a crate that does want alloc shows that the sysroot really lacks it.
set -euo pipefail

features=()
if [ "${1:-}" = --features ] && [ $# -ge 2 ]; then
    features=(--features "$2")
    shift 2
fi
if [ $# -eq 0 ]; then
    echo "usage: $0 [--features LIST] CRATE..." >&2
    exit 2
fi

root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/target/core-only
host=$(rustc -vV | sed -n 's/^host: //p')
full=$(rustc --print sysroot)/lib/rustlib/$host
lean=$work/sysroot/lib/rustlib/$host

rm -rf "$work/sysroot"
mkdir -p "$lean/lib"
for library in core compiler_builtins; do
    for file in "$full/lib/lib$library"-*.rlib "$full/lib/lib$library"-*.rmeta; do
        if [ -e "$file" ]; then
            ln -s "$file" "$lean/lib/"
        fi
    done
done

packages=()
for crate in "$@"; do
    packages+=(-p "$crate")
done

# With --target, RUSTFLAGS reach only what is built for the target: build scripts and derive macros run on the host and
# keep the full sysroot.
export RUSTFLAGS="--sysroot=$work/sysroot"
cd "$root"
cargo check --quiet --lib --target "$host" --target-dir "$work/target" "${features[@]}" "${packages[@]}"

probe='#![no_std] extern crate alloc;'
if rustc $RUSTFLAGS --crate-type lib --emit metadata --out-dir "$work" - <<<"$probe" 2>"$work/probe.log"; then
    echo "core-only: the sysroot is not lean, a crate with alloc passed" >&2
    exit 1
fi
if ! grep -q E0463 "$work/probe.log"; then
    echo "core-only: unexpected answer to a crate with alloc:" >&2
    cat "$work/probe.log" >&2
    exit 1
fi
echo "core-only: $* need nothing but libcore"
