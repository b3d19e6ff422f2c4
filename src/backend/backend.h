/* What a backend offers: the one way the engine reaches a device.
 *
 * The engine describes work as models with passes to run; the backend decides how they share the
 * device (CPU: teams of threads, a model an epoch at a time; GPU: all models of a bucket stepped
 * together).  Nothing here allocates or waits for the host during a pass.
 *
 * The CUDA backend is a module of its own, opened at run time (load.h): where it is missing, or no
 * GPU is there, everything else works.
 */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "backend/plan.h"
#include "base/error.h"
#include "nn/schedule.h"

#include <stdint.h>

/* Where samples come from: mirrors data/dataset.h without depending on that room. */
enum source_type { SOURCE_U8, SOURCE_F32, SOURCE_I32 };
struct source {
    enum source_type type;
    const void *x;
    size_t sample_count; /* elements a sample */
    struct shape shape;
    float divisor;
    const int32_t *label; /* TARGET_CLASS; TARGET_TOKENS: label_count a sample */
    int32_t label_count;  /* TARGET_TOKENS: L; else 0 or 1 */
    const float *value;   /* TARGET_REAL */
    bool crop_flip;       /* data/dataset.h: AUGMENT_CROP_FLIP, applied in training passes */
    int64_t n;            /* samples; looked at by source_hold alone */
};

enum pass_kind { PASS_TRAIN, PASS_EVAL };

/* One pass of one model over a list of rows. */
struct pass {
    enum pass_kind kind;
    const struct source *source;
    const uint32_t *rows; /* sample ids in order; lives until done() */
    int64_t n_rows;
    bool rows_last; /* rows stay as they are as long as the bucket lives: a copy may be kept */
    bool shuffled;  /* the order is data/split.h's order_epoch of rows, with seed and epoch; only
                       for a backend that shuffles */
    uint64_t seed;  /* the job's */
    uint32_t epoch; /* from 1: counter of augmentation and dropout */
    int64_t first_update;    /* PASS_TRAIN: number (from 1) of this pass's first optimiser update */
    struct optim_args optim; /* PASS_TRAIN */
    /* PASS_TRAIN: update number n (from 1) uses schedule_apply of `optim` at t = n - 1; NULL: all
     * use `optim` as it is. */
    const struct schedule *schedule;
    int64_t schedule_total;
    double clip_grad_norm; /* PASS_TRAIN: limit of the global norm of the gradients; 0: none.  Plans
                              that clip only */
};

struct pass_result {
    struct pass_sums sums;
    int64_t n_updates;
    double t_start_s, t_end_s; /* clock_now_s */
    bool stopped;              /* cut short by should_stop */
};

/* A model of a bucket as the backend sees it. */
struct model_run {
    struct backend_bucket *bucket;
    int32_t k; /* slice of the bucket */
    void *ctx;
    /* Fills the next pass; false when this model has none left.  Called from the backend's threads,
     * for one model never twice at once. */
    bool (*next)(void *ctx, struct pass *pass);
    /* The pass is over (same guarantees). */
    void (*done)(void *ctx, const struct pass *pass, const struct pass_result *result);
    /* Remaining work in any unit that is comparable between models: longest goes first. */
    double (*remaining)(void *ctx);
};

struct run_hooks {
    void *ctx;
    /* Polled between batches from any thread; true ends all passes soon. */
    bool (*should_stop)(void *ctx);
    /* After every few batches of a pass, from any thread: rows done so far of this pass. */
    void (*tick)(void *ctx, const struct model_run *run, const struct pass *pass, int64_t rows_done,
                 double loss_sum);
};

/* A set of kernels that a backend was built with, made for some chips. */
struct backend_variant {
    const char *name;  /* "reference", "avx512" */
    bool is_reference; /* plain kernels: what the other sets are held to, and fall back on */
    bool is_usable;    /* this machine can run it */
};

struct backend_options {
    int threads;  /* cpu; 0: all the process may use */
    int gpu;      /* cuda: index among the visible GPUs */
    bool tf32;    /* cuda: products may round their factors to 10 bits of fraction */
    bool compile; /* cuda: bucket_compile is going to be called */
};

struct backend {
    const char *name; /* "cpu" */
    /* Plans must have one shard, the whole batch (plan_request.rows_per_shard). */
    bool one_shard;
    bool shuffles; /* takes passes that are `shuffled` */
    /* Set i of kernels: the reference first, then best first; false past the last.  Asks the
     * build, not a device: nothing need be open. */
    bool (*variant_at)(int i, struct backend_variant *out);
    /* Name of set i's own kernel for a step of an operation.  NULL: it has none, and the
     * reference's runs (in the reference itself: nothing can run that step). */
    const char *(*kernel_at)(int i, enum step_kind kind, enum op_kind op);
    /* A device for these options is there; opens nothing.  NULL: always. */
    bool (*check)(const struct backend_options *options, struct error *err);
    struct backend_device *(*open)(const struct backend_options *options, struct error *err);
    void (*close)(struct backend_device *dev);
    int (*threads)(const struct backend_device *dev);
    /* "avx512", "avx2", "generic": the instruction set or chip the results belong to. */
    const char *(*variant)(const struct backend_device *dev);
    /* Bytes a bucket of n models will take beside the data set, lanes included. */
    size_t (*bucket_bytes)(const struct backend_device *dev, const struct plan *plan, int n_models);
    /* The plan must outlive the bucket.  All memory is taken here. */
    struct backend_bucket *(*bucket_new)(struct backend_device *dev, const struct plan *plan,
                                         int n_models, struct error *err);
    void (*bucket_free)(struct backend_bucket *b);
    /* Pays once for code made for this bucket (cuda: its steps as graphs).  NULL: nothing to do. */
    bool (*bucket_compile)(struct backend_bucket *b, struct error *err);
    /* A source is going to be read by passes until it is dropped as often as it was held: a device
     * with memory of its own copies it, once.  The error says bytes needed and free.  NULL: the
     * host's memory is read. */
    bool (*source_hold)(struct backend_device *dev, const struct source *source, struct error *err);
    void (*source_drop)(struct backend_device *dev, const struct source *source);
    /* Copies model k's slice parts in or out of host memory: parameters (P floats), optimiser slots
     * (n_slots x P), buffers (R).  NULL parts are skipped. */
    void (*model_write)(struct backend_bucket *b, int k, const float *params, const float *slots,
                        const float *buffers);
    void (*model_read)(const struct backend_bucket *b, int k, float *params, float *slots,
                       float *buffers);
    /* Runs all passes of all models to the end (or until should_stop).  False when the device
     * failed as a whole. */
    bool (*run)(struct backend_device *dev, struct model_run *const *runs, int n,
                const struct run_hooks *hooks, struct error *err);
};

extern const struct backend backend_cpu;

#endif
