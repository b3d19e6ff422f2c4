#include "results/columns.h"

#include <stddef.h>
#include <string.h>

/* Causes of a blank cell that several columns share. */
#define NEVER     "never"
#define NOT_READY "the job did not reach it"
#define NO_GPU    "no NVML or no GPU"
#define NO_DRIVER "no NVIDIA driver"
#define DIFFER    "the jobs of the group differ"
#define CELL_DIED "the cell died and took its clock with it"
#define NO_WINDOW "no job began, or the cell died"
#define SHORT     "unknown; energy_cause says why"

/* clang-format off: lists inside macros come out unreadable. */
/* What identifies a row and how it ended: the first of our own columns in both files. */
#define COLUMNS_IDENTITY                                                                           \
    {"run_id", COLUMN_TEXT, "", "the command that made the row: one value for all its cells",      \
     NEVER},                                                                                       \
        {"cell_key", COLUMN_TEXT, "",                                                              \
         "identity of the cell: definition, executor, seeds, device, data source, overrides",      \
         NEVER},                                                                                   \
        {"definition_hash", COLUMN_TEXT, "", "hash of the experiment's whole definition", NEVER},  \
        {"overrides", COLUMN_TEXT, "",                                                             \
         "what --set changed; such rows are never pooled with the original's",                     \
         "the definition stands as it is"},                                                        \
        {"attempt", COLUMN_INT, "", "attempt number of the cell, from 1", NEVER},                  \
        {"status", COLUMN_TEXT, "",                                                                \
         "ok, failed, killed, diverged, interrupted or not_started; a group is ok only if "        \
         "every job is",                                                                           \
         NEVER},                                                                                   \
        {"cause", COLUMN_TEXT, "", "why the status is not ok, as a sentence", "status is ok"},     \
        {"engine", COLUMN_TEXT, "", "always fugue; rows of the reference tool have none", NEVER},  \
        {"fugue_version", COLUMN_TEXT, "", "version of the program", NEVER},                       \
        {"build_id", COLUMN_TEXT, "", "build id of the executable", NEVER},                        \
    {                                                                                              \
        "schema_version", COLUMN_INT, "", "version of these columns", NEVER                        \
    }

#define COLUMNS_HOW(blank_)                                                                        \
    {"device", COLUMN_TEXT, "", "cpu or cuda", NEVER},                                             \
        {"precision", COLUMN_TEXT, "", "fp32, tf32, bf16 or fp16", blank_},                        \
        {"variant", COLUMN_TEXT, "", "instruction set of the kernels, for example avx512",         \
         blank_},                                                                                  \
        {"data_source", COLUMN_TEXT, "", "real or synthetic", blank_},                             \
        {"data_layout", COLUMN_TEXT, "",                                                           \
         "which of the data set's file layouts was read, for example tokens or raw",               \
         "the content has no files, or is your own; or " blank_},                                  \
        {"val_source", COLUMN_TEXT, "",                                                            \
         "what final_val_* was computed on: test, train (a set without a test split), fold "       \
         "or holdout",                                                                             \
         blank_},                                                                                  \
        {"task", COLUMN_TEXT, "", "classification, regression, ...", blank_},                      \
        {"score_name", COLUMN_TEXT, "", "what the score is: accuracy, r2, ...", blank_},           \
        {"optimizer", COLUMN_TEXT, "", "optimiser", blank_},                                       \
    {                                                                                              \
        "optimizer_args", COLUMN_TEXT, "",                                                         \
            "its options beside the learning rate, as --optimizer-arg takes them",                 \
            "none, or " blank_                                                                     \
    }

#define COLUMNS_SCHEDULE(blank_)                                                                   \
    {"schedule", COLUMN_TEXT, "", "schedule of the learning rate, as in cosine?t_max=20", blank_}, \
    {                                                                                              \
        "clip_grad_norm", COLUMN_REAL, "", "limit of the gradients' global norm; 0: not clipped",  \
            blank_                                                                                 \
    }

#define COLUMNS_PRETRAINED(blank_)                                                                 \
    {                                                                                              \
        "pretrained", COLUMN_TEXT, "",                                                             \
            "published weights the network started from: xlm_roberta, vgg16, none", blank_         \
    }

#define COLUMNS_LAYOUT                                                                             \
    {"threads", COLUMN_INT, "", "threads of the whole cell", NEVER},                               \
        {"threads_per_unit", COLUMN_INT, "", "threads given to one unit (job, process, bucket)",   \
         NEVER},                                                                                   \
    {                                                                                              \
        "layout_source", COLUMN_TEXT, "",                                                          \
            "who said how many units run at once: fixed, default or --max-parallel", NEVER         \
    }

