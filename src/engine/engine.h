/* The engine: trains buckets of networks.  A bucket holds K networks of one architecture, data set,
 * batch size, task and optimiser; everything else (seed, split, learning rate, epochs, ...) belongs
 * to each model.  seq and a worker process are simply K = 1.
 *
 * A job's result does not depend on its company: on the CPU losses are bit-equal at any K, thread
 * count and executor, for one binary and instruction set.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/error.h"
#include "base/phase.h"
#include "data/dataset.h"
#include "data/split.h"
#include "nn/optim.h"
#include "nn/schedule.h"
#include "nn/task.h"
#include "nn/weights.h"

#include <stdint.h>
#include <stdio.h>

struct engine;
struct bucket;

/* One network to train: all the engine needs of a job. */
struct train_spec {
    const char *job_id;
    uint64_t seed;
    struct split_spec split;
    int32_t epochs;
    struct optim_args optim;
    struct schedule schedule; /* of the learning rate; all zero: constant */
    /* Limit of the Euclidean norm over all gradients, as torch.nn.utils.clip_grad_norm_: before
     * each update gradients are multiplied by min(1, clip_grad_norm / (norm + 1e-6)).  0: none. */
    double clip_grad_norm;
};

struct bucket_spec {
    const struct dataset *data; /* outlives the bucket */
    int64_t train_limit;        /* 0: all (see data/split.h) */
    const char *model;          /* "mlp", arguments allowed */
    const char *task;
    const char *optimizer;
    int32_t batch_size;
    int32_t n_models;
    const struct train_spec *models;
    bool eval_each_epoch; /* hpo: the validation set after every epoch */
};

/* After each epoch of a model. */
struct epoch_report {
    int32_t epoch, epochs;     /* 1-based, of */
    double t_start_s, t_end_s; /* clock_now_s; training only */
    double train_loss;         /* mean over the epoch's samples (or tokens) while training */
    double lr;                 /* of its last update */
    double val_loss, score;    /* NaN unless eval_each_epoch: score of the validation set */
};

/* DIVERGED: an epoch's loss or an evaluation is not finite; the model ends there (epochs_run counts
 * that epoch, whose report was made).  INTERRUPTED: should_stop turned true; a model stopped
 * between epochs goes on at the next engine_run, one stopped inside an epoch cannot. */
enum model_status { MODEL_OK, MODEL_DIVERGED, MODEL_INTERRUPTED };

struct model_result {
    enum model_status status;
    int32_t epochs_run;
    int64_t total_samples;  /* samples really trained on, in this bucket */
    double train_s, eval_s; /* time in this model's own passes */
    /* After training, without augmentation; NaN when not evaluated. */
    double train_loss, train_score, val_loss, val_score;
    int64_t n_train, n_val;
    const char *val_source;
};

struct engine_events {
    void *ctx;
    /* All may be NULL; called from any thread, never two at once. */
    void (*epoch)(void *ctx, const struct bucket *b, int model, const struct epoch_report *r);
    void (*result)(void *ctx, const struct bucket *b, int model, const struct model_result *r);
    /* A model spent [t_start_s, t_end_s] in a phase (TRAIN and EVAL; the caller books the rest). */
    void (*phase)(void *ctx, const struct bucket *b, int model, enum phase phase, double t_start_s,
                  double t_end_s);
    /* At most ten times a second and model, within long epochs and at the end of short ones:
     * position in epochs (2.4 of 10), samples/s and mean loss of the epoch so far. */
    void (*progress)(void *ctx, const struct bucket *b, int model, double epochs_done,
                     double samples_per_s, double loss);
    bool (*should_stop)(void *ctx); /* may be called concurrently */
};

