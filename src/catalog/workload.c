/* The four workload types: how an experiment expands into jobs. */
#include "base/text.h"
#include "catalog/definition.h"
#include "catalog/net.h"
#include "nn/json_net.h"

#include <stdlib.h>
#include <string.h>

#define HOLDOUT_FRACTION 0.2

/* ---- ensemble: k equal networks, only the seed differs ----------------------------------------
 */

static bool nothing_to_check(const struct experiment *e, struct error *err)
{
    (void)e;
    (void)err;
    return true;
}

static int64_t count_k(const struct experiment *e)
{
    return e->k;
}

static bool ensemble_job(const struct experiment *e, int64_t i, uint64_t split_seed,
                         struct job *out, struct error *err)
{
    (void)split_seed;
    (void)err;
    out->job_id = xasprintf("%s_ens_s%lld", e->id, (long long)i);
    out->split.kind = SPLIT_FIXED;
    net_copy(&out->net, &e->net);
    return true;
}

/* ---- cv: one network a fold -------------------------------------------------------------------
 */

static bool cv_check(const struct experiment *e, struct error *err)
{
    if (e->k < 2)
        return error_set(err, ERROR_USAGE,
                         "folds must be at least 2, not %d: a fold is validated on what the others "
                         "do not train on",
                         e->k);
    return true;
}

static bool cv_job(const struct experiment *e, int64_t i, uint64_t split_seed, struct job *out,
                   struct error *err)
{
    (void)err;
    out->job_id = xasprintf("%s_fold%lld", e->id, (long long)i);
    out->split.kind = SPLIT_KFOLD;
    out->split.split_id = (int32_t)i;
    out->split.seed = split_seed;
    out->split.k = e->k;
    net_copy(&out->net, &e->net);
    return true;
}

/* ---- multi_model: one network an entry --------------------------------------------------------
 */

static int64_t multi_count(const struct experiment *e)
{
    return e->n_models;
}

static bool multi_job(const struct experiment *e, int64_t i, uint64_t split_seed, struct job *out,
                      struct error *err)
{
    (void)split_seed;
    (void)err;
    const char *model = e->models[i].model;
    if (json_net_is(model) && strrchr(model, '/'))
        model = strrchr(model, '/') + 1;
    /* A model's arguments, or a file's folder and ending, stay out of the id: the index already
     * tells entries apart. */
    const size_t len = json_net_is(model) ? strlen(model) - strlen(".json") : strcspn(model, "?");
    out->job_id = xasprintf("%s_m%lld_%.*s", e->id, (long long)i, (int)len, model);
    out->split.kind = SPLIT_FIXED;
    net_copy(&out->net, &e->models[i]);
    return true;
}

/* ---- hpo: the Cartesian product of the axes ---------------------------------------------------
 */

int64_t grid_size(const struct experiment *e)
{
    int64_t n = 1;
    for (int32_t i = 0; i < e->n_axes && n <= EXPERIMENT_MAX_JOBS; i++)
        n *= (int64_t)json_array_size(e->axes[i].values);
    return n <= EXPERIMENT_MAX_JOBS ? n : EXPERIMENT_MAX_JOBS + 1;
}

static const json_t *grid_value(const struct experiment *e, int32_t axis, int64_t trial)
{
    for (int32_t i = e->n_axes - 1; i > axis; i--)
        trial /= (int64_t)json_array_size(e->axes[i].values);
    const json_t *values = e->axes[axis].values;
    return json_array_get(values, (size_t)trial % json_array_size(values));
}

/* The optimiser comes first whatever the order of the keys: the others may be its options. */
static bool set_axes(const struct experiment *e, int64_t trial, int pass, struct net_def *net,
                     struct error *err)
{
    for (int32_t i = 0; i < e->n_axes; i++) {
        const char *key = e->axes[i].key;
        const int own_pass = strcmp(key, "optimizer") == 0          ? 0
                             : strcmp(key, "optimizer_kwargs") == 0 ? 1
                                                                    : 2;
        if (own_pass == pass && !net_set(net, key, grid_value(e, i, trial), err))
            return false;
    }
    return true;
}

bool grid_net(const struct experiment *e, int64_t i, struct net_def *out, struct error *err)
{
    struct net_def net;
    net_copy(&net, &e->net);
    bool ok = true;
    for (int pass = 0; ok && pass < 3; pass++)
        ok = set_axes(e, i, pass, &net, err);
    if (ok && net_check_options(&net, err)) {
        *out = net;
        return true;
    }
    net_release(&net);
    return false;
}

static bool hpo_check(const struct experiment *e, struct error *err)
{
    const int64_t n = grid_size(e);
    if (n > EXPERIMENT_MAX_JOBS)
        return error_set(err, ERROR_USAGE,
                         "search_space: the grid has more than %d trials: search over fewer values",
                         EXPERIMENT_MAX_JOBS);
    for (int64_t i = 0; i < n; i++) {
        struct net_def net;
        if (!grid_net(e, i, &net, err))
            return error_prefix(err, "search_space, trial %lld", (long long)i);
        net_release(&net);
    }
    return true;
}

static bool hpo_job(const struct experiment *e, int64_t i, uint64_t split_seed, struct job *out,
                    struct error *err)
{
    if (!grid_net(e, i, &out->net, err))
        return false;
    out->job_id = xasprintf("%s_t%lld", e->id, (long long)i);
    out->split.kind = SPLIT_HOLDOUT;
    out->split.split_id = (int32_t)i;
    out->split.seed = split_seed;
    out->split.fraction = HOLDOUT_FRACTION;
    out->eval_each_epoch = true;
    return true;
}

/* ---- the table --------------------------------------------------------------------------------
 */

static const struct workload_info ensemble = {
    .name = "ensemble",
    .summary = "K equal networks that differ in their seeds",
    .count_key = "committee_size",
    .check = nothing_to_check,
    .job_count = count_k,
    .job = ensemble_job,
};
static const struct workload_info cv = {
    .name = "cv",
    .summary = "cross-validation: one network a fold",
    .count_key = "folds",
    .check = cv_check,
    .job_count = count_k,
    .job = cv_job,
};
static const struct workload_info multi_model = {
    .name = "multi_model",
    .summary = "different networks, each on its own data set",
    .check = nothing_to_check,
    .job_count = multi_count,
    .job = multi_job,
};
static const struct workload_info hpo = {
    .name = "hpo",
    .summary = "a search: one network a combination of hyper-parameters",
    .uses_trial_scheduler = true,
    .check = hpo_check,
    .job_count = grid_size,
    .job = hpo_job,
};

const struct workload_info *const workload_table[] = {&ensemble, &cv, &multi_model, &hpo, NULL};

const struct workload_info *workload_find(const char *name)
{
    for (int i = 0; workload_table[i]; i++)
        if (strcmp(workload_table[i]->name, name) == 0)
            return workload_table[i];
    return NULL;
}
