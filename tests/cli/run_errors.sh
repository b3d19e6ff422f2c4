#!/usr/bin/env bash
# fugue run: words that cannot be used as written.  Exit code 2, the fix in the sentence, nothing
# trained, nothing written.
# shellcheck source=tests/cli/lib_run.sh
. "$(dirname "$0")/lib_run.sh"
fresh
adhoc="--model mlp --dataset digits"
r() { refused "$@"; }

# Nothing, too much, or half of what is needed.
r "nothing to run: name experiments with --exp (for example --exp D01, or --exp all), or describe one with --model and --dataset"
r "nothing to run" --exec seq
r "--dataset is missing: an ad-hoc run needs --model and --dataset" --model mlp
r "--model is missing: an ad-hoc run needs --model and --dataset" --dataset digits
r "--exp names experiments and --model/--dataset describe one: give either, not both" --exp D01 $adhoc
r "--exp names experiments" --exp D01 --model mlp
r "'D01' is not expected here: 'run' takes options only" D01
r "unknown option '--exps' (did you mean '--exp'?)" --exps D01
r "unknown option '--thread' (did you mean '--threads'?)" --exp D01 --thread 1
r "unknown option '-x'" --exp D01 -x
r "--quiet and --json contradict each other" --exp D01 --quiet --json

# What the table knows of a data set is held against the splits before anything runs.
r "D02: 2000 folds of 1438 training samples: 2 to 1438 folds are possible" --exp D02 --set k=2000
r "D02: 5 folds of 4 training samples: 2 to 4 folds are possible" --exp D02 --set train_size=4
r "adhoc: 1439 folds of 1438 training samples" $adhoc --type cv --k 1439
r "--set train_size=1439 on D01: data set digits has 1438 training samples" --exp D01 --set train_size=1439

# What describes an ad-hoc run means nothing beside --exp; the sentence says what to write.
i() { r "$1 describes an ad-hoc run (--model, --dataset)$2" --exp D01 "$1" "${@:3}"; }
i --type " and means nothing with --exp" cv
i --k "; to change a catalogue experiment use --set k=N" 3
i --task "; to change a catalogue experiment use --set task=NAME" regression
i --epochs "; to change a catalogue experiment use --set epochs=N" 3
i --batch-size "; to change a catalogue experiment use --set batch_size=N" 3
i --lr "; to change a catalogue experiment use --set lr=X" 3
i --optimizer "; to change a catalogue experiment use --set optimizer=NAME" sgd
i --momentum "; to change a catalogue experiment use --set momentum=X" 0.9
i --weight-decay "; to change a catalogue experiment use --set weight_decay=X" 0.1
i --nesterov "; to change a catalogue experiment use --set nesterov=true"
i --optimizer-arg "; to change a catalogue experiment use --set KEY=V" eps=1
i --amp "; to change a catalogue experiment use --set amp=true"
i --search-space " and means nothing with --exp" lr=0.1
i --name " and means nothing with --exp" x

# Missing values.
for option in --exp --exec --set --data --model --dataset --type --k --task --epochs --batch-size --lr \
    --optimizer --momentum --weight-decay --optimizer-arg --search-space --name --seed --split-seed \
    --device --gpu --threads --max-parallel; do
    r "$option needs a value: $option " $option
    r "$option needs a value: $option " $option --quiet
    # The sentence says what the option takes, whatever its type.
    r "$option" $option=
done
for option in --nesterov --amp --no-save-results --quiet --json; do
    r "$option takes no value: write it alone" $adhoc $option=1
    r "$option is given twice: keep one" $adhoc $option $option
done
for option in --data=real --type=cv --k=1 --seed=1 --name=x --lr=1; do
    r "${option%=*} is given twice: keep one" $adhoc $option $option
done

