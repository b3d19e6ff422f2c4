/* Runs buckets: a thread of the host each, so that different networks overlap step by step.
 *
 * A round is one pass of several models of a bucket at once: all that have a training pass to do,
 * else all that have an evaluation.  The host sends each model's rows and update rules, launches as
 * many steps as the longest pass has, and waits once at the end; models whose pass is over are
 * frozen meanwhile.
 */
#include "backend/cuda/device.h"

#include <stdlib.h>
#include <string.h>

#define TICK_S 0.05
#define WINDOW 64 /* steps between looks at the clock; two windows may be on their way */

/* A model of the bucket in this run. */
struct entry {
    struct model_run *run;
    struct pass pass;
    bool has_pass, finished;
};

struct bucket_run {
    struct backend_device *dev;
    struct backend_bucket *bucket;
    const struct run_hooks *hooks;
    struct entry *entries;
    int n;
    pthread_t thread;
    bool ok;
    struct error err;
};

static bool should_stop(struct backend_device *dev, const struct run_hooks *h)
{
    if (atomic_load_explicit(&dev->stopping, memory_order_relaxed))
        return true;
    if (!h || !h->should_stop || !h->should_stop(h->ctx))
        return false;
    atomic_store(&dev->stopping, true);
    return true;
}

static int64_t steps_of(const struct plan *plan, const struct pass *pass)
{
    return (pass->n_rows + plan->batch - 1) / plan->batch;
}

/* ---- what a round needs on the device ---- */

static void *room_for(struct cuda_room *room, size_t bytes, const char *what, struct error *err)
{
    if (room->bytes >= bytes)
        return room->memory;
    cudaFree(room->memory);
    room->memory = cuda_take(bytes, what, err);
    room->bytes = room->memory ? bytes : 0;
    return room->memory;
}

/* The device's copy of a list that lasts. */
static const uint32_t *list_of(struct backend_bucket *b, const uint32_t *rows, int64_t n,
                               struct error *err)
{
    for (int i = 0; i < b->n_lists; i++)
        if (b->lists[i].key == rows && b->lists[i].n == n)
            return b->lists[i].rows;
    struct cuda_list *lists = realloc(b->lists, (size_t)(b->n_lists + 1) * sizeof *lists);
    if (!lists) {
        host->error_set(err, ERROR_SYSTEM, "out of memory");
        return NULL;
    }
    b->lists = lists;
    const size_t bytes = (size_t)n * sizeof *rows;
    uint32_t *copy = cuda_take(bytes, "lists of samples", err);
    if (copy && !cuda_ok(cudaMemcpyAsync(copy, rows, bytes, cudaMemcpyHostToDevice, b->stream),
                         "sending a list of samples", err)) {
        cudaFree(copy);
        copy = NULL;
    }
    if (copy)
        lists[b->n_lists++] = (struct cuda_list){rows, n, copy};
    return copy;
}

/* The rows of a pass, in `own` unless they lie there for good. */
static const uint32_t *send_rows(struct backend_bucket *b, const struct pass *pass, uint32_t *own,
                                 struct error *err)
{
    const size_t bytes = (size_t)pass->n_rows * sizeof *own;
    if (!pass->rows_last && !pass->shuffled)
        return cuda_ok(cudaMemcpyAsync(own, pass->rows, bytes, cudaMemcpyHostToDevice, b->stream),
                       "sending the order of samples", err)
                   ? own
                   : NULL;
    const uint32_t *list = list_of(b, pass->rows, pass->n_rows, err);
    if (!list || !pass->shuffled)
        return list;
    cuda_shuffle_rows(list, pass->n_rows, pass->seed, pass->epoch, own, b->stream);
    return own;
}

static struct optim_step rule_of(const struct plan *plan, const struct pass *pass, int64_t index)
{
    const int64_t update = pass->first_update + index;
    const struct optim_args scheduled =
        pass->schedule ? host->schedule_apply(pass->schedule, plan->optim, &pass->optim, update - 1,
                                              pass->schedule_total)
                       : pass->optim;
    return optim_step_prepare(plan->optim, &scheduled, update);
}

/* Rules of all updates of all models of the round, `steps` a model. */
static const struct optim_step *send_rules(struct bucket_run *r, int64_t steps, struct error *err)
{
    struct backend_bucket *b = r->bucket;
    const size_t n = (size_t)steps * (size_t)r->n;
    struct optim_step *rules = malloc(n * sizeof *rules);
    struct optim_step *room = room_for(&b->rules, n * sizeof *rules, "update rules", err);
    if (!rules && room)
        host->error_set(err, ERROR_SYSTEM, "out of memory for %zu updates", n);
    bool ok = rules && room;
    for (int i = 0; ok && i < r->n; i++)
        for (int64_t s = 0; s < steps; s++)
            rules[(size_t)i * (size_t)steps + (size_t)s] =
                r->entries[i].has_pass && s < steps_of(b->plan, &r->entries[i].pass)
                    ? rule_of(b->plan, &r->entries[i].pass, s)
                    : (struct optim_step){0};
    ok = ok &&
         cuda_ok(cudaMemcpyAsync(room, rules, n * sizeof *rules, cudaMemcpyHostToDevice, b->stream),
                 "sending update rules", err);
    free(rules);
    return ok ? room : NULL;
}

