#!/usr/bin/env bash
# fugue run: schedules, clipping, weights in and out, networks described in a file.
# shellcheck source=tests/cli/lib_run.sh
. "$(dirname "$0")/lib_run.sh"

# ---- schedules and clipping: each changes the run, and its rows say so ----

tiny --lr 0.01
base=$(losses)
hash=$(value definition_hash)
row_is schedule "constant constant"
row_is clip_grad_norm "0.0 0.0"
row_is perplexity ""

tiny --lr 0.01 --schedule 'cosine?t_max=4&per=update'
row_is schedule "cosine?t_max=4&per=update cosine?t_max=4&per=update"
group_is schedule "cosine?t_max=4&per=update"
differ "losses with a schedule" "$base" "$(losses)"
differ "definition_hash with a schedule" "$hash" "$(value definition_hash)"
scheduled=$(losses)
fresh --model mlp --dataset digits --k 2 --epochs 1 --lr 0.01 --quiet --exec unified_model \
    --set train_size=160 'schedule=cosine?t_max=4&per=update'
same "losses of --set schedule, stacked" "$scheduled" "$(losses)"

tiny --lr 0.01 --clip-grad-norm 0.01
row_is clip_grad_norm "0.01 0.01"
group_is clip_grad_norm 0.01
differ "losses with clipping" "$base" "$(losses)"
tiny --lr 0.01 --clip-grad-norm 1e9
same "losses with a limit that is never reached" "$base" "$(losses)"

# An epoch's learning rate stands in the history.
fresh --model mlp --dataset digits --k 1 --epochs 3 --lr 0.1 --set train_size=64 --quiet \
    --schedule 'step?step_size=1&gamma=0.5'