# Unknown words.
r "unknown experiment 'D99'; 'fugue list' shows what there is" --exp D99
r "unknown experiment 'Q01' (did you mean 'E01'?)" --exp Q01
r "unknown experiment 'D99'" --exp D01 D99
r "cannot read 'all' as a selection" --exp all D01
r "the selection is empty" --exp D03:D01
r "--exec: there is no strategy 'sequ' (did you mean 'seq'?); there are seq, mp, unified_model" --exp D01 --exec sequ
r "--exec: there is no strategy 'unified'" --exp D01 --exec seq unified
r "--exec ray: ray needs the Ray bridge, which this version does not have" --exp D01 --exec ray
r "--exec names seq twice; once is enough" --exp D01 --exec seq mp seq
r "unknown model 'mpl' (did you mean 'mlp'?)" --model mpl --dataset digits
r "unknown data set 'digts' (did you mean 'digits'?)" --model mlp --dataset digts
r "unknown optimizer 'adm' (did you mean 'adam'?)" $adhoc --optimizer adm
r "unknown task 'clasification' (did you mean 'classification'?)" $adhoc --task clasification
r "--type: 'ensembl' is none of ensemble, cv, multi_model, hpo (did you mean 'ensemble'?)" $adhoc --type ensembl
r "--data: 'synthtic' is none of real, synthetic (did you mean 'synthetic'?)" --exp D01 --data synthtic
r "--device: 'gpu' is none of auto, cpu, cuda" --exp D01 --device gpu

# Misfits, and what this version has not built.
r "task regression needs real numbers as targets, but data set digits is for classification: use task classification, or another data set" $adhoc --task regression
r "task classification" --model mlp --dataset cal_housing --data synthetic --task classification
r "model 'lenet' takes images" --model lenet --dataset cal_housing --data synthetic
# (As long as there is something that `list` calls so.)
expect 0 list
unbuilt=$(grep -E '^E.*not built yet' "$work/out" | head -1)
if [ -n "$unbuilt" ]; then
    id=${unbuilt%% *}
    r "$id: not built yet in this version of fugue: " --exp "$id"
    r "$id: not built yet" --exp D01 "$id" --exec seq mp
fi

# Numbers.
for value in 0 -1 3.5 100001 x nan 99999999999999999999; do
    r "--k must be a whole number from 1 to 100000, not '$value'" $adhoc --k $value
done
r "folds must be at least 2, not 1" $adhoc --type cv --k 1
for value in 0 -2 1.5 1000001; do
    r "--epochs must be a whole number from 1 to 1000000, not '$value'" $adhoc --epochs $value
    r "--batch-size must be a whole number from 1 to 1000000, not '$value'" $adhoc --batch-size $value
done
for value in nan inf -inf 1e999 0.1x; do
    r "--lr must be a finite number, not '$value'" $adhoc --lr=$value
done
r "lr must be a finite number, at least 0, not -1" $adhoc --lr -1
r "--seed must be a whole number, at least 0, not '-1'" $adhoc --seed -1
r "--seed must be a whole number, at least 0, not '9223372036854775808'" $adhoc --seed 9223372036854775808
r "--split-seed must be a whole number, at least 0, not 'x'" $adhoc --type cv --split-seed x
r "--threads must be a whole number from 1 to 4096, not '0'" --exp D01 --threads 0
r "--threads must be a whole number from 1 to 4096, not '-3'" --exp D01 --threads -3
if [ "$(nproc)" -lt 4096 ]; then
    r "--threads 4096: this process may use " --exp D01 --threads 4096
fi
r "--max-parallel must be a whole number from 1 to 100000, not '0'" --exp D01 --exec mp --max-parallel 0
r "--gpu must be a whole number from 0 to 1023, not '-1'" --exp D01 --gpu -1

