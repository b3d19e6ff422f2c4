#!/usr/bin/env bash
# A journal whose last line was torn by a power cut: said, cut off, everything else kept.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "$0")/lib.sh"
cell() {
    fugue run --model mlp --dataset digits --type ensemble --k 3 --epochs 1 --batch-size 64 \
        --optimizer adam --lr 0.001 --exec seq >"$work/out" 2>"$work/err"
}
cell || fail "the first run"
printf '{"kind":"job","key":"seq_0/adhoc_ens_s9","row":{"group_id":"seq_0","jo' >>"$journal"
cell || fail "the run after the power cut"
grep -qi "journal" "$work/err" || fail "the cut is not said"
rows_are_whole 3
expect_count 6 "rows of both runs" "$individual" status ok
cell || fail "the third run"
grep -qi "journal" "$work/err" && fail "said again: $(cat "$work/err")"
rows_are_whole 3
expect_count 9 "rows of all runs" "$individual" status ok
finish
