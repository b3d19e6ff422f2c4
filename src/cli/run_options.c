/* The declaration of `fugue run`: its option table and its help. */
#include "cli/commands.h"
#include "cli/run_plan.h"

#include <string.h>

static const char *const workload_choices[] = {"ensemble", "cv", "multi_model", "hpo", NULL};
static const char *const data_choices[] = {"real", "synthetic", NULL};
static const char *const pretrained_choices[] = {"auto", "off", "require", NULL};
const char *const run_device_choices[] = {"auto", "cpu", "cuda", NULL};
static const char *const compile_choices[] = {"off", "on", NULL};

#define LATER       "not in this version"
#define INT_MAX_ARG 2147483647

const struct option run_options[] = {
    {"--exp", OPTION_LIST, "ID ...", NULL,
     "experiments: ids, numbers (3, e3), ranges (E05:E07), or all; see `fugue list`", "What to run",
     0, 0, NULL},
    {"--exec", OPTION_LIST, "STRATEGY ...", "seq",
     "strategies, one cell each: seq, mp, unified_model", "What to run", 0, 0, NULL},
    {"--set", OPTION_LIST, "KEY=V ...", NULL,
     "change the experiments for this run: epochs, batch_size, lr, schedule, clip_grad_norm, k, "
     "dataset, model, task, optimizer, amp, train_size, or an optimizer option; rows carry it in "
     "`overrides`",
     "What to run", 0, 0, NULL},
    {"--data", OPTION_CHOICE, "SOURCE", "real",
     "synthetic: generated content of the exact shape, for speed only", "What to run", 0, 0,
     data_choices},

    {"--model", OPTION_LIST, "NAME ...", NULL,
     "an experiment described here instead of --exp: a model, or a network described in a file "
     "that ends in .json; several only with --type multi_model",
     "Ad-hoc run", 0, 0, NULL},
    {"--dataset", OPTION_LIST, "NAME ...", NULL, "its data set, or one for each model",
     "Ad-hoc run", 0, 0, NULL},
    {"--type", OPTION_CHOICE, "TYPE", "ensemble", "workload type", "Ad-hoc run", 0, 0,
     workload_choices},
    {"--k", OPTION_INT, "N", "3", "ensemble members or folds", "Ad-hoc run", 1, 100000, NULL},
    {"--task", OPTION_TEXT, "NAME", NULL,
     "classification, regression or language_modeling; the data set's own when not given",
     "Ad-hoc run", 0, 0, NULL},
    {"--epochs", OPTION_INT, "N", "5", "epochs of each network", "Ad-hoc run", 1, 1000000, NULL},
    {"--batch-size", OPTION_INT, "N", "128", "samples a step of each network", "Ad-hoc run", 1,
     1000000, NULL},
    {"--lr", OPTION_NUMBER, "X", "0.01", "learning rate", "Ad-hoc run", 0, 0, NULL},
    {"--optimizer", OPTION_TEXT, "NAME", "adamw", "sgd, adam or adamw, PyTorch's rules",
     "Ad-hoc run", 0, 0, NULL},
    {"--momentum", OPTION_NUMBER, "X", NULL, "sgd momentum", "Ad-hoc run", 0, 0, NULL},
    {"--weight-decay", OPTION_NUMBER, "X", NULL, "weight decay (adamw: decoupled)", "Ad-hoc run", 0,
     0, NULL},
    {"--nesterov", OPTION_SWITCH, NULL, NULL, "sgd with Nesterov momentum", "Ad-hoc run", 0, 0,
     NULL},
    {"--optimizer-arg", OPTION_LIST, "KEY=V ...", NULL,
     "any other option of the optimizer: betas=0.9,0.99 eps=1e-6 amsgrad=true dampening=0.1",
     "Ad-hoc run", 0, 0, NULL},
    {"--schedule", OPTION_TEXT, "NAME?ARG=V&...", NULL,
     "schedule of the learning rate: constant, step, cosine, one_cycle or linear with PyTorch's "
     "arguments, as in cosine?t_max=20&warmup=2",
     "Ad-hoc run", 0, 0, NULL},
    {"--clip-grad-norm", OPTION_NUMBER, "X", NULL,
     "gradients are scaled down to this global norm before each update", "Ad-hoc run", 0, 0, NULL},
    {"--amp", OPTION_SWITCH, NULL, NULL,
     "automatic mixed precision (on the CPU recorded; precision stays fp32)", "Ad-hoc run", 0, 0,
     NULL},
    {"--search-space", OPTION_LIST, "KEY=V1,V2 ...", NULL,
     "grid of --type hpo, last key fastest: lr=0.1,0.01 batch_size=32,64", "Ad-hoc run", 0, 0,
     NULL},
    {"--name", OPTION_TEXT, "ID", "adhoc", "id the rows carry", "Ad-hoc run", 0, 0, NULL},

    {"--seed", OPTION_INT, "N", "42", "base seed; job i trains with seed + i", "How to run", 0,
     INT64_MAX, NULL},
    {"--split-seed", OPTION_INT, "N", "0", "seed of the cv and hpo splits", "How to run", 0,
     INT64_MAX, NULL},
    {"--device", OPTION_CHOICE, "DEVICE", "auto", "auto takes a GPU where this build can use one",
     "How to run", 0, 0, run_device_choices},
    {"--gpu", OPTION_INT, "N", NULL, "which GPU", "How to run", 0, 1023, NULL},
    {"--compile", OPTION_CHOICE, "MODE", "off",
     "on: each network's step becomes a CUDA graph first, which compile_s counts; on a GPU only",
     "How to run", 0, 0, compile_choices},
    {"--threads", OPTION_INT, "N", NULL, "cores the whole cell may use; all when not given",
     "How to run", 1, 4096, NULL},
    {"--max-parallel", OPTION_INT, "N", NULL,
     "mp: processes at once; unified_model: networks stacked at once", "How to run", 1, 100000,
     NULL},
    {"--save-weights", OPTION_TEXT, "DIR", NULL,
     "write the weights of each job that ends well to DIR/<job_id>.safetensors, as PyTorch's "
     "load_state_dict takes them; with one strategy only",
     "How to run", 0, 0, NULL},
    {"--init-weights", OPTION_TEXT, "FILE", NULL,
     "a .safetensors file every network starts from, with torchvision's and Hugging Face's names; "
     "tensors it lacks are drawn from the seed; rows carry it in `overrides`",
     "How to run", 0, 0, NULL},
    {"--pretrained", OPTION_CHOICE, "WHEN", "auto",
     "published weights for models that have some (xlm_roberta, vgg16_cbam), their last layers "
     "drawn from the seed: auto where 'fugue prefetch' has brought them, require them, or off; "
     "rows "
     "carry it in `pretrained`",
     "How to run", 0, 0, pretrained_choices},
    {"--no-save-results", OPTION_SWITCH, NULL, NULL, "write no file: no rows, no journal",
     "How to run", 0, 0, NULL},

    {"--quiet", OPTION_SWITCH, NULL, NULL, "no progress, only the final table", "Output", 0, 0,
     NULL},
    {"--json", OPTION_SWITCH, NULL, NULL,
     "one JSON object a line on standard output: every event, then the summary", "Output", 0, 0,
     NULL},

    {"--scheduler", OPTION_REFUSED, NULL, NULL,
     LATER ": every hpo trial runs to its last epoch (fifo)", NULL, 0, 0, NULL},
    {"--num-workers", OPTION_REFUSED, NULL, NULL,
     LATER ": data sets are resident in memory, so there are no loader workers to count", NULL, 0,
     0, NULL},
    {"--passes", OPTION_REFUSED, NULL, NULL, LATER ": repeat the command instead", NULL, 0, 0,
     NULL},
    {"--retries", OPTION_REFUSED, NULL, NULL, LATER ": repeat the command instead", NULL, 0, 0,
     NULL},
    {"--resume", OPTION_REFUSED, NULL, NULL,
     LATER ": name the experiments still missing with --exp", NULL, 0, 0, NULL},
    {"--since", OPTION_REFUSED, NULL, NULL, LATER ", as --resume is not", NULL, 0, 0, NULL},
    {"--sweep", OPTION_REFUSED, NULL, NULL, LATER, NULL, 0, 0, NULL},
    {"--unified-model-baseline", OPTION_REFUSED, NULL, NULL,
     LATER ": unified_model always stacks its networks", NULL, 0, 0, NULL},
    {"--enable-vectorized-fwd", OPTION_REFUSED, NULL, NULL,
     LATER ": unified_model always stacks its networks", NULL, 0, 0, NULL},
    {"--no-enable-vectorized-fwd", OPTION_REFUSED, NULL, NULL,
     LATER ": use --exec seq for networks one by one", NULL, 0, 0, NULL},
    {"--enable-streams", OPTION_REFUSED, NULL, NULL, LATER ": there are no streams on the CPU",
     NULL, 0, 0, NULL},
    {"--no-enable-streams", OPTION_REFUSED, NULL, NULL, LATER ": there are no streams on the CPU",
     NULL, 0, 0, NULL},
    {"--enable-fused-loss", OPTION_REFUSED, NULL, NULL, LATER ": the loss is always fused", NULL, 0,
     0, NULL},
    {"--no-enable-fused-loss", OPTION_REFUSED, NULL, NULL, LATER ": the loss is always fused", NULL,
     0, 0, NULL},
};
const int run_options_n = (int)(sizeof run_options / sizeof run_options[0]);

