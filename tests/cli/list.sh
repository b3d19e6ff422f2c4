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

expect 0 list --json
empty_stderr
expect_json 'len(d)' 21
expect_json '[e["id"] for e in d][:2] + [e["id"] for e in d][-2:]' "['E01', 'E02', 'D03', 'D04']"
expect_json '[e for e in d if e["id"] == "D03"][0]["search_space"]' \
    "{'lr': [0.0003, 0.001, 0.003], 'batch_size': [32, 64, 128], 'epochs': [9]}"
expect_json '[e for e in d if e["id"] == "E01"][0]["optimizer_kwargs"]["momentum"]' 0.9
expect_json '[(e["k"], e["committee_size"], e["amp"], e["state"], e["source"]) for e in d if e["id"] == "E06"]' \
    "[(15, 15, False, 'built', 'built-in')]"
expect_json '[m["name"] for e in d if e["id"] == "D04" for m in e["models"]]' "['mlp', 'digits_cnn']"
expect_json 'len(set(e["definition_hash"] for e in d))' 21
expect 0 list --json --exp D01
expect_json '[d[0]["lr"], d[0]["batch_size"], d[0]["task"]]' "[0.002, 64, 'classification']"

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
expect_json 'd[0]["source"]' experiments.json

registry '{"X01": {"type": "cv"}}'
expect 2 list
in_stderr "fugue list: error: $FUGUE_REGISTRY_DIR/experiments.json:1:9: X01: folds is missing"
empty_stdout
registry '{"X01": '
expect 1 list
in_stderr "experiments.json:2:"

finish
