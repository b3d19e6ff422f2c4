#!/usr/bin/env bash
# --help, help, --version, and what is said without a command.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

expect 2
empty_stdout
in_stderr "usage: fugue COMMAND" "list" "validate" "env" "doctor" "'fugue --help'"

for words in --help -h help; do
    expect 0 $words
    empty_stderr
    in_stdout "Usage:" "Commands:" "list " "validate " "env " "doctor " "Exit codes:" "fugue run --exp D01"
    not_in_stdout "__cell"
    not_in_stdout "__worker"
done

expect 0 --version
in_stdout "fugue "
grep -qE '^fugue [0-9]+\.[0-9]+\.[0-9]+$' "$work/out" || fail "--version: not a version"

for command in list validate env doctor; do
    expect 0 help $command
    cp "$work/out" "$work/help"
    in_stdout "Usage:" "fugue $command" "Options:" "--json"
    for flag in --help -h; do
        expect 0 $command $flag
        empty_stderr
        cmp -s "$work/out" "$work/help" || fail "help $command and $command $flag differ"
    done
    awk 'length > 80' "$work/out" | grep . && fail "help $command: lines over 80 columns"
done
# Help is asked for, whatever else stands on the line.
expect 0 list --nonsense --help
in_stdout "Usage:"
expect 0 list --help
in_stdout "(default: all)" "--exp ID ..."

expect 2 help nonsense
in_stderr "unknown command 'nonsense'"
expect 2 help lits
in_stderr "did you mean 'list'?"
expect 2 help list env
in_stderr "'env' is one word too many"

# Colour only on a terminal, and not with NO_COLOR or a dumb one.
if command -v script >/dev/null; then
    # Into a file: "| grep -q" would end the writer early, which pipefail takes for a failure.
    in_terminal() {
        script -qec "$*" /dev/null </dev/null | tr -d '\r' >"$work/out"
    }
    esc=$(printf '\033')
    in_terminal "env -u NO_COLOR TERM=xterm '$fugue' --help"
    grep -q "$esc" "$work/out" || fail "no colour on a terminal"
    in_terminal "env NO_COLOR=1 TERM=xterm '$fugue' --help"
    grep -q "$esc" "$work/out" && fail "colour with NO_COLOR"
    in_terminal "env -u NO_COLOR TERM=dumb '$fugue' --help"
    grep -q "$esc" "$work/out" && fail "colour on a dumb terminal"
    # The list fits the terminal: the wide table becomes a few lines each.
    in_terminal "stty cols 80; '$fugue' list --exp E12"
    awk 'length > 80' "$work/out" | grep . && fail "list: lines wider than the terminal"
    grep -qF "batch 64|128, epochs 5, lr 0.0001|0.0003|0.001, adamw" "$work/out" || fail "narrow list"
    in_terminal "stty cols 300; '$fugue' list --exp E12"
    grep -qF "DATA SET" "$work/out" || fail "wide list"
fi
env -u NO_COLOR "$fugue" --help >"$work/out"
grep -q "$(printf '\033')" "$work/out" && fail "colour in a file"

finish
