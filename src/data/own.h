/* What the sets of the user's own files (csv:, npz:, idx:) have in common: targets that become
 * classes or values, and a test part that is taken from the rows where no file of its own is given.
 *
 * Task (argument task=): text is classes; numbers that are not whole, or reals by their type, are
 * values; whole numbers are classes, and when they are more than OWN_MAX_GUESSED distinct ones the
 * user has to say.  Classes are the distinct targets in ascending order (text bytewise), numbered
 * from 0; a test file may only hold classes that the training file has.
 * Test part (argument test_fraction=): the first floor(n x fraction) rows of fugue's permutation
 * (base/rng.h: rng_perm_make(n, 0, RNG_SPLIT, 1)), every part in the order of the file; with 0
 * there is none, and test repeats train.
 */
#ifndef DATA_OWN_H
#define DATA_OWN_H

#include "data/csv_table.h"
#include "data/loader.h"

#define OWN_MAX_GUESSED 100
#define OWN_MAX_CLASSES 65536
/* Files are read whole. */
#define OWN_MAX_BYTES ((size_t)16 << 30)

/* Targets of n samples: exactly one of the two is not NULL.  Owned. */
struct own_targets {
    int64_t n;
    double *number;
    struct csv_field *text; /* points into text that outlives the set */
    bool real;              /* numbers of a floating type */
};

struct own_part {
    void *x; /* n samples of x_type; owned; NULL where only the description is asked for */
    struct own_targets y;
};

/* Filled by a reader: shape, x_type, divisor, train, and test when there are files for it. */
struct own_set {
    struct shape shape;
    enum data_type x_type;
    float divisor;
    struct own_part train, test;
    bool has_test; /* files of its own */
    bool is_classes;
    int32_t n_classes;
    double *class_number; /* n_classes, ascending, or */
    struct csv_field *class_text;
};

/* Decides the task, finds the classes, checks the fraction: to be called once, when filled. */
bool own_finish(struct own_set *s, const struct data_args *args, struct error *err);
void own_describe(const struct own_set *s, const struct data_args *args, struct data_info *info);
/* Copies the samples to the parts of d and sets x_type and divisor. */
bool own_fill(const struct own_set *s, const struct data_args *args, struct dataset *d,
              struct error *err);
void own_release(struct own_set *s);
/* Standardises n x width floats of train, and of test when there is one, by mean and deviation of
 * the samples that will train: (x - mean) / (deviation with n - 1 + 1e-7). */
void own_standardise(struct own_set *s, const struct data_args *args);
/* Reads `path`, `path`.gz, or a path that ends in .gz, unpacked. */
bool own_read(const char *path, char **bytes, size_t *n, char **used, struct error *err);

/* The arguments they share, for table.c. */
#define OWN_TASK_ARG                                                                               \
    {                                                                                              \
        .name = "task", .type = DATA_ARG_CHOICE, .choices = "auto|classification|regression",      \
        .fallback = "auto",                                                                        \
        .meaning = "what the targets are; auto: text and few whole numbers are classes"            \
    }
#define OWN_FRACTION_ARG                                                                           \
    {                                                                                              \
        .name = "test_fraction", .type = DATA_ARG_NUMBER, .value = "F", .fallback = "0.2",         \
        .min = 0, .max = 0.9,                                                                      \
        .meaning = "share of the rows set aside to test, where no test file is given; 0: none"     \
    }

data_describe_fn csv_describe, idx_describe;
data_load_fn csv_load, idx_load;
data_present_fn idx_present;

#endif