const struct option_value *run_value(const struct option_value *values, const char *name)
{
    return &values[option_index(run_options, run_options_n, name)];
}

static const char run_details[] =
    "Examples:\n"
    "  fugue run --exp D01 --exec seq mp unified_model\n"
    "  fugue run --exp E05:E06 --exec unified_model --data synthetic\n"
    "  fugue run --exp D02 --set epochs=2 k=10\n"
    "  fugue run --model digits_cnn --dataset digits --type hpo \\\n"
    "      --search-space lr=0.001,0.003 batch_size=32,64 --epochs 5\n"
    "\n"
    "Exit codes: 0 every network was trained; 1 some failed (each is a row with its cause) or a "
    "file "
    "could not be written; 2 the command cannot be carried out as written, nothing was done. "
    "Interrupted runs (Ctrl-C, SIGTERM) keep every finished network's row and end by that signal; "
    "with --json, a reader that closes the pipe ends the run the same way, with exit code 0.";

const struct command command_run = {
    .name = "run",
    .summary = "Train experiments under one or more strategies and say what each cost.",
    .usage = "fugue run --exp ID ... [--exec STRATEGY ...] [options]\n"
             "fugue run --model NAME --dataset NAME [options]",
    .details = run_details,
    .options = run_options,
    .n_options = sizeof run_options / sizeof run_options[0],
    .run = cmd_run,
};
