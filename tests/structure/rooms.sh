#!/usr/bin/env bash
# Holds every #include under src/ against the rooms' table, so that data flows one way.
set -uo pipefail
cd "$(dirname "$0")/../.."
declare -A may
while IFS=: read -r room uses; do
    [[ $room == \#* || -z $room ]] && continue
    may[$room]=" $room base $uses "
done <tests/structure/rooms.txt

bad=0
checked=0
while IFS= read -r file; do
    room=${file#src/}
    room=${room%%/*}
    if [[ -z ${may[$room]:-} ]]; then
        echo "$file: room '$room' is not in tests/structure/rooms.txt"
        bad=1
        continue
    fi
    while IFS= read -r target; do
        checked=$((checked + 1))
        if [[ -d src/$target && ${may[$room]} != *" $target "* ]]; then
            echo "$file: room '$room' must not include \"$target/...\""
            bad=1
        fi
    done < <(sed -n 's/^ *# *include *"\([a-z_]*\)\/.*/\1/p' "$file")
done < <(find src -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.inc')
if [ "$checked" -lt 50 ]; then
    echo "only $checked includes found: the scan itself is broken"
    bad=1
fi
exit $bad
