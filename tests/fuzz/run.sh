#!/usr/bin/env bash
# Every fuzz target for a long time: libFuzzer, AddressSanitizer, UndefinedBehaviorSanitizer.
#   tests/fuzz/run.sh [INPUTS [FORMAT ...]]     200000 inputs of each of all formats
# Needs clang and its runtime (Debian, Ubuntu: clang, libclang-rt-dev).  Builds in build/fuzz.  An input that breaks a
# target lies in build/fuzz/found/; copy it to tests/fuzz/corpus/<format>/found-<what> once the
# parser is mended.
set -euo pipefail
cd "$(dirname "$0")/../.."
inputs=${1:-200000}
shift || true
CC=clang cmake -S . -B build/fuzz -Wno-dev -DCMAKE_BUILD_TYPE=RelWithDebInfo -DFUGUE_TESTS=ON -DFUGUE_FUZZ=ON \
    -DFUGUE_QUIET_BUILD=ON ${FUZZ_CMAKE_ARGS:-} >/dev/null
known=$(cmake --build build/fuzz --target help)
targets=()
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    [ $# -eq 0 ] || [[ " $* " == *" ${name#fuzz_} "* ]] || continue
    grep -qx "... $name" <<<"$known" && targets+=("$name")
done
cmake --build build/fuzz -j "$(nproc)" --target "${targets[@]}" -- -s --no-print-directory
mkdir -p build/fuzz/found
bad=0
for name in "${targets[@]}"; do
    format=${name#fuzz_}
    # What libFuzzer learns goes to a folder of its own and is kept for the next time.
    mkdir -p "build/fuzz/grown/$format"
    log=build/fuzz/$name.log
    start=$SECONDS
    if "build/fuzz/tests/fuzz/$name" -runs="$inputs" -seed=1 -max_len=65536 -timeout=10 -rss_limit_mb=2048 \
        -malloc_limit_mb=512 -detect_leaks=1 -print_final_stats=1 -artifact_prefix="build/fuzz/found/$format-" \
        "build/fuzz/grown/$format" "tests/fuzz/corpus/$format" >"$log" 2>&1; then
        printf '%-14s ok      %8s inputs %5s s, coverage %s\n' "$format" \
            "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" $((SECONDS - start)) \
            "$(grep -oE 'cov: [0-9]+' "$log" | tail -1 | cut -d' ' -f2)"
    else
        printf '%-14s FAILED  see %s\n' "$format" "$log"
        grep -m3 -E 'ERROR|SUMMARY|broken:' "$log" || tail -3 "$log"
        bad=1
    fi
done
exit $bad
