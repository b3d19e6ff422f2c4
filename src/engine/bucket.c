/* Buckets: from a specification to planned, allocated, initialised models. */
#include "engine/bucket.h"

#include "base/text.h"
#include "nn/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- checks ---- */

static bool check_task(const struct bucket_spec *spec, const struct task_info **task,
                       struct error *err)
{
    const struct dataset *d = spec->data;
    *task = task_find(spec->task);
    if (!*task)
        return error_set(err, ERROR_USAGE, "unknown task '%s'", spec->task);
    const enum target_kind target = (*task)->target;
    const bool fits = target == TARGET_REAL ? d->train.value != NULL && d->n_outputs == 1
                                            : d->train.label != NULL;
    const bool of_tokens = d->labels_per_sample > 1;
    if (!fits || of_tokens != (target == TARGET_TOKENS))
        return error_set(err, ERROR_USAGE,
                         "task %s does not fit data set %s, whose targets are for %s",
                         (*task)->name, d->name, d->task);
    return true;
}

static bool check_models(const struct bucket_spec *spec, const struct optim_info **optim,
                         struct error *err)
{
    *optim = optim_find(spec->optimizer);
    if (!*optim)
        return error_set(err, ERROR_USAGE, "unknown optimizer '%s'", spec->optimizer);
    if (spec->n_models < 1)
        return error_set(err, ERROR_USAGE, "a bucket needs at least one model");
    if (spec->batch_size < 1)
        return error_set(err, ERROR_USAGE, "batch size %d: it must be at least 1",
                         (int)spec->batch_size);
    for (int32_t i = 0; i < spec->n_models; i++) {
        const struct train_spec *m = &spec->models[i];
        if (m->epochs < 1)
            return error_set(err, ERROR_USAGE, "job %s: %d epochs: it must be at least 1",
                             m->job_id, (int)m->epochs);
        if (!optim_check(*optim, &m->optim, err))
            return error_prefix(err, "job %s", m->job_id);
        if (!schedule_check(&m->schedule, (*optim)->kind, &m->optim, err))
            return error_prefix(err, "job %s", m->job_id);
        if (!isfinite(m->clip_grad_norm) || m->clip_grad_norm < 0)
            return error_set(err, ERROR_USAGE,
                             "job %s: clip_grad_norm %g: it must be a finite number, at least 0",
                             m->job_id, m->clip_grad_norm);
    }
    return true;
}

static int32_t most_slots(const struct bucket_spec *spec, enum optim_kind kind)
{
    int32_t most = 0;
    for (int32_t i = 0; i < spec->n_models; i++) {
        const int32_t n = optim_slots(kind, &spec->models[i].optim);
        most = n > most ? n : most;
    }
    return most;
}

static bool some_clip(const struct bucket_spec *spec)
{
    for (int32_t i = 0; i < spec->n_models; i++)
        if (spec->models[i].clip_grad_norm > 0)
            return true;
    return false;
}

/* Network and plan of a specification; what bucket_new and the size estimate share. */
struct blueprint {
    const struct task_info *task;
    const struct optim_info *optim;
    struct graph *graph;
    struct plan *plan;
};

static void blueprint_release(struct blueprint *p)
{
    plan_free(p->plan);
    graph_free(p->graph);
}

/* one_shard: as backend.h. */
static bool blueprint_make(struct blueprint *p, const struct bucket_spec *spec, bool one_shard,
                           struct error *err)
{
    *p = (struct blueprint){0};
    if (!check_task(spec, &p->task, err) || !check_models(spec, &p->optim, err))
        return false;
    p->graph = model_build(spec->model, spec->data->shape, spec->data->n_outputs, err);
    const bool readable = p->graph && graph_check_input(p->graph, spec->data->vocabulary, err);
    if (p->graph && !readable)
        error_prefix(err, "model '%s', data set %s", spec->model, spec->data->name);
    const struct plan_request request = {.batch = spec->batch_size,
                                         .rows_per_shard = one_shard ? spec->batch_size : 0,
                                         .task = p->task,
                                         .optim = p->optim->kind,
                                         .n_slots = most_slots(spec, p->optim->kind),
                                         .clips = some_clip(spec)};
    if (readable)
        p->plan = plan_build(p->graph, &request, err);
    bool ok = p->plan != NULL;
#ifndef NDEBUG
    ok = ok && plan_check(p->plan, err);
#endif
    if (!ok)
        blueprint_release(p);
    return ok;
}

