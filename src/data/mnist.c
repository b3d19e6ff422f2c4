/* MNIST: four IDX files, train images and labels, test images and labels, in the table's order. */
#include "base/file.h"
#include "base/log.h"
#include "data/idx.h"
#include "data/loader.h"

#include <stdlib.h>

static bool load_part(const struct data_def *def, const char *images_path, const char *labels_path,
                      int64_t expected, struct data_part *part, struct error *err)
{
    const struct shape s = def->info.shape;
    uint8_t *pixels = NULL;
    int32_t *labels = NULL;
    int64_t n_images = 0, n_labels = 0;
    if (!idx_read_images(images_path, s.d[0], s.d[1], expected, &pixels, &n_images, err))
        return false;
    part->x = pixels;
    if (!idx_read_labels(labels_path, def->info.n_outputs, expected, &labels, &n_labels, err))
        return false;
    part->label = labels;
    if (n_images != n_labels)
        return error_set(err, ERROR_DATA, "'%s' holds %lld images, but '%s' holds %lld labels",
                         images_path, (long long)n_images, labels_path, (long long)n_labels);
    part->n = n_images;
    if (n_images != expected)
        log_once(LOG_WARNING, "'%s' holds %lld images; the official file has %lld", images_path,
                 (long long)n_images, (long long)expected);
    return true;
}

bool mnist_load(const struct data_args *args, const char *root, struct dataset *d,
                struct error *err)
{
    const struct data_def *def = args->def;
    const struct data_layout *layout = &def->layouts[0];
    char *path[4];
    for (int i = 0; i < 4; i++)
        path[i] = path_join(root, layout->file[i].path);
    const bool ok = load_part(def, path[0], path[1], def->info.n_train, &d->train, err) &&
                    load_part(def, path[2], path[3], def->info.n_test, &d->test, err);
    for (int i = 0; i < 4; i++)
        free(path[i]);
    return ok;
}
