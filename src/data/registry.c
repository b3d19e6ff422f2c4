/* The table of data sets and what is done by it. */
#include "base/file.h"
#include "base/spec.h"
#include "base/text.h"
#include "data/loader.h"

#include <stdlib.h>
#include <string.h>

/* ---- the table --------------------------------------------------------------------------------
 */

#define IMAGE(h, w, c)                                                                             \
    {                                                                                              \
        3,                                                                                         \
        {                                                                                          \
            h, w, c                                                                                \
        }                                                                                          \
    }
#define VECTOR(n)                                                                                  \
    {                                                                                              \
        1,                                                                                         \
        {                                                                                          \
            n, 1, 1                                                                                \
        }                                                                                          \
    }
#define MNIST_FILE(name)                                                                           \
    {                                                                                              \
        "MNIST/raw/" name,                                                                         \
            "https://ossci-datasets.s3.amazonaws.com/mnist/" name                                  \
            ".gz (or https://storage.googleapis.com/cvdf-datasets/mnist/" name ".gz)"              \
    }

static const struct data_def digits = {
    .info = {.name = "digits",
             .summary = "handwritten digits, 8x8; embedded (UCI, CC BY 4.0)",
             .shape = IMAGE(8, 8, 1),
             .n_outputs = 10,
             .task = "classification",
             .n_train = 1438,
             .n_test = 359,
             .built = true,
             .synthetic = true},
    .x_type = DATA_U8,
    .divisor = 16,
    .load = digits_load,
};

static const struct data_def cal_housing = {
    .info = {.name = "cal_housing",
             .summary = "California housing: median house value from 8 features",
             .shape = VECTOR(8),
             .n_outputs = 1,
             .task = "regression",
             .n_train = 20640,
             .n_test = 20640,
             .built = true,
             .synthetic = true},
    .file = {{"CaliforniaHousing/cal_housing.data",
              "https://ndownloader.figshare.com/files/5976036 (a tar.gz: take its member "
              "CaliforniaHousing/cal_housing.data)"}},
    .n_files = 1,
    .x_type = DATA_F32,
    .divisor = 1,
    .test_is_train = true,
    .load = cal_housing_load,
};

static const struct data_def mnist = {
    .info = {.name = "mnist",
             .summary = "handwritten digits, 28x28",
             .shape = IMAGE(28, 28, 1),
             .n_outputs = 10,
             .task = "classification",
             .n_train = 60000,
             .n_test = 10000,
             .built = true,
             .synthetic = true},
    .file = {MNIST_FILE("train-images-idx3-ubyte"), MNIST_FILE("train-labels-idx1-ubyte"),
             MNIST_FILE("t10k-images-idx3-ubyte"), MNIST_FILE("t10k-labels-idx1-ubyte")},
    .n_files = 4,
    .x_type = DATA_U8,
    .divisor = 255,
    .load = mnist_load,
};

static const struct data_def cifar10 = {
    .info = {.name = "cifar10",
             .summary = "colour images of 10 kinds, 32x32",
             .shape = IMAGE(32, 32, 3),
             .n_outputs = 10,
             .task = "classification",
             .n_train = 50000,
             .n_test = 10000,
             .synthetic = true},
    .x_type = DATA_U8,
    .divisor = 255,
    .augment = AUGMENT_CROP_FLIP,
};

static const struct data_def cifar100 = {
    .info = {.name = "cifar100",
             .summary = "colour images of 100 kinds, 32x32",
             .shape = IMAGE(32, 32, 3),
             .n_outputs = 100,
             .task = "classification",
             .n_train = 50000,
             .n_test = 10000,
             .synthetic = true},
    .x_type = DATA_U8,
    .divisor = 255,
    .augment = AUGMENT_CROP_FLIP,
};

static const struct data_def flowers102 = {
    .info = {.name = "flowers102",
             .summary = "photographs of 102 kinds of flowers, 224x224",
             .shape = IMAGE(224, 224, 3),
             .n_outputs = 102,
             .task = "classification",
             .n_train = 1020,
             .n_test = 1020,
             .synthetic = true},
    .x_type = DATA_U8,
    .divisor = 255,
};

static const struct data_def imagenette = {
    .info = {.name = "imagenette",
             .summary = "photographs of 10 kinds, 224x224",
             .shape = IMAGE(224, 224, 3),
             .n_outputs = 10,
             .task = "classification",
             .n_train = 9469,
             .n_test = 3925,
             .synthetic = true},
    .x_type = DATA_U8,
    .divisor = 255,
};