/* ---- splits ---- */

/* Fields that a kind of split does not read do not tell two splits apart. */
static bool same_split(const struct split_spec *a, const struct split_spec *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == SPLIT_FIXED)
        return true;
    if (a->seed != b->seed)
        return false;
    if (a->kind == SPLIT_HOLDOUT)
        return a->fraction == b->fraction;
    return a->k == b->k && a->split_id == b->split_id;
}

static const struct shared_split *find_split(struct bucket *b, const struct bucket_spec *spec,
                                             const struct train_spec *m, struct error *err)
{
    for (int32_t i = 0; i < b->n_splits; i++)
        if (same_split(&b->splits[i].key, &m->split))
            return &b->splits[i];
    struct shared_split *s = &b->splits[b->n_splits];
    if (!split_make(&m->split, spec->data, spec->train_limit, &s->split, err)) {
        error_prefix(err, "job %s", m->job_id);
        return NULL;
    }
    b->n_splits++;
    const struct split *x = &s->split;
    if (x->n_train < 1 || x->n_val < 1) {
        error_set(err, ERROR_USAGE,
                  "job %s: its split of %s leaves %lld training and %lld "
                  "validation samples; both need at least one",
                  m->job_id, spec->data->name, (long long)x->n_train, (long long)x->n_val);
        return NULL;
    }
    s->key = m->split;
    s->val_is_train = !x->val_is_test && x->n_train == x->n_val &&
                      memcmp(x->train, x->val, (size_t)x->n_train * sizeof *x->train) == 0;
    return s;
}

/* ---- data ---- */

static struct source source_of(const struct dataset *d, const struct data_part *part)
{
    static const enum source_type types[] = {
        [DATA_U8] = SOURCE_U8, [DATA_F32] = SOURCE_F32, [DATA_I32] = SOURCE_I32};
    return (struct source){.type = types[d->x_type],
                           .x = part->x,
                           .sample_count = shape_count(d->shape),
                           .shape = d->shape,
                           .divisor = d->divisor,
                           .label = part->label,
                           .label_count = d->labels_per_sample,
                           .value = part->value,
                           .crop_flip = d->augment == AUGMENT_CROP_FLIP,
                           .n = part->n};
}

/* The two sources of a bucket, in the order they are held. */
static const struct source *source_at(const struct bucket *b, int i)
{
    return i == 0 ? &b->train_source : &b->test_source;
}

static bool hold_sources(struct bucket *b, struct error *err)
{
    const struct backend *backend = b->engine->backend;
    for (; backend->source_hold && b->n_held < 2; b->n_held++)
        if (!backend->source_hold(b->engine->device, source_at(b, b->n_held), err))
            return error_prefix(err, "data set %s", b->data->name);
    return true;
}

/* ---- bucket ---- */

void model_reset(struct model_state *m)
{
    m->epoch = 0;
    m->updates = 0;
    m->pause_after = 0;
    m->torn = m->finished = m->report_due = m->train_known = m->val_known = false;
    m->result = (struct model_result){.train_loss = NAN,
                                      .train_score = NAN,
                                      .val_loss = NAN,
                                      .val_score = NAN,
                                      .n_train = m->split->split.n_train,
                                      .n_val = m->split->split.n_val,
                                      .val_source = m->split->split.val_source};
}

static bool init_models(struct bucket *b, const struct bucket_spec *spec, struct error *err)
{
    const struct plan *p = b->plan;
    const size_t slots = (size_t)p->n_slots * p->param_floats;
    float *params = xcalloc(p->param_floats + 1, sizeof *params);
    float *buffers = xcalloc(p->buffer_floats + 1, sizeof *buffers);
    float *zeros = xcalloc(slots + 1, sizeof *zeros);
    bool ok = true;
    for (int32_t k = 0; ok && k < b->n_models; k++) {
        struct model_state *m = &b->models[k];
        m->bucket = b;
        m->k = k;
        m->spec = spec->models[k];
        m->spec.job_id = m->job_id = xstrdup(spec->models[k].job_id);
        m->split = find_split(b, spec, &m->spec, err);
        ok = m->split != NULL;
        if (!ok)
            break;
        m->order = xcalloc((size_t)m->split->split.n_train, sizeof *m->order);
        model_reset(m);
        graph_init_model(b->graph, m->spec.seed, params, buffers);
        b->engine->backend->model_write(b->memory, k, params, zeros, buffers);
    }
    free(zeros);
    free(buffers);
    free(params);
    return ok;
}

