#!/usr/bin/env bash
# fugue list
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

row() {
    tr -s ' ' <"$work/out" | grep -F -- "$1" >/dev/null || fail "$last: no row '$1'"
}

expect 0 list
empty_stderr
row "ID TYPE MODEL DATA SET K BATCH EPOCHS LR OPTIMIZER TASK AMP STATE"
row "E01 ensemble resnet18 cifar10 3 128 10 0.01 sgd momentum=0.9 classification yes model and data set not built yet"
row "E05 ensemble mlp cal_housing 5 256 20 0.001 adam regression no built"
row "E12 hpo resnet18 cifar10 6 64|128 5 0.0001|0.0003|0.001 adamw classification yes"
row "E17 multi_model transformer wikitext 3 10 10 5 sgd momentum=0.9 language_modeling yes model, data set and task not built yet"
row " xlm_roberta sst2 16 5 1e-05 adam classification yes"
row "D01 ensemble digits_cnn digits 16 64 10 0.002 adamw classification no built"
row "D03 hpo digits_cnn digits 9 32|64|128 9 0.0003|0.001|0.003 adamw classification no built"
[ "$(wc -l <"$work/out")" -eq 27 ] || fail "list: $(wc -l <"$work/out") lines, 27 expected"
grep -q ' $' "$work/out" && fail "list: blanks at the end of a line"

expect 0 list --exp D02 E05,1
[ "$(awk 'NR > 1 { print $1 }' "$work/out" | tr '\n' ' ')" = "D02 E05 E01 " ] || fail "selection"
expect 0 list --exp=D01 --exp D02
[ "$(awk 'NR > 1 { print $1 }' "$work/out" | tr '\n' ' ')" = "D01 D02 " ] || fail "repeated --exp"
expect 0 list --exp 3:5
[ "$(awk 'NR > 1 { print $1 }' "$work/out" | tr '\n' ' ')" = "E03 E04 E05 " ] || fail "range"

# Lines of the JSON that start with a key, in order, on one line.
values() {
    grep -o "\"$1\": [^,]*" "$work/out" | sed 's/^[^ ]* //' | tr '\n' ' '
}

expect 0 list --json
empty_stderr
[ "$(values id | wc -w)" -eq 21 ] || fail "list --json: $(values id)"
case $(values id) in
'"E01" "E02" "E03" '*'"D03" "D04" ') ;;
*) fail "list --json: order $(values id)" ;;
esac
[ "$(values definition_hash | tr ' ' '\n' | sort -u | grep -c .)" -eq 21 ] || fail "equal hashes"
expect 0 list --json --exp D03
in_stdout '    "search_space": {' '      "lr": [0.0003, 0.001, 0.003],' '      "batch_size": [32, 64, 128],' \
    '      "epochs": [9]' '    "k": 9,'
not_in_stdout '"committee_size"'
expect 0 list --json --exp E06
in_stdout '"id": "E06"' '"source": "built-in"' '"state": "built"' '"k": 15,' '"committee_size": 15' \
    '"amp": false' '"task": "regression"' '"optimizer": "adam"' '"betas": [0.9, 0.999]' '"size": "small"'
expect 0 list --json --exp E01
in_stdout '"state": "model and data set not built yet"' '"momentum": 0.9' '"amp": true' '"lr": 0.01'
expect 0 list --json --exp D04
[ "$(values name)" = '"mlp" "digits_cnn" ' ] || fail "list --json: entries $(values name)"

registry '{"X01": {"type": "cv", "folds": 4, "model": "mlp", "dataset": "digits", "batch_size": 10,
  "epochs": 2, "lr": 0.5, "optimizer": "sgd", "optimizer_kwargs": {"momentum": 0.5, "nesterov": true}},
 "X02": {"type": "ensemble", "committee_size": 2, "model": "mpl", "dataset": "digits", "batch_size": 1,
  "epochs": 1, "lr": 1},
 "X03": {"type": "hpo", "model": "mlp", "dataset": "digits", "batch_size": 1, "epochs": 1, "lr": 1,
  "optimizer": "sgd", "search_space": {"momentum": [0, 0.9], "amp": [false, true]}}}'
expect 0 list
row "X01 cv mlp digits 4 10 2 0.5 sgd momentum=0.5 nesterov classification no built"
row "X02 ensemble mpl digits 2 1 1 1 adamw classification no not usable: see 'fugue validate'"
row "X03 hpo mlp digits 4 1 1 1 sgd momentum=0|0.9 classification no|yes built"
expect 0 list --exp X01 --json
in_stdout '"source": "experiments.json"' '"folds": 4' '"nesterov": true'

registry '{"X01": {"type": "cv"}}'
expect 2 list
in_stderr "fugue list: error: $FUGUE_REGISTRY_DIR/experiments.json:1:9: X01: folds is missing"
empty_stdout
registry '{"X01": '
expect 1 list
in_stderr "experiments.json:2:"

finish
