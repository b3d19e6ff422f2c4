# shellcheck shell=bash
# What the command-line tests share: sourced, never run by itself.
# Each test runs the real binary in a folder of its own, with the environment's FUGUE_* unset.
set -uo pipefail
fugue=${FUGUE_TEST_BINARY:?set FUGUE_TEST_BINARY to the binary under test}
[ -x "$fugue" ] || {
    echo "$fugue is not there: build it first"
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset FUGUE_DATA_DIR FUGUE_RUNS_DIR FUGUE_FIGS_DIR FUGUE_OFFLINE
export FUGUE_DEVICE=cpu # on a machine with a GPU too
export FUGUE_REGISTRY_DIR=$work/registry NO_COLOR=1
failures=0

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %.400s\n' "$*"
    printf '  stdout: %.400s\n' "$(head -c 400 "$work/out" 2>/dev/null)"
    printf '  stderr: %.400s\n' "$(head -c 400 "$work/err" 2>/dev/null)"
}

# expect CODE ARGS...: runs fugue, keeps $work/out and $work/err, checks the exit code.
expect() {
    local code=$1 got
    shift
    last="fugue $*"
    "$fugue" "$@" >"$work/out" 2>"$work/err" </dev/null
    got=$?
    [ "$got" -eq "$code" ] || fail "$last: exit code $got, expected $code"
}

in_stdout() {
    local part
    for part in "$@"; do
        grep -qF -- "$part" "$work/out" || fail "$last: stdout lacks '$part'"
    done
}

in_stderr() {
    local part
    for part in "$@"; do
        grep -qF -- "$part" "$work/err" || fail "$last: stderr lacks '$part'"
    done
}

not_in_stdout() {
    if grep -qF -- "$1" "$work/out"; then
        fail "$last: stdout holds '$1'"
    fi
}

empty_stdout() {
    [ ! -s "$work/out" ] || fail "$last: something on stdout"
}

empty_stderr() {
    [ ! -s "$work/err" ] || fail "$last: something on stderr"
}

# registry TEXT: the user's experiments.json.
registry() {
    mkdir -p "$FUGUE_REGISTRY_DIR"
    printf '%s\n' "$1" >"$FUGUE_REGISTRY_DIR/experiments.json"
}

finish() {
    [ "$failures" -eq 0 ] || echo "$failures failures"
    exit $((failures > 0))
}
