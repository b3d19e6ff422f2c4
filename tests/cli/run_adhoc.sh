#!/usr/bin/env bash
# fugue run --model --dataset: every option that describes a network reaches it, and its row.
# shellcheck source=tests/cli/lib_run.sh
. "$(dirname "$0")/lib_run.sh"

# The documented defaults.
fresh --model mlp --dataset digits --quiet
row_is exp_id "adhoc adhoc adhoc"
row_is job_id "adhoc_ens_s0 adhoc_ens_s1 adhoc_ens_s2"
row_is seed "42 43 44"
row_is executor "seq seq seq"
row_is epochs "5 5 5"
row_is epochs_run "5 5 5"
row_is batch_size "128 128 128"
row_is lr "0.01 0.01 0.01"
row_is optimizer "adamw adamw adamw"
row_is task "classification classification classification"
row_is amp "False False False"
row_is n_train "1438 1438 1438"
row_is status "ok ok ok"
row_is overrides ""
group_is mode ensemble
group_is K 3

# One at a time against a base: the row carries it, and the training is another one.
tiny
base=$(losses)
row_is total_samples "160 160"
tiny
same "losses of the same command" "$base" "$(losses)"

two="--model mlp --dataset digits --set train_size=160 --quiet"
fresh $two --k 2 --epochs 2
row_is epochs_run "2 2"
row_is total_samples "320 320"
differ "losses with --epochs" "$base" "$(losses)"
tiny --batch-size 20
row_is batch_size "20 20"
differ "losses with --batch-size" "$base" "$(losses)"
tiny --lr 0.02
row_is lr "0.02 0.02"
differ "losses with --lr" "$base" "$(losses)"
fresh $two --epochs 1 --k 4
row_is seed "42 43 44 45"
group_is K 4
same "losses of the first two of four" "$base" "$(losses | cut -d' ' -f1-2) "
tiny --name "my-net_1"
row_is exp_id "my-net_1 my-net_1"
row_is job_id "my-net_1_ens_s0 my-net_1_ens_s1"
group_is exp_id my-net_1
same "losses under another name" "$base" "$(losses)"
tiny --task classification
same "losses with the data set's own task" "$base" "$(losses)"
tiny --amp
row_is amp "True True"
row_is precision "fp32 fp32"
same "losses with --amp on the CPU" "$base" "$(losses)"

# Optimizers, and each of their options.
has_args() {
    local got
    got=$(column "$individual" optimizer_args | head -1)
    [[ " $got " == *" $1 "* ]] || fail "$last: optimizer_args '$got' lacks '$1'"
}
tiny --optimizer adam
row_is optimizer "adam adam"
adam=$(losses)
differ "losses with adam" "$base" "$adam"
tiny --optimizer SGD
row_is optimizer "sgd sgd"
sgd=$(losses)
differ "losses with sgd" "$base" "$sgd"
# An epoch is two steps here: what acts from the second on shows.
tiny --optimizer sgd --momentum 0.9
has_args momentum=0.9
momentum=$(losses)
differ "losses with --momentum" "$sgd" "$momentum"
tiny --optimizer sgd --momentum 0.9 --nesterov
has_args nesterov=true
differ "losses with --nesterov" "$momentum" "$(losses)"
tiny --optimizer sgd --weight-decay 0.5
has_args weight_decay=0.5
differ "losses with --weight-decay" "$sgd" "$(losses)"
tiny --weight-decay 0.5
has_args weight_decay=0.5
differ "losses with --weight-decay of adamw" "$base" "$(losses)"
tiny --optimizer sgd --optimizer-arg momentum=0.9
same "--optimizer-arg momentum and --momentum" "$momentum" "$(losses)"
tiny --optimizer sgd --momentum 0.9 --optimizer-arg dampening=0.5
has_args dampening=0.5
differ "losses with dampening" "$momentum" "$(losses)"
tiny --optimizer-arg eps=0.1 betas=0.5,0.6
has_args eps=0.1
has_args betas=0.5,0.6
differ "losses with eps and betas" "$base" "$(losses)"
tiny --optimizer-arg eps=0.1 --optimizer-arg amsgrad=true
has_args eps=0.1
has_args amsgrad=true

# Workload types.
tiny --type ensemble
same "losses of --type ensemble" "$base" "$(losses)"
row_is split "fixed fixed"
fresh --model mlp --dataset digits --type cv --epochs 1 --set train_size=100 --quiet
row_is job_id "adhoc_fold0 adhoc_fold1 adhoc_fold2"
row_is n_train "66 67 67"
row_is n_val "34 33 33"
row_is val_source "fold fold fold"
group_is mode cv
fresh --model mlp --dataset digits --type hpo --epochs 1 --set train_size=160 --quiet \
    --search-space lr=0.001,0.01 batch_size=20,40,80
row_is job_id "adhoc_t0 adhoc_t1 adhoc_t2 adhoc_t3 adhoc_t4 adhoc_t5"
row_is lr "0.001 0.001 0.001 0.01 0.01 0.01"
row_is batch_size "20 40 80 20 40 80"
row_is n_val "32 32 32 32 32 32"
group_is mode hpo
group_is K 6
best=$(value best_job_id "$groups")
[[ $best == adhoc_t[0-5]\  ]] || fail "$last: best_job_id is '$best'"
in_stdout "  best accuracy" " ${best% }" "${best% }: lr=0.0"
fresh --model mlp --dataset digits --type hpo --set train_size=160 --quiet \
    --search-space optimizer=sgd,adam epochs=2,1
row_is optimizer "sgd sgd adam adam"
row_is epochs_run "2 1 2 1"
fresh --model mlp --dataset digits --type hpo --epochs 1 --set train_size=160 --quiet \
    --optimizer sgd --search-space momentum=0,0.9 amp=true,false
row_is amp "True False True False"
[ "$(column "$individual" optimizer_args | grep -c 'momentum=0\.9')" -eq 2 ] ||
    fail "$last: momentum is not 0.9 in two trials"
fresh --type multi_model --model mlp digits_cnn --dataset digits digits --epochs 1 \
    --set train_size=160 --quiet
row_is job_id "adhoc_m0_mlp adhoc_m1_digits_cnn"
row_is model "mlp digits_cnn"
group_is mode multi_model
in_stdout "  accuracy" "mlp 0." "digits_cnn 0."
# Lists may be given in pieces.
fresh --type multi_model --model mlp --dataset digits --model digits_cnn --dataset digits --epochs 1 \
    --set train_size=160 --quiet
row_is model "mlp digits_cnn"

finish
