#!/usr/bin/env bash
# labels: full; timeout: 600
# SIGINT at random moments, 50 times: nothing lost, doubled or half-written, no process left.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "$0")/lib.sh"
RANDOM=${FUGUE_TEST_SEED:-42}
strategies=(seq mp unified_model)
finished=0 stopped=0
for i in $(seq 1 50); do
    exec=${strategies[$((i % 3))]}
    before=$(column "$individual" status 2>/dev/null | grep -cxF ok)
    fugue run --model mlp --dataset digits --type ensemble --k 4 --epochs 60 --batch-size 64 \
        --optimizer adam --lr 0.001 --exec "$exec" --json >"$work/out" 2>"$work/err" &
    run=$!
    sleep "0.$(printf %03d $((RANDOM % 700)))"
    kill -INT "$(left run | head -1)" 2>/dev/null
    wait "$run"
    code=$?
    case $code in
    0) finished=$((finished + 1)) ;;
    130) stopped=$((stopped + 1)) ;; # died by SIGINT, as a shell sees it
    *) fail "$i ($exec): exit code $code" ;;
    esac
    wait_for 5 none_left || fail "$i ($exec): left $(left)"
    rows_are_whole 4
    # What was announced as written is there.
    announced=$(grep '"type":"job"' "$work/out" | grep -c '"status":"ok"')
    after=$(column "$individual" status 2>/dev/null | grep -cxF ok)
    [ $((after - before)) -eq "$announced" ] ||
        fail "$i ($exec): $announced jobs were announced, $((after - before)) rows are new"
    [ "$failures" -eq 0 ] || break
done
echo "stopped $stopped, ended before the signal $finished"
[ "$stopped" -ge 10 ] || fail "only $stopped of 50 were stopped on the way"
finish
