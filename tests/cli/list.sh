#!/usr/bin/env bash
# fugue list
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# A row without the memory it ends with before its state, which depends on the machine's threads.
row() {
    tr -s ' ' <"$work/out" | sed -E 's/( [0-9.]+ ([KMGT]i)?B){2}//' | grep -F -- "$1" >/dev/null || fail "$last: no row '$1'"
}

expect 0 list
empty_stderr
row "ID TYPE MODEL DATA SET K BATCH EPOCHS LR OPTIMIZER TASK AMP MEM 1 MEM K STATE"
row "E01 ensemble resnet18 cifar10 3 128 10 0.01 sgd momentum=0.9 classification yes built"
row "E05 ensemble mlp cal_housing 5 256 20 0.001 adam regression no built"
row "E12 hpo resnet18 cifar10 6 64|128 5 0.0001|0.0003|0.001 adamw classification yes"
row "E17 multi_model transformer wikitext 3 10 10 5 sgd momentum=0.9 language_modeling yes data set not built yet"
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
in_stdout '"state": "built"' '"momentum": 0.9' '"amp": true' '"lr": 0.01'
expect 0 list --json --exp D04
[ "$(values name)" = '"mlp" "digits_cnn" ' ] || fail "list --json: entries $(values name)"

# What an experiment needs: all at once at least what one does, and more with more networks.
expect 0 list --json
[ "$(values one | wc -w)" -eq 21 ] || fail "list --json: memory of $(values one | wc -w) experiments"
paste <(values one | tr ' ' '\n') <(values all | tr ' ' '\n') |
    awk 'NF == 2 && !($1 > 1000 && $2 >= $1) { bad = 1 } END { exit bad }' || fail "memory: all below one"
expect 0 list --json --exp D01
many=$(values all)
expect 0 list --json --exp D02
[ "${many% }" -gt "$(values all | tr -d ' ')" ] || fail "memory: 16 networks need no more than 5"
in_stdout "\"threads\": "
expect 0 list --exp D01
grep -qE ' no +[0-9.]+ [KM]iB +[0-9.]+ [KM]iB  built$' "$work/out" || fail "$last: no memory"

# Models, each at the shape the catalogue trains it at.
expect 0 list --models
empty_stderr
models="mlp lenet simplecnn digits_cnn resnet18 resnet50 mobilenet_v3_small transformer xlm_roberta vgg16_cbam"
[ "$(awk 'NR > 1 { print $1 }' "$work/out" | tr '\n' ' ')" = "$models " ] || fail "$last: $(cat "$work/out")"
flat() {
    tr -s ' ' <"$work/out" | grep -F -- "$1" >/dev/null || fail "$last: no row '$1'"
}
flat "MODEL DATA SET INPUT OUTPUTS PARAMETERS MACS ACTIVATIONS ARGUMENTS"
flat "mlp cal_housing 8 values 1 9.47 k 9.28 k 1.54 KiB hidden1=128 hidden2=64"
flat "lenet mnist 28x28x1 10 44.4 k 282 k 45.1 KiB"
flat "resnet18 cifar10 32x32x3 10 11.2 M 37.0 M"
flat "transformer wikitext 128 tokens 6500 13.2 M 1.75 G 30.7 MiB layers=6 d_model=384 heads=8"
flat "xlm_roberta sst2 128 tokens 2 278 M"
flat "vgg16_cbam imagenette 224x224x3 10 134 M"
expect 0 list --models --json
[ "$(values parameters | wc -w)" -eq 10 ] || fail "$last: not all models are measured"
in_stdout '"parameters": 9473' '"macs_per_sample": 9280' '"dataset": "cal_housing"' '"input": [28, 28, 1]' \
    '"tokens": true' '"default": 128,' '"name": "hidden1"' '"activation_bytes_per_sample": '
not_in_stdout '"cause"'

# Data sets, and whether their files are there.
expect 0 list --datasets
flat "DATA SET INPUT OUTPUTS TASK TRAIN TEST STATE CONTENT"
flat "digits 8x8x1 10 classification 1438 359 present handwritten digits"
flat "cal_housing 8 values 1 regression 20640 20640 missing California"
flat "wikitext 128 tokens 6500 language_modeling"
flat "Files are looked for in /"
mkdir -p "$work/data/CaliforniaHousing"
echo 1 >"$work/data/CaliforniaHousing/cal_housing.data"
export FUGUE_DATA_DIR=$work/data
expect 0 list --datasets
flat "cal_housing 8 values 1 regression 20640 20640 present California"
flat "Files are looked for in $work/data"
expect 0 list --datasets --json
[ "$(values present | wc -w)" -eq 13 ] || fail "$last: $(values name)"
[ "$(values present | cut -d' ' -f1-3)" = "true true false" ] || fail "$last: present: $(values present)"
in_stdout '"cause": "data set '"'mnist': '$work/data/MNIST/raw/train-images-idx3-ubyte' is not there; 'fugue prefetch mnist' fetches it, or download https"
unset FUGUE_DATA_DIR

# One table at a time.
expect 2 list --models --datasets
in_stderr "fugue list: error: --models and --datasets are two tables: give one"
expect 2 list --exp D01 --models
in_stderr "--exp selects experiments, and --models lists none"
expect 2 list --datasets --exp D01
in_stderr "--exp selects experiments, and --datasets lists none"

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
