/* CIFAR-10 and CIFAR-100: the binary release, and the set itself in either release. */
#include "data/cifar.h"

#include "base/file.h"
#include "base/log.h"
#include "data/loader.h"

#include <stdlib.h>
#include <string.h>

/* The largest official file has 153.7 MB (169 MB with the pickle's names). */
#define MAX_BYTES ((size_t)256 << 20)

void cifar_release(struct cifar *c)
{
    free(c->pixels);
    free(c->label);
    *c = (struct cifar){0};
}

bool cifar_alloc(struct cifar *c, int64_t n, const char *name, struct error *err)
{
    *c = (struct cifar){.n = n};
    c->pixels = malloc((size_t)n * CIFAR_PIXELS);
    c->label = malloc((size_t)n * sizeof *c->label);
    if (c->pixels && c->label)
        return true;
    cifar_release(c);
    return error_set(err, ERROR_SYSTEM, "no memory for the %lld images of '%s'", (long long)n,
                     name);
}

void cifar_from_planes(const uint8_t *planes, uint8_t *nhwc)
{
    const size_t plane = (size_t)CIFAR_SIDE * CIFAR_SIDE;
    for (size_t i = 0; i < plane; i++)
        for (size_t c = 0; c < 3; c++)
            nhwc[3 * i + c] = planes[c * plane + i];
}

bool cifar_bin_parse(const void *bytes, size_t n, int n_classes, const char *name,
                     struct cifar *out, struct error *err)
{
    const size_t n_labels = n_classes == 100 ? 2 : 1, record = n_labels + CIFAR_PIXELS;
    *out = (struct cifar){0};
    if (n == 0 || n % record != 0)
        return error_set(err, ERROR_DATA,
                         "'%s' has %zu bytes, no whole number of records of %zu bytes: it is "
                         "truncated, or no binary file of CIFAR-%d",
                         name, n, record, n_classes);
    if (!cifar_alloc(out, (int64_t)(n / record), name, err))
        return false;
    const uint8_t *at = bytes;
    for (int64_t i = 0; i < out->n; i++, at += record) {
        out->label[i] = at[n_labels - 1]; /* of two, the fine one */
        if (out->label[i] >= n_classes) {
            error_set(err, ERROR_DATA, "'%s': the label of image %lld is %d; 0 to %d are expected",
                      name, (long long)i, out->label[i], n_classes - 1);
            cifar_release(out);
            return false;
        }
        cifar_from_planes(at + n_labels, out->pixels + i * CIFAR_PIXELS);
    }
    return true;
}

/* ---- the set ----------------------------------------------------------------------------------
 */

/* Adds the images of one file to a part. */
static bool append(struct data_part *part, const struct cifar *c, const struct data_def *def,
                   struct error *err)
{
    const size_t n = (size_t)(part->n + c->n), old = (size_t)part->n;
    if (!c->pixels || !c->label)
        return true; /* no images */
    uint8_t *x = realloc((void *)part->x, n * CIFAR_PIXELS);
    part->x = x ? x : part->x;
    int32_t *label = realloc((void *)part->label, n * sizeof *label);
    part->label = label ? label : part->label;
    if (!x || !label)
        return error_set(err, ERROR_SYSTEM, "no memory for %zu images of data set '%s'", n,
                         def->info.name);
    memcpy(x + old * CIFAR_PIXELS, c->pixels, (size_t)c->n * CIFAR_PIXELS);
    memcpy(label + old, c->label, (size_t)c->n * sizeof *label);
    part->n = (int64_t)n;
    return true;
}

static bool load_file(const struct data_def *def, const char *path, bool pickle,
                      struct data_part *part, struct error *err)
{
    char *bytes = NULL, *used = NULL;
    size_t n;
    struct cifar c = {0};
    if (!file_read_maybe_gz(path, MAX_BYTES, &bytes, &n, &used, err))
        return false;
    const bool ok = (pickle ? cifar_pickle_parse : cifar_bin_parse)(bytes, n, def->info.n_outputs,
                                                                    used, &c, err) &&
                    append(part, &c, def, err);
    cifar_release(&c);
    free(bytes);
    free(used);
    return ok;
}

static bool check_count(const struct data_def *def, const struct data_part *part, int64_t official,
                        const char *which, struct error *err)
{
    if (part->n > official)
        return error_set(err, ERROR_DATA,
                         "data set '%s': its %s files hold %lld images; the official ones have "
                         "%lld",
                         def->info.name, which, (long long)part->n, (long long)official);
    if (part->n < official)
        log_once(LOG_WARNING,
                 "data set '%s': its %s files hold %lld images; the official ones have %lld",
                 def->info.name, which, (long long)part->n, (long long)official);
    return true;
}

/* All files but the last are of the training part. */
bool cifar_load(const struct data_args *args, const char *root, struct dataset *d,
                struct error *err)
{
    const struct data_def *def = args->def;
    const struct data_layout *layout = data_layout_find(def, root, err);
    bool ok = layout != NULL;
    for (int i = 0; ok && i < layout->n_files; i++) {
        char *path = path_join(root, layout->file[i].path);
        ok = load_file(def, path, layout != &def->layouts[0],
                       i + 1 < layout->n_files ? &d->train : &d->test, err);
        free(path);
    }
    return ok && check_count(def, &d->train, def->info.n_train, "training", err) &&
           check_count(def, &d->test, def->info.n_test, "test", err);
}