#define BATCH_NORM_WARNING                                                                         \
    "batch norm met a batch with a single value a channel: it used its running statistics there"

/* As the CPU's kernels say it when they meet such a batch. */
static void warn_of_single_values(const struct plan *plan, const struct pass *pass)
{
    const int64_t last = (pass->n_rows - 1) % plan->batch + 1;
    if (pass->kind != PASS_TRAIN || (last > 1 && plan->batch > 1))
        return;
    for (int32_t i = 0; i < plan->train.n_steps; i++) {
        const struct plan_step *s = &plan->train.steps[i];
        if (s->kind == STEP_BN_STATS &&
            shape_count(s->in[0]) == (size_t)s->in[0].d[s->in[0].rank - 1])
            host->warn_once(BATCH_NORM_WARNING);
    }
}

static bool set_model(struct bucket_run *r, int i, uint32_t *own, const struct optim_step *rules,
                      struct error *err)
{
    struct backend_bucket *b = r->bucket;
    const struct pass *pass = &r->entries[i].pass;
    const struct cuda_source *source = cuda_source_find(r->dev, pass->source);
    if (!source)
        return host->error_set(err, ERROR_INTERNAL, "a pass over a source that nobody holds");
    const uint32_t *rows = send_rows(b, pass, own, err);
    if (!rows)
        return false;
    warn_of_single_values(b->plan, pass);
    b->host_models[r->entries[i].run->k] = (struct cuda_model){
        .source = *source,
        .rows = rows,
        .n_rows = pass->n_rows,
        .seed = pass->seed,
        .epoch = pass->epoch,
        .clip_grad_norm = pass->clip_grad_norm,
        .rules = rules,
    };
    return true;
}

/* Sends all that the round's passes need. */
static bool send_round(struct bucket_run *r, enum pass_kind kind, int64_t steps, struct error *err)
{
    struct backend_bucket *b = r->bucket;
    int64_t most = 0;
    for (int i = 0; i < r->n; i++)
        if (r->entries[i].has_pass && r->entries[i].pass.n_rows > most)
            most = r->entries[i].pass.n_rows;
    uint32_t *own =
        room_for(&b->rows, (size_t)r->n * (size_t)most * sizeof *own, "orders of samples", err);
    const struct optim_step *rules = own && kind == PASS_TRAIN ? send_rules(r, steps, err) : NULL;
    if (!own || (kind == PASS_TRAIN && !rules))
        return false;
    memset(b->host_models, 0, (size_t)b->n_models * sizeof *b->host_models);
    for (int i = 0; i < r->n; i++) {
        const struct entry *e = &r->entries[i];
        if (e->has_pass && e->pass.kind == kind &&
            !set_model(r, i, own + (size_t)i * (size_t)most, rules ? rules + i * steps : NULL, err))
            return false;
    }
    return cuda_ok(cudaMemcpyAsync(b->models, b->host_models,
                                   (size_t)b->n_models * sizeof *b->models, cudaMemcpyHostToDevice,
                                   b->stream),
                   "sending a pass", err);
}

/* ---- a round ---- */

static void tick(const struct bucket_run *r, enum pass_kind kind)
{
    const struct run_hooks *h = r->hooks;
    if (!h || !h->tick)
        return;
    for (int i = 0; i < r->n; i++) {
        const struct entry *e = &r->entries[i];
        const volatile struct cuda_progress *p = &r->bucket->progress[e->run->k];
        if (e->has_pass && e->pass.kind == kind && p->rows > 0)
            h->tick(h->ctx, e->run, &e->pass, p->rows, p->loss_sum);
    }
}

/* Launches up to `steps` steps; returns how many before it was told to stop. */
static int64_t launch_steps(const struct bucket_run *r, enum pass_kind kind, int64_t steps)
{
    struct backend_bucket *b = r->bucket;
    const struct cuda_program *p = kind == PASS_TRAIN ? &b->train : &b->eval;
    double last_tick = host->clock_now_s();
    int64_t done = 0, windows = 0;
    while (done < steps) {
        const int64_t end = steps - done < WINDOW ? steps : done + WINDOW;
        if (should_stop(r->dev, r->hooks))
            break;
        while (done < end) {
            const bool many = p->many && end - done >= CUDA_UNROLL;
            if (p->one)
                cudaGraphLaunch(many ? p->many : p->one, b->stream);
            else
                cuda_launch_step(b, p);
            done += many ? CUDA_UNROLL : 1;
        }
        cudaEventRecord(b->window[windows % 2], b->stream);
        if (++windows > 1 && cudaEventSynchronize(b->window[windows % 2]) != cudaSuccess)
            break;
        if (host->clock_now_s() - last_tick >= TICK_S) {
            last_tick = host->clock_now_s();
            tick(r, kind);
        }
    }
    return done;
}

