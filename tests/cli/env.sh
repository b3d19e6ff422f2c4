#!/usr/bin/env bash
# fugue env
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
export HOME=$work/home
unset XDG_CACHE_HOME XDG_DATA_HOME

has_row() {
    tr -s ' ' <"$work/out" | grep -F -- "$1" >/dev/null || fail "$last: no row '$1'"
}

export FUGUE_DATA_DIR=" ~/sets " FUGUE_RUNS_DIR=results FUGUE_OFFLINE=Yes
expect 0 env
empty_stderr
has_row "VARIABLE VALUE FROM MEANING"
has_row "FUGUE_DATA_DIR $work/home/sets environment folder of the data sets"
has_row "FUGUE_RUNS_DIR $work/results environment"
has_row "FUGUE_REGISTRY_DIR $work/registry environment"
has_row "FUGUE_OFFLINE 1 environment"
expect 0 env --json
in_stdout '  "FUGUE_DATA_DIR": {' "    \"value\": \"$work/home/sets\"," '    "source": "environment",' \
    '"FUGUE_RUNS_DIR"' '"FUGUE_REGISTRY_DIR"' '"FUGUE_FIGS_DIR"' '"FUGUE_OFFLINE"' \
    '    "meaning": "folder of the data sets"'

# Blank is unset.  A copy outside the build tree has the defaults of an installed one.
cp "$fugue" "$work/fugue"
fugue=$work/fugue
export FUGUE_DATA_DIR="  " FUGUE_RUNS_DIR="" FUGUE_OFFLINE=""
unset FUGUE_REGISTRY_DIR
expect 0 env
has_row "FUGUE_DATA_DIR $work/home/.cache/fugue/data default"
has_row "FUGUE_RUNS_DIR $work/runs default"
has_row "FUGUE_REGISTRY_DIR $work/home/.local/share/fugue default"
has_row "FUGUE_FIGS_DIR $work/figs default"
has_row "FUGUE_OFFLINE 0 default"
XDG_CACHE_HOME=$work/cache XDG_DATA_HOME=$work/share expect 0 env
has_row "FUGUE_DATA_DIR $work/cache/fugue/data default"
has_row "FUGUE_REGISTRY_DIR $work/share/fugue default"

FUGUE_RUN_DIR=x expect 0 env
in_stderr "warning: FUGUE_RUN_DIR is set, but fugue has no such variable (did you mean 'FUGUE_RUNS_DIR'?)"
FUGUE_SOMETHING=x expect 0 env
in_stderr "warning: FUGUE_SOMETHING is set, but fugue has no such variable"

finish
