#include "cli/run_tracks.h"
#include "base/clock.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More jobs than this get no bar each: no screen shows them. */
#define MOST_BARS 500

struct member {
    double done, total; /* epochs */
    double samples_per_epoch;
    double samples_per_s, loss; /* NaN unknown */
    bool finished, failed;
    int bundle; /* -1: its bar is its own */
};

/* Jobs that share a bar: sums over its members, kept up to date by differences. */
struct bundle {
    char *name;
    int n, finished, failed, with_loss;
    double done, total, samples, loss;
    bool mixed; /* losses of different networks: their mean says nothing */
};

struct run_tracks {
    struct progress *progress;
    double (*now)(void);
    double start_s;
    struct job *jobs;
    struct member *members;
    int n;
    struct bundle *bundles; /* the buckets, then the whole cell */
    int n_bundles;
    bool each; /* bars of jobs too, where there are no buckets */
};

/* Training samples of an epoch, as far as the tables know; 0 otherwise. */
static double samples_per_epoch(const struct job *job)
{
    struct data_info info = {0};
    const struct split_spec *s = &job->split;
    /* Arguments are those of real content or of synthetic, never both. */
    if (!data_describe(job->net.dataset, false, &info, NULL))
        data_describe(job->net.dataset, true, &info, NULL);
    double n = (double)info.n_train;
    if (job->train_size > 0 && (double)job->train_size < n)
        n = (double)job->train_size;
    if (s->kind == SPLIT_HOLDOUT)
        n -= floor(n * s->fraction);
    else if (s->kind == SPLIT_KFOLD && s->k > 0)
        n -= floor(n / s->k);
    return n;
}

static void bundle_add(struct bundle *b, const struct member *m, int sign)
{
    b->done += sign * m->done;
    b->samples += sign * m->done * m->samples_per_epoch;
    b->finished += m->finished ? sign : 0;
    b->failed += m->failed ? sign : 0;
    if (isfinite(m->loss)) {
        b->loss += sign * m->loss;
        b->with_loss += sign;
    }
}

static void bundle_join(struct bundle *b, const struct member *m)
{
    b->n++;
    b->total += m->total;
    bundle_add(b, m, 1);
}

/* "mlp x3", with what tells the bucket from others of that network: data set, batch, number. */
static char *bucket_name(const struct run_tracks *t, const int *first, int number)
{
    const struct net_def *net = &t->jobs[first[number]].net;
    bool data = false, batch = false, same = false;
    for (int g = 0; g < t->n_bundles; g++) {
        const struct net_def *other = &t->jobs[first[g]].net;
        if (g == number || strcmp(other->model, net->model) != 0)
            continue;
        const bool other_data = strcmp(other->dataset, net->dataset) != 0;
        data |= other_data;
        batch |= other->batch_size != net->batch_size;
        same |= !other_data && other->batch_size == net->batch_size;
    }
    struct text name;
    text_init(&name);
    if (same)
        text_addf(&name, "bucket %d: ", number + 1);
    text_add(&name, net->model);
    if (data)
        text_addf(&name, " on %s", net->dataset);
    if (batch)
        text_addf(&name, " batch %d", (int)net->batch_size);
    if (t->bundles[number].n > 1)
        text_addf(&name, " x%d", t->bundles[number].n);
    char *out = text_take(&name);
    text_release(&name);
    return out;
}

static void make_buckets(struct run_tracks *t, const struct executor_info *executor)
{
    int *group = xmalloc(((size_t)t->n + 1) * sizeof *group);
    t->n_bundles = executor->buckets(t->jobs, t->n, group);
    int *first = xcalloc((size_t)t->n_bundles + 1, sizeof *first);
    t->bundles = xcalloc((size_t)t->n_bundles + 1, sizeof *t->bundles);
    for (int i = 0; i < t->n; i++) {
        struct bundle *b = &t->bundles[group[i]];
        if (b->n == 0)
            first[group[i]] = i;
        t->members[i].bundle = group[i];
        bundle_join(b, &t->members[i]);
    }
    for (int g = 0; g < t->n_bundles; g++)
        t->bundles[g].name = bucket_name(t, first, g);
    free(first);
    free(group);
}

static void make_whole(struct run_tracks *t)
{
    struct bundle *b = &t->bundles[t->n_bundles];
    for (int i = 0; i < t->n; i++) {
        bundle_join(b, &t->members[i]);
        b->mixed |= strcmp(t->jobs[i].net.model, t->jobs[0].net.model) != 0 ||
                    strcmp(t->jobs[i].net.dataset, t->jobs[0].net.dataset) != 0;
    }
    b->name = t->n == 1 ? xstrdup(t->jobs[0].job_id) : xasprintf("all %d networks", t->n);
    t->n_bundles++;
}

