#!/usr/bin/env bash
# fugue run --set: each key changes the run, and its rows say so.
# shellcheck source=tests/cli/lib_run.sh
. "$(dirname "$0")/lib_run.sh"

# set_run KEYS...: D01 with two networks on few samples, and these changes.
set_run() {
    fresh --exp D01 --quiet --set epochs=1 k=2 train_size=128 "$@"
}
small="epochs=1,k=2,train_size=128"

fresh --exp D01 --quiet --set epochs=1 --set k=2 train_size=128
row_is overrides "$small $small"
group_is overrides "$small"
row_is job_id "D01_ens_s0 D01_ens_s1"
row_is epochs_run "1 1"
row_is n_train "128 128"
row_is batch_size "64 64"
in_stdout "D01 (ensemble, with epochs=1,k=2,train_size=128) on cpu"
base=$(losses)
hash=$(value definition_hash)

changed() {
    local key=$1 name=$2 values=$3
    shift 3
    set_run "$key"
    row_is overrides "$small,$key $small,$key"
    row_is "$name" "$values"
    differ "losses with $key" "$base" "$(losses)"
    differ "definition_hash with $key" "$hash" "$(value definition_hash)"
}
changed batch_size=32 batch_size "32 32"
changed lr=0.01 lr "0.01 0.01"
changed model=mlp model "mlp mlp"
changed optimizer=sgd optimizer "sgd sgd"
changed weight_decay=0.5 optimizer_args \
    "betas=0.9,0.999 eps=1e-08 weight_decay=0.5 amsgrad=false betas=0.9,0.999 eps=1e-08 weight_decay=0.5 amsgrad=false"
set_run amp=true
row_is amp "True True"
row_is overrides "$small,amp=true $small,amp=true"
same "losses with amp on the CPU" "$base" "$(losses)"
set_run task=classification
row_is task "classification classification"
set_run optimizer=sgd momentum=0.9
with=$(losses)
row_is overrides "$small,optimizer=sgd,momentum=0.9 $small,optimizer=sgd,momentum=0.9"
set_run optimizer=sgd
differ "losses with momentum" "$with" "$(losses)"

# Another data set, and a task that must go with it.
fresh --exp D01 --data synthetic --quiet --set k=1 epochs=1 train_size=100 model=mlp dataset=cal_housing task=regression
row_is dataset cal_housing
row_is task regression
row_is score_name R2
row_is data_source synthetic
in_stdout "  R2"

# A key that is an axis of the search takes that axis's place; k of cross-validation is its folds.
fresh --exp D03 --quiet --set epochs=1 batch_size=64 train_size=200
row_is job_id "D03_t0 D03_t1 D03_t2"
row_is lr "0.0003 0.001 0.003"
row_is batch_size "64 64 64"
row_is epochs "1 1 1"
fresh --exp D02 --quiet --set k=2 epochs=1 train_size=101
row_is job_id "D02_fold0 D02_fold1"
row_is n_train "50 51"
row_is n_val "51 50"
# For several models a key is every model's.
fresh --exp D04 --quiet --set epochs=1 train_size=100 batch_size=50
row_is model "mlp digits_cnn"
row_is batch_size "50 50"
row_is optimizer "adam adamw"
# Every experiment chosen gets it.
fresh --exp D01 D02 --quiet --set epochs=1 k=2 train_size=64
row_is exp_id "D01 D01 D02 D02"
row_is epochs_run "1 1 1 1"
# Ad-hoc runs too.
fresh --model mlp --dataset digits --k 1 --epochs 4 --quiet --set epochs=1 train_size=64
row_is epochs_run 1
row_is overrides "epochs=1,train_size=64"

# Words that cannot be used.
rm -rf "$work/runs"
s() {
    refused "$1" --exp D01 --set "${@:2}"
}
s "--set 'epochs': write KEY=V, for example epochs=2" epochs
s "--set 'epochs=': write KEY=V" epochs=
s "--set '=2': write KEY=V" =2
s "--set needs a value: --set KEY=V ..."
s "no 'epochz' to set (did you mean 'epochs'?)" epochz=2
s "adamw has no option 'momentum'" momentum=0.9
s "epochs must be a whole number from 1 to 1000000, not 0" epochs=0
s "epochs must be a whole number, not '1.5'" epochs=1.5
s "batch_size must be a whole number" batch_size=-4
s "lr must be a finite number, at least 0, not 'nan'" lr=nan
s "k must be a whole number from 1 to 100000, not '0'" k=0
s "train_size must be a whole number, at least 1, not '0'" train_size=0
s "data set digits has 1438 training samples" train_size=1439
s "epochs is set twice: keep one" epochs=1 epochs=2
s "unknown model 'mpl' (did you mean 'mlp'?)" model=mpl
s "unknown data set 'digts' (did you mean 'digits'?)" dataset=digts
s "unknown optimizer 'sgdd' (did you mean 'sgd'?)" optimizer=sgdd
s "unknown task 'clasification' (did you mean 'classification'?)" task=clasification
s "task regression needs real numbers as targets" task=regression
s "amp must be true or false, not 'maybe'" amp=maybe
refused "k of a hpo is its number of combinations and cannot be set" --exp D03 --set k=2
grep -q 'D03.*--set\|--set.*--set' "$work/err" && fail "$last: the sentence repeats itself"

finish
