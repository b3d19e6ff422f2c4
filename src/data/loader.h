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

/* Content of the shape and size the table gives.  Class sets: every class has a pattern of smooth
 * cells, a sample is its class's pattern plus noise of a quarter of the range.  Regressions:
 * uniform features of unit variance, the target a smooth function of them plus noise. */
bool synthetic_load(const struct data_def *def, struct dataset *d, struct error *err);

#endif
