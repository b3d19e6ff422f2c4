/* Weights in and out: nn/weights.h is the manual of the files. */
#include "engine/bucket.h"

#include "base/text.h"

#include <stdlib.h>

/* Parameters and running statistics of a model in host memory. */
struct weights {
    float *params, *buffers;
};

static struct weights weights_read(const struct bucket *b, int model)
{
    const struct weights w = {.params = xcalloc(b->plan->param_floats, sizeof(float)),
                              .buffers = xcalloc(b->plan->buffer_floats + 1, sizeof(float))};
    b->engine->backend->model_read(b->memory, model, w.params, NULL, w.buffers);
    return w;
}

static void weights_release(struct weights *w)
{
    free(w->params);
    free(w->buffers);
}

bool bucket_weights_export(const struct bucket *b, int model, void **data, size_t *len,
                           struct error *err)
{
    const struct model_state *m = &b->models[model];
    if (m->run && !m->finished)
        return error_set(err, ERROR_RUN, "job %s: is training: no weights can be taken out now",
                         m->spec.job_id);
    const struct weights_meta meta[] = {{"model", b->model}, {"data", b->data->name}};
    struct weights w = weights_read(b, model);
    const bool ok = weights_export(b->graph, w.params, w.buffers, m->updates, meta,
                                   sizeof meta / sizeof *meta, data, len, err);
    weights_release(&w);
    return ok || error_prefix(err, "job %s", m->spec.job_id);
}

static bool may_import(const struct bucket *b, int model, struct error *err)
{
    const struct model_state *m = &b->models[model];
    if (m->run || m->updates > 0)
        return error_set(err, ERROR_RUN,
                         "job %s: %s: weights can only be put in before the first epoch",
                         m->spec.job_id, m->run ? "is training" : "has been trained");
    return true;
}

/* Puts in what was imported and gives it back. */
static bool conclude(struct bucket *b, int model, bool ok, struct weights *w, struct error *err)
{
    if (ok)
        b->engine->backend->model_write(b->memory, model, w->params, NULL, w->buffers);
    weights_release(w);
    return ok || error_prefix(err, "job %s", b->models[model].spec.job_id);
}

bool bucket_weights_import(struct bucket *b, int model, const void *data, size_t len, bool strict,
                           struct weights_report *report, struct error *err)
{
    if (!may_import(b, model, err))
        return false;
    struct weights w = weights_read(b, model);
    const bool ok = weights_import(b->graph, data, len, strict, w.params, w.buffers, report, err);
    return conclude(b, model, ok, &w, err);
}

bool bucket_weights_import_published(struct bucket *b, int model, const void *data, size_t len,
                                     const struct weights_published *published, struct error *err)
{
    if (!may_import(b, model, err))
        return false;
    struct weights w = weights_read(b, model);
    const bool ok =
        weights_import_published(b->graph, data, len, published, w.params, w.buffers, err);
    return conclude(b, model, ok, &w, err);
}