struct engine_options {
    const char *device; /* "cpu" or "cuda" */
    int threads;        /* cpu; 0: all the process may use */
    int gpu;            /* cuda: which of the visible ones */
    bool tf32;          /* cuda: TF32 products */
    bool compile;       /* cuda: bucket_compile will be called */
};
struct engine *engine_open(const struct engine_options *options, struct error *err);
/* Could it be opened here?  Opens nothing. */
bool engine_check(const struct engine_options *options, struct error *err);
void engine_close(struct engine *e);
int engine_threads(const struct engine *e);
const char *engine_device(const struct engine *e);  /* "cpu" */
const char *engine_variant(const struct engine *e); /* "avx512" */

/* Plans, allocates, initialises weights and splits.  Refuses what cannot work before any training:
 * a batch larger than every model's training set is fine (one partial batch); an empty training or
 * validation set, a task that does not fit the data set, an input shape the model cannot take, are
 * errors. */
struct bucket *bucket_new(struct engine *e, const struct bucket_spec *spec, struct error *err);
void bucket_free(struct bucket *b);
int bucket_size(const struct bucket *b);
/* Pays once for code made for this bucket: on a GPU its steps become graphs.  Nothing to do on the
 * CPU. */
bool bucket_compile(struct bucket *b, struct error *err);
void bucket_set_user(struct bucket *b, void *user);
void *bucket_user(const struct bucket *b);
uint64_t bucket_plan_hash(const struct bucket *b);

/* Bytes bucket_new would take beside the data set: what list and layouts print. */
bool engine_bucket_bytes(const struct engine *e, const struct bucket_spec *spec, size_t *bytes,
                         struct error *err);
/* The same, and what a bucket of just one of its models would take. */
bool engine_bucket_sizes(const struct engine *e, const struct bucket_spec *spec, size_t *all,
                         size_t *one, struct error *err);
/* The plan bucket_new would make, as a table for people: shards, steps, stages, buffers.  Of the
 * data set only shape, outputs and kind of targets are looked at. */
bool engine_plan_print(const struct engine *e, const struct bucket_spec *spec, FILE *out,
                       struct error *err);

/* Trains and evaluates all models of all buckets; each bucket's models go on from where they are
 * (imported state included).  False only when the device failed as a whole; a diverged model is a
 * result.  When should_stop turns true, unfinished models report MODEL_INTERRUPTED. */
bool engine_run(struct engine *e, struct bucket *const *buckets, int n,
                const struct engine_events *events, struct error *err);

/* Job state: parameters, optimiser state, running statistics, counters, as one safetensors file
 * with a JSON header, independent of K, backend and plan (docs/state.md).  Tensors in PyTorch's
 * names and order.  Export, import, continue is bit-equal on the CPU.  *data is malloc'd.  Only
 * between epochs: a model that was interrupted inside one cannot be exported.  Import checks names,
 * shapes, model, task, optimiser and that the job has that many epochs; a refused import changes
 * nothing.  Both not while engine_run is active. */
bool bucket_export(const struct bucket *b, int model, void **data, size_t *len, struct error *err);
bool bucket_import(struct bucket *b, int model, const void *data, size_t len, struct error *err);
/* Weights alone, as PyTorch's state_dict (nn/weights.h): out between epochs or after training, in
 * before the first epoch (over what the seed drew; the optimiser starts as it would).  *data is
 * malloc'd.  Not while engine_run is active, but that a model's result event may take its weights
 * out; a refused import changes nothing. */
bool bucket_weights_export(const struct bucket *b, int model, void **data, size_t *len,
                           struct error *err);
bool bucket_weights_import(struct bucket *b, int model, const void *data, size_t len, bool strict,
                           struct weights_report *report, struct error *err);
/* The same of weights_import_published. */
bool bucket_weights_import_published(struct bucket *b, int model, const void *data, size_t len,
                                     const struct weights_published *published, struct error *err);
/* Trains only up to this epoch at the next engine_run (then no evaluation and no result event, even
 * when it is the last epoch); 0: to the end.  Holds for that one run. */
void bucket_set_pause(struct bucket *b, int model, int32_t after_epoch);

#endif