#define COLUMNS_PHASES(whose, blank_)                                                              \
    {"train_s", COLUMN_REAL, "s", "training time of " whose, blank_},                              \
        {"eval_s", COLUMN_REAL, "s", "evaluation time of " whose, blank_},                         \
        {"compile_s", COLUMN_REAL, "s", "time " whose " spent on specialised code", blank_},       \
        {"build_s", COLUMN_REAL, "s", "time " whose " spent on plans and initial weights",         \
         blank_},                                                                                  \
        {"data_s", COLUMN_REAL, "s", "time " whose " spent on loading data", blank_},              \
        {"teardown_s", COLUMN_REAL, "s", "time " whose " spent on ending", blank_},                \
    {                                                                                              \
        "setup_s", COLUMN_REAL, "s", "all other time of " whose ": starting, waiting", blank_      \
    }

#define COLUMNS_STAMPS(blank_)                                                                     \
    {"t_start_utc", COLUMN_TEXT, "", "start, UTC, ISO 8601 with milliseconds", blank_},            \
    {                                                                                              \
        "t_end_utc", COLUMN_TEXT, "", "end, UTC, ISO 8601 with milliseconds", blank_               \
    }

#define COLUMNS_HOST                                                                               \
    {"hostname", COLUMN_TEXT, "", "name of the machine", NEVER},                                   \
        {"os", COLUMN_TEXT, "", "operating system, its release and the architecture", NEVER},      \
        {"ram_total_mb", COLUMN_REAL, "MiB", "memory of the machine", "unknown"},                  \
    {                                                                                              \
        "gpu_uuid", COLUMN_TEXT, "", "which GPU it was", NO_GPU                                    \
    }

/* clang-format on */

static const struct column individual[] = {
    {"group_id", COLUMN_TEXT, "", "the group this job belongs to", NEVER},
    {"job_id", COLUMN_TEXT, "", "the job: experiment id and its place, for example E05_ens_s0",
     NEVER},
    {"exp_id", COLUMN_TEXT, "", "experiment", NEVER},
    {"dataset", COLUMN_TEXT, "", "data set", NEVER},
    {"model", COLUMN_TEXT, "", "network", NEVER},
    {"executor", COLUMN_TEXT, "", "strategy: seq, mp, unified_model, ray", NEVER},
    {"compile", COLUMN_BOOL, "", "whether specialised code was made (--compile)", NEVER},
    {"num_workers", COLUMN_INT, "", "loader threads", "the data is resident: there are none"},
    {"total_time_s", COLUMN_REAL, "s",
     "training time of the job: its epoch loop, without loading, building and evaluation",
     NOT_READY},
    {"total_samples", COLUMN_INT, "", "samples really trained on", NOT_READY},
    {"throughput_sps", COLUMN_REAL, "1/s", "total_samples / total_time_s", NOT_READY},
    {"gpu_util_mean", COLUMN_REAL, "%", "mean of NVML's utilisation while the job ran",
     "fugue meters the cell, not a job: see the group's row"},
    {"gpu_util_max", COLUMN_REAL, "%", "highest utilisation while the job ran",
     "fugue meters the cell, not a job: see the group's row"},
    {"vram_peak_mb", COLUMN_REAL, "MiB", "highest device memory in use",
     "fugue meters the cell, not a job: see the group's row"},
    {"energy_j", COLUMN_REAL, "J", "energy of the job",
     "fugue meters the cell, not a job: see the group's row"},
    {"early_stopped", COLUMN_BOOL, "", "whether a trial scheduler ended the job early", NEVER},
    {"epochs_run", COLUMN_INT, "", "epochs completed", NOT_READY},
    {"gpu_name", COLUMN_TEXT, "", "GPU of the machine", NO_GPU},
    {"final_train_loss", COLUMN_REAL, "", "loss of the training set after training", NOT_READY},
    {"final_train_acc", COLUMN_REAL, "",
     "score of the training set after training (accuracy, or R2 for a regression)", NOT_READY},
    {"final_val_loss", COLUMN_REAL, "", "loss of the set named by val_source", NOT_READY},
    {"final_val_acc", COLUMN_REAL, "", "score of the set named by val_source", NOT_READY},
    {"seed", COLUMN_INT, "", "seed of the job: the group's seed + its index", NEVER},
    {"batch_size", COLUMN_INT, "", "samples a step", NEVER},
    {"epochs", COLUMN_INT, "", "epochs asked for", NEVER},
    {"lr", COLUMN_REAL, "", "learning rate", NEVER},
    {"amp", COLUMN_BOOL, "", "mixed precision asked for", NEVER},
    /* ours */
    COLUMNS_IDENTITY,
    COLUMNS_HOW(NOT_READY),
    {"split", COLUMN_TEXT, "", "fixed, kfold or holdout, with its place", NEVER},
    {"split_seed", COLUMN_INT, "", "seed of the split's permutation", NEVER},
    {"n_train", COLUMN_INT, "", "samples in the training set", NOT_READY},
    {"n_val", COLUMN_INT, "", "samples in the set named by val_source", NOT_READY},
    COLUMNS_LAYOUT,
    {"worker_pid", COLUMN_INT, "", "process the job ran in",
     "it ran in the cell's own process, or never began"},
    COLUMNS_PHASES("the job", NOT_READY),
    COLUMNS_STAMPS("it never began"),
    {"peak_rss_mb", COLUMN_REAL, "MiB", "peak memory of the process the job ran in", "unknown"},
    {"plan_hash", COLUMN_TEXT, "", "hash of the plan it ran with", NOT_READY},
    COLUMNS_HOST,
    {"cuda_version", COLUMN_TEXT, "", "CUDA version of the driver", NO_DRIVER},
    {"nv_driver_version", COLUMN_TEXT, "", "driver version", NO_DRIVER},
    {"gpu_compute_mode", COLUMN_TEXT, "", "NVML compute mode", NO_GPU},
    {"gpu_vram_total_mb", COLUMN_REAL, "MiB", "memory of the GPU", NO_GPU},
    {"cpu_model", COLUMN_TEXT, "", "processor", NEVER},
    {"cpu_cores", COLUMN_INT, "", "cores the process may use", NEVER},
    COLUMNS_SCHEDULE(NEVER),
    {"perplexity", COLUMN_REAL, "", "exp(final_val_loss)",
     "another task than language_modeling, or " NOT_READY},
    COLUMNS_PRETRAINED(NEVER),
};