# Options of optimizers.
r "adamw has no option 'momentum'" $adhoc --momentum 0.9
r "adamw has no option 'nesterov'" $adhoc --nesterov
r "nesterov needs a momentum above 0" $adhoc --optimizer sgd --nesterov
r "momentum" $adhoc --optimizer sgd --momentum -0.5
r "weight_decay=-1 must be a finite number, at least 0" $adhoc --weight-decay -1
r "--momentum must be a finite number, not 'nan'" $adhoc --momentum nan
r "adamw has no option 'epss' (did you mean 'eps'?)" $adhoc --optimizer-arg epss=1
r "--optimizer-arg 'eps': write KEY=V, for example eps=1e-6" $adhoc --optimizer-arg eps
r "--optimizer-arg '=1': write KEY=V" $adhoc --optimizer-arg =1
r "--optimizer-arg eps: 'x' is no number, true, false or pair of numbers" $adhoc --optimizer-arg eps=x
r "--optimizer-arg betas: '0.9,x' is no number" $adhoc --optimizer-arg betas=0.9,x
r "betas must be a list of two numbers" $adhoc --optimizer-arg betas=0.9
r "--optimizer-arg eps is given twice" $adhoc --optimizer-arg eps=1 eps=2
r "--optimizer-arg weight_decay is given twice" $adhoc --weight-decay 1 --optimizer-arg weight_decay=2

# Workloads that lack something.
r "--type ensemble takes one model and one data set; use --type multi_model for several" --model mlp lenet --dataset digits
r "--type cv takes one model and one data set" --type cv --model mlp --dataset digits digits
r "--type multi_model pairs models with data sets in order: 2 models and 1 data set were given" --type multi_model --model mlp lenet --dataset digits
r "1 model and 2 data sets were given" --type multi_model --model mlp --dataset digits digits
r "--k counts ensemble members or folds; --type multi_model has as many networks as its models" --type multi_model $adhoc --k 2
r "--type hpo needs --search-space, for example --search-space lr=0.1,0.01" $adhoc --type hpo
r "--search-space is a grid of --type hpo; --type ensemble has none" $adhoc --search-space lr=0.1
r "--k counts ensemble members or folds; --type hpo has as many networks as its search space" $adhoc --type hpo --search-space lr=0.1 --k 2
h() { r "--search-space: $1" $adhoc --type hpo --search-space "${@:2}"; }
h "'lr' must read KEY=V1,V2, as in lr=0.001,0.01" lr
h "'lr=' must read KEY=V1,V2" lr=
h "lr must be a finite number, at least 0, not ''" lr=0.1,
h "a job has no 'lrr' to search over (did you mean 'lr'?)" lrr=0.1
h "a job has no 'hidden' to search over" hidden=3
h "lr must be a finite number, at least 0, not -1" lr=0.1,-1
h "lr must be a finite number, at least 0, not 'nan'" lr=nan
h "lr is given twice" lr=0.1 lr=0.2
h "batch_size must be a whole number" batch_size=1.5
h "batch_size must be a whole number" batch_size=0
h "epochs must be a whole number from 1 to 1000000, not 0" epochs=0
h "amp must be true or false, not 'maybe'" amp=maybe
r "unknown optimizer 'sgdd' (did you mean 'sgd'?)" $adhoc --type hpo --search-space optimizer=adam,sgdd
r "unknown task 'regresion' (did you mean 'regression'?)" $adhoc --type hpo --search-space task=regresion

# Names.
r "'all' selects every experiment and cannot be a name: choose another" $adhoc --name all
for name in a,b a:b a/b "a b" $'a\tb'; do
    r "holds a comma, colon, slash, blank or control character: choose another" $adhoc --name "$name"
done
r "name 'D01' is taken by an experiment of the catalogue (D01): choose another with --name" $adhoc --name D01
r "name 'd01' is taken by an experiment of the catalogue (D01)" $adhoc --name d01

# Flags that no chosen cell could use.
r "--max-parallel changes nothing: seq runs one network at a time; add --exec mp or unified_model, or leave it out" --exp D01 --max-parallel 2
r "--split-seed changes nothing: only cv and hpo experiments split the training set; leave it out" --exp D01 --split-seed 1
r "--split-seed changes nothing" $adhoc --split-seed 1
r "--gpu and --device cpu contradict each other" --exp D01 --gpu 0 --device cpu
r "--compile specialises GPU code, and this run trains on the CPU, where it would change nothing" --exp D01 --device cpu --compile on
# A machine with a GPU and the module would train.
if ! nvidia-smi -L >/dev/null 2>&1; then
    r "--gpu: " --exp D01 --gpu 0
    r "--device cuda: " --exp D01 --device cuda
    r "use --device cpu" --exp D01 --device cuda
