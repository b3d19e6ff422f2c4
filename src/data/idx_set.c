/* idx:PATH: a folder with the four files of MNIST, or a file of images whose labels an argument
 * names. */
#include "base/file.h"
#include "base/text.h"
#include "data/idx.h"
#include "data/own.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS, N_FILES };

/* Where the files lie; NULL: not given.  Owned. */
struct places {
    char *path[N_FILES];
};

static void places_release(struct places *p)
{
    for (int i = 0; i < N_FILES; i++)
        free(p->path[i]);
}

/* A folder's files, also with the dot that some copies have: train-images.idx3-ubyte. */
static char *in_folder(const char *folder, const char *name)
{
    char *path = path_join(folder, name);
    if (file_exists_maybe_gz(path))
        return path;
    char *dotted = xstrdup(path);
    char *idx = strstr(dotted + strlen(folder), "-idx");
    *idx = '.';
    const bool there = file_exists_maybe_gz(dotted);
    free(there ? path : dotted);
    return there ? dotted : path;
}

static bool find_places(const struct data_args *args, const char *root, struct places *p,
                        struct error *err)
{
    static const char *const names[N_FILES] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                               "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
    static const char *const keys[N_FILES] = {NULL, "labels", "test_images", "test_labels"};
    struct stat st;
    *p = (struct places){{NULL}};
    const bool folder = stat(args->path, &st) == 0 && S_ISDIR(st.st_mode);
    for (int i = 1; folder && i < N_FILES; i++)
        if (data_arg_given(args, keys[i]))
            return error_set(err, ERROR_USAGE,
                             "data set '%s': '%s' is a folder, whose four files have the names of "
                             "MNIST's; %s= goes with a file of images",
                             args->text, args->path, keys[i]);
    for (int i = 0; i < N_FILES; i++)
        p->path[i] = folder ? in_folder(args->path, names[i])
                     : i    ? data_arg_path(args, keys[i], root)
                            : xstrdup(args->path);
    if (!p->path[TRAIN_LABELS])
        return error_set(err, ERROR_USAGE,
                         "data set '%s': name the file of the labels too: labels=FILE", args->text);
    if (!p->path[TEST_IMAGES] != !p->path[TEST_LABELS])
        return error_set(err, ERROR_USAGE, "data set '%s': test_images and test_labels go together",
                         args->text);
    return true;
}

bool idx_present(const struct data_args *args, const char *root, struct error *err)
{
    struct places p;
    bool ok =
        file_exists_maybe_gz(args->path) ||
        error_set(err, ERROR_DATA, "data set '%s': '%s' is not there", args->text, args->path);
    if (!ok)
        return false;
    ok = find_places(args, root, &p, err);
    for (int i = 0; ok && i < N_FILES; i++)
        if (p.path[i] && !file_exists_maybe_gz(p.path[i]))
            ok = error_set(err, ERROR_DATA, "data set '%s': '%s' is not there", args->text,
                           p.path[i]);
    places_release(&p);
    return ok;
}

static bool read_labels(const char *path, struct own_targets *y, struct error *err)
{
    char *bytes, *used;
    size_t n;
    struct idx_array a;
    if (!own_read(path, &bytes, &n, &used, err))
        return false;
    bool ok = idx_parse(bytes, n, used, &a, err);
    if (ok && a.n_dims != 1)
        ok = error_set(err, ERROR_DATA, "'%s' holds images; labels are expected", used);
    if (ok) {
        y->n = a.dim[0];
        y->number = xmalloc(a.len * sizeof *y->number);
        for (size_t i = 0; i < a.len; i++)
            y->number[i] = a.data[i];
    }
    free(bytes);
    free(used);
    return ok;
}

/* Images as many as there are labels; the first part's shape is the set's. */
static bool read_images(const char *path, struct own_set *s, struct own_part *part,
                        struct error *err)
{
    char *bytes, *used;
    size_t n;
    struct idx_array a;
    if (!own_read(path, &bytes, &n, &used, err))
        return false;
    bool ok = idx_parse(bytes, n, used, &a, err);
    if (ok && a.n_dims != 3)
        ok = error_set(err, ERROR_DATA, "'%s' holds labels; images are expected", used);
    else if (ok && (a.dim[1] > 65535 || a.dim[2] > 65535))
        ok = error_set(err, ERROR_DATA, "'%s' holds images of %ux%u; 65535 a side is the most",
                       used, a.dim[1], a.dim[2]);
    else if (ok && (int64_t)a.dim[0] != part->y.n)
        ok = error_set(err, ERROR_DATA, "'%s' holds %u images, but there are %lld labels", used,
                       a.dim[0], (long long)part->y.n);
    if (ok) {
        const struct shape shape = shape_image((int32_t)a.dim[1], (int32_t)a.dim[2], 1);
        if (part != &s->train && !shape_equal(shape, s->shape))
            ok = error_set(err, ERROR_DATA, "'%s' holds images of %ux%u; those to train are %dx%d",
                           used, a.dim[1], a.dim[2], s->shape.d[0], s->shape.d[1]);
        s->shape = shape;
    }
    if (ok) {
        memmove(bytes, a.data, a.len);
        part->x = bytes;
        bytes = NULL;
    }
    free(bytes);
    free(used);
    return ok;
}

static bool read_set(const struct data_args *args, const char *root, struct own_set *s,
                     struct error *err)
{
    struct places p;
    *s = (struct own_set){.x_type = DATA_U8, .divisor = 255};
    bool ok = find_places(args, root, &p, err) &&
              read_labels(p.path[TRAIN_LABELS], &s->train.y, err) &&
              read_images(p.path[TRAIN_IMAGES], s, &s->train, err);
    if (ok && p.path[TEST_IMAGES]) {
        s->has_test = true;
        ok = read_labels(p.path[TEST_LABELS], &s->test.y, err) &&
             read_images(p.path[TEST_IMAGES], s, &s->test, err);
    }
    places_release(&p);
    ok = ok && own_finish(s, args, err);
    if (!ok)
        own_release(s);
    return ok;
}

bool idx_describe(const struct data_args *args, const char *root, struct data_info *info,
                  struct error *err)
{
    struct own_set s;
    if (!read_set(args, root, &s, err))
        return false;
    own_describe(&s, args, info);
    own_release(&s);
    return true;
}

bool idx_load(const struct data_args *args, const char *root, struct dataset *d, struct error *err)
{
    struct own_set s;
    if (!read_set(args, root, &s, err))
        return false;
    const bool ok = own_fill(&s, args, d, err);
    own_release(&s);
    return ok;
}