static const struct column groups[] = {
    {"group_id", COLUMN_TEXT, "", "executor and 8 hex digits", NEVER},
    {"exp_id", COLUMN_TEXT, "", "experiment", NEVER},
    {"executor", COLUMN_TEXT, "", "strategy: seq, mp, unified_model, ray", NEVER},
    {"compile", COLUMN_BOOL, "", "whether specialised code was made (--compile)", NEVER},
    {"mode", COLUMN_TEXT, "", "workload type: ensemble, cv, hpo or multi_model", NEVER},
    {"size", COLUMN_TEXT, "", "size label of the experiment", "it has none"},
    {"K", COLUMN_INT, "", "jobs asked for", NEVER},
    {"max_parallel", COLUMN_INT, "", "units that ran at once", NEVER},
    {"num_workers", COLUMN_INT, "", "loader threads", "the data is resident: there are none"},
    {"scheduler", COLUMN_TEXT, "", "trial scheduler", "the executor has none"},
    {"features", COLUMN_TEXT, "", "features of the executor that were on", "it has none"},
    {"T_group", COLUMN_REAL, "s",
     "from issuing the first unit to the last evaluated result: data, plans, compile, training "
     "and evaluation included; start and end of the runtime excluded",
     NO_WINDOW},
    {"total_samples", COLUMN_INT, "", "samples really trained on, all jobs", NEVER},
    {"throughput_group", COLUMN_REAL, "1/s", "total_samples / T_group", NO_WINDOW},
    {"energy_group", COLUMN_REAL, "J",
     "energy of the window T_group: gpu_energy_counter_j (else the integral) on a GPU, "
     "host_energy_j on the CPU; energy_method says which",
     SHORT},
    {"gpu_util_mean", COLUMN_REAL, "%", "mean of NVML's utilisation in the window", NO_GPU},
    {"gpu_util_max", COLUMN_REAL, "%", "highest utilisation in the window", NO_GPU},
    {"vram_peak_mb", COLUMN_REAL, "MiB", "highest device memory in use in the window, sampled",
     NO_GPU},
    {"timestamp", COLUMN_TEXT, "", "local time at the end, YYYYMMDD_HHMMSS", NEVER},
    {"gpu_name", COLUMN_TEXT, "", "GPU of the machine", NO_GPU},
    {"torch_version", COLUMN_TEXT, "", "version of PyTorch", "always: fugue has its own engine"},
    {"cuda_version", COLUMN_TEXT, "", "CUDA version of the driver", NO_DRIVER},
    {"nv_driver_version", COLUMN_TEXT, "", "driver version", NO_DRIVER},
    {"gpu_compute_mode", COLUMN_TEXT, "", "NVML compute mode", NO_GPU},
    {"gpu_vram_total_mb", COLUMN_REAL, "MiB", "memory of the GPU", NO_GPU},
    {"cpu_model", COLUMN_TEXT, "", "processor", NEVER},
    {"cpu_cores", COLUMN_INT, "", "cores the process may use", NEVER},
    /* ours */
    COLUMNS_IDENTITY,
    {"dataset", COLUMN_TEXT, "", "data set", DIFFER},
    {"model", COLUMN_TEXT, "", "network", DIFFER},
    COLUMNS_HOW(DIFFER),
    {"seed", COLUMN_INT, "", "base seed", NEVER},
    {"split_seed", COLUMN_INT, "", "seed of the splits' permutations", NEVER},
    COLUMNS_LAYOUT,
    {"jobs_ok", COLUMN_INT, "", "jobs that ended well", NEVER},
    {"jobs_failed", COLUMN_INT, "", "all other jobs", NEVER},
    {"repeats", COLUMN_INT, "", "times the whole group was run for the measurement", NEVER},
    {"T_total", COLUMN_REAL, "s", "the whole life of the cell; its phases add up to it", NEVER},
    COLUMNS_PHASES("the cell", CELL_DIED),
    COLUMNS_STAMPS(NO_WINDOW),
    {"score_mean", COLUMN_REAL, "", "mean of the jobs' final_val_acc", "no job was evaluated"},
    {"score_sd", COLUMN_REAL, "", "its standard deviation (n - 1)", "fewer than two jobs"},
    {"train_score_mean", COLUMN_REAL, "", "mean of the jobs' final_train_acc",
     "no job was evaluated"},
    {"train_score_sd", COLUMN_REAL, "", "its standard deviation (n - 1)", "fewer than two jobs"},
    {"best_job_id", COLUMN_TEXT, "", "hpo: the trial with the best score", "not a search"},
    {"gpu_energy_counter_j", COLUMN_REAL, "J", "difference of NVML's energy counter", SHORT},
    {"gpu_energy_integral_j", COLUMN_REAL, "J", "trapezoid of instantaneous power", SHORT},
    {"gpu_energy_ratio", COLUMN_REAL, "", "counter / integral", "one of them is blank"},
    {"gpu_idle_w", COLUMN_REAL, "W", "mean power before the window, the GPU idle",
     "no idle second before the window"},
    {"host_energy_j", COLUMN_REAL, "J", "RAPL, all packages", SHORT},
    {"energy_method", COLUMN_TEXT, "", "nvml counter, nvml integral or rapl", "energy is blank"},
    {"energy_cause", COLUMN_TEXT, "", "why an energy column is blank", "none is"},
    {"gpu_power_mean_w", COLUMN_REAL, "W", "mean of the sampled power", NO_GPU},
    {"gpu_temp_max_c", COLUMN_REAL, "degC", "highest temperature", NO_GPU},
    {"sm_clock_mean_mhz", COLUMN_REAL, "MHz", "mean clock of the multiprocessors", NO_GPU},
    {"throttle_reasons", COLUMN_TEXT, "", "NVML's bits of all samples together, in hex", NO_GPU},
    {"power_limit_w", COLUMN_REAL, "W", "enforced power limit", NO_GPU},
    {"host_peak_mb", COLUMN_REAL, "MiB", "highest memory of the cell and its workers together",
     "unknown"},
    {"plan_hash", COLUMN_TEXT, "", "hash of the plan", DIFFER},
    COLUMNS_HOST,
    COLUMNS_SCHEDULE(DIFFER),
    {"perplexity", COLUMN_REAL, "", "mean of the jobs' perplexity",
     "another task than language_modeling, or no job was evaluated"},
    COLUMNS_PRETRAINED(DIFFER),
};

