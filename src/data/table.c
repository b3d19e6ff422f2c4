/* The table of data sets: one row a set, and one a scheme of files of the user's own. */
#include "data/loader.h"
#include "data/text/text_sets.h"
#include "data/text/tokenizer.h"

#include <stddef.h>

/* A rank and its sizes. */
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

static const struct data_layout cal_housing_layouts[] = {
    {"the original file",
     1,
     {{"CaliforniaHousing/cal_housing.data",
       "https://ndownloader.figshare.com/files/5976036 (a tar.gz: take its member "
       "CaliforniaHousing/cal_housing.data)"}}}};

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
    .layouts = cal_housing_layouts,
    .n_layouts = 1,
    .x_type = DATA_F32,
    .divisor = 1,
    .test_is_train = true,
    .load = cal_housing_load,
};

static const struct data_layout mnist_layouts[] = {
    {"IDX files",
     4,
     {MNIST_FILE("train-images-idx3-ubyte"), MNIST_FILE("train-labels-idx1-ubyte"),
      MNIST_FILE("t10k-images-idx3-ubyte"), MNIST_FILE("t10k-labels-idx1-ubyte")}}};

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
    .layouts = mnist_layouts,
    .n_layouts = 1,
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

/* ---- texts ---- */

#define MAX_TEXT_SAMPLES 1e8
#define MAX_TOKENS       4096
#define SEQ(least, meaning_)                                                                       \
    {                                                                                              \
        .name = "seq", .type = DATA_ARG_INT, .fallback = "128", .min = (least), .max = MAX_TOKENS, \
        .meaning = meaning_                                                                        \
    }
#define LIMIT(name_, meaning_)                                                                     \
    {                                                                                              \
        .name = name_, .type = DATA_ARG_INT, .min = 1, .max = MAX_TEXT_SAMPLES,                    \
        .meaning = meaning_                                                                        \
    }

static const struct data_arg wikitext_args[] = {
    {.name = "train",
     .meaning = "which file trains and gives the vocabulary",
     .type = DATA_ARG_CHOICE,
     .choices = "train|valid|test",
     .fallback = "train"},
    {.name = "test",
     .meaning = "which file tests",
     .type = DATA_ARG_CHOICE,
     .choices = "test|valid",
     .fallback = "test"},
    SEQ(2, "words of a window"),
    {.name = "vocab",
     .meaning = "word ids: <pad>, <unk> and the most frequent words",
     .type = DATA_ARG_INT,
     .fallback = "6500",
     .min = 16,
     .max = 1 << 24},
    LIMIT("n_train", "train on the first N windows only"),
    LIMIT("n_test", "test on the first N windows only"),
};

#define RAW(part)    "wikitext-2-raw/wiki." part ".raw"
#define TOKENS(part) "wiki." part ".tokens"
#define RAW_ZIP                                                                                    \
    "https://huggingface.co/datasets/ggml-org/ci/resolve/main/wikitext-2-raw-v1.zip (a zip: take " \
    "its folder wikitext-2-raw)"
#define TOKENS_ZIP                                                                                 \
    "a copy of wikitext-2-v1.zip, whose old address is gone (take its folder wikitext-2)"
/* One layout's files; the texts of .tokens have <unk> for the words that are rare in them. */
static const struct data_layout wikitext_layouts[] = {
    {"raw", 3, {{RAW("train"), RAW_ZIP}, {RAW("valid"), RAW_ZIP}, {RAW("test"), RAW_ZIP}}},
    {"tokens",
     3,
     {{"wikitext-2/" TOKENS("train"), TOKENS_ZIP},
      {"wikitext-2/" TOKENS("valid"), TOKENS_ZIP},
      {"wikitext-2/" TOKENS("test"), TOKENS_ZIP}}},
    {"tokens, torchtext",
     3,
     {{"datasets/WikiText2/wikitext-2/" TOKENS("train"), TOKENS_ZIP},
      {"datasets/WikiText2/wikitext-2/" TOKENS("valid"), TOKENS_ZIP},
      {"datasets/WikiText2/wikitext-2/" TOKENS("test"), TOKENS_ZIP}}},
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
             .args = wikitext_args,
             .n_args = sizeof wikitext_args / sizeof *wikitext_args,
             .built = true,
             .synthetic = true},
    .layouts = wikitext_layouts,
    .n_layouts = sizeof wikitext_layouts / sizeof *wikitext_layouts,
    .x_type = DATA_I32,
    .divisor = 1,
    .min_tokens = 2,
    .describe = wikitext_describe,
    .present = wikitext_present,
    .load = wikitext_load,
};

static const struct data_arg sst2_args[] = {
    {.name = "tokenizer",
     .meaning = "SentencePiece model; without it XLM-R's, " XLMR_TOKENIZER_PATH,
     .type = DATA_ARG_FILE},
    SEQ(8, "tokens of a sentence; longer ones are cut"),
    LIMIT("n_train", "train on the first N sentences only"),
    LIMIT("n_test", "test on the first N sentences only"),
};

#define SST2_ZIP "https://dl.fbaipublicfiles.com/glue/data/SST-2.zip (a zip: take its folder SST-2)"
static const struct data_layout sst2_layouts[] = {
    {"GLUE", 2, {{"SST-2/train.tsv", SST2_ZIP}, {"SST-2/dev.tsv", SST2_ZIP}}},
    {"torchtext",
     2,
     {{"datasets/SST2/SST-2/train.tsv", SST2_ZIP}, {"datasets/SST2/SST-2/dev.tsv", SST2_ZIP}}},
};

static const struct data_def sst2 = {
    .info = {.name = "sst2",
             .summary = "SST-2: sentiment of a sentence, 128 tokens, padding included",
             .shape = VECTOR(128),
             .n_outputs = 2,
             .vocabulary = XLMR_VOCABULARY,
             .task = "classification",
             .n_train = 67349,
             .n_test = 872,
             .args = sst2_args,
             .n_args = sizeof sst2_args / sizeof *sst2_args,
             .built = true,
             .synthetic = true},
    .layouts = sst2_layouts,
    .n_layouts = sizeof sst2_layouts / sizeof *sst2_layouts,
    .x_type = DATA_I32,
    .divisor = 1,
    .min_tokens = 8,
    .describe = sst2_describe,
    .present = sst2_present,
    .load = sst2_load,
};

/* ---- files of the user's own: what PATH and the arguments name ---- */

static const struct data_def folder = {
    .info = {.name = "folder",
             .path = "FOLDER",
             .summary = "images of your own, a folder a class",
             .task = "classification"},
    .x_type = DATA_U8,
    .divisor = 255,
};

static const struct data_def csv = {
    .info = {.name = "csv", .path = "FILE", .summary = "a table of your own, comma-separated"},
    .x_type = DATA_F32,
    .divisor = 1,
};

static const struct data_def npz = {
    .info = {.name = "npz", .path = "FILE", .summary = "arrays of your own, as numpy.savez writes"},
    .x_type = DATA_F32,
    .divisor = 1,
};

static const struct data_def idx = {
    .info = {.name = "idx",
             .path = "FOLDER",
             .summary = "images in IDX files, the format of MNIST and Fashion-MNIST",
             .task = "classification"},
    .x_type = DATA_U8,
    .divisor = 255,
};

const struct data_info *const data_table[] = {
    &digits.info,     &cal_housing.info, &mnist.info,    &cifar10.info, &cifar100.info,
    &flowers102.info, &imagenette.info,  &wikitext.info, &sst2.info,    &folder.info,
    &csv.info,        &npz.info,         &idx.info,      NULL};
