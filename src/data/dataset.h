/* Data sets: each declared once in the table of data/registry.c (shape, classes, task, where it
 * lies under the data root, where it comes from, transforms).  A loaded set is bytes (or floats) in
 * memory once per process, read-only and shared by every job.
 */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include "base/error.h"
#include "base/shape.h"

#include <stdint.h>

enum data_type { DATA_U8, DATA_F32, DATA_I32 };
enum data_source { DATA_REAL, DATA_SYNTHETIC };

/* Augmentation of training samples: a pure function of (job seed, epoch, sample id).
 *   AUGMENT_CROP_FLIP  zero padding 4, random crop back to the size, horizontal flip with p = 1/2:
 *     w = rng_block_at(seed, RNG_AUGMENT, 0, epoch, sample id, 0): dy = w[0] mod 9 - 4,
 *     dx = w[1] mod 9 - 4, flip = w[2] & 1. */
enum augment { AUGMENT_NONE, AUGMENT_CROP_FLIP };

/* One part (train or test) of a set. */
struct data_part {
    int64_t n;
    const void *x;        /* n samples, NHWC, of x_type */
    const int32_t *label; /* n x labels_per_sample class numbers, or NULL */
    const float *value;   /* n real targets, or NULL */
};

struct dataset {
    char *name; /* as asked for, arguments included: "mnist" */
    enum data_source source;
    struct shape shape;
    enum data_type x_type;
    float divisor;             /* network input = stored value / divisor (u8), 1 for floats */
    enum augment augment;      /* of training samples */
    int32_t n_outputs;         /* classes, words to choose from, or 1 for a regression */
    int32_t vocabulary;        /* DATA_I32: samples are token ids 0..vocabulary-1; 0 else */
    int32_t labels_per_sample; /* 1; language modelling: one a token */
    const char *task; /* the set's own task: "classification", "regression", "language_modeling" */
    struct data_part train, test;
    bool test_is_train; /* the set has no test split: test repeats train (val_source = train) */
    size_t bytes;       /* memory it holds */
};

/* What the table says about a set without loading it. */
struct data_info {
    const char *name;
    const char *summary;
    struct shape shape;
    int32_t n_outputs;
    int32_t vocabulary; /* 0: samples are no token ids */
    const char *task;
    int64_t n_train, n_test;
    bool built;     /* false: known to the catalogue, real files not readable by this version */
    bool synthetic; /* --data synthetic can stand in for it in this version */
};

/* NULL-terminated; includes sets of the catalogue that are not built yet. */
extern const struct data_info *const data_table[];
/* Case-insensitive; `spec` may carry arguments.  NULL when unknown. */
const struct data_info *data_find(const char *spec);
/* What the table says, with the spec's arguments in it: data_check that tells what it found.
 *
 * Arguments.  Synthetic content takes its sizes: n_train and n_test (every set; n_test not where
 * test repeats train), seq (wikitext, sst2: tokens a sample) and vocab (the same: token ids; of
 * wikitext also the outputs).  "wikitext?seq=16&vocab=200&n_train=512".  Real sets take none. */
bool data_describe(const char *spec, bool synthetic, struct data_info *out, struct error *err);
/* Name and arguments can be used (known, built or synthetic asked for), without touching files. */
bool data_check(const char *spec, bool synthetic, struct error *err);
/* The files of the set are there (or it is embedded); else an error naming the path expected and
 * where the set comes from.  Quick: does not read contents. */
bool data_present(const char *spec, const char *root, struct error *err);

/* Loads a set from the data root (see data.md's layouts; gzip'd members are read directly), or
 * generates content of its exact shape.  Truncated, oversized or inconsistent files are errors that
 * name the file.  Synthetic content: purpose RNG_SYNTH, seed 0; labels depend on the content so
 * that a network can learn them (data/loader.h says how). */
struct dataset *data_load(const char *spec, const char *root, bool synthetic, struct error *err);
void data_free(struct dataset *d);

#endif
