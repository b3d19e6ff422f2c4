#!/usr/bin/env bash
# labels: quick; timeout: 120
# The text sets as a user meets them: a small run of each, and their errors.
# shellcheck source=tests/cli/lib_run.sh
. "$(dirname "$0")/lib_run.sh"
export FUGUE_DATA_DIR=$work/data
mkdir -p "$work/data/wikitext-2" "$work/data/SST-2"

# piece TEXT TYPE: an entry of a SentencePiece model file, of score 0 (type 1 normal, 2 unknown, 3 control).
piece() {
    local n=${#1}
    printf "\\x0a\\x$(printf %02x $((n + 4)))\\x0a\\x$(printf %02x "$n")%s\\x18\\x0$2" "$1"
}
LC_ALL=C
{
    piece '<unk>' 2
    piece '<s>' 3
    piece '</s>' 3
    piece $'\xe2\x96\x81good' 1
    piece $'\xe2\x96\x81bad' 1
} >small.model
for i in 1 2 3 4 5 6 7 8; do echo " the cat <unk> sat on the mat and the dog sat $i "; done >text
cp text "$work/data/wikitext-2/wiki.valid.tokens"
gzip -c text >"$work/data/wikitext-2/wiki.test.tokens.gz"
{
    printf 'sentence\tlabel\n'
    for i in 1 2 3 4; do printf 'good good %s\t1\nbad\t0\n' "$i"; done
} >"$work/data/SST-2/train.tsv"
printf 'sentence\tlabel\ngood \t1\n' >"$work/data/SST-2/dev.tsv"
words='wikitext?train=valid&seq=4&vocab=20'
sentences='sst2?tokenizer=small.model&seq=8'
lm='transformer?layers=1&d_model=8&heads=2&ff=8'
xlmr='xlm_roberta?layers=1&d_model=8&heads=2&ff=8&vocab=7'

run_one() {
    fresh --k 1 --epochs 1 --batch-size 4 --quiet --model "$1" --dataset "$2"
}
run_one "$lm" "$words"
row_is data_layout tokens
group_is data_layout tokens
row_is data_source real
row_is val_source test
row_is n_train 23
row_is task language_modeling
run_one "$lm" "wikitext?train=test&seq=4&vocab=20"
row_is val_source train

refused() { # CODE MODEL DATASET TEXT...
    local code=$1 model=$2 data=$3
    shift 3
    fresh
    expect "$code" run --k 1 --epochs 1 --batch-size 4 --quiet --model "$model" --dataset "$data"
    in_stderr "$@"
    [ ! -e "$individual" ] || fail "$last: left rows"
}
refused 2 "$lm" "wikitext?train=dev" "argument train=dev; it is train, valid or test"
refused 2 "$lm" "wikitext?seq=1" "seq"
refused 1 "$lm" "wikitext" "$work/data/wikitext-2" "is not there; 'fugue prefetch wikitext' fetches it"
refused 2 "$xlmr" "sst2?seq=8&tokenizer=none.model" "there is no tokenizer 'none.model'"
refused 1 "xlm_roberta?layers=1&d_model=8&heads=2&ff=8" sst2 \
    "$work/data/weights/xlm-roberta-base/sentencepiece.bpe.model' is not there; 'fugue prefetch sst2' fetches it" \
    "download https://huggingface.co/FacebookAI/" \
    "tokenizer=FILE"
echo rubbish >rubbish.model
refused 2 "$xlmr" "sst2?tokenizer=rubbish.model" "'rubbish.model' is no SentencePiece model"
refused 2 "${xlmr/vocab=7/vocab=6}" "$sentences" "has 6 rows, too few for token ids up to 6"

# Where the library was missing when fugue was built, a sentence says what to install, and nothing else needs it.
mkdir -p elsewhere
cp "$fugue" elsewhere/fugue
if [ -e "$(dirname "$fugue")/fugue_sentencepiece.so" ]; then
    run_one "$xlmr" "$sentences"
    row_is data_layout GLUE
    row_is n_train 8
    printf 'sentence\tlabel\ngood\t1\nbad\t7\n' >"$work/data/SST-2/dev.tsv"
    fresh
    expect 1 run --k 1 --epochs 1 --batch-size 4 --quiet --model "$xlmr" --dataset "$sentences"
    row_is status failed
    in_stderr "SST-2/dev.tsv:3: label '7'; 0 to 1 are expected"
    printf 'sentence\tlabel\ngood \t1\n' >"$work/data/SST-2/dev.tsv"
fi
fugue=$work/elsewhere/fugue
fresh
expect 1 run --k 1 --epochs 1 --batch-size 4 --quiet --model "$xlmr" --dataset "$sentences"
in_stderr "sub-word tokens need the SentencePiece library: install libsentencepiece-dev"
row_is status failed
run_one "$lm" "$words"
row_is status ok
finish
