#include "data/download.h"

#include "base/file.h"
#include "base/spec.h"
#include "base/text.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MB(n)    ((int64_t)(n)*1000000)
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

/* ---- the table: sizes and digests are those of torchvision, torchtext, scikit-learn and
 * TensorFlow Datasets for the same files ----
 */

#define MNIST(name_, size_, md5_, sha256_)                                                         \
    {                                                                                              \
        .name = name_ ".gz", .place = "MNIST/raw/" name_ ".gz", .size = (size_), .md5 = (md5_),    \
        .sha256 = (sha256_),                                                                       \
        .source = {"https://ossci-datasets.s3.amazonaws.com/mnist/" name_ ".gz",                   \
                   "https://storage.googleapis.com/cvdf-datasets/mnist/" name_ ".gz",              \
                   "http://yann.lecun.com/exdb/mnist/" name_ ".gz"},                               \
    }

static const struct download_file mnist_files[] = {
    MNIST("train-images-idx3-ubyte", 9912422, "f68b3c2dcbeaaa9fbdd348bbdeb94873",
          "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
    MNIST("train-labels-idx1-ubyte", 28881, "d53e105ee54ea40749a09fcbcd1e9432",
          "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    MNIST("t10k-images-idx3-ubyte", 1648877, "9fb629c4189551a2d022fa330f9573f3",
          "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
    MNIST("t10k-labels-idx1-ubyte", 4542, "ec29112dd5afa0611ce80d1b7f02629c",
          "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
};
static const struct download_check mnist_checks[] = {
    {.path = "MNIST/raw/train-images-idx3-ubyte", .size = 47040016},
    {.path = "MNIST/raw/train-labels-idx1-ubyte", .size = 60008},
    {.path = "MNIST/raw/t10k-images-idx3-ubyte", .size = 7840016},
    {.path = "MNIST/raw/t10k-labels-idx1-ubyte", .size = 10008},
};

static const struct download_file cifar10_files[] = {{
    .name = "cifar-10-binary.tar.gz",
    .source = {"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
               "https://cave.cs.toronto.edu/kriz/cifar-10-binary.tar.gz"},
    .size = 170052171,
    .md5 = "c32a1d4ab5d03f1284b67883e8d87530",
    .sha256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    .take = "cifar-10-batches-bin",
    .place = "cifar-10-batches-bin",
    .unpacked = MB(200),
}};
#define CIFAR10_BATCH(name)                                                                        \
    {                                                                                              \
        .path = "cifar-10-batches-bin/" name, .size = 30730000                                     \
    }
static const struct download_check cifar10_checks[] = {
    CIFAR10_BATCH("data_batch_1.bin"), CIFAR10_BATCH("data_batch_2.bin"),
    CIFAR10_BATCH("data_batch_3.bin"), CIFAR10_BATCH("data_batch_4.bin"),
    CIFAR10_BATCH("data_batch_5.bin"), CIFAR10_BATCH("test_batch.bin"),
};

static const struct download_file cifar100_files[] = {{
    .name = "cifar-100-binary.tar.gz",
    .source = {"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
               "https://cave.cs.toronto.edu/kriz/cifar-100-binary.tar.gz"},
    .size = 168513733,
    .md5 = "03b5dce01913d631647c71ecec9e9cb8",
    .sha256 = "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
    .take = "cifar-100-binary",
    .place = "cifar-100-binary",
    .unpacked = MB(200),
}};
static const struct download_check cifar100_checks[] = {
    {.path = "cifar-100-binary/train.bin", .size = 153700000},
    {.path = "cifar-100-binary/test.bin", .size = 30740000},
};

#define FLOWERS "https://www.robots.ox.ac.uk/~vgg/data/flowers/102/"
static const struct download_file flowers102_files[] = {
    {
        .name = "102flowers.tgz",
        .source = {FLOWERS "102flowers.tgz"},
        .size = 344862509,
        .md5 = "52808999861908f626f3c1f4e79d11fa",
        .sha256 = "2d01ecc807db462958cfe3d92f57a8c252b4abd240eb955770201e45f783b246",
        .take = "jpg",
        .place = "flowers-102/jpg",
        .unpacked = MB(400),
    },
    {
        .name = "imagelabels.mat",
        .source = {FLOWERS "imagelabels.mat"},
        .size = 502,
        .md5 = "e0620be6f572b9609742df49c70aed4d",
        .sha256 = "4903e94206bac23bf772aadf06451916df56b58fc483a62db32a97b82656651d",
        .place = "flowers-102/imagelabels.mat",
    },
    {
        .name = "setid.mat",
        .source = {FLOWERS "setid.mat"},
        .size = 14989,
        .md5 = "a5357ecc9cb78c4bef273ce3793fc85c",
        .sha256 = "46b8678f91fd95d3c8f4feab80d271a6c834a1dd896fe29fd3e6ad9ce5c8dccd",
        .place = "flowers-102/setid.mat",
    },
};
static const struct download_check flowers102_checks[] = {
    {.path = "flowers-102/jpg", .files = 8189},
    {.path = "flowers-102/imagelabels.mat", .size = 502},
    {.path = "flowers-102/setid.mat", .size = 14989},
};

static const struct download_file cal_housing_files[] = {{
    .name = "cal_housing.tgz",
    .source = {"https://ndownloader.figshare.com/files/5976036"},
    .size = 441963,
    .sha256 = "aaa5c9a6afe2225cc2aed2723682ae403280c4a3695a2ddda4ffb5d8215ea681",
    .take = "CaliforniaHousing/cal_housing.data",
    .place = "CaliforniaHousing/cal_housing.data",
    .unpacked = MB(3),
}};
static const struct download_check cal_housing_checks[] = {
    {.path = "CaliforniaHousing/cal_housing.data", .size = 2071484},
};

static const struct download_file wikitext_files[] = {{
    .name = "wikitext-2-raw-v1.zip",
    .source = {"https://huggingface.co/datasets/ggml-org/ci/resolve/main/wikitext-2-raw-v1.zip",
               "https://wikitext.smerity.com/wikitext-2-raw-v1.zip"},
    .size = 4721645,
    .sha256 = "ef7edb566e3e2b2d31b29c1fdb0c89a4cc683597484c3dc2517919c615435a11",
    .take = "wikitext-2-raw",
    .place = "wikitext-2-raw",
    .unpacked = MB(20),
}};
static const struct download_check wikitext_checks[] = {
    {.path = "wikitext-2-raw/wiki.train.raw"},
    {.path = "wikitext-2-raw/wiki.valid.raw"},
    {.path = "wikitext-2-raw/wiki.test.raw", .size = 1290590},
};

/* One revision of the repository: what it names never changes. */
#define XLM_R                                                                                      \
    "https://huggingface.co/FacebookAI/xlm-roberta-base/resolve/"                                  \
    "e73636d4f797dec63c3081bb6ed5c7b0bb3f2089/"
#define XLM_R_TOKENIZER                                                                            \
    {                                                                                              \
        .name = "sentencepiece.bpe.model", .source = {XLM_R "sentencepiece.bpe.model"},            \
        .size = 5069051,                                                                           \
        .sha256 = "cfc8146abe2a0488e9e2a0c56de7952f7c11ab059eca145a0a727afce0db2865",              \
        .place = "weights/xlm-roberta-base/sentencepiece.bpe.model",                               \
    }
#define XLM_R_TOKENIZER_CHECK                                                                      \
    {                                                                                              \
        .path = "weights/xlm-roberta-base/sentencepiece.bpe.model", .size = 5069051                \
    }

static const struct download_file sst2_files[] = {
    {
        .name = "SST-2.zip",
        .source = {"https://dl.fbaipublicfiles.com/glue/data/SST-2.zip",
                   "https://dataset.bj.bcebos.com/glue/SST.zip",
                   "https://firebasestorage.googleapis.com/v0/b/"
                   "mtl-sentence-representations.appspot.com/o/"
                   "data%2FSST-2.zip?alt=media&token=aabc5f6b-e466-44a2-b9b4-cf6337f84ac8"},
        .size = 7439277,
        .md5 = "9f81648d4199384278b86e315dac217c",
        .sha256 = "d67e16fb55739c1b32cdce9877596db1c127dc322d93c082281f64057c16deaa",
        .take = "SST-2",
        .place = "SST-2",
        .unpacked = MB(40),
    },
    XLM_R_TOKENIZER,
};
static const struct download_check sst2_checks[] = {
    {.path = "SST-2/train.tsv", .size = 3806081},
    {.path = "SST-2/dev.tsv", .size = 94931},
    XLM_R_TOKENIZER_CHECK,
};

static const struct download_file imagenette_files[] = {{
    .name = "imagenette2-320.tgz",
    .source = {"https://s3.amazonaws.com/fast-ai-imageclas/imagenette2-320.tgz"},
    .size = 341663724,
    .md5 = "3df6f0d01a2c9592104656642f5e78a3",
    .take = "imagenette2-320",
    .place = "imagenette2-320",
    .unpacked = MB(400),
}};
static const struct download_check imagenette_checks[] = {
    {.path = "imagenette2-320/train", .files = 9469},
    {.path = "imagenette2-320/val", .files = 3925},
};

static const struct download_file xlm_roberta_files[] = {
    XLM_R_TOKENIZER,
    {
        .name = "model.safetensors",
        .source = {XLM_R "model.safetensors"},
        .about = MB(1116),
        .place = "weights/xlm-roberta-base/model.safetensors",
    },
};
static const struct download_check xlm_roberta_checks[] = {
    XLM_R_TOKENIZER_CHECK,
    {.path = "weights/xlm-roberta-base/model.safetensors"},
};

static const struct download_file vgg16_files[] = {{
    .name = "model.safetensors",
    .source = {"https://huggingface.co/timm/vgg16.tv_in1k/resolve/"
               "b8d8aa2dd860af9233c8c67385a8097fd6c35d3f/model.safetensors"},
    .sha256 = "57b026918159a6bf9faf8405c3a551903768e7138989d9c6224a14227203fad8",
    .about = MB(553),
    .place = "weights/vgg16/model.safetensors",
}};
static const struct download_check vgg16_checks[] = {
    {.path = "weights/vgg16/model.safetensors"},
};

#define DOWNLOAD(name_, weights_, licence_, summary_)                                              \
    static const struct download name_ = {.name = #name_,                                          \
                                          .summary = (summary_),                                   \
                                          .licence = (licence_),                                   \
                                          .weights = (weights_),                                   \
                                          .files = name_##_files,                                  \
                                          .n_files = COUNT(name_##_files),                         \
                                          .checks = name_##_checks,                                \
                                          .n_checks = COUNT(name_##_checks)}

DOWNLOAD(cal_housing, false, "CC BY 4.0", "California housing");
DOWNLOAD(mnist, false, NULL, "MNIST, four gzip'd IDX files");
DOWNLOAD(cifar10, false, NULL, "CIFAR-10, the binary release");
DOWNLOAD(cifar100, false, NULL, "CIFAR-100, the binary release");
DOWNLOAD(flowers102, false, NULL, "Oxford 102 flowers: photographs, labels, splits");
DOWNLOAD(imagenette, false, "Apache-2.0", "Imagenette, 320 pixels");
DOWNLOAD(wikitext, false, "CC BY-SA 3.0", "WikiText-2, raw");
DOWNLOAD(sst2, false, NULL, "SST-2 of GLUE, and the tokenizer of XLM-R");
DOWNLOAD(xlm_roberta, true, "MIT", "weights and tokenizer of XLM-RoBERTa base");
DOWNLOAD(vgg16, true, "BSD-3-Clause", "ImageNet weights of VGG16, for vgg16_cbam");

static const struct download *const built_in[] = {&cal_housing, &mnist,      &cifar10,  &cifar100,
                                                  &flowers102,  &imagenette, &wikitext, &sst2,
                                                  &xlm_roberta, &vgg16,      NULL};
static const struct download *const *present_table = built_in;

const struct download *const *download_table(void)
{
    return present_table;
}

void download_table_use(const struct download *const *table)
{
    present_table = table ? table : built_in;
}

/* ---- questions ----
 */

const struct download *download_find(const char *spec)
{
    struct spec s;
    const struct download *found = NULL;
    if (!spec_parse(&s, spec, NULL))
        return NULL;
    for (int i = 0; !found && present_table[i]; i++)
        if (text_equal_nocase(present_table[i]->name, s.name))
            found = present_table[i];
    spec_release(&s);
    return found;
}

/* Files below a folder that are not empty; stops at `enough`. */
static int64_t count_files(const char *folder, int64_t enough, int depth)
{
    DIR *dir = depth < 8 ? opendir(folder) : NULL;
    int64_t n = 0;
    for (const struct dirent *e; dir && n < enough && (e = readdir(dir)) != NULL;) {
        struct stat st;
        if (e->d_name[0] == '.')
            continue;
        char *path = path_join(folder, e->d_name);
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            n += count_files(path, enough - n, depth + 1);
        else if (S_ISREG(st.st_mode) && st.st_size > 0)
            n++;
        free(path);
    }
    if (dir)
        closedir(dir);
    return n;
}

static bool check_one(const struct download_check *c, const char *root)
{
    char *path = path_join(root, c->path);
    bool ok;
    if (c->files > 0) {
        ok = count_files(path, c->files, 0) >= c->files;
    } else {
        char *packed = xasprintf("%s.gz", path);
        const int64_t size = file_size(path);
        ok = size < 0 ? file_size(packed) > 0 : size > 0 && (c->size == 0 || size == c->size);
        free(packed);
    }
    free(path);
    return ok;
}

bool download_present(const struct download *d, const char *root)
{
    bool ok = true;
    for (int i = 0; ok && i < d->n_checks; i++)
        ok = check_one(&d->checks[i], root);
    return ok;
}

int64_t download_size(const struct download *d)
{
    int64_t size = 0;
    for (int i = 0; i < d->n_files; i++)
        size += d->files[i].size ? d->files[i].size : d->files[i].about;
    return size;
}