static void report(struct bucket_run *r, enum pass_kind kind, int64_t launched, double t0,
                   double t1)
{
    for (int i = 0; i < r->n; i++) {
        struct entry *e = &r->entries[i];
        if (!e->has_pass || e->pass.kind != kind)
            continue;
        const int64_t steps = steps_of(r->bucket->plan, &e->pass);
        const struct pass_result result = {
            .sums = r->bucket->host_models[e->run->k].sums,
            .n_updates = kind == PASS_TRAIN ? (launched < steps ? launched : steps) : 0,
            .t_start_s = t0,
            .t_end_s = t1,
            .stopped = launched < steps,
        };
        e->has_pass = false;
        e->run->done(e->run->ctx, &e->pass, &result);
    }
}

static bool run_round(struct bucket_run *r, enum pass_kind kind, struct error *err)
{
    struct backend_bucket *b = r->bucket;
    const double t0 = host->clock_now_s();
    int64_t steps = 0;
    for (int i = 0; i < r->n; i++) {
        const struct entry *e = &r->entries[i];
        if (e->has_pass && e->pass.kind == kind && steps_of(b->plan, &e->pass) > steps)
            steps = steps_of(b->plan, &e->pass);
    }
    for (int k = 0; k < b->n_models; k++)
        b->progress[k] = (struct cuda_progress){0};
    if (!send_round(r, kind, steps, err))
        return false;
    const int64_t launched = launch_steps(r, kind, steps);
    if (!cuda_ok(cudaGetLastError(), "launching a step", err) ||
        !cuda_ok(cudaMemcpyAsync(b->host_models, b->models, (size_t)b->n_models * sizeof *b->models,
                                 cudaMemcpyDeviceToHost, b->stream),
                 "reading sums", err) ||
        !cuda_ok(cudaStreamSynchronize(b->stream), kind == PASS_TRAIN ? "training" : "evaluating",
                 err))
        return false;
    report(r, kind, launched, t0, host->clock_now_s());
    return true;
}

/* Gets passes for all models that have none; returns how many have one, *train: for training. */
static int fetch_passes(struct bucket_run *r, int *train)
{
    int n = 0;
    *train = 0;
    for (int i = 0; i < r->n; i++) {
        struct entry *e = &r->entries[i];
        if (!e->finished && !e->has_pass) {
            e->has_pass = e->run->next(e->run->ctx, &e->pass);
            e->finished = !e->has_pass;
        }
        n += e->has_pass;
        *train += e->has_pass && e->pass.kind == PASS_TRAIN;
    }
    return n;
}

static void *bucket_main(void *arg)
{
    struct bucket_run *r = arg;
    int train;
    r->ok = cuda_ok(cudaSetDevice(r->dev->gpu), "choosing it", &r->err);
    while (r->ok && !should_stop(r->dev, r->hooks) && fetch_passes(r, &train) > 0)
        r->ok = run_round(r, train > 0 ? PASS_TRAIN : PASS_EVAL, &r->err);
    if (!r->ok)
        atomic_store(&r->dev->stopping, true);
    return NULL;
}

/* ---- all buckets ---- */

/* Sorts the models by bucket; returns how many buckets there are. */
static int sort_runs(struct backend_device *dev, struct model_run *const *runs, int n,
                     const struct run_hooks *hooks, struct bucket_run *out, struct entry *entries)
{
    int n_buckets = 0, at = 0;
    for (int i = 0; i < n; i++) {
        bool seen = false;
        for (int j = 0; j < n_buckets && !seen; j++)
            seen = out[j].bucket == runs[i]->bucket;
        if (seen)
            continue;
        struct bucket_run *r = &out[n_buckets++];
        *r = (struct bucket_run){.dev = dev,
                                 .bucket = runs[i]->bucket,
                                 .hooks = hooks,
                                 .entries = entries + at,
                                 .err = ERROR_INIT};
        for (int j = i; j < n; j++)
            if (runs[j]->bucket == r->bucket)
                entries[at++].run = runs[j];
        r->n = (int)(entries + at - r->entries);
    }
    return n_buckets;
}

bool cuda_run(struct backend_device *dev, struct model_run *const *runs, int n,
              const struct run_hooks *hooks, struct error *err)
{
    struct bucket_run *buckets = calloc((size_t)n + 1, sizeof *buckets);
    struct entry *entries = calloc((size_t)n + 1, sizeof *entries);
    if (!buckets || !entries) {
        free(buckets);
        free(entries);
        return host->error_set(err, ERROR_SYSTEM, "out of memory for a run of %d models", n);
    }
    const int n_buckets = sort_runs(dev, runs, n, hooks, buckets, entries);
    atomic_store(&dev->stopping, false);
    int started = 0;
    while (started < n_buckets - 1 &&
           pthread_create(&buckets[started].thread, NULL, bucket_main, &buckets[started]) == 0)
        started++;
    for (int i = started; i < n_buckets; i++) /* the caller's thread takes what is left */
        bucket_main(&buckets[i]);
    for (int i = 0; i < started; i++)
        pthread_join(buckets[i].thread, NULL);
    bool ok = true;
    for (int i = 0; i < n_buckets && ok; i++) {
        ok = buckets[i].ok;
        if (!ok && err)
            *err = buckets[i].err;
    }
    free(buckets);
    free(entries);
    return ok;
}