/* 2,051,910 and 241,211 words in train and test, the last window's target included. */
static const struct data_def wikitext = {
    .info = {.name = "wikitext",
             .summary = "WikiText-2: the next word, windows of 128 words",
             .shape = VECTOR(128),
             .n_outputs = 6500,
             .vocabulary = 6500,
             .task = "language_modeling",
             .n_train = 16030,
             .n_test = 1884,
             .synthetic = true},
    .x_type = DATA_I32,
    .divisor = 1,
    .min_tokens = 2,
};

static const struct data_def sst2 = {
    .info = {.name = "sst2",
             .summary = "SST-2: sentiment of a sentence, 128 tokens, padding included",
             .shape = VECTOR(128),
             .n_outputs = 2,
             .vocabulary = 250002,
             .task = "classification",
             .n_train = 67349,
             .n_test = 872,
             .synthetic = true},
    .x_type = DATA_I32,
    .divisor = 1,
    .min_tokens = 8,
};

#define N_SETS 9

const struct data_info *const data_table[N_SETS + 1] = {
    &digits.info,     &cal_housing.info, &mnist.info,    &cifar10.info, &cifar100.info,
    &flowers102.info, &imagenette.info,  &wikitext.info, &sst2.info,    NULL};

/* ---- names ------------------------------------------------------------------------------------
 */

static const struct data_def *find_name(const char *name)
{
    for (size_t i = 0; i < N_SETS; i++)
        if (text_equal_nocase(data_table[i]->name, name))
            return (const struct data_def *)data_table[i];
    return NULL;
}

const struct data_info *data_find(const char *spec)
{
    struct spec s;
    if (!spec_parse(&s, spec, NULL))
        return NULL;
    const struct data_def *def = find_name(s.name);
    spec_release(&s);
    return def ? &def->info : NULL;
}

static void unknown_set(const char *name, struct error *err)
{
    if (text_starts_with(name, "folder:") || text_starts_with(name, "csv:")) {
        error_set(err, ERROR_USAGE,
                  "data set '%s': this version of fugue does not read data sets of your own "
                  "(folder:PATH, csv:PATH) yet",
                  name);
        return;
    }
    const char *names[N_SETS];
    struct text list;
    text_init(&list);
    for (size_t i = 0; i < N_SETS; i++) {
        names[i] = data_table[i]->name;
        text_addf(&list, "%s%s", i ? ", " : "", names[i]);
    }
    error_set(err, ERROR_USAGE, "unknown data set '%s'%s; fugue knows %s", name,
              text_did_you_mean(name, names, N_SETS), list.data);
    text_release(&list);
}

static bool usable(const struct data_info *info, bool synthetic, struct error *err)
{
    if (synthetic && !info->synthetic)
        return error_set(err, ERROR_USAGE,
                         "data set '%s': this version of fugue cannot generate synthetic content "
                         "for it yet",
                         info->name);
    if (!synthetic && !info->built)
        return error_set(err, ERROR_USAGE,
                         "data set '%s' is in the catalogue, but this version of fugue cannot read "
                         "its files yet%s",
                         info->name, info->synthetic ? "; use --data synthetic" : "");
    return true;
}

static bool labels_tokens(const struct data_info *info)
{
    return strcmp(info->task, "language_modeling") == 0;
}

/* Sizes of synthetic content; the later ones are those of sequences of tokens. */
enum size_arg { ARG_N_TRAIN, ARG_N_TEST, ARG_SEQ, ARG_VOCAB, N_SIZE_ARGS };

#define MAX_SAMPLES   100000000
#define MAX_SEQ       4096
#define MIN_VOCAB     16
#define MAX_VOCAB     (1 << 24)
#define SIZE(i, n, a) spec_get_int(spec, names[i], n, a, max[i], &v[i], err)

static bool read_sizes(const struct data_def *def, const struct spec *spec, bool synthetic,
                       struct data_info *info, struct error *err)
{
    static const char *const names[N_SIZE_ARGS] = {"n_train", "n_test", "seq", "vocab"};
    static const int64_t max[N_SIZE_ARGS] = {MAX_SAMPLES, MAX_SAMPLES, MAX_SEQ, MAX_VOCAB};
    const int n_sizes = info->vocabulary ? N_SIZE_ARGS : def->test_is_train ? 1 : 2;
    int64_t v[N_SIZE_ARGS];
    if (!spec_only(spec, names, synthetic ? n_sizes : 0, err) ||
        !SIZE(ARG_N_TRAIN, info->n_train, 1) || !SIZE(ARG_N_TEST, info->n_test, 1) ||
        !SIZE(ARG_SEQ, info->shape.d[0], def->min_tokens) ||
        !SIZE(ARG_VOCAB, info->vocabulary, MIN_VOCAB))
        return false;
    info->n_train = v[ARG_N_TRAIN];
    info->n_test = def->test_is_train ? v[ARG_N_TRAIN] : v[ARG_N_TEST];
    if (info->vocabulary) {
        info->shape.d[0] = (int32_t)v[ARG_SEQ];
        info->vocabulary = (int32_t)v[ARG_VOCAB];
        info->n_outputs = labels_tokens(info) ? info->vocabulary : info->n_outputs;
    }
    return true;
}

