#!/usr/bin/env bash
# fugue run: how to run.  Every option's effect is in the rows, and nothing else changes.
# shellcheck source=tests/cli/lib_run.sh
. "$(dirname "$0")/lib_run.sh"

tiny
base=$(losses)
# What this process may use: affinity and quota, not what the machine has.
cores=$(value threads | cut -d" " -f1)
history=$(ls "$work/runs/history")
row_is data_source "real real"
row_is device "cpu cpu"
row_is split_seed "0 0"
group_is seed 42
group_is executor seq
group_is status ok
group_is jobs_ok 2
group_is jobs_failed 0
[ "$(wc -l <"$work/runs/journal.jsonl")" -eq 3 ] || fail "$last: the journal has not 3 lines"
[ "$history" = "$(value group_id "$groups" | tr -d ' ').csv" ] || fail "$last: history is '$history'"

# --seed
tiny --seed 7
row_is seed "7 8"
group_is seed 7
differ "losses with --seed" "$base" "$(losses)"
tiny --seed 43
same "the first of seed 43 and the second of seed 42" "$(cut -d' ' -f2 <<<"$base")" \
    "$(losses | cut -d' ' -f1)"
tiny --seed 0
row_is seed "0 1"

# --split-seed moves the folds, not the initial weights or the order.
cv="--model mlp --dataset digits --type cv --k 2 --epochs 1 --set train_size=160 --quiet"
fresh $cv
folds=$(losses)
hash=$(value definition_hash)
fresh $cv --split-seed 0
same "losses of the documented default" "$folds" "$(losses)"
fresh $cv --split-seed 5
row_is split_seed "5 5"
row_is seed "42 43"
same "definition_hash" "$hash" "$(value definition_hash)"
differ "losses with --split-seed" "$folds" "$(losses)"

# --exec: a cell each, in the order given, and the same networks in each.
tiny --exec unified_model seq mp
group_is executor "unified_model seq mp"
row_is executor "unified_model unified_model seq seq mp mp"
three=$(for loss in $base; do printf '%s %s %s ' "$loss" "$loss" "$loss"; done)
same "losses of each network under three strategies" "$three" "$(losses)"
[ "$cores" -gt 1 ] && half=$((cores / 2)) || half=1
group_is threads_per_unit "$cores $cores $half"
[ "$(tail -n +2 "$groups" | wc -l)" -eq 3 ] || fail "$last: not three groups"
[ "$(value run_id "$groups" | tr ' ' '\n' | sort -u | grep -c .)" -eq 1 ] || fail "$last: run_id differs"
[ "$(value cell_key "$groups" | tr ' ' '\n' | sort -u | grep -c .)" -eq 3 ] || fail "$last: cell_key repeats"
tiny --exec seq --exec unified_model
group_is executor "seq unified_model"

# --threads caps the cell and changes no result.
tiny --threads 1
row_is threads "1 1"
row_is threads_per_unit "1 1"
group_is threads 1
same "losses with one thread" "$base" "$(losses)"
tiny
row_is threads "$cores $cores"
if [ "$cores" -gt 1 ]; then
    tiny --threads 2 --exec unified_model
    row_is threads "2 2"
    same "losses with two threads" "$base" "$(losses)"
fi

# --max-parallel, and what layout_source says of it.
tiny --exec unified_model
group_is max_parallel 2
group_is layout_source default
tiny --exec unified_model --max-parallel 1
group_is max_parallel 1
group_is layout_source --max-parallel
same "losses one at a time" "$base" "$(losses)"
tiny --exec mp --max-parallel 1
group_is max_parallel 1
group_is layout_source --max-parallel
[ "$(value worker_pid | tr ' ' '\n' | sort -u | grep -c .)" -ge 1 ] || fail "$last: no worker_pid"
in_stderr_not() {
    ! grep -qF -- "$1" "$work/err" || fail "$last: stderr holds '$1'"
}
in_stderr_not "there is no resource profile"
tiny --exec mp
group_is layout_source default
in_stderr "warning: mp: " "there is no resource profile to estimate from (--max-parallel N says otherwise)"
# seq has no use for it, but mp beside it has.
tiny --exec seq mp --max-parallel 2
group_is max_parallel "1 2"
group_is layout_source "fixed --max-parallel"

# --data synthetic
tiny --data synthetic
row_is data_source "synthetic synthetic"
group_is data_source synthetic
row_is n_train "160 160"
differ "losses on generated content" "$base" "$(losses)"
fresh --model mlp --dataset cal_housing --data synthetic --epochs 1 --k 1 --quiet
row_is n_train 20640
row_is task regression
row_is val_source train
tiny --data real
same "losses with --data real" "$base" "$(losses)"

# --device: auto says once where it trains, cpu needs no saying; FUGUE_DEVICE where it is not given.
unset FUGUE_DEVICE
fresh --model mlp --dataset digits --k 1 --epochs 1
[ "$(grep -cE "^fugue: (no GPU can be used: training on the CPU|training on GPU 0)$" "$work/err")" -eq 1 ] ||
    fail "$last: the device is not said once"
FUGUE_DEVICE=cpu fresh --model mlp --dataset digits --k 1 --epochs 1
in_stderr_not "GPU"
row_is device cpu
FUGUE_DEVICE=tpu expect 2 run --model mlp --dataset digits --k 1 --epochs 1
in_stderr "FUGUE_DEVICE: 'tpu' is none of auto, cpu, cuda"
fresh --model mlp --dataset digits --k 1 --epochs 1 --device cpu
in_stderr_not "GPU"
row_is device cpu

# --no-save-results: no file at all, the table all the same.
fresh
expect 0 run --model mlp --dataset digits --k 2 --epochs 1 --no-save-results
in_stdout "adhoc (ensemble) on cpu" "accuracy (SD)"
not_in_stdout "Rows:"
[ ! -e "$work/runs" ] || fail "$last: a results folder was made"
[ -z "$(find "$work" -newer "$work/out" -type f ! -name out ! -name err)" ] || fail "$last: files were written"

# Runs add to what is there.
tiny --name first
expect 0 run --model mlp --dataset digits --k 1 --epochs 1 --name second --quiet
row_is exp_id "first first second"
group_is exp_id "first second"
[ "$(grep -c '^group_id,' "$individual")" -eq 1 ] || fail "$last: more than one heading"

# Selections of the catalogue.
fresh --exp D01 D04 --quiet --set epochs=1 train_size=64 --no-save-results
in_stdout "D01 (ensemble" "D04 (multi_model"
fresh --exp=D04 --quiet --set epochs=1 train_size=64
row_is exp_id "D04 D04"
fresh --exp d04 --quiet --set epochs=1 train_size=64
row_is exp_id "D04 D04"
registry '{"X01": {"type": "ensemble", "committee_size": 1, "model": "mlp", "dataset": "digits",
  "batch_size": 64, "epochs": 1, "lr": 0.01}}'
fresh --exp X01 --quiet
row_is exp_id X01
row_is lr 0.01

finish
