#!/usr/bin/env bash
# What a reader stumbles over: unfinished words, overlong files and functions.
set -uo pipefail
cd "$(dirname "$0")/../.."
bad=0
mapfile -t files < <(find src tests bench scripts -type f \( -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.sh' -o -name '*.py' \) ! -name style.sh ! -name digits_data.c ! -path '*/build/*')
if [ ${#files[@]} -lt 40 ]; then
    echo "only ${#files[@]} files found: the scan itself is broken"
    exit 1
fi
if grep -nHEi '\b(TODO|FIXME|XXX|HACK|not implemented|placeholder)\b' "${files[@]}"; then
    echo "unfinished words above"
    bad=1
fi
while read -r lines file; do
    if [ "$file" != total ] && [ "$lines" -gt 700 ]; then
        echo "$file: $lines lines; split it (about 600 is the rule)"
        bad=1
    fi
done < <(wc -l "${files[@]}")
long=$(printf '%s\n' "${files[@]}" | grep '^src/.*\.c$' |
    xargs awk 'FNR==1{open=0} /^\{/{open=FNR} /^\}/{if(open && FNR-open>80) print FILENAME":"open": function of "FNR-open" lines"; open=0}')
if [ -n "$long" ]; then
    echo "$long"
    bad=1
fi
exit $bad
