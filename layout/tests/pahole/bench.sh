#!/usr/bin/env bash
# Speed and peak memory beside pahole, in one run: one struct, and all of them. Each figure is the best of three.
#
# usage: layout/tests/pahole/bench.sh FILE TYPE...       FILE with debug information; TYPEs to ask for one at a time
set -euo pipefail
if [ $# -lt 2 ]; then
    sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/../../.." && pwd)
file=$(realpath "$1")
shift
ours=${LAYOUT_PROGRAM:-}
if [ -z "$ours" ]; then
    (cd "$root" && cargo build --quiet --release --package nrt-layout)
    ours=$root/target/release/nrt-layout
fi

# Best seconds (elapsed, then processor) and peak kilobytes of three runs.
best() {
    local times
    times=$(for _ in 1 2 3; do
        /usr/bin/time -f '%e %U %S %M' "$@" 2>&1 >/dev/null | tail -1
    done)
    awk '{ cpu = $2 + $3
           if (NR == 1 || $1 < e) e = $1
           if (NR == 1 || cpu < c) c = cpu
           if (NR == 1 || $4 > m) m = $4 } END { printf "%.2f %.2f %d", e, c, m }' <<<"$times"
}

row() {
    local what=$1 a b
    a=$2 b=$3
    awk -v what="$what" -v a="$a" -v b="$b" 'BEGIN {
        split(a, o, " "); split(b, p, " ")
        for (i = 1; i <= 2; i++) if (o[i] < 0.005) o[i] = 0.005
        printf "%-28s %8.2f %8.2f %8d %8.2f %8.2f %8d %7.1fx %7.1fx %7.2f\n", what, o[1], o[2], o[3], p[1], p[2], p[3], p[1]/o[1], p[2]/o[2], o[3]/p[3] }'
}

echo "$file: .debug_info $(readelf -SW "$file" | awk '/ \.debug_info /{ print strtonum("0x" $(NF-5)); exit }') bytes; $(pahole --version)"
printf '%-28s %8s %8s %8s %8s %8s %8s %8s %8s %7s\n' "" "ours s" "cpu s" "KB" "pahole s" "cpu s" "KB" "faster" "cpu" "memory"
for type in "$@"; do
    row "$type (first definition)" "$(best "$ours" show --first "$file" "$type")" "$(best pahole -F dwarf -C "$type" "$file")"
done
for type in "$@"; do
    row "$type (all units)" "$(best "$ours" show "$file" "$type")" "$(best pahole -F dwarf -C "$type" "$file")"
done
row "all structs" "$(best "$ours" show "$file")" "$(best pahole -F dwarf "$file")"
