#!/usr/bin/env bash
# Speed and peak memory beside pahole, in one run: one struct, and all of them. Each figure is the best of the runs, which
# take turns. "elapsed" compares what a user waits for (we read with two threads), "cpu" the work both do.
#
# usage: layout/tests/pahole/bench.sh FILE TYPE...       FILE with debug information; TYPEs to ask for one at a time
#        RUNS=5 LAYOUT_PROGRAM=target/release/nrt-layout layout/tests/pahole/bench.sh ...
set -euo pipefail
if [ $# -lt 2 ]; then
    sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
for tool in pahole readelf /usr/bin/time; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed" >&2; exit 3; }
done
root=$(cd "$(dirname "$0")/../../.." && pwd)
file=$(realpath "$1")
shift
ours=${LAYOUT_PROGRAM:-}
if [ -z "$ours" ]; then
    (cd "$root" && cargo build --quiet --release --package nrt-layout)
    ours=${CARGO_TARGET_DIR:-$root/target}/release/nrt-layout
fi

# `time` tells hundredths of a second: what takes less than half a second is run ten times at once.
measure() {
    local times=$1
    shift
    /usr/bin/time -a -o "$times" -f '%e %U %S %M' bash -c 'n=$1; shift; for ((i = 0; i < n; i++)); do "$@" >/dev/null 2>&1; done' _ "$@"
}

row() {
    local what=$1 one=$2 other=$3 loops=1 a b i started=${EPOCHREALTIME/[.,]/}
    a=$(mktemp) b=$(mktemp)
    $other >/dev/null 2>&1
    [ $((${EPOCHREALTIME/[.,]/} - started)) -gt 500000 ] || loops=10
    for ((i = 0; i < ${RUNS:-3}; i++)); do
        # shellcheck disable=SC2086 # words of a command
        measure "$a" "$loops" $one
        # shellcheck disable=SC2086
        measure "$b" "$loops" $other
    done
    awk -v what="$what" -v loops="$loops" '
        { who = FNR == NR ? 1 : 2; cpu = $2 + $3
          if (!(who in e) || $1 < e[who]) e[who] = $1
          if (!(who in c) || cpu < c[who]) c[who] = cpu
          if (!(who in m) || $4 > m[who]) m[who] = $4 }
        END { for (w = 1; w <= 2; w++) { e[w] = e[w] / loops + 0.00005; c[w] = c[w] / loops + 0.00005 }
              printf "%-36s %9.4f %9.4f %8d %9.4f %9.4f %8d %7.1fx %7.1fx %7.2f\n",
                  what, e[1], c[1], m[1], e[2], c[2], m[2], e[2] / e[1], c[2] / c[1], m[1] / m[2] }' "$a" "$b"
    rm -f "$a" "$b"
}

bytes=$(readelf -SW "$file" | sed -n 's/^ *\[ *[0-9]*\] \.z\{0,1\}debug_info .* \([0-9a-f]\{6,\}\) 00 .*/\1/p' | head -1)
echo "$file: .debug_info $((16#${bytes:-0})) bytes in the file; pahole $(pahole --version)"
printf '%-36s %9s %9s %8s %9s %9s %8s %8s %8s %7s\n' "" "ours s" "cpu s" "KB" "pahole s" "cpu s" "KB" "elapsed" "cpu" "memory"
for type in "$@"; do
    row "$type, first definition" "$ours show $file $type" "pahole -F dwarf -C $type $file"
done
for type in "$@"; do
    row "$type, every definition" "$ours show --every $file $type" "pahole -F dwarf -C $type $file"
done
row "all structs" "$ours show $file" "pahole -F dwarf $file"
row "all structs, pahole -j2" "$ours show $file" "pahole -j2 -F dwarf $file"
