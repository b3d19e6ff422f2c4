#!/usr/bin/env bash
# Two campaigns that append to the same files at once: every row of both, once.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "$0")/lib.sh"
campaign() {
    fugue run --model mlp --dataset digits --type ensemble --k 6 --epochs 1 --batch-size 64 \
        --optimizer adam --lr 0.001 --exec seq mp unified_model --name "$1" >"$work/$1" 2>&1
}
for name in one two three; do
    campaign "$name" &
done
for job in $(jobs -p); do
    wait "$job" || fail "a campaign failed: $(cat "$work/one" "$work/two" "$work/three")"
done
rows_are_whole 6
for name in one two three; do
    expect_count 18 "rows of $name" "$individual" exp_id "$name"
    expect_count 3 "groups of $name" "$groups" exp_id "$name"
done
expect_count 54 "all end well" "$individual" status ok
[ "$(column "$groups" run_id | sort -u | wc -l)" -eq 3 ] || fail "each command has one run_id"
none_left || fail "left: $(left)"
finish
