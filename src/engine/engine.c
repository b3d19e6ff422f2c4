/* Devices, and running buckets on one. */
#include "engine/bucket.h"

#include "backend/load.h"
#include "base/text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct backend_options backend_options(const struct engine_options *o)
{
    return (struct backend_options){
        .threads = o->threads, .gpu = o->gpu, .tf32 = o->tf32, .compile = o->compile};
}

bool engine_check(const struct engine_options *options, struct error *err)
{
    const struct backend *backend = backend_find(options->device, err);
    const struct backend_options o = backend_options(options);
    return backend && (!backend->check || backend->check(&o, err));
}

struct engine *engine_open(const struct engine_options *options, struct error *err)
{
    const struct backend *backend = backend_find(options->device, err);
    if (!backend)
        return NULL;
    const struct backend_options o = backend_options(options);
    struct engine *e = xcalloc(1, sizeof *e);
    e->backend = backend;
    e->device = backend->open(&o, err);
    if (e->device)
        return e;
    free(e);
    return NULL;
}

void engine_close(struct engine *e)
{
    if (!e)
        return;
    e->backend->close(e->device);
    free(e);
}

int engine_threads(const struct engine *e)
{
    return e->backend->threads(e->device);
}

const char *engine_device(const struct engine *e)
{
    return e->backend->name;
}

const char *engine_variant(const struct engine *e)
{
    return e->backend->variant(e->device);
}

static bool should_stop(void *ctx)
{
    const struct engine_events *e = ((const struct run_context *)ctx)->events;
    return e->should_stop && e->should_stop(e->ctx);
}

/* The models with something left to do in this run. */
struct work {
    struct model_run *runs;
    struct model_run **list;
    struct model_state **models;
    int n;
};

static void work_release(struct work *w)
{
    free(w->models);
    free((void *)w->list);
    free(w->runs);
}

static void work_find(struct work *w, struct bucket *const *buckets, int n,
                      struct run_context *context)
{
    size_t all = 0;
    for (int i = 0; i < n; i++)
        all += (size_t)buckets[i]->n_models;
    *w = (struct work){.runs = xcalloc(all + 1, sizeof *w->runs),
                       .list = xcalloc(all + 1, sizeof(struct model_run *)),
                       .models = xcalloc(all + 1, sizeof(struct model_state *))};
    for (int i = 0; i < n; i++) {
        struct bucket *b = buckets[i];
        for (int32_t k = 0; k < b->n_models; k++) {
            struct model_state *m = &b->models[k];
            if (!train_wants_pass(m))
                continue;
            m->run = context;
            w->runs[w->n] = (struct model_run){.bucket = b->memory,
                                               .k = k,
                                               .ctx = m,
                                               .next = train_next,
                                               .done = train_done,
                                               .remaining = train_remaining};
            w->list[w->n] = &w->runs[w->n];
            w->models[w->n++] = m;
        }
    }
}

bool engine_run(struct engine *e, struct bucket *const *buckets, int n,
                const struct engine_events *events, struct error *err)
{
    static const struct engine_events silent = {0};
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct run_context context = {.events = events ? events : &silent, .mutex = &mutex};
    const struct run_hooks hooks = {
        .ctx = &context, .should_stop = should_stop, .tick = train_tick};
    for (int i = 0; i < n; i++)
        if (buckets[i]->engine != e)
            return error_set(err, ERROR_INTERNAL, "engine_run: bucket %d belongs to another engine",
                             i);
    struct work work;
    work_find(&work, buckets, n, &context);
    const bool ok = work.n == 0 || e->backend->run(e->device, work.list, work.n, &hooks, err);
    for (int i = 0; ok && i < work.n; i++)
        if (work.models[i]->torn || train_wants_pass(work.models[i]))
            train_interrupted(work.models[i]);
    for (int i = 0; i < n; i++)
        for (int32_t k = 0; k < buckets[i]->n_models; k++)
            buckets[i]->models[k].pause_after = 0;
    for (int i = 0; i < work.n; i++)
        work.models[i]->run = NULL;
    work_release(&work);
    pthread_mutex_destroy(&mutex);
    return ok;
}
