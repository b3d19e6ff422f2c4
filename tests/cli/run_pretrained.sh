#!/usr/bin/env bash
# labels: quick; timeout: 300
# fugue run --pretrained: small networks start from a file that a first run made, in the published
# place; rows and keys keep the states apart.
# shellcheck source=tests/cli/lib_run.sh
. "$(dirname "$0")/lib_run.sh"
export FUGUE_DATA_DIR=$work/data

xlm='xlm_roberta?layers=1&d_model=16&heads=2&ff=32&vocab=64&max_positions=18&dropout_pct=0'
sst2='sst2?seq=16&vocab=64&n_train=64&n_test=32'
# small [ARGS...]: two small networks that learn nothing (lr 0), so that what they start with shows.
small() {
    fresh --model "$xlm" --dataset "$sst2" --data synthetic --k 2 --epochs 1 --lr "${lr:-0}" --batch-size 16 "$@"
}
placed=$FUGUE_DATA_DIR/weights/xlm-roberta-base/model.safetensors

# ---- nothing there ----

small
in_stderr "starts from random weights: '$placed' is not there ('fugue prefetch xlm_roberta' fetches it)"
[ "$(grep -c "starts from" "$work/err")" -eq 1 ] || fail "$last: said more than once"
row_is pretrained "none none"
group_is pretrained none
random=$(losses)
random_key=$(value cell_key "$groups")
small --pretrained off
empty_starts=$(grep -c "starts from" "$work/err")
[ "$empty_starts" -eq 0 ] || fail "$last: says something of weights"
same "losses without pretrained weights" "$random" "$(losses)"
fresh
expect 1 run --model "$xlm" --dataset "$sst2" --data synthetic --pretrained require
in_stderr "fugue run: error: --pretrained require: '$placed' is not there" "fugue prefetch xlm_roberta"
[ ! -e "$work/runs" ] || fail "$last: something was written"

# ---- there ----

lr=0.01 small --quiet --seed 7 --save-weights "$work/trained"
mkdir -p "$(dirname "$placed")"
cp "$work/trained/adhoc_ens_s0.safetensors" "$placed"
small
in_stderr "starts from the pretrained weights '$placed'"
row_is pretrained "xlm_roberta xlm_roberta"
group_is pretrained xlm_roberta
row_is overrides "" # nothing of the definition was changed
pretrained=$(losses)
differ "losses with and without" "$random" "$pretrained"
differ "cell_key with and without" "$random_key" "$(value cell_key "$groups")"
# The bodies are the file's, the heads each seed's own: the two networks differ.
[ "$(tr ' ' '\n' <<<"$pretrained" | sed '/^$/d' | sort -u | wc -l)" -eq 2 ] || fail "$last: the heads are the same"
for strategy in seq mp unified_model; do
    small --quiet --pretrained require --exec "$strategy" --save-weights "$work/$strategy"
    same "losses under $strategy" "$pretrained" "$(losses)"
done
cmp -s "$work/seq/adhoc_ens_s1.safetensors" "$work/mp/adhoc_ens_s1.safetensors" ||
    fail "mp starts from other weights than seq"
# Every tensor of the body is the file's, byte for byte; of the head none is.
values_of() {
    local header_len head from to
    header_len=$(head -c 8 "$1" | od -An -tu8 | tr -d ' ')
    head=$(head -c $((8 + header_len)) "$1" | tail -c "$header_len")
    from=$(grep -oE "\"$2\":\{[^}]*\}" <<<"$head" | sed 's/.*data_offsets":\[\([0-9]*\),.*/\1/')
    to=$(grep -oE "\"$2\":\{[^}]*\}" <<<"$head" | sed 's/.*data_offsets":\[[0-9]*,\([0-9]*\)\].*/\1/')
    tail -c +$((9 + header_len + from)) "$1" | head -c $((to - from)) | md5sum
}
for name in roberta.embeddings.word_embeddings.weight roberta.encoder.layer.0.output.dense.weight \
    roberta.encoder.layer.0.attention.self.query.weight; do
    same "$name" "$(values_of "$placed" "$name")" "$(values_of "$work/seq/adhoc_ens_s0.safetensors" "$name")"
done
differ "classifier.dense.weight" "$(values_of "$placed" classifier.dense.weight)" \
    "$(values_of "$work/seq/adhoc_ens_s0.safetensors" classifier.dense.weight)"
small --pretrained off
same "losses with --pretrained off" "$random" "$(losses)"
row_is pretrained "none none"
small --quiet
[ ! -s "$work/err" ] || fail "$last: not quiet"

# ---- there, and of another network ----

fresh --model "${xlm/d_model=16/d_model=32}" --dataset "$sst2" --data synthetic --k 1 --epochs 1 --lr 0
in_stderr "starts from random weights: pretrained weights '$placed': the weights do not fit the network"
row_is pretrained none
fresh
expect 1 run --model "${xlm/d_model=16/d_model=32}" --dataset "$sst2" --data synthetic --pretrained require
in_stderr "--pretrained require: " "do not fit the network"
head -c 5000 "$work/trained/adhoc_ens_s0.safetensors" >"$placed"
fresh
expect 1 run --model "$xlm" --dataset "$sst2" --data synthetic --pretrained require
in_stderr "$placed" "truncated"
rm "$placed"

# ---- several models: each its own ----

vgg='vgg16_cbam?width_div=4&dropout_pct=0'
images='imagenette?n_train=4&n_test=2'
several() {
    fresh --type multi_model --model "$vgg" mlp --dataset "$images" digits --data synthetic --epochs 1 --lr 0 \
        --batch-size 2 --quiet "$@"
}
several --save-weights "$work/several"
row_is pretrained "none none"
mkdir -p "$FUGUE_DATA_DIR/weights/vgg16"
cp "$work/several"/*vgg16*.safetensors "$FUGUE_DATA_DIR/weights/vgg16/model.safetensors"
several
row_is pretrained "vgg16 none"
group_is pretrained ""

# ---- of no use ----

fresh
refused "--pretrained changes nothing" --exp D01 --pretrained auto
refused "xlm_roberta and vgg16_cbam have" --exp D01 --pretrained require
refused "leave one of them out" --model "$xlm" --dataset "$sst2" --pretrained require \
    --init-weights "$work/trained/adhoc_ens_s0.safetensors"
refused "--pretrained" --exp D01 --pretrained always

finish
