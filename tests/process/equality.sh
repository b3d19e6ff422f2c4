#!/usr/bin/env bash
# labels: full; timeout: 300
# The same experiments under seq, mp and unified_model with 1 and 2 threads: the same losses and
# scores to the last digit, at the end and after every epoch.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "$0")/lib.sh"
for threads in 1 2; do
    for set in "D01 k=3" "D02 train_size=603" "D03 train_size=400"; do
        # shellcheck disable=SC2086
        fugue run --exp ${set% *} --set epochs=2 "${set#* }" --exec seq mp unified_model \
            --threads $threads >"$work/out" 2>"$work/err" || fail "$set with $threads threads"
    done
done
values() {
    paste -d' ' <(column "$individual" job_id) <(column "$individual" final_train_loss) \
        <(column "$individual" final_train_acc) <(column "$individual" final_val_loss) \
        <(column "$individual" final_val_acc) <(column "$individual" total_samples)
}
n=$(values | wc -l)
[ "$n" -eq $((6 * (3 + 5 + 9))) ] || fail "$n rows"
distinct=$(values | sort -u | wc -l)
[ "$distinct" -eq $((3 + 5 + 9)) ] || fail "$distinct different results of 17 jobs: $(values | sort -u)"
# Six runs of each job: every line six times, blanks nowhere.
[ "$(values | sort | uniq -c | awk '$1 != 6' | wc -l)" -eq 0 ] || fail "a result is missing somewhere"
values | awk 'NF != 6' | matches . && fail "a value is blank"
history() {
    for f in "$runs"/history/*.csv; do
        paste -d' ' <(column "$f" job_id) <(column "$f" epoch) <(column "$f" train_loss) \
            <(column "$f" val_loss)
    done
}
[ "$(history | wc -l)" -eq $((6 * 17 * 2)) ] || fail "$(history | wc -l) lines of history"
[ "$(history | sort -u | wc -l)" -eq $((17 * 2)) ] || fail "histories differ"
finish