struct bucket *bucket_new(struct engine *e, const struct bucket_spec *spec, struct error *err)
{
    struct blueprint p;
    if (!blueprint_make(&p, spec, e->backend->one_shard, err))
        return NULL;
    struct bucket *b = xcalloc(1, sizeof *b);
    b->engine = e;
    b->data = spec->data;
    b->model = xstrdup(spec->model);
    b->task = p.task;
    b->optim = p.optim;
    b->n_models = spec->n_models;
    b->eval_each_epoch = spec->eval_each_epoch;
    b->macs = graph_macs(p.graph);
    b->graph = p.graph;
    b->plan = p.plan;
    b->train_source = source_of(spec->data, &spec->data->train);
    b->test_source = source_of(spec->data, &spec->data->test);
    b->models = xcalloc((size_t)b->n_models, sizeof *b->models);
    b->splits = xcalloc((size_t)b->n_models, sizeof *b->splits);
    b->memory = e->backend->bucket_new(e->device, b->plan, b->n_models, err);
    if (b->memory && hold_sources(b, err) && init_models(b, spec, err))
        return b;
    bucket_free(b);
    return NULL;
}

void bucket_free(struct bucket *b)
{
    if (!b)
        return;
    if (b->memory)
        b->engine->backend->bucket_free(b->memory);
    for (int i = 0; i < b->n_held; i++)
        b->engine->backend->source_drop(b->engine->device, source_at(b, i));
    for (int32_t k = 0; k < b->n_models; k++) {
        free(b->models[k].job_id);
        free(b->models[k].order);
    }
    for (int32_t i = 0; i < b->n_splits; i++)
        split_release(&b->splits[i].split);
    free(b->splits);
    free(b->models);
    plan_free(b->plan);
    graph_free(b->graph);
    free(b->model);
    free(b);
}

/* Of n models of the planned bucket; each has its order of an epoch, splits are shared and counted
 * once. */
static size_t bytes_of(const struct engine *e, const struct blueprint *p,
                       const struct bucket_spec *spec, int n)
{
    int64_t rows = spec->data->train.n;
    if (spec->train_limit > 0 && spec->train_limit < rows)
        rows = spec->train_limit;
    return e->backend->bucket_bytes(e->device, p->plan, n) +
           (size_t)rows * ((size_t)n + 1) * sizeof(uint32_t);
}

bool engine_bucket_sizes(const struct engine *e, const struct bucket_spec *spec, size_t *all,
                         size_t *one, struct error *err)
{
    struct blueprint p;
    if (!blueprint_make(&p, spec, e->backend->one_shard, err))
        return false;
    *all = bytes_of(e, &p, spec, spec->n_models);
    *one = bytes_of(e, &p, spec, 1);
    blueprint_release(&p);
    return true;
}

bool engine_bucket_bytes(const struct engine *e, const struct bucket_spec *spec, size_t *bytes,
                         struct error *err)
{
    size_t one;
    return engine_bucket_sizes(e, spec, bytes, &one, err);
}

bool engine_plan_print(const struct engine *e, const struct bucket_spec *spec, FILE *out,
                       struct error *err)
{
    struct blueprint p;
    if (!blueprint_make(&p, spec, e->backend->one_shard, err))
        return false;
    plan_print(p.plan, out);
    blueprint_release(&p);
    return true;
}

bool bucket_compile(struct bucket *b, struct error *err)
{
    const struct backend *backend = b->engine->backend;
    return !backend->bucket_compile || backend->bucket_compile(b->memory, err);
}

int bucket_size(const struct bucket *b)
{
    return b->n_models;
}

void bucket_set_user(struct bucket *b, void *user)
{
    b->user = user;
}

void *bucket_user(const struct bucket *b)
{
    return b->user;
}

uint64_t bucket_plan_hash(const struct bucket *b)
{
    return b->plan->hash;
}

void bucket_set_pause(struct bucket *b, int model, int32_t after_epoch)
{
    b->models[model].pause_after = after_epoch;
}
