#!/usr/bin/env bash
# fugue run: what is said, where, and how a run ends: table, log, bars, JSON, pipes, full disks,
# failures, interrupts.
# shellcheck source=tests/cli/lib_run.sh
. "$(dirname "$0")/lib_run.sh"
tiny_words="--model mlp --dataset digits --k 2 --epochs 1 --set train_size=160"

lines_are() {
    [ "$(wc -l <"$work/$1")" -eq "$2" ] || fail "$last: $(wc -l <"$work/$1") lines on $1, expected $2"
}

# In a log: a line for the cell, one for all its networks at their end; the table on stdout.
fresh $tiny_words --exec seq unified_model
lines_are err 4
in_stderr "[1/2] adhoc under seq: 2 networks, 1 at once, " ", with train_size=160" \
    "[2/2] adhoc under unified_model: 2 networks, 2 at once, "
[ "$(grep -cE '^all 2 networks  1/1 epochs  .* samples/s  loss [0-9.]+  done in ' "$work/err")" -eq 2 ] ||
    fail "$last: not one line of progress a cell"
in_stdout "adhoc (ensemble, with train_size=160) on cpu" \
    "Rows: $work/runs/master_groups.csv, $work/runs/master_individual.csv"
grep -qE '^strategy +K  T_group  speedup  samples/s +energy +memory  accuracy \(SD\)$' "$work/out" || fail "$last: heading"
grep -qE '^seq +2 .* 1\.00x .* MiB  0\.[0-9]{4} \(0\.[0-9]{4}\)$' "$work/out" || fail "$last: row of seq"
grep -qE '^unified_model +2 .*[0-9]x .* MiB  0\.[0-9]{4} \(0\.[0-9]{4}\)$' "$work/out" || fail "$last: row"
awk 'length > 80' "$work/out" | grep -v "^Rows: " && fail "$last: a table wider than 80 columns"
grep -qE ' \[1\]  .* MiB' "$work/out" && { grep -qE '^\[1\] no energy: .+' "$work/out" || fail "$last: [1] without a reason"; }
grep -q "$(printf '\033')" "$work/out" "$work/err" && fail "$last: escapes in a file"

# --quiet: the table only.
fresh $tiny_words --exec seq unified_model --quiet
empty_stderr
not_in_stdout "Rows:"
in_stdout "unified_model"

# --json: events and the summary, one object a line, on stdout; nothing else anywhere.
fresh $tiny_words --exec seq unified_model --json
empty_stderr
grep -vE '^\{"type":"(start|notice|progress|epoch|job|group|summary)",.*\}$' "$work/out" | grep . &&
    fail "$last: lines that are no events"
