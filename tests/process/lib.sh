# shellcheck shell=bash
# What the tests share that kill, stop and starve the real binary: sourced, never run by itself.
set -uo pipefail
binary=${FUGUE_TEST_BINARY:?set FUGUE_TEST_BINARY to the binary under test}
skip() {
    echo "skipped: $*"
    exit 77
}
[ -x "$binary" ] || skip "$binary is not built"
[ -d /proc/self ] || skip "needs /proc"
work=$(mktemp -d)
runs=$work/runs
trap 'rm -rf "$work"' EXIT
unset FUGUE_DATA_DIR FUGUE_FIGS_DIR FUGUE_OFFLINE
failures=0

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*"
    head -c 2000 "$work"/out "$work"/err 2>/dev/null
}

finish() {
    [ "$failures" -eq 0 ] || exit 1
    exit 0
}

# fugue ARGS...: the binary with rows in $runs.  The variable is given to it alone: it is how its
# processes are told from all others (left).
fugue() {
    env FUGUE_RUNS_DIR="$runs" FUGUE_REGISTRY_DIR="$work/registry" NO_COLOR=1 "$binary" "$@" </dev/null
}

# grep in a pipe reads to the end here: with -q it leaves early, and the broken pipe it leaves behind
# would count as a failure (pipefail).
matches() {
    grep "$@" >/dev/null
}

# The pids of processes that belong to this test's runs: of all kinds, or whose second word is $1
# (__cell, __worker, run).
left() {
    local p
    for p in /proc/[0-9]*; do
        grep -qsaF "FUGUE_RUNS_DIR=$runs" "$p/environ" || continue
        # A process that has ended but was not reaped has no arguments.
        tr '\0' ' ' <"$p/cmdline" 2>/dev/null | matches -E "^[^ ]+ ${1:-(run|__cell|__worker)}( |$)" || continue
        echo "${p#/proc/}"
    done
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.02
    done
}

none_left() {
    [ -z "$(left)" ]
}

# column FILE NAME: the values of a column, one a line.
column() {
    awk -v want="$2" '
        # Splits a line of the dialect (comma, minimal quoting) into cell[1..n].
        function split_line(line,   n, c, i, quoted) {
            n = 1; delete cell; cell[1] = ""; quoted = 0
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                if (quoted && c == "\"" && substr(line, i + 1, 1) == "\"") { cell[n] = cell[n] c; i++ }
                else if (c == "\"") quoted = !quoted
                else if (c == "," && !quoted) cell[++n] = ""
                else cell[n] = cell[n] c
            }
            return n
        }
        { sub(/\r$/, "") }
        NR == 1 { columns = split_line($0); for (i = 1; i <= columns; i++) if (cell[i] == want) at = i; next }
        { n = split_line($0); if (n != columns) print "line with " n " cells"; else print cell[at] }
    ' "$1"
}

individual=$runs/master_individual.csv
groups=$runs/master_groups.csv
journal=$runs/journal.jsonl

# expect_count NUMBER WHAT FILE COLUMN VALUE
expect_count() {
    local n
    n=$(column "$3" "$4" | grep -cxF -- "$5")
    [ "$n" -eq "$1" ] || fail "$2: $n rows of $(basename "$3") have $4 = $5, expected $1"
}

# Whatever happened: nothing doubled, nothing half-written, each group whole.  $1: jobs of a group.
rows_are_whole() {
    [ -s "$journal" ] || return 0
    [ -f "$groups" ] || { fail "a journal, but no $groups"; return; }
    [ "$(tail -c 1 "$journal" | od -An -tx1 | tr -d ' ')" = 0a ] || fail "the journal has a torn tail"
    # Lines of JSON objects, each with its kind.
    [ "$(grep -vcE '^\{"kind":"(job|group)",.*\}$' "$journal")" -eq 0 ] || fail "a journal line is torn"
    local jobs n ids
    jobs=$(grep -c '^{"kind":"job"' "$journal")
    n=$(column "$individual" job_id | wc -l)
    [ "$jobs" -eq "$n" ] || fail "$jobs jobs in the journal, $n in $individual"
    ids=$(paste -d/ <(column "$individual" group_id) <(column "$individual" job_id))
    [ -z "$(sort <<<"$ids" | uniq -d)" ] || fail "a job has two rows"
    [ -z "$(column "$groups" group_id | sort | uniq -d)" ] || fail "a group has two rows"
    grep -q "^line with" <(column "$individual" job_id; column "$groups" group_id) && fail "a line is torn"
    diff <(column "$individual" group_id | sort -u) <(column "$groups" group_id | sort -u) >"$work/diff" ||
        fail "groups and jobs differ: $(cat "$work/diff")"
    n=$(column "$individual" group_id | sort | uniq -c | awk -v k="$1" '$1 != k' | wc -l)
    [ "$n" -eq 0 ] || fail "$n groups have not $1 jobs"
}
