/* The table of data sets: one row a set, and one a scheme of files of the user's own. */
#include "data/loader.h"
#include "data/own.h"
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

/* The Python release, as torchvision and Keras leave it, is read as it is. */
#define CIFAR10_BIN                                                                                \
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz (unpack it in the data folder; "      \
    "cifar-10-python.tar.gz serves as well)"
#define CIFAR100_BIN                                                                               \
    "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz (unpack it in the data folder; "     \
    "cifar-100-python.tar.gz serves as well)"

static const struct data_layout cifar10_layouts[] = {
    {"binary release",
     6,
     {
         {"cifar-10-batches-bin/data_batch_1.bin", CIFAR10_BIN},
         {"cifar-10-batches-bin/data_batch_2.bin", CIFAR10_BIN},
         {"cifar-10-batches-bin/data_batch_3.bin", CIFAR10_BIN},
         {"cifar-10-batches-bin/data_batch_4.bin", CIFAR10_BIN},
         {"cifar-10-batches-bin/data_batch_5.bin", CIFAR10_BIN},
         {"cifar-10-batches-bin/test_batch.bin", CIFAR10_BIN},
     }},
    {"Python release",
     6,
     {
         {"cifar-10-batches-py/data_batch_1", CIFAR10_BIN},
         {"cifar-10-batches-py/data_batch_2", CIFAR10_BIN},
         {"cifar-10-batches-py/data_batch_3", CIFAR10_BIN},
         {"cifar-10-batches-py/data_batch_4", CIFAR10_BIN},
         {"cifar-10-batches-py/data_batch_5", CIFAR10_BIN},
         {"cifar-10-batches-py/test_batch", CIFAR10_BIN},
     }},
};
static const struct data_layout cifar100_layouts[] = {
    {"binary release",
     2,
     {
         {"cifar-100-binary/train.bin", CIFAR100_BIN},
         {"cifar-100-binary/test.bin", CIFAR100_BIN},
     }},
    {"Python release",
     2,
     {
         {"cifar-100-python/train", CIFAR100_BIN},
         {"cifar-100-python/test", CIFAR100_BIN},
     }},
};

static const struct data_def cifar10 = {
    .info = {.name = "cifar10",
             .summary = "colour images of 10 kinds, 32x32",
             .shape = IMAGE(32, 32, 3),
             .n_outputs = 10,
             .task = "classification",
             .n_train = 50000,
             .n_test = 10000,
             .built = true,
             .synthetic = true},
    .layouts = cifar10_layouts,
    .n_layouts = 2,
    .x_type = DATA_U8,
    .divisor = 255,
    .augment = AUGMENT_CROP_FLIP,
    .load = cifar_load,
};

static const struct data_def cifar100 = {
    .info = {.name = "cifar100",
             .summary = "colour images of 100 kinds, 32x32",
             .shape = IMAGE(32, 32, 3),
             .n_outputs = 100,
             .task = "classification",
             .n_train = 50000,
             .n_test = 10000,
             .built = true,
             .synthetic = true},
    .layouts = cifar100_layouts,
    .n_layouts = 2,
    .x_type = DATA_U8,
    .divisor = 255,
    .augment = AUGMENT_CROP_FLIP,
    .load = cifar_load,
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
        .meaning = (meaning_)                                                                      \
    }
#define LIMIT(name_, meaning_)                                                                     \
    {                                                                                              \
        .name = (name_), .type = DATA_ARG_INT, .min = 1, .max = MAX_TEXT_SAMPLES,                  \
        .meaning = (meaning_)                                                                      \
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

static const struct data_arg csv_args[] = {
    {.name = "target",
     .value = "COLUMN",
     .required = true,
     .meaning = "the column to predict, by name or number (1 the first, -1 the last)"},
    OWN_TASK_ARG,
    {.name = "test", .type = DATA_ARG_FILE, .meaning = "a file of the same columns to test on"},
    OWN_FRACTION_ARG,
    {.name = "standardise",
     .type = DATA_ARG_INT,
     .value = "0|1",
     .fallback = "1",
     .max = 1,
     .meaning = "features to mean 0 and deviation 1 of the training rows"},
    {.name = "ignore", .value = "COLUMN,...", .meaning = "columns to leave out"},
    {.name = "header",
     .type = DATA_ARG_INT,
     .value = "0|1",
     .fallback = "1",
     .max = 1,
     .meaning = "does the first line hold names?"},
    {.name = "separator",
     .type = DATA_ARG_CHOICE,
     .choices = "comma|semicolon|tab",
     .fallback = "comma",
     .meaning = "what stands between fields"},
};

static const struct data_def csv = {
    .info = {.name = "csv",
             .path = "FILE",
             .summary = "a table of your own, comma-separated",
             .args = csv_args,
             .n_args = sizeof csv_args / sizeof *csv_args,
             .built = true},
    .x_type = DATA_F32,
    .divisor = 1,
    .describe = csv_describe,
    .load = csv_load,
};

static const struct data_def npz = {
    .info = {.name = "npz", .path = "FILE", .summary = "arrays of your own, as numpy.savez writes"},
    .x_type = DATA_F32,
    .divisor = 1,
};

static const struct data_arg idx_args[] = {
    {.name = "labels",
     .type = DATA_ARG_FILE,
     .meaning = "the labels, where PATH is a file of images (of a folder, the names are MNIST's)"},
    {.name = "test_images", .type = DATA_ARG_FILE, .meaning = "images to test, with test_labels"},
    {.name = "test_labels", .type = DATA_ARG_FILE, .meaning = "their labels"},
    OWN_FRACTION_ARG,
};

static const struct data_def idx = {
    .info = {.name = "idx",
             .path = "PATH",
             .summary = "images in IDX files, the format of MNIST and Fashion-MNIST",
             .task = "classification",
             .args = idx_args,
             .n_args = sizeof idx_args / sizeof *idx_args,
             .built = true},
    .x_type = DATA_U8,
    .divisor = 255,
    .describe = idx_describe,
    .present = idx_present,
    .load = idx_load,
};

const struct data_info *const data_table[] = {
    &digits.info,     &cal_housing.info, &mnist.info,    &cifar10.info, &cifar100.info,
    &flowers102.info, &imagenette.info,  &wikitext.info, &sst2.info,    &folder.info,
    &csv.info,        &npz.info,         &idx.info,      NULL};
