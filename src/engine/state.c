/* Job state: docs/state.md is its manual. */
#include "engine/bucket.h"

#include "base/json.h"
#include "base/text.h"
#include "nn/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define STATE_FORMAT  "fugue-job-state"
#define STATE_VERSION "1"

/* A model's blocks in host memory. */
struct blocks {
    float *params, *slots, *buffers;
};

static struct blocks blocks_new(const struct plan *p)
{
    return (struct blocks){.params = xcalloc(p->param_floats + 1, sizeof(float)),
                           .slots =
                               xcalloc((size_t)p->n_slots * p->param_floats + 1, sizeof(float)),
                           .buffers = xcalloc(p->buffer_floats + 1, sizeof(float))};
}

static void blocks_release(struct blocks *b)
{
    free(b->params);
    free(b->slots);
    free(b->buffers);
}

/* One tensor of a state: its name in the file and its place in memory. */
struct state_tensor {
    char name[192];
    const struct param *param;
    float *at;
};

/* All tensors of a model, in the order of the file.  malloc'd. */
static struct state_tensor *list_tensors(const struct bucket *b, const struct model_state *m,
                                         const struct blocks *blocks, int32_t *n)
{
    const struct graph *g = b->graph;
    const int n_slots = optim_slots(b->optim->kind, &m->spec.optim);
    const size_t most = (size_t)g->n_params * (size_t)(1 + n_slots) + (size_t)g->n_buffers;
    struct state_tensor *list = xcalloc(most, sizeof *list);
    *n = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct node *node = &g->nodes[i];
        if (node->shares_params) /* listed with the node they belong to */
            continue;
        for (int32_t j = 0; j < node->n_params + node->n_buffers; j++) {
            const bool running = j >= node->n_params;
            struct state_tensor *t = &list[(*n)++];
            t->param = running ? &g->buffers[node->buffer[j - node->n_params]]
                               : &g->params[node->param[j]];
            t->at = (running ? blocks->buffers : blocks->params) + t->param->offset;
            snprintf(t->name, sizeof t->name, "model.%s", t->param->name);
        }
    }
    for (int s = 0; s < n_slots; s++)
        for (int32_t i = 0; i < g->n_params; i++) {
            struct state_tensor *t = &list[(*n)++];
            t->param = &g->params[i];
            t->at = blocks->slots + (size_t)s * b->plan->param_floats + t->param->offset;
            snprintf(t->name, sizeof t->name, "optim.%s.%s", optim_slot_name(b->optim->kind, s),
                     t->param->name);
        }
    return list;
}

/* ---- export ---- */

static char *args_as_json(const struct optim_info *info, const struct optim_args *args)
{
    json_t *o = json_object();
    json_object_set_new(o, "lr", json_number(args->lr));
    for (int i = 0; i < info->n_args; i++) {
        const char *const at = (const char *)args + info->args[i].offset;
        if (info->args[i].type == OPTIM_ARG_BOOL)
            json_object_set_new(o, info->args[i].name, json_boolean(*(const bool *)at));
        else
            json_object_set_new(o, info->args[i].name,
                                json_number(*(const double *)(const void *)at));
    }
    char *line = json_line(o);
    json_decref(o);
    return line;
}

static void put_number(struct safetensors_writer *w, const char *key, uint64_t v)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, v);
    safetensors_put_meta(w, key, digits);
}

static void put_metadata(struct safetensors_writer *w, const struct bucket *b,
                         const struct model_state *m)
{
    char *args = args_as_json(b->optim, &m->spec.optim);
    safetensors_put_meta(w, "format", STATE_FORMAT);
    safetensors_put_meta(w, "version", STATE_VERSION);
    safetensors_put_meta(w, "model", b->model);
    safetensors_put_meta(w, "data", b->data->name);
    safetensors_put_meta(w, "task", b->task->name);
    safetensors_put_meta(w, "optimizer", b->optim->name);
    safetensors_put_meta(w, "optimizer_args", args);
    put_number(w, "seed", m->spec.seed);
    put_number(w, "batch_size", (uint64_t)b->plan->batch);
    put_number(w, "epoch", (uint64_t)m->epoch);
    put_number(w, "updates", (uint64_t)m->updates);
    free(args);
}

bool bucket_export(const struct bucket *b, int model, void **data, size_t *len, struct error *err)
{
    const struct model_state *m = &b->models[model];
    if (m->run || m->torn)
        return error_set(err, ERROR_RUN,
                         "job %s: its state can only be exported between epochs; it %s",
                         m->spec.job_id, m->run ? "is training" : "was stopped inside one");
    struct blocks blocks = blocks_new(b->plan);
    b->engine->backend->model_read(b->memory, model, blocks.params, blocks.slots, blocks.buffers);
    struct safetensors_writer w;
    safetensors_writer_init(&w);
    put_metadata(&w, b, m);
    int32_t n = 0;
    struct state_tensor *list = list_tensors(b, m, &blocks, &n);
    for (int32_t i = 0; i < n; i++) {
        const struct param *p = list[i].param;
        float *logical = xmalloc((p->count + 1) * sizeof *logical);
        param_to_logical(p, list[i].at, logical);
        safetensors_put_f32(&w, list[i].name, p->dims, p->rank, logical);
        free(logical);
    }
    const bool ok = safetensors_finish(&w, data, len, err);
    free(list);
    safetensors_writer_release(&w);
    blocks_release(&blocks);
    return ok;
}

