#!/usr/bin/env bash
# A disk that fills up while rows are appended: the jobs are trained to their end, the error names
# the rows, nothing is half-written, and with room again everything goes on.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "only root can mount a small file system"
mkdir -p "$runs"
mount -t tmpfs -o size=24k,mode=700 tmpfs "$runs" 2>"$work/err" || skip "mount: $(cat "$work/err")"
trap 'umount "$runs"; rm -rf "$work"' EXIT
cell() {
    fugue run --model mlp --dataset digits --type ensemble --k 16 --epochs 1 --batch-size 64 \
        --optimizer adam --lr 0.001 --exec "$1" >"$work/out" 2>"$work/err"
}
cell seq
code=$?
[ "$code" -eq 1 ] || fail "exit code $code on a full disk, expected 1"
grep -qE "rows of adhoc_ens_s[0-9]+.* could not be written" "$work/err" || fail "the rows are not named"
grep -q "No space left on device" "$work/err" || fail "the reason is not said"
[ "$(tail -c 1 "$journal" | od -An -tx1 | tr -d ' ')" = 0a ] || fail "the journal has a torn tail"
[ "$(grep -vcE '^\{"kind":"(job|group)",.*\}$' "$journal")" -eq 0 ] || fail "a journal line is torn"
kept=$(grep -c '^{"kind":"job"' "$journal")
{ [ "$kept" -ge 1 ] && [ "$kept" -lt 16 ]; } || fail "$kept of 16 rows were kept: the disk was not full"
none_left || fail "left: $(left)"

mount -o remount,size=4m "$runs" || fail "no more room to be had"
cell unified_model
code=$?
[ "$code" -eq 0 ] || fail "exit code $code with room again"
n=$(column "$individual" job_id | wc -l)
[ "$n" -eq $((kept + 16)) ] || fail "$n rows, expected $((kept + 16))"
[ -z "$(paste -d/ <(column "$individual" group_id) <(column "$individual" job_id) | sort | uniq -d)" ] ||
    fail "a job has two rows"
column "$individual" job_id | matches "^line with" && fail "a line is torn"
finish
