#!/usr/bin/env bash
# docs/networks.md and examples/: every network in them trains.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
source=${FUGUE_TEST_SOURCE:?set FUGUE_TEST_SOURCE to the repository}

# Block N of the page's JSON.
block() {
    awk -v n="$1" '/^```json/ { b++; on = 1; next } /^```/ { on = 0 } on && b == n' "$source/docs/networks.md"
}
block 1 >my_net.json
block 2 >language.json
[ -z "$(block 3)" ] || fail "docs/networks.md has a third network, which this test does not run"

trains() {
    expect 0 run --no-save-results --quiet --k 2 --epochs 1 --model "$@"
    in_stdout "accuracy"
    grep -qE '^seq +2 ' "$work/out" || fail "$last: no row"
}
trains my_net.json --dataset digits --set train_size=160
trains language.json --dataset 'wikitext?n_train=32&n_test=16' --data synthetic --batch-size 8
n=0
for example in "$source"/examples/*.json; do
    trains "$example" --dataset digits --set train_size=160
    grep -qF "\`$(basename "$example")\`" "$source/docs/networks.md" || fail "docs/networks.md does not name $example"
    n=$((n + 1))
done
[ "$n" -ge 2 ] || fail "$n examples"

# The mistake that the page shows is reported as it shows it.
sed -i 's/"out": 128/"out": "12"/' my_net.json
expect 2 run --model my_net.json --dataset digits
in_stderr "$(grep -o 'my_net\.json:[0-9]*:[0-9]*: [^`]*' "$source/docs/networks.md")"
empty_stdout

finish
