#!/usr/bin/env bash
# shellcheck disable=SC2086,SC2181
# A closed pipe ends quietly; any other write error on stdout is a failure.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

for words in "list" "list --json" "validate --exp D01" "env" "--help" "help list" "--version"; do
    last="fugue $words"
    # The reader is gone before the first byte: the worst case of "| head -1".
    { sleep 0.2; "$fugue" $words 2>"$work/err"; echo $? >"$work/code"; } | true
    [ "$(cat "$work/code")" = 0 ] || fail "closed pipe: exit code $(cat "$work/code")"
    empty_stderr
    if [ -e /dev/full ]; then
        "$fugue" $words >/dev/full 2>"$work/err"
        [ $? -eq 1 ] || fail "/dev/full: exit code is not 1"
        in_stderr "error: cannot write to standard output: No space left on device"
    fi
    "$fugue" $words >&- 2>"$work/err"
    [ $? -eq 1 ] || fail "closed stdout: exit code is not 1"
    in_stderr "error: cannot write to standard output: Bad file descriptor"
done

"$fugue" list | head -1 >"$work/out"
[ "${PIPESTATUS[0]}" -eq 0 ] || fail "list | head -1: exit code is not 0"
in_stdout "ID "

# An error keeps its own code, whatever becomes of the output.
"$fugue" list --nonsense >/dev/full 2>"$work/err"
[ $? -eq 2 ] || fail "usage error with /dev/full: exit code is not 2"
# A closed stderr or stdin harms nobody.
"$fugue" list --exp D01 >"$work/out" 2>&- <&-
[ $? -eq 0 ] || fail "closed stderr: exit code is not 0"
in_stdout "D01"

finish
