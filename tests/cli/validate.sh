#!/usr/bin/env bash
# fugue validate
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# What this version does not have yet is an error: it cannot be run.
expect 1 validate
in_stdout "21 experiments (20 usable)" "1 error:" \
    "E17: not built yet in this version of fugue: data set imagenette (--data synthetic"
not_in_stdout "warning"
empty_stderr

expect 0 validate --exp D01:D04 E05 E06
in_stdout "6 experiments (6 usable), 2 models, 2 data sets"
not_in_stdout "error"
expect 0 validate --exp D01
in_stdout "1 experiment (1 usable), 1 model, 1 data set"

expect 1 validate --json
in_stdout '"ok": false' '"experiments": 21' '"usable": 20' '"warnings": []' \
    '"E17: not built yet in this version of fugue: data set imagenette (--data synthetic'
[ "$(grep -c "^    .*: not built yet" "$work/out")" -eq 1 ] || fail "validate --json: not 1 error"
expect 0 validate --json --exp D04
printf '%s
' '{' '  "ok": true,' '  "experiments": 1,' '  "usable": 1,' \
    '  "models": ["mlp", "digits_cnn"],' '  "datasets": ["digits"],' '  "warnings": [],' \
    '  "errors": []' '}' >"$work/expected"
cmp -s "$work/out" "$work/expected" || fail "validate --json of D04"

# Files that are not there are warnings, and only when asked about.
export FUGUE_DATA_DIR=$work/data
expect 0 validate --exp D01 E05 --data
in_stdout "1 warning:" "cal_housing" "$work/data"
expect 0 validate --exp D01 --data
not_in_stdout "warning"
expect 0 validate --exp E05 --data --json
in_stdout '"ok": true' '"warnings": [' "$work/data/"

# Misfits and typing errors of the user's own experiments.
registry '{
  "X01": {"type": "ensemble", "committee_size": 2, "model": "mpl", "dataset": "digits",
          "batch_size": 8, "epochs": 1, "lr": 0.1},
  "X02": {"type": "ensemble", "committee_size": 2, "model": "mlp", "dataset": "digits",
          "batch_size": 8, "epochs": 1, "lr": 0.1, "task": "regression"},
  "X03": {"type": "ensemble", "committee_size": 2, "model": "lenet", "dataset": "cal_housing",
          "batch_size": 8, "epochs": 1, "lr": 0.1},
  "X04": {"type": "ensemble", "committee_size": 2, "model": "mlp", "dataset": "digits",
          "batch_size": 8, "epocs": 1, "lr": 0.1},
  "X05": {"type": "ensemble", "committee_size": 0, "model": "mlp", "dataset": "digits",
          "batch_size": 8, "epochs": 1, "lr": 0.1},
  "X06": {"type": "ensemble", "committee_size": 2, "model": "mlp", "dataset": "digits",
          "batch_size": 8, "epochs": 1, "lr": 0.1}
}'
expect 1 validate --exp X01 X02 X03 X06
in_stdout "4 experiments (1 usable)" "5 errors:" \
    "experiments.json:9:37: X04: unknown key 'epocs' (did you mean 'epochs'?)" \
    "experiments.json:10:49: X05: committee_size must be a whole number from 1 to 100000, not 0" \
    "X01: unknown model 'mpl' (did you mean 'mlp'?)" \
    "X02: task regression needs real numbers as targets" \
    "X03: data set cal_housing: model 'lenet' takes images"

registry '{"X01": '
expect 1 validate
in_stderr "fugue validate: error: $FUGUE_REGISTRY_DIR/experiments.json:2:"

registry '{"D01": {"type": "cv", "folds": 2, "model": "mlp", "dataset": "digits", "batch_size": 8,
  "epochs": 1, "lr": 0.1}}'
expect 0 validate --exp D01
in_stderr "warning: $FUGUE_REGISTRY_DIR/experiments.json: D01 replaces the built-in experiment"

export FUGUE_DATADIR=x
expect 0 validate --exp D02
in_stderr "warning: FUGUE_DATADIR is set, but fugue has no such variable (did you mean 'FUGUE_DATA_DIR'?)"

finish