static const struct column history[] = {
    {"job_id", COLUMN_TEXT, "", "the job", NEVER},
    {"epoch", COLUMN_INT, "", "epoch, from 1", NEVER},
    {"t_start_s", COLUMN_REAL, "s", "start of the epoch, since the start of T_group", NEVER},
    {"t_end_s", COLUMN_REAL, "s", "end of its training, since the start of T_group", NEVER},
    {"train_loss", COLUMN_REAL, "", "mean loss of the epoch's samples while training", NEVER},
    {"val_loss", COLUMN_REAL, "", "loss of the validation set", "not evaluated every epoch"},
    {"score", COLUMN_REAL, "", "score of the validation set", "not evaluated every epoch"},
    {"lr", COLUMN_REAL, "", "learning rate of its last update", NEVER},
};

#define TABLE(name, columns)                                                                       \
    {                                                                                              \
        name, columns, (int)(sizeof(columns) / sizeof *(columns))                                  \
    }

const struct column_table column_tables[RESULTS_FILE_COUNT] = {
    [RESULTS_INDIVIDUAL] = TABLE("master_individual.csv", individual),
    [RESULTS_GROUPS] = TABLE("master_groups.csv", groups),
    [RESULTS_HISTORY] = TABLE("history/<group_id>.csv", history),
};

const struct column *column_find(enum results_file file, const char *name)
{
    const struct column_table *table = &column_tables[file];
    for (int i = 0; i < table->n; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return &table->columns[i];
    return NULL;
}