fi

# Words of the Python tool that this version refuses, alone and with a value.
f() {
    r "$1: $2" --exp D01 "$1"
    r "$1: $2" --exp D01 "$1=2"
    r "$1: $2" --exp D01 "$1" 2
}
f --scheduler "not in this version: every hpo trial runs to its last epoch (fifo)"
f --num-workers "not in this version: data sets are resident in memory, so there are no loader workers to count"
f --passes "not in this version: repeat the command instead"
f --retries "not in this version: repeat the command instead"
f --resume "not in this version: name the experiments still missing with --exp"
f --since "not in this version, as --resume is not"
f --sweep "not in this version"
for feature in --unified-model-baseline --enable-vectorized-fwd; do
    f $feature "not in this version: unified_model always stacks its networks"
done
f --no-enable-vectorized-fwd "not in this version: use --exec seq for networks one by one"
for feature in --enable-streams --no-enable-streams; do
    f $feature "not in this version: there are no streams on the CPU"
done
for feature in --enable-fused-loss --no-enable-fused-loss; do
    f $feature "not in this version: the loss is always fused"
done

# Data that is not there: the path expected, where it comes from, exit code 1.
missing() {
    expect 1 run "${@:2}"
    empty_stdout
    in_stderr "fugue run: error: data set '$1': " "$work/data/" "is not there; 'fugue prefetch $1' fetches it, or download https://" "--data synthetic"
    [ ! -e "$work/runs" ] || fail "$last: something was written"
}
export FUGUE_DATA_DIR=$work/data
missing cal_housing --exp E05
in_stderr "$work/data/CaliforniaHousing/cal_housing.data"
missing mnist --model lenet --dataset mnist
in_stderr "$work/data/MNIST/raw/train-images-idx3-ubyte"
missing cal_housing --exp D01 E05 --exec seq mp

# All that cannot run are named at once, a few by their ids, and why the first cannot.
expect 1 run --exp D01 E05 E06 --exec seq mp
empty_stdout
in_stderr "fugue run: error: E05 and E06 (2 of 3 experiments) cannot run: leave them out ('fugue validate --data' says why of each); the first: data set 'cal_housing': "
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "$last: more than one sentence"
registry '{"X1": {"type": "cv", "folds": 2, "model": "mlp", "dataset": "mnist", "batch_size": 8, "epochs": 1, "lr": 1},
 "X2": {"type": "cv", "folds": 2, "model": "mlp", "dataset": "mnist", "batch_size": 8, "epochs": 1, "lr": 1},
 "X3": {"type": "cv", "folds": 2, "model": "mlp", "dataset": "mnist", "batch_size": 8, "epochs": 1, "lr": 1},
 "X4": {"type": "cv", "folds": 2, "model": "mlp", "dataset": "mnist", "batch_size": 8, "epochs": 1, "lr": 1}}'
expect 1 run --exp X1 E05 X2 D02 X3 E06 X4
in_stderr "error: X1, E05, X2, X3, E06 and 1 more (6 of 7 experiments) cannot run: " "the first: data set 'mnist': "
[ ! -e "$work/runs" ] || fail "$last: something was written"
rm -r "$FUGUE_REGISTRY_DIR"
mkdir -p "$work/data/CaliforniaHousing"
printf 'garbage\n' >"$work/data/CaliforniaHousing/cal_housing.data"
expect 1 run --exp E05 --set epochs=1 k=1 --no-save-results
in_stderr "$work/data/CaliforniaHousing/cal_housing.data"

# A registry that cannot be read: file, line, column.
registry '{"X01": {"type": "cv",,}}'
expect 1 run --exp D01
empty_stdout
in_stderr "fugue run: error: $FUGUE_REGISTRY_DIR/experiments.json:1:23: "
registry '{"X01": {"type": "cv"}}'
r "$FUGUE_REGISTRY_DIR/experiments.json:1:9: X01: folds is missing" --exp D01

finish
