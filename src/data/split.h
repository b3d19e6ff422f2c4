/* Splits of the training part into train and validation: pure functions of (n, seed), with fugue's
 * own permutation (base/rng.h: rng_perm_make(n, seed, RNG_SPLIT, 0)).
 *   fixed    train = the whole training part; validation = the test part (val_source "test"), or
 *            the training part where the set has none (val_source "train")
 *   holdout  validation = the first floor(n * fraction) of the permutation, train = the rest
 *   kfold    fold = split_id mod k; sizes n div k, +1 for the first n mod k folds; validation =
 *            that contiguous slice of the permutation, train = the rest in order
 *            (val_source "holdout" and "fold")
 */
#ifndef DATA_SPLIT_H
#define DATA_SPLIT_H

#include "base/error.h"
#include "data/dataset.h"

#include <stdint.h>

enum split_kind { SPLIT_FIXED, SPLIT_HOLDOUT, SPLIT_KFOLD };

struct split_spec {
    enum split_kind kind;
    int32_t split_id;
    uint64_t seed;
    int32_t k;       /* kfold */
    double fraction; /* holdout */
};

/* Rows of a part; the indices are sample ids. */
struct split {
    uint32_t *train, *val; /* val indexes the test part when val_is_test */
    int64_t n_train, n_val;
    bool val_is_test;
    const char *val_source; /* "test", "train", "holdout", "fold" */
};

/* train_limit > 0 keeps only the first train_limit samples of the training part before splitting
 * (--set train_size=N); 0 keeps all. */
bool split_make(const struct split_spec *spec, const struct dataset *data, int64_t train_limit,
                struct split *out, struct error *err);
void split_release(struct split *s);

const char *split_kind_name(enum split_kind kind);
bool split_kind_parse(const char *name, enum split_kind *out);

/* Order of an epoch (from 1): out[i] = rows[perm(i)], perm = rng_perm_make(n, seed, RNG_ORDER,
 * epoch).  n values. */
void order_epoch(const uint32_t *rows, int64_t n, uint64_t seed, uint32_t epoch, uint32_t *out);

#endif
