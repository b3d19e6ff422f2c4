/* How the data room's own files work together: what the table of registry.c holds beside the
 * public data_info, and the loaders it points to. */
#ifndef DATA_LOADER_H
#define DATA_LOADER_H

#include "data/dataset.h"

/* A file of a set under the data root (read as `path` or `path`.gz) and where it comes from. */
struct data_file {
    const char *path;   /* "MNIST/raw/train-images-idx3-ubyte" */
    const char *source; /* "https://... (or https://...)", with what to do when it is an archive */
};

#define DATA_MAX_FILES 4
struct data_def {
    struct data_info info; /* first: data_table points to it */
    struct data_file file[DATA_MAX_FILES];
    int n_files;
    enum data_type x_type;
    float divisor;
    enum augment augment;
    bool test_is_train;
    int32_t min_tokens; /* least seq of a set of token ids */
    /* Fills train and test (and nothing else) of a data set whose table fields are set; NULL when
     * the real set cannot be read by this version.  What it allocated before failing it leaves in
     * *d, to be freed by data_free. */
    bool (*load)(const struct data_def *def, const char *root, struct dataset *d,
                 struct error *err);
};

/* malloc that reports: contents are large enough to run out of memory in earnest. */
void *data_alloc(size_t count, size_t size, const struct data_def *def, struct error *err);

bool digits_load(const struct data_def *def, const char *root, struct dataset *d,
                 struct error *err);
bool mnist_load(const struct data_def *def, const char *root, struct dataset *d, struct error *err);
bool cal_housing_load(const struct data_def *def, const char *root, struct dataset *d,
                      struct error *err);

/* Content of the shape and size that info gives.
 *   images       every class has a pattern of smooth cells, a sample is its class's pattern plus
 *                noise of a quarter of the range
 *   regressions  uniform features of unit variance, the target a smooth function of them plus noise
 *   next words   synthetic_words, classes of texts: synthetic_texts, both in synthetic_text.c */
bool synthetic_load(const struct data_def *def, const struct data_info *info, struct dataset *d,
                    struct error *err);

/* Language modelling: samples that follow a grammar in which the two words before tell the next.
 * Words are the ids from 2 (0 is <pad>, 1 <unk>, neither occurs), numbered from 0; P is a fixed
 * permutation of them.
 *   first word of a sample      any
 *   word after v, which is      P(v), or its neighbour (the number with its last bit turned) where
 * P after u                     of u is odd; the second word of a sample has no u and is P(v) one
 * word in 256             any word instead (u, v) -> (v, w) loses nothing, so long samples do not
 * run into short cycles.  The targets are the next words, that after the last one included. */
bool synthetic_words(const struct data_def *def, const struct data_info *info, struct dataset *d,
                     struct error *err);

/* Classes of texts, in XLM-R's ids: <s> 0, <pad> 1, </s> 2, <unk> 3, words from 4, the last id its
 * <mask>.  A sample is <s>, 4 to 32 words, </s>, and padding; one to three of its words say its
 * class: each class has words of its own (32, fewer in a small vocabulary), from 4 on. */
bool synthetic_texts(const struct data_def *def, const struct data_info *info, struct dataset *d,
                     struct error *err);

#endif
