#!/usr/bin/env bash
# Command lines that cannot be used as written: exit code 2, a sentence, nothing on stdout.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

refused() {
    local sentence=$1
    shift
    expect 2 "$@"
    empty_stdout
    in_stderr "$sentence"
}

refused "fugue: error: unknown command 'lst' (did you mean 'list'?)" lst
in_stderr "usage: fugue COMMAND"
refused "unknown command 'frobnicate'" frobnicate
refused "unknown command ''" ""
refused "unknown option '--exp': a command comes first" --exp D01
refused "unknown command 'validat' (did you mean 'validate'?)" validat

for command in list validate env; do
    refused "fugue $command: error: unknown option '--jsn' (did you mean '--json'?)" $command --jsn
    in_stderr "'fugue $command --help' shows its options."
    refused "unknown option '--nonsense'" $command --nonsense
    refused "unknown option '-x'" $command -x
    refused "'D01' is not expected here" $command D01
    refused "'--json' is not expected here" $command -- --json
    refused "--json is given twice" $command --json --json
    refused "--json takes no value" $command --json=yes
done
for command in list validate; do
    refused "--exp needs a value: --exp ID ..." $command --exp
    refused "--exp needs a value" $command --exp --json
    refused "--exp needs a value" $command --exp=
    refused "unknown experiment 'E99'" $command --exp E99
    refused "cannot read 'all' as a selection" $command --exp all D01
    refused "the selection is empty" $command --exp E05:E03
    # Prefixes are no options, but they are understood.
    refused "unknown option '--ex' (did you mean '--exp'?)" $command --ex D01
    # After --exp=ID the next word belongs to nobody.
    refused "'D02' is not expected here" $command --exp=D01 D02
done
refused "--data is given twice" validate --data --data
refused "--data takes no value" validate --data=x
expect 0 list --exp D01 --
in_stdout "D01"

# A word of any length and any bytes is answered, not swallowed.
long=$(printf 'z%.0s' $(seq 1 5000))
refused "unknown command 'zzz" "$long"
refused "unknown experiment 'zzz" list --exp "$long"
refused "unknown option '--zzz" list "--$long"
refused "unknown experiment" list --exp "$(printf '\377\376')"

finish
