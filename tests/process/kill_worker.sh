#!/usr/bin/env bash
# labels: quick; timeout: 180
# kill -9 of one of four workers in the middle of its training: its job is a row with status and
# cause, the others end well, the exit code says so.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "$0")/lib.sh"
fugue run --model mlp --dataset digits --type ensemble --k 4 --epochs 600 --batch-size 64 \
    --optimizer adam --lr 0.001 --exec mp --max-parallel 4 --json >"$work/out" 2>"$work/err" &
run=$!
training() {
    [ "$(grep -o '"type":"epoch","job":[0-9]*' "$work/out" | sort -u | wc -l)" -eq 4 ]
}
wait_for 30 training || fail "four jobs never trained at once"
victim=$(left __worker | head -1)
kill -9 "$victim" || fail "no worker to kill"
wait "$run"
code=$?
[ "$code" -eq 1 ] || fail "exit code $code, expected 1"
expect_count 3 "the others end well" "$individual" status ok
expect_count 1 "the victim" "$individual" status killed
column "$individual" cause |
    matches -E "^worker $victim killed by signal 9 \(Killed\) at epoch [0-9]+ of 600" ||
    fail "cause: $(column "$individual" cause)"
expect_count 1 "the group" "$groups" status killed
expect_count 1 "the group" "$groups" jobs_failed 1
rows_are_whole 4
none_left || fail "left: $(left)"
finish
