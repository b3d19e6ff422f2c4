#!/usr/bin/env bash
# fugue doctor
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# finding NAME: status and text of one check.
finding() {
    grep -E "^(ok|warning) +$1  " "$work/out" || fail "$last: no check '$1'"
}
found() {
    [[ $(finding "$1" | tr -s ' ') == "$2"* ]] || fail "$last: '$(finding "$1")' does not begin with '$2'"
}

export FUGUE_DATA_DIR=$work/data FUGUE_RUNS_DIR=$work/runs
expect 0 doctor
empty_stderr
found build "ok build fugue "
finding processor >/dev/null
found cores "$(finding cores | cut -d' ' -f1) cores $(nproc) of "
grep -qE '^(ok|warning) +instruction set +(avx512|avx2|generic), of ' "$work/out" || fail "$last: instruction set"
finding memory >/dev/null
finding GPU >/dev/null
finding energy >/dev/null
found "data folder" "warning data folder $work/data"
found "data sets" "warning data sets digits; missing: cal_housing, mnist"
in_stdout "cure: data set" "download"
found "results folder" "ok results folder $work/runs"
found experiments "ok experiments 21 built in, 0 of your own"
found variables "ok variables no FUGUE_ variable"
[ ! -e "$work/runs" ] || fail "$last: something was written"
warnings=$(grep -c '^warning ' "$work/out")
[ "$(grep -c '^ *cure: ' "$work/out")" -eq "$warnings" ] || fail "$last: not a cure for every warning"
grep -qE "^[0-9]+ checks, $warnings warnings?\$" "$work/out" || fail "$last: last line"
awk 'length > 80 && / /' "$work/out" | grep -v "https\?://\|$work" && fail "$last: lines over 80 columns"

# What is mended is ok, what is broken is said.
mkdir -p "$work/data/CaliforniaHousing"
echo 1 >"$work/data/CaliforniaHousing/cal_housing.data"
registry '{"X01": {"type": "cv", "folds": 2, "model": "mlp", "dataset": "digits", "batch_size": 8, "epochs": 1, "lr": 1}, "X02": {}}'
touch "$work/file"
FUGUE_RUNS_DIR=$work/file/runs FUGUE_DATADIR=x expect 0 doctor
found "data folder" "ok data folder $work/data"
found "data sets" "warning data sets digits, cal_housing; missing: mnist"
found "results folder" "warning results folder $work/file/runs"
found experiments "warning experiments 21 built in, 1 of your own, 1 that cannot be"
in_stdout "X02: " "fugue validate"
found variables "warning variables FUGUE_DATADIR is set, and fugue has no such"
if [ "$(nproc)" -gt 1 ] && command -v taskset >/dev/null; then
    last="taskset -c 0 fugue doctor"
    taskset -c 0 "$fugue" doctor >"$work/out" 2>"$work/err" || fail "$last: exit code"
    found cores "warning cores 1 of "
fi
registry '{"X01": '
expect 0 doctor
found experiments "warning experiments "
rm -r "$FUGUE_REGISTRY_DIR"

expect 0 doctor --json
empty_stderr
in_stdout '"warnings": ' '"name": "results folder"' '"status": "ok"' '"cure": null'

# Operations x sets of kernels: tests/cli/test_doctor_ops.c holds the content to the tables.
expect 0 doctor --ops
empty_stderr
head -1 "$work/out" | grep -qE '^OPERATION +CPU +REFERENCE +.*GENERIC\*? +(CUDA +REFERENCE +.*)?STEPS$' || fail "$last: heading"
grep -qE '^conv2d +trains +3 of 3 .* forward backward backward_params$' "$work/out" || fail "$last: conv2d"
grep -qE '^batch_norm +trains +4 of 4 ' "$work/out" || fail "$last: batch_norm"
# One set of each backend that has a device here.
case $(head -1 "$work/out" | tr -dc '*') in
'*' | '**') ;;
*) fail "$last: not one set is chosen" ;;
esac
expect 0 doctor --ops --json
in_stdout '"sets": [' '"name": "tied_linear"' '"name": "backward_params"' '"reference conv2d"'

# The plan of a first bucket.
expect 0 doctor --plan D03 --threads 1
in_stdout "bucket 1 of 3: 3 x digits_cnn on digits, batch 32, adamw; " " on 1 thread of cpu (" \
    "plan " ": batch 32 in 4 shards of 8 rows" "stage 0: 4 shards" "bn_apply" "cross_entropy" "update" "eval: "
memory() {
    grep -oE '[0-9.]+ MiB on' "$work/out" | cut -d' ' -f1
}
one=$(memory)
hash=$(grep -oE '^plan [0-9a-f]{16}' "$work/out")
expect 0 doctor --plan D03 --threads 2
awk -v a="$one" -v b="$(memory)" 'BEGIN { exit !(b > a) }' || fail "$last: two threads need no more memory than one"
[ "$(grep -oE '^plan [0-9a-f]{16}' "$work/out")" = "$hash" ] || fail "$last: the plan depends on threads"
expect 0 doctor --plan d3
[ "$(grep -oE '^plan [0-9a-f]{16}' "$work/out")" = "$hash" ] || fail "$last: another plan"
# It is the plan that runs.
expect 0 run --exp D03 --quiet --set lr=0.001 batch_size=32 epochs=1 train_size=64
grep -qF "${hash#plan }" "$work/runs/master_individual.csv" || fail "$last: not the plan that doctor printed"

expect 2 doctor --plan all
in_stderr "fugue doctor: error: --plan 'all': name one experiment, not 21"
expect 2 doctor --plan D77
expect 2 doctor --plan D01 --ops
in_stderr "--ops and --plan are two questions: ask one"
expect 2 doctor --plan D01 --json
in_stderr "--plan is for people: it has no --json"
expect 2 doctor --threads 2
in_stderr "--threads changes nothing without --plan"

finish
