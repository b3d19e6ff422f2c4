#include "exec/estimate.h"

#include "base/text.h"
#include "exec/executor.h"
#include "exec/stacking.h"

#include <stdlib.h>

/* A data set as the table describes it: what a plan depends on, without content. */
static bool outline(const struct job *job, struct dataset *out, struct error *err)
{
    static const int32_t a_label;
    static const float a_value;
    struct data_info info;
    /* Sets whose files this version cannot read have a shape all the same. */
    if (!data_describe(job->net.dataset, false, &info, NULL) &&
        !data_describe(job->net.dataset, true, &info, err))
        return false;
    const struct task_info *task = task_find(info.task);
    if (!task)
        return error_set(err, ERROR_USAGE, "data set '%s': this version has no task %s yet",
                         job->net.dataset, info.task);
    const bool real = task->target == TARGET_REAL;
    *out = (struct dataset){
        .name = job->net.dataset,
        .shape = info.shape,
        .n_outputs = info.n_outputs,
        .vocabulary = info.vocabulary,
        .labels_per_sample = task->target == TARGET_TOKENS ? info.shape.d[0] : 1,
        .task = info.task,
        .train = {.n = info.n_train,
                  .label = real ? NULL : &a_label,
                  .value = real ? &a_value : NULL},
    };
    return true;
}

/* The jobs of one bucket. */
struct stacked {
    struct dataset data;
    struct train_spec *models;
    struct bucket_spec spec;
};

static void stacked_release(struct stacked *s)
{
    free(s->models);
}

static bool stacked_make(struct stacked *s, const struct job *jobs, const int *group, int32_t n,
                         int which, struct error *err)
{
    const struct job *first = NULL;
    *s = (struct stacked){.models = xcalloc((size_t)n, sizeof *s->models)};
    int32_t n_models = 0;
    for (int32_t i = 0; i < n; i++)
        if (group[i] == which) {
            first = first ? first : &jobs[i];
            s->models[n_models++] = job_train_spec(&jobs[i]);
        }
    if (!first || !outline(first, &s->data, err)) {
        stacked_release(s);
        return false;
    }
    s->spec = (struct bucket_spec){.data = &s->data,
                                   .train_limit = first->train_size,
                                   .model = first->net.model,
                                   .task = first->net.task,
                                   .optimizer = first->net.optimizer,
                                   .batch_size = first->net.batch_size,
                                   .n_models = n_models,
                                   .models = s->models,
                                   .eval_each_epoch = first->eval_each_epoch};
    return true;
}

/* group: malloc'd. */
static int group_jobs(const struct job *jobs, int32_t n, int **group)
{
    int *which = xmalloc(((size_t)n + 1) * sizeof *which);
    *group = xmalloc(((size_t)n + 1) * sizeof **group);
    for (int32_t i = 0; i < n; i++)
        which[i] = i;
    const int n_groups = stacking_groups(jobs, which, n, *group);
    free(which);
    return n_groups;
}

bool estimate_memory(const struct engine *e, const struct job *jobs, int32_t n,
                     struct memory_estimate *out, struct error *err)
{
    int *group;
    const int n_groups = group_jobs(jobs, n, &group);
    bool ok = true;
    *out = (struct memory_estimate){0};
    for (int g = 0; ok && g < n_groups; g++) {
        struct stacked s;
        size_t one = 0, all = 0;
        if (!stacked_make(&s, jobs, group, n, g, err)) {
            ok = false;
            break;
        }
        ok = engine_bucket_sizes(e, &s.spec, &all, &one, err);
        out->one = one > out->one ? one : out->one;
        out->all += all;
        stacked_release(&s);
    }
    free(group);
    return ok;
}

bool estimate_print_plan(const struct engine *e, const struct job *jobs, int32_t n, FILE *out,
                         struct error *err)
{
    int *group;
    const int n_groups = group_jobs(jobs, n, &group);
    struct stacked s;
    size_t bytes;
    bool ok = stacked_make(&s, jobs, group, n, 0, err);
    if (ok) {
        ok = engine_bucket_bytes(e, &s.spec, &bytes, err);
        if (ok)
            fprintf(out,
                    "bucket 1 of %d: %d x %s on %s, batch %d, %s; %.1f MiB on %d thread%s of %s "
                    "(%s), data set aside\n",
                    n_groups, (int)s.spec.n_models, s.spec.model, s.data.name,
                    (int)s.spec.batch_size, s.spec.optimizer, (double)bytes / (1024.0 * 1024.0),
                    engine_threads(e), engine_threads(e) == 1 ? "" : "s", engine_device(e),
                    engine_variant(e));
        ok = ok && engine_plan_print(e, &s.spec, out, err);
        stacked_release(&s);
    }
    free(group);
    return ok;
}
