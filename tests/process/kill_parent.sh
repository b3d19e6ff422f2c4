#!/usr/bin/env bash
# labels: quick; timeout: 180
# SIGKILL of the command leaves no process and keeps what was finished; SIGKILL of a cell leaves no
# worker, and its jobs are rows.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "$0")/lib.sh"
# Jobs that end at once and jobs that never would.
start() {
    runs=$work/runs_$1_$2
    individual=$runs/master_individual.csv groups=$runs/master_groups.csv journal=$runs/journal.jsonl
    fugue run --model mlp --dataset digits --type hpo --batch-size 64 --optimizer sgd --lr 0.01 \
        --search-space epochs=1,1,100000,100000 --exec "$1" --json >"$work/out" 2>"$work/err" &
    run=$!
}
begun() {
    grep -q '"type":"epoch"' "$work/out"
}
finished() {
    [ "$(grep -c '"type":"job"' "$work/out")" -ge 2 ]
}
for exec in seq mp unified_model; do
    ready=finished done=2
    # Stacked models are begun longest first: the short ones wait.
    [ "$exec" = unified_model ] && ready=begun done=0

    start "$exec" parent
    wait_for 30 "$ready" || fail "$exec: did not begin"
    kill -9 "$(left run | head -1)" || fail "$exec: no command to kill"
    wait "$run" 2>/dev/null
    wait_for 15 none_left || fail "$exec: left after the parent's end: $(left)"
    rows_are_whole 4
    expect_count "$done" "$exec, parent killed" "$individual" status ok
    expect_count 1 "$exec, parent killed" "$groups" status interrupted

    start "$exec" cell
    wait_for 30 "$ready" || fail "$exec: did not begin"
    kill -9 "$(left __cell | head -1)" || fail "$exec: no cell to kill"
    wait "$run"
    code=$?
    [ "$code" -eq 1 ] || fail "$exec: exit code $code after the cell's end, expected 1"
    wait_for 5 none_left || fail "$exec: left after the cell's end: $(left)"
    rows_are_whole 4
    expect_count "$done" "$exec, cell killed" "$individual" status ok
    expect_count $((4 - done)) "$exec, cell killed" "$individual" status killed
    expect_count 1 "$exec, cell killed" "$groups" status killed
done
finish
