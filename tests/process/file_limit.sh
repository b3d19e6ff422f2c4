#!/usr/bin/env bash
# A limit on the size of files (ulimit -f) is an error like a full disk, not a death by SIGXFSZ.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "$0")/lib.sh"
for exec in seq mp unified_model; do
    rm -rf "$runs"
    (
        ulimit -f 8 # KiB: a few rows
        fugue run --model mlp --dataset digits --k 16 --epochs 1 --exec "$exec" --quiet
    ) >"$work/out" 2>"$work/err"
    code=$?
    [ "$code" -eq 1 ] || fail "$exec: exit code $code, expected 1"
    matches -E "rows of adhoc_ens_s[0-9]+.* could not be written" <"$work/err" || fail "$exec: the rows are not named"
    matches "File too large" <"$work/err" || fail "$exec: the reason is not said"
    [ "$(grep -vcE '^\{"kind":"(job|group)",.*\}$' "$journal")" -eq 0 ] || fail "$exec: a journal line is torn"
    [ "$(grep -c '^{"kind":"job"' "$journal")" -ge 1 ] || fail "$exec: no row was kept"
    none_left || fail "$exec: left: $(left)"
done
finish