/* The set a spec names, and its table entry with the spec's arguments in it; NULL with an error. */
static const struct data_def *resolve(const char *text, bool synthetic, struct data_info *info,
                                      struct error *err)
{
    struct spec spec;
    if (!spec_parse(&spec, text, err)) {
        error_prefix(err, "data set");
        return NULL;
    }
    const struct data_def *def = find_name(spec.name);
    if (!def) {
        unknown_set(spec.name, err);
    } else {
        *info = def->info;
        if (!read_sizes(def, &spec, synthetic, info, err)) {
            error_prefix(err, "data set");
            def = NULL;
        } else if (!usable(info, synthetic, err)) {
            def = NULL;
        }
    }
    spec_release(&spec);
    return def;
}

bool data_describe(const char *spec, bool synthetic, struct data_info *out, struct error *err)
{
    return resolve(spec, synthetic, out, err) != NULL;
}

bool data_check(const char *spec, bool synthetic, struct error *err)
{
    struct data_info info;
    return data_describe(spec, synthetic, &info, err);
}

/* ---- files ------------------------------------------------------------------------------------
 */

static bool files_present(const struct data_def *def, const char *root, struct error *err)
{
    for (int i = 0; i < def->n_files; i++) {
        char *path = path_join(root, def->file[i].path);
        const bool there = file_exists_maybe_gz(path);
        if (!there)
            error_set(err, ERROR_DATA,
                      "data set '%s': '%s' is not there; download %s and put it at that path (a "
                      ".gz beside that name is read as it is), or use --data synthetic",
                      def->info.name, path, def->file[i].source);
        free(path);
        if (!there)
            return false;
    }
    return true;
}

bool data_present(const char *spec, const char *root, struct error *err)
{
    struct data_info info;
    const struct data_def *def = resolve(spec, false, &info, err);
    return def && files_present(def, root, err);
}

/* ---- loading ----------------------------------------------------------------------------------
 */

void *data_alloc(size_t count, size_t size, const struct data_def *def, struct error *err)
{
    void *memory = count <= SIZE_MAX / size ? malloc(count * size) : NULL;
    if (!memory)
        error_set(err, ERROR_SYSTEM, "no memory for %zu x %zu bytes of data set '%s'", count, size,
                  def->info.name);
    return memory;
}

static size_t part_bytes(const struct dataset *d, const struct data_part *p)
{
    const size_t element = d->x_type == DATA_U8 ? 1 : 4;
    const size_t target = (p->label ? (size_t)d->labels_per_sample * sizeof *p->label : 0) +
                          (p->value ? sizeof *p->value : 0);
    return (size_t)p->n * (shape_count(d->shape) * element + target);
}

struct dataset *data_load(const char *spec, const char *root, bool synthetic, struct error *err)
{
    struct data_info info;
    const struct data_def *def = resolve(spec, synthetic, &info, err);
    if (!def || (!synthetic && !files_present(def, root, err)))
        return NULL;
    struct dataset *d = xcalloc(1, sizeof *d);
    d->name = xstrdup(spec);
    d->source = synthetic ? DATA_SYNTHETIC : DATA_REAL;
    d->shape = info.shape;
    d->x_type = def->x_type;
    d->divisor = def->divisor;
    d->augment = def->augment;
    d->n_outputs = info.n_outputs;
    d->vocabulary = info.vocabulary;
    d->labels_per_sample = labels_tokens(&info) ? info.shape.d[0] : 1;
    d->task = info.task;
    d->test_is_train = def->test_is_train;
    if (!(synthetic ? synthetic_load(def, &info, d, err) : def->load(def, root, d, err))) {
        data_free(d);
        return NULL;
    }
    d->bytes = part_bytes(d, &d->train) + (d->test_is_train ? 0 : part_bytes(d, &d->test));
    return d;
}

static void free_part(struct data_part *p)
{
    free((void *)p->x);
    free((void *)p->label);
    free((void *)p->value);
}

void data_free(struct dataset *d)
{
    if (!d)
        return;
    free_part(&d->train);
    if (!d->test_is_train)
        free_part(&d->test);
    free(d->name);
    free(d);
}