/* Means over the members: "4.2/10 epochs" of a network, not of all together. */
static void show_bundle(struct run_tracks *t, const struct bundle *b)
{
    char note[64];
    const double spent_s = t->now() - t->start_s;
    struct progress_state s = {
        .done = b->done / b->n,
        .total = b->total / b->n,
        .samples_per_s = spent_s > 0 ? b->samples / spent_s : 0,
        .loss = b->with_loss > 0 && !b->mixed ? b->loss / b->with_loss : (double)NAN,
        .finished = b->finished == b->n,
    };
    if (b->failed > 0) {
        snprintf(note, sizeof note, "%d of %d not trained to the end", b->failed, b->n);
        s.note = note;
    }
    progress_update(t->progress, b->name, &s);
}

struct run_tracks *run_tracks_new(struct progress *progress, const struct cell_spec *spec,
                                  double (*clock_now)(void))
{
    struct error unused = ERROR_INIT;
    const struct executor_info *executor = executor_find(spec->executor);
    struct job *jobs;
    int32_t n;
    if (!executor ||
        !experiment_jobs(spec->experiment, spec->seed, spec->split_seed, &jobs, &n, &unused))
        return NULL;
    struct run_tracks *t = xcalloc(1, sizeof *t);
    t->progress = progress;
    t->now = clock_now ? clock_now : clock_now_s;
    t->start_s = t->now();
    t->jobs = jobs;
    t->n = n;
    t->members = xcalloc((size_t)n + 1, sizeof *t->members);
    for (int i = 0; i < n; i++)
        t->members[i] = (struct member){.total = jobs[i].net.epochs,
                                        .samples_per_epoch = samples_per_epoch(&jobs[i]),
                                        .samples_per_s = NAN,
                                        .loss = NAN,
                                        .bundle = -1};
    const bool bars = progress_has_bars(progress);
    t->each = bars && !executor->buckets && n > 1 && n <= MOST_BARS;
    if (bars && executor->buckets && n > 1)
        make_buckets(t, executor);
    else
        t->bundles = xcalloc(1, sizeof *t->bundles);
    /* Of one bucket the bar is the cell's. */
    if (t->n_bundles != 1)
        make_whole(t);
    /* Shown from the start, the whole above its parts; times count from here. */
    show_bundle(t, &t->bundles[t->n_bundles - 1]);
    for (int i = 0; i + 1 < t->n_bundles; i++)
        show_bundle(t, &t->bundles[i]);
    return t;
}

void run_tracks_free(struct run_tracks *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->n_bundles; i++)
        free(t->bundles[i].name);
    free(t->bundles);
    free(t->members);
    jobs_free(t->jobs, t->n);
    free(t);
}

static void show_job(struct run_tracks *t, int job, const char *note)
{
    const struct member *m = &t->members[job];
    const struct progress_state s = {
        .done = m->done,
        .total = m->total,
        .samples_per_s = isfinite(m->samples_per_s) ? m->samples_per_s : 0,
        .loss = m->loss,
        .finished = m->finished,
        .note = note,
    };
    progress_update(t->progress, t->jobs[job].job_id, &s);
}

static void take(struct run_tracks *t, int job, const struct job_news *news, bool finished,
                 const char *note)
{
    if (job < 0 || job >= t->n)
        return;
    struct member *m = &t->members[job];
    struct bundle *whole = &t->bundles[t->n_bundles - 1];
    struct bundle *own = m->bundle >= 0 ? &t->bundles[m->bundle] : whole;
    struct bundle *const touched[] = {whole, own};
    const int n_touched = own == whole ? 1 : 2;
    for (int i = 0; i < n_touched; i++)
        bundle_add(touched[i], m, -1);
    if (isfinite(news->epochs_done))
        m->done = news->epochs_done;
    if (isfinite(news->samples_per_s))
        m->samples_per_s = news->samples_per_s;
    if (isfinite(news->loss))
        m->loss = news->loss;
    m->finished = finished;
    m->failed = note != NULL;
    for (int i = 0; i < n_touched; i++)
        bundle_add(touched[i], m, 1);
    /* The smallest first: what comes later may wait for the next drawing. */
    if (t->each)
        show_job(t, job, note);
    for (int i = n_touched; i-- > 0;)
        show_bundle(t, touched[i]);
}

void run_tracks_update(struct run_tracks *t, int job, const struct job_news *news)
{
    take(t, job, news, false, NULL);
}

void run_tracks_finish(struct run_tracks *t, int job, const struct job_news *news, const char *note)
{
    take(t, job, news, true, note);
}