history=$(ls "$work"/runs/history/*.csv)
[ "$(column "$history" lr | tr '\n' ' ')" = "0.1 0.05 0.025 " ] ||
    fail "$last: learning rates $(column "$history" lr | tr '\n' ' ')"

fresh
refused "schedule" --model mlp --dataset digits --schedule 'cosine?t_maxx=4'
refused "t_max" --model mlp --dataset digits --schedule 'cosine?t_maxx=4'
refused "clip_grad_norm must be a finite number, at least 0" --model mlp --dataset digits --clip-grad-norm -1
refused "--set schedule=NAME" --exp D01 --schedule cosine
refused "momentum" --model mlp --dataset digits --optimizer sgd --schedule one_cycle

# ---- weights out: the same file whatever the strategy ----

saved() {
    rm -rf "$work/weights"
    fresh --exp D01 --quiet --set epochs=1 k=2 train_size=128 --save-weights "$work/weights/new" "$@"
    [ "$(ls "$work/weights/new")" = "$(printf 'D01_ens_s0.safetensors\nD01_ens_s1.safetensors')" ] ||
        fail "$last: in the folder lie $(ls "$work/weights/new")"
}
saved --exec seq
cp -r "$work/weights/new" "$work/seq"
for strategy in mp unified_model; do
    saved --exec "$strategy"
    for file in D01_ens_s0 D01_ens_s1; do
        cmp -s "$work/seq/$file.safetensors" "$work/weights/new/$file.safetensors" ||
            fail "$strategy saves other weights than seq for $file"
    done
done
grep -q '"conv1.weight"' "$work/seq/D01_ens_s0.safetensors" || fail "no conv1.weight in the file"
grep -q '"bn1.num_batches_tracked"' "$work/seq/D01_ens_s0.safetensors" || fail "no num_batches_tracked"

# A job that does not end well leaves nothing; one whose file cannot be written does not end well.
rm -rf "$work/weights"
fresh
expect 1 run --model mlp --dataset digits --k 1 --epochs 1 --lr 1e30 --quiet --set train_size=160 \
    --save-weights "$work/weights"
row_is status diverged
[ -z "$(ls "$work/weights")" ] || fail "$last: a diverged network left weights"
mkdir "$work/weights/adhoc_ens_s0.safetensors"
fresh
expect 1 run --model mlp --dataset digits --k 1 --epochs 1 --quiet --set train_size=160 \
    --save-weights "$work/weights"
row_is status failed
[[ $(value cause) == *"its weights could not be saved"* ]] || fail "$last: cause $(value cause)"

# ---- weights in ----

rm -rf "$work/weights"
tiny --lr 0.01 --save-weights "$work/weights"
start=$work/weights/adhoc_ens_s0.safetensors
trained=$(column "$individual" final_val_loss | head -1)
for strategy in seq mp unified_model; do
    tiny --lr 0 --init-weights "$start" --exec "$strategy"
    row_is overrides "train_size=160,init_weights=$start train_size=160,init_weights=$start"
    [ "$(column "$individual" final_val_loss | sort -u | wc -l)" -eq 1 ] ||
        fail "$last: two networks from one file differ: $(value final_val_loss)"
    same "$strategy from a file" "$trained" "$(column "$individual" final_val_loss | head -1)"
done
# What does not fit is drawn from the seed, with a warning.
fresh --model mlp --dataset digits --k 1 --epochs 1 --lr 0 --quiet --save-weights "$work/mlp"
fresh --model 'mlp?hidden2=32' --dataset digits --k 1 --epochs 1 --lr 0 --quiet \
    --init-weights "$work/mlp/adhoc_ens_s0.safetensors"
in_stderr "of another shape: drawn from the seed"
# Nothing of the file fits: the jobs fail and say why.
fresh
expect 1 run --model mlp --dataset digits --k 1 --epochs 1 --quiet \
    --init-weights "$work/seq/D01_ens_s0.safetensors"
row_is status failed
[[ $(value cause) == *"D01_ens_s0.safetensors"* ]] || fail "$last: cause $(value cause)"
fresh
printf 'no weights' >"$work/broken"
expect 1 run --model mlp --dataset digits --k 1 --epochs 1 --quiet --init-weights "$work/broken"
row_is status failed

fresh
refused "there is no file" --exp D01 --init-weights "$work/missing"
refused "name one with --exec" --exp D01 --exec seq mp --save-weights "$work/weights"

# ---- networks from a file ----

net='{"layers": [{"op": "flatten"}, {"op": "linear", "name": "fc1", "out": WIDTH}, {"op": "relu"},
  {"op": "linear", "name": "fc2", "out": "outputs"}]}'
printf '%s' "${net/WIDTH/16}" >"$work/my_net.json"
my_net() {
    fresh --model "$work/my_net.json" --dataset digits --k 2 --epochs 1 --quiet --set train_size=160 "$@"
}
my_net --exec seq
row_is model "$work/my_net.json $work/my_net.json"
described=$(losses)
hash=$(value definition_hash)
for strategy in mp unified_model; do
    my_net --exec "$strategy"
    same "a network from a file under $strategy" "$described" "$(losses)"
done
# Another network under the same name is another definition.
printf '%s' "${net/WIDTH/17}" >"$work/my_net.json"
my_net
differ "losses of a wider network" "$described" "$(losses)"
differ "definition_hash of a wider network" "$hash" "$(value definition_hash)"
fresh --model "$work/my_net.json" mlp --dataset digits digits --type multi_model --epochs 1 --quiet \
    --set train_size=160 --save-weights "$work/both"
row_is job_id "adhoc_m0_my_net adhoc_m1_mlp"
[ -f "$work/both/adhoc_m0_my_net.safetensors" ] || fail "$last: no weights of the network from a file"
fresh
printf '%s' "${net/relu/rleu}" | sed s/WIDTH/16/ >"$work/my_net.json"
refused "my_net.json:1:" --model "$work/my_net.json" --dataset digits
refused "rleu" --model "$work/my_net.json" --dataset digits
refused "no_net.json" --model "$work/no_net.json" --dataset digits

finish
