#include "cli/run_pretrained.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/run_plan.h"
#include "nn/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool given(const struct option_value *values, const char *name)
{
    return run_value(values, name)->given;
}

static bool mode_is(const struct option_value *values, const char *mode)
{
    const struct option_value *v = run_value(values, "--pretrained");
    return strcmp(v->given ? v->text : "auto", mode) == 0;
}

static bool any_published(const struct experiment *e)
{
    bool any = e->n_models == 0 && model_published(e->net.model);
    for (int32_t i = 0; i < e->n_models; i++)
        any = any || model_published(e->models[i].model);
    return any;
}

static void list_published(struct text *out)
{
    for (const struct model_info *const *m = model_table; *m; m++)
        if ((*m)->published)
            text_addf(out, "%s%s", out->len > 0 ? " and " : "", (*m)->name);
}

bool run_pretrained_useful(const struct option_value *values, struct experiment *const *experiments,
                           int n, struct error *err)
{
    bool any = false;
    if (!given(values, "--pretrained"))
        return true;
    if (given(values, "--init-weights") && !mode_is(values, "off"))
        return error_set(err, ERROR_USAGE,
                         "--init-weights gives every network its weights, and --pretrained %s asks "
                         "for others: leave one of them out",
                         run_value(values, "--pretrained")->text);
    for (int i = 0; i < n; i++)
        any = any || any_published(experiments[i]);
    if (any)
        return true;
    struct text names;
    text_init(&names);
    list_published(&names);
    error_set(err, ERROR_USAGE,
              "--pretrained changes nothing: of these experiments' models none has published "
              "weights (%s have); leave it out",
              names.data);
    text_release(&names);
    return false;
}

/* One line for a person, not for a program. */
static void notice(const struct option_value *values, const char *model, const char *format,
                   const char *path, const char *why)
{
    if (given(values, "--quiet") || given(values, "--json"))
        return;
    char *text = xasprintf(format, path, why);
    log_once(LOG_NOTICE, "%s %s", model, text);
    free(text);
}

static bool missing(const struct option_value *values, const struct job *job,
                    const struct weights_published *published, const char *path, struct error *err)
{
    if (mode_is(values, "require"))
        return error_set(err, ERROR_DATA,
                         "--pretrained require: '%s' is not there, which %s starts from; 'fugue "
                         "prefetch %s' fetches it, or put a safetensors file with the publisher's "
                         "names of tensors there",
                         path, job->net.model, published->name);
    notice(values, job->net.model,
           "starts from random weights: '%s' is not there ('fugue prefetch %s' fetches it)", path,
           published->name);
    return true;
}

static void add_name(struct exec_options *o, const char *name)
{
    const size_t n = strlen(o->pretrained);
    snprintf(o->pretrained + n, sizeof o->pretrained - n, "%s%s", n > 0 ? "," : "", name);
}

static bool settle_job(const struct option_value *values, struct cell_spec *cell,
                       const struct job *job, struct error *err)
{
    const struct weights_published *published = model_published(job->net.model);
    if (!published || job_pretrained(job, &cell->options))
        return true;
    struct error why = ERROR_INIT;
    char *path = path_join(cell->data_root, published->path);
    bool ok = true;
    if (!file_exists(path)) {
        ok = missing(values, job, published, path, err);
    } else if (job_pretrained_fit(job, &cell->options, published, &why)) {
        add_name(&cell->options, published->name);
        notice(values, job->net.model, "starts from the pretrained weights '%s'%s", path, "");
    } else if (mode_is(values, "require")) {
        *err = why;
        ok = error_prefix(err, "--pretrained require: %s", job->net.model);
    } else {
        notice(values, job->net.model, "starts from random weights: %.0s%s", "", why.text);
    }
    free(path);
    return ok;
}

bool run_pretrained_settle(const struct option_value *values, struct cell_spec *cell,
                           struct error *err)
{
    struct job *jobs;
    int32_t n;
    if (mode_is(values, "off") || given(values, "--init-weights") ||
        !any_published(cell->experiment))
        return true;
    if (!experiment_jobs(cell->experiment, cell->seed, cell->split_seed, &jobs, &n, err))
        return false;
    bool ok = true;
    for (int i = 0; ok && i < n; i++)
        if (i == 0 || strcmp(jobs[i].net.model, jobs[i - 1].net.model) != 0)
            ok = settle_job(values, cell, &jobs[i], err);
    jobs_free(jobs, n);
    return ok;
}
