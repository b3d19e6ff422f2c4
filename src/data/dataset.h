/* Data sets: each declared once in the table of data/table.c (shape, classes, task, where it lies
 * under the data root, where it comes from, transforms, arguments).  A loaded set is bytes (or
 * floats) in memory once per process, read-only and shared by every job.
 *
 * How a set is asked for (a spec):
 *     NAME                    "mnist": a row of the table
 *     SCHEME:PATH             "csv:iris.csv": files of the user's own; what PATH names (FILE,
 *                             FOLDER) is the row's to say
 *     ...?KEY=VALUE&KEY=VALUE arguments that the row declares
 * Names are compared without case.  PATH may hold any character but '?'; "~/" is the home folder; a
 * relative one is looked for in the current folder, then in the data root, as it is or with .gz.
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
    /* Which of the set's file layouts was read ("raw", "tokens"): text of the table, NULL for
     * synthetic content, files of the user's own and the embedded set. */
    const char *layout;
};

/* An argument of a set. */
enum data_arg_type {
    DATA_ARG_TEXT,
    DATA_ARG_FILE,   /* a path, looked for as the PATH of a scheme is */
    DATA_ARG_CHOICE, /* one of `choices` */
    DATA_ARG_INT,    /* min to max */
    DATA_ARG_NUMBER, /* min to max */
};
struct data_arg {
    const char *name;    /* "target" */
    const char *meaning; /* one line for help and manual */
    enum data_arg_type type;
    const char *value;    /* what VALUE is, in capitals, for help: "COLUMN"; NULL: by the type */
    const char *fallback; /* as it would be written; NULL: none */
    const char *choices;  /* DATA_ARG_CHOICE: "none|crop32|resize224" */
    double min, max;
    bool required;
};

/* "target=COLUMN", "transform=none|crop32"; malloc'd. */
char *data_arg_form(const struct data_arg *arg);

/* What the table says about a set without loading it. */
struct data_info {
    const char *name; /* of a scheme without its colon: "csv" */
    const char *summary;
    const char *path; /* a scheme: what stands behind the colon, "FILE"; NULL: a set of that name */
    struct shape shape; /* of a scheme's row: rank 0, for the files say it (data_describe) */
    int32_t n_outputs;  /* 0 in a scheme's row */
    int32_t vocabulary; /* 0: samples are no token ids */
    const char *task;   /* may be NULL in a scheme's row */
    int64_t n_train, n_test;
    const struct data_arg *args; /* of real content */
    int n_args;
    bool built;     /* false: known to the catalogue, real files not readable by this version */
    bool synthetic; /* --data synthetic can stand in for it in this version */
};

/* NULL-terminated; includes sets of the catalogue that are not built yet, and the schemes. */
extern const struct data_info *const data_table[];
/* The row of a spec, which may carry path and arguments.  NULL when unknown. */
const struct data_info *data_find(const char *spec);
/* The set's own task: of a scheme what its files say.  NULL when unknown or they cannot be read.
 * Lives as long as the process. */
const char *data_task(const char *spec);
/* What is known of the set that the spec asks for.  Of a scheme (and of a set whose arguments
 * change its figures) the files are looked at, no further than that needs: a scheme's must be
 * there.  What was found is remembered while name, size and time of the files stay the same.
 *
 * Synthetic content takes its sizes as arguments, and no others: n_train and n_test (every set;
 * n_test not where test repeats train), seq (wikitext, sst2: tokens a sample) and vocab (the same:
 * token ids; of wikitext also the outputs).  "wikitext?seq=16&vocab=200&n_train=512". */
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