/* ---- import ---- */

static bool expect_meta(const struct safetensors *st, const char *key, const char *wanted,
                        struct error *err)
{
    const char *found = safetensors_meta(st, key);
    if (!found)
        return error_set(err, ERROR_DATA, "job state: no %s in its metadata", key);
    if (!text_equal_nocase(found, wanted))
        return error_set(err, ERROR_DATA, "job state: its %s is '%.100s', this job needs '%s'", key,
                         found, wanted);
    return true;
}

static bool read_counter(const struct safetensors *st, const char *key, int64_t max, int64_t *out,
                         struct error *err)
{
    const char *text = safetensors_meta(st, key);
    if (!text || !text_to_int64(text, out) || *out < 0)
        return error_set(err, ERROR_DATA, "job state: %s is not a whole number >= 0: '%.40s'", key,
                         text ? text : "(none)");
    if (*out > max)
        return error_set(err, ERROR_DATA, "job state: %s is %lld, this job ends at %lld", key,
                         (long long)*out, (long long)max);
    return true;
}

static bool read_tensor(const struct safetensors *st, const struct state_tensor *t,
                        struct error *err)
{
    const struct safetensor *found = safetensors_find(st, t->name);
    const struct param *p = t->param;
    if (!found)
        return error_set(err, ERROR_DATA, "job state: tensor %s is missing", t->name);
    bool same = strcmp(found->dtype, "F32") == 0 && found->rank == p->rank;
    for (int32_t i = 0; same && i < p->rank; i++)
        same = found->dims[i] == p->dims[i];
    if (!same || found->size != p->count * sizeof(float))
        return error_set(err, ERROR_DATA,
                         "job state: tensor %s is not F32 of the shape this network has", t->name);
    float *logical = xmalloc(found->size + 1);
    memcpy(logical, found->data, found->size);
    param_from_logical(p, logical, t->at);
    free(logical);
    return true;
}

static bool read_tensors(const struct safetensors *st, const struct bucket *b,
                         const struct model_state *m, const struct blocks *blocks,
                         struct error *err)
{
    int32_t n = 0;
    struct state_tensor *list = list_tensors(b, m, blocks, &n);
    bool ok = true;
    for (int32_t i = 0; ok && i < n; i++)
        ok = read_tensor(st, &list[i], err);
    free(list);
    /* Names in a file are distinct, so more of them means strangers. */
    if (ok && st->n != n)
        ok = error_set(err, ERROR_DATA,
                       "job state: %d tensors where this network and optimiser have %d", (int)st->n,
                       (int)n);
    return ok;
}

bool bucket_import(struct bucket *b, int model, const void *data, size_t len, struct error *err)
{
    struct model_state *m = &b->models[model];
    struct safetensors st;
    if (m->run)
        return error_set(err, ERROR_RUN, "job %s: is training: no state can be imported now",
                         m->spec.job_id);
    if (!safetensors_parse(&st, data, len, err))
        return error_prefix(err, "job %s", m->spec.job_id);
    struct blocks blocks = blocks_new(b->plan);
    int64_t epoch = 0, updates = 0;
    bool ok = expect_meta(&st, "format", STATE_FORMAT, err) &&
              expect_meta(&st, "version", STATE_VERSION, err) &&
              expect_meta(&st, "model", b->model, err) &&
              expect_meta(&st, "task", b->task->name, err) &&
              expect_meta(&st, "optimizer", b->optim->name, err) &&
              read_counter(&st, "epoch", m->spec.epochs, &epoch, err) &&
              read_counter(&st, "updates", INT64_MAX / 2, &updates, err) &&
              read_tensors(&st, b, m, &blocks, err);
    if (ok && (epoch == 0) != (updates == 0))
        ok = error_set(err, ERROR_DATA, "job state: %lld updates after %lld epochs cannot be",
                       (long long)updates, (long long)epoch);
    if (ok) {
        const int32_t pause = m->pause_after;
        b->engine->backend->model_write(b->memory, model, blocks.params, blocks.slots,
                                        blocks.buffers);
        model_reset(m);
        m->pause_after = pause;
        m->epoch = (int32_t)epoch;
        m->updates = updates;
    } else {
        error_prefix(err, "job %s", m->spec.job_id);
    }
    blocks_release(&blocks);
    safetensors_release(&st);
    return ok;
}
