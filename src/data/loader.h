/* How the data room's own files work together: what the table of table.c holds beside the public
 * data_info, the request a loader gets, and the loaders. */
#ifndef DATA_LOADER_H
#define DATA_LOADER_H

#include "base/spec.h"
#include "data/dataset.h"

/* A file of a set under the data root (read as `path` or `path`.gz) and where it comes from. */
struct data_file {
    const char *path;   /* "MNIST/raw/train-images-idx3-ubyte" */
    const char *source; /* "https://... (or https://...)", with what to do when it is an archive */
};

/* One way the files of a set may lie: as the official archive, as torchvision or Keras leave them.
 */
#define DATA_MAX_FILES 8
struct data_layout {
    const char *name; /* "binary release" */
    int n_files;
    struct data_file file[DATA_MAX_FILES];
};

/* A spec, parsed and held against its row: what a loader is asked for.  Values are taken with the
 * functions below, by the names the row declares. */
struct data_def;
struct data_args {
    const struct data_def *def;
    const char *text; /* the spec as asked, for errors */
    char *path;       /* of a scheme: its PATH as found (may be absent); else NULL.  Owned. */
    struct spec spec; /* owned */
};

/* Puts what files and arguments say into *info, a copy of the row's.  Called for real content only,
 * by every check: it reads no more than heads where that is enough.  A scheme's fails when the
 * files are not there; of another row it must not: it leaves the table's figures. */
typedef bool data_describe_fn(const struct data_args *args, const char *root,
                              struct data_info *info, struct error *err);
/* Are the files of the request there?  The quick answer, contents unread. */
typedef bool data_present_fn(const struct data_args *args, const char *root, struct error *err);
/* Fills train and test of a data set whose other fields are set from the row and `describe`;
 * x_type, divisor, augment and test_is_train it changes where only the files tell.  What it
 * allocated before failing it leaves in *d, to be freed by data_free. */
typedef bool data_load_fn(const struct data_args *args, const char *root, struct dataset *d,
                          struct error *err);

struct data_def {
    struct data_info info;             /* first: data_table points to it */
    const struct data_layout *layouts; /* the preferred one first */
    int n_layouts;
    enum data_type x_type;
    float divisor;
    enum augment augment;
    bool test_is_train;
    int32_t min_tokens;         /* least seq of a set of token ids */
    data_describe_fn *describe; /* NULL: the row says all */
    /* NULL: all files of any layout; of a scheme, its PATH and all arguments of type
     * DATA_ARG_FILE. */
    data_present_fn *present;
    data_load_fn *load; /* NULL: the real set cannot be read by this version */
};

/* The argument as given, else its fallback; NULL when there is neither.  Borrowed. */
const char *data_arg_text(const struct data_args *args, const char *name);
bool data_arg_given(const struct data_args *args, const char *name);
/* Of an argument with a value, given or fallback; range and form were checked before. */
int64_t data_arg_int(const struct data_args *args, const char *name);
double data_arg_number(const struct data_args *args, const char *name);
/* DATA_ARG_FILE: where the file was found; malloc'd, NULL when there is no value. */
char *data_arg_path(const struct data_args *args, const char *name, const char *root);

/* Holds a parsed spec against the arguments the row declares: unknown ones (with the closest
 * match), missing required ones and bad values are errors that name the argument and what is
 * valid. */
bool data_args_check(const struct data_args *args, struct error *err);
/* Where a PATH lies (dataset.h says where it is looked for); when nowhere, as it would be in the
 * current folder.  malloc'd. */
char *data_path(const char *path, const char *root);

/* The first layout whose files are all there.  NULL with an error that names the path expected and
 * its source: of the layout most of which is there. */
const struct data_layout *data_layout_find(const struct data_def *def, const char *root,
                                           struct error *err);

/* The same where only some of a layout's files are asked for: bit i of `files` stands for file i.
 */
const struct data_layout *data_layout_find_files(const struct data_def *def, const char *root,
                                                 unsigned files, struct error *err);

/* malloc that reports: contents are large enough to run out of memory in earnest. */
void *data_alloc(size_t count, size_t size, const struct data_def *def, struct error *err);

data_load_fn digits_load, mnist_load, cal_housing_load, cifar_load;

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