count() {
    [ "$(grep -c "^{\"type\":\"$1\"," "$work/out")" -eq "$2" ] || fail "$last: not $2 events '$1'"
}
count start 2
count epoch 4
count job 4
count group 2
count summary 1
[ "$(tail -1 "$work/out" | cut -c1-17)" = '{"type":"summary"' ] || fail "$last: the summary is not last"
in_stdout '"job_id":"adhoc_ens_s1"' '"K":2' '"executor":"unified_model"' '"overrides":"train_size=160"' \
    "\"final_train_loss\":$(column "$individual" final_train_loss | head -1)"

# A failed network: a row with its cause, a warning, its mark in the table, exit code 1.
failing="--model mlp --dataset digits --epochs 1 --lr 1e30"
fresh
expect 1 run $failing --k 2 --exec seq unified_model
row_is status "diverged diverged diverged diverged"
group_is status "diverged diverged"
group_is jobs_failed "2 2"
in_stderr "warning: adhoc_ens_s0: diverged: the loss was no longer finite after 1 of 1 epochs" \
    "warning: adhoc_ens_s1: diverged: " "2 of 2 not trained to the end"
grep -qE '^seq \(2 of 2 failed\) .* n/a$' "$work/out" || fail "$last: the failure is not marked"
[ "$(column "$individual" cause | grep -c "the loss was no longer finite")" -eq 4 ] || fail "$last: causes"
expect 1 run $failing --k 2 --quiet
in_stderr "warning: adhoc_ens_s1: diverged: "
# Hundreds that fail of one cause are told by the first few.
fresh
expect 1 run $failing --k 30
[ "$(grep -c 'diverged' "$work/err")" -eq 8 ] || fail "$last: $(grep -c diverged "$work/err") failures told, not 8"
in_stderr "warning: adhoc under seq: 22 more networks were not trained to the end"
expect 1 run $failing --k 2 --json --no-save-results
count job 2
in_stdout '"status":"diverged"' '"jobs_failed":2'

# Results that cannot be kept: said before anything is trained, and no word of rows.
fresh
: >"$work/file"
FUGUE_RUNS_DIR=$work/file expect 1 run $tiny_words
in_stderr "warning: adhoc under seq: results cannot be kept in '$work/file'" "a file has that name"
in_stdout "not run"
not_in_stdout "Rows:"
FUGUE_RUNS_DIR=$work/file expect 1 run $tiny_words --json
in_stdout '{"type":"error",'
in_stderr "results cannot be kept in '$work/file'"
if [ "$(id -u)" -ne 0 ]; then
    mkdir "$work/locked"
    chmod 500 "$work/locked"
    FUGUE_RUNS_DIR=$work/locked expect 1 run $tiny_words
    in_stderr "results cannot be kept in '$work/locked'" "Permission denied"
    chmod 700 "$work/locked"
fi

# A reader that goes away ends the run quietly; what was finished is kept.
fresh
last="fugue run --json | head -1"
{ "$fugue" run --exp D01 --set epochs=100000 --json --threads 1 2>"$work/err"; echo $? >"$work/code"; } |
    head -1 >"$work/out"
in_stdout '{"type":"start",'
[ "$(cat "$work/code")" = 0 ] || fail "exit code $(cat "$work/code")"
empty_stderr
group_is status interrupted
last="fugue run | (reader gone)"
{ "$fugue" run $tiny_words 2>"$work/err"; echo $? >"$work/code"; } | true
[ "$(cat "$work/code")" = 0 ] || fail "exit code $(cat "$work/code")"

# A disk that is full under stdout is a failure, but no reason to lose the training.
if [ -e /dev/full ]; then
    for words in "" --json --quiet; do
        fresh
        last="fugue run $words >/dev/full"
        "$fugue" run $tiny_words $words >/dev/full 2>"$work/err"
        [ $? -eq 1 ] || fail "exit code is not 1"
        in_stderr "error: cannot write to standard output"
        row_is status "ok ok"
    done
fi

# Ctrl-C: the row of what was finished, no list of what was not, death by that signal.
for signal in INT:130 TERM:143; do
    fresh
    last="fugue run, SIG${signal%:*}"
    "$fugue" run --exp D01 --exec seq mp --set epochs=100000 --threads 1 >"$work/out" 2>"$work/err" &
    pid=$!
    for _ in $(seq 200); do
        grep -q 'under seq' "$work/err" && break
        sleep 0.05
    done
    sleep 0.2
    kill -"${signal%:*}" "$pid"
    wait "$pid"
    code=$?
    [ "$code" -eq "${signal#*:}" ] || fail "exit code $code, expected ${signal#*:}"
    in_stderr "warning: interrupted in cell 1 of 2: what was finished is kept"
    [ "$(grep -c 'warning: D01' "$work/err")" -eq 0 ] || fail "jobs that were stopped are told one by one"
    in_stdout "seq (interrupted, 0 of 16 done)" "not run"
    group_is status interrupted
done

# On a terminal: bars that are erased, colour only where it is wanted, no line too wide.
if command -v script >/dev/null; then
    esc=$(printf '\033')
    in_terminal() {
        last="$1 fugue run on a terminal"
        script -qec "stty cols ${2:-100} rows 24; env -u NO_COLOR $1 '$fugue' run ${*:3}" /dev/null </dev/null |
            tr -d '\r' >"$work/out"
    }
    fresh
    in_terminal TERM=xterm 100 "$tiny_words --exec seq mp --set epochs=30"
    in_stdout "all 2 networks  [----------]  0/30 epochs${esc}[K" "${esc}[J" "${esc}[33mwarning: ${esc}[0mmp: "
    grep -qE '^strategy +K' "$work/out" || fail "$last: no table"
    in_terminal TERM=xterm 100 "$tiny_words --exec unified_model --set epochs=30"
    in_stdout "mlp x2  [----------]  0/30 epochs"
    in_terminal "TERM=xterm NO_COLOR=1" 100 "$tiny_words --exec mp"
    in_stdout "all 2 networks  [" "fugue: warning: mp: "
    not_in_stdout "${esc}[33m"
    in_terminal TERM=dumb 100 "$tiny_words --exec mp"
    not_in_stdout "$esc"
    in_stdout "all 2 networks  1/1 epochs"
    in_terminal TERM=xterm 40 "$tiny_words --device cpu --set epochs=30"
    sed "s/$esc\[[0-9]*[A-Z]//g" "$work/out" | grep -E '\[[#-]{3,}|^adhoc_ens' | awk 'length > 39' | grep . &&
        fail "$last: bars wider than the terminal"
    in_terminal TERM=xterm 100 "$tiny_words --quiet"
    not_in_stdout "$esc"
fi

finish
