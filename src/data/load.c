/* Loading a set, real or synthetic, and letting go of it. */
#include "base/text.h"
#include "data/request.h"

#include <stdlib.h>

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

static struct dataset *outline(const struct data_request *r, bool synthetic)
{
    const struct data_def *def = r->args.def;
    struct dataset *d = xcalloc(1, sizeof *d);
    d->name = xstrdup(r->args.text);
    d->source = synthetic ? DATA_SYNTHETIC : DATA_REAL;
    d->shape = r->info.shape;
    d->x_type = def->x_type;
    d->divisor = def->divisor;
    d->augment = def->augment;
    d->n_outputs = r->info.n_outputs;
    d->vocabulary = r->info.vocabulary;
    d->labels_per_sample = data_predicts_tokens(&r->info) ? r->info.shape.d[0] : 1;
    d->task = r->info.task;
    d->test_is_train = def->test_is_train;
    return d;
}

static struct dataset *load(struct data_request *r, const char *root, bool synthetic,
                            struct error *err)
{
    const struct data_def *def = r->args.def;
    if (!synthetic && (!data_request_present(r, root, err) || !data_request_describe(r, root, err)))
        return NULL;
    struct dataset *d = outline(r, synthetic);
    if (!(synthetic ? synthetic_load(def, &r->info, d, err) : def->load(&r->args, root, d, err))) {
        data_free(d);
        return NULL;
    }
    if (!synthetic && !d->layout && def->n_layouts > 0)
        d->layout = data_layout_find(def, root, err)->name;
    d->bytes = part_bytes(d, &d->train) + (d->test_is_train ? 0 : part_bytes(d, &d->test));
    return d;
}

struct dataset *data_load(const char *spec, const char *root, bool synthetic, struct error *err)
{
    struct data_request r;
    if (!data_request_parse(&r, spec, root, synthetic, err))
        return NULL;
    struct dataset *d = load(&r, root, synthetic, err);
    data_request_release(&r);
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
