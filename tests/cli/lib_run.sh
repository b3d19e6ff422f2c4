# shellcheck shell=bash source=tests/cli/lib.sh
# What the tests of `fugue run` share, on top of lib.sh.  Rows are read by column name, with awk:
# a machine that runs the tests has no CSV or JSON tool.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

individual=$work/runs/master_individual.csv
groups=$work/runs/master_groups.csv

# fresh [ARGS...]: an empty results folder; with words, runs them there and expects success.
fresh() {
    rm -rf "$work/runs"
    export FUGUE_RUNS_DIR=$work/runs
    [ $# -eq 0 ] || expect 0 run "$@"
}

# tiny [ARGS...]: a fresh ad-hoc run of a few milliseconds, two networks.
tiny() {
    fresh --model mlp --dataset digits --k 2 --epochs 1 --set train_size=160 --quiet "$@"
}

# column FILE NAME: that column's cells below the heading, one a line.
column() {
    awk -v name="$2" '
        function split_row(line, cells, n, i, c, quoted, cell) {
            n = 1; cell = ""; quoted = 0
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                if (c == "\"") quoted = !quoted
                else if (c == "," && !quoted) { cells[n++] = cell; cell = "" }
                else cell = cell c
            }
            cells[n] = cell
            return n
        }
        { sub(/\r$/, ""); n = split_row($0, cells) }
        NR == 1 { for (i = 1; i <= n; i++) if (cells[i] == name) at = i; if (!at) exit 3; next }
        { print cells[at] }' "$1"
}

# is FILE COLUMN VALUES: the cells of all rows, joined by blanks.
is() {
    local got
    got=$(column "$1" "$2") || fail "$last: $(basename "$1") has no column '$2'"
    got=$(tr '\n' ' ' <<<"$got")
    [ "${got% }" = "$3" ] || fail "$last: $2 is '${got% }', expected '$3'"
}
row_is() { is "$individual" "$1" "$2"; }
group_is() { is "$groups" "$1" "$2"; }

# value COLUMN [FILE]: as `is` prints it.
value() {
    column "${2:-$individual}" "$1" | tr '\n' ' '
}
# By seed: rows come in the order in which networks end.
losses() {
    paste -d' ' <(column "$individual" seed) <(column "$individual" final_train_loss) |
        sort -s -n -k1,1 | cut -d' ' -f2 | tr '\n' ' '
}

# differ WHAT A B / same WHAT A B
differ() {
    [ -n "$2" ] && [ -n "$3" ] && [ "$2" != "$3" ] || fail "$last: $1: '$2' and '$3' must differ"
}
same() {
    [ -n "$2" ] && [ "$2" = "$3" ] || fail "$last: $1: '$2' and '$3' must be the same"
}

# refused SENTENCE ARGS...: exit code 2, nothing on stdout, nothing written.
refused() {
    local sentence=$1
    shift
    expect 2 run "$@"
    empty_stdout
    in_stderr "fugue run: error: " "$sentence"
    [ ! -e "$work/runs" ] || fail "$last: something was written"
}
