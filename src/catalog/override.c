/* --set KEY=V: a catalogue experiment shortened or changed for one run. */
#include "base/json.h"
#include "base/text.h"
#include "catalog/experiment.h"
#include "catalog/net.h"
#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

/* ---- what has been overridden so far ----------------------------------------------------------
 */

static bool overridden(const struct experiment *e, const char *key)
{
    struct text_list parts;
    text_list_init(&parts);
    if (e->overrides)
        text_split(&parts, e->overrides, ',');
    bool found = false;
    for (size_t i = 0; i < parts.n; i++) {
        const size_t len = strlen(key);
        found = found || (strncmp(parts.items[i], key, len) == 0 && parts.items[i][len] == '=');
    }
    text_list_release(&parts);
    return found;
}

/* An option set before its optimiser would be lost without a word. */
static const char *overridden_option(const struct experiment *e)
{
    for (int i = 0; i < OPTIM_COUNT; i++)
        for (int a = 0; a < optim_infos[i].n_args; a++)
            if (overridden(e, optim_infos[i].args[a].name))
                return optim_infos[i].args[a].name;
    return overridden(e, "betas") ? "betas" : NULL;
}

static void remember(struct experiment *e, const char *key, const char *value)
{
    char *longer = e->overrides ? xasprintf("%s,%s=%s", e->overrides, key, value)
                                : xasprintf("%s=%s", key, value);
    free(e->overrides);
    e->overrides = longer;
}

/* ---- keys of the experiment itself ------------------------------------------------------------
 */

static bool set_k(struct experiment *e, const char *value, struct error *err)
{
    int64_t k;
    if (!e->workload->count_key)
        return error_set(err, ERROR_USAGE, "k of a %s is its number of %s and cannot be set",
                         e->workload->name, e->n_models ? "models" : "combinations");
    if (!text_to_int64(value, &k) || k < 1 || k > EXPERIMENT_MAX_JOBS)
        return error_set(err, ERROR_USAGE, "k must be a whole number from 1 to %d, not '%.60s'",
                         EXPERIMENT_MAX_JOBS, value);
    const int32_t before = e->k;
    e->k = (int32_t)k;
    if (e->workload->check(e, err))
        return true;
    e->k = before;
    return false;
}

static bool set_train_size(struct experiment *e, const char *value, struct error *err)
{
    int64_t n;
    if (!text_to_int64(value, &n) || n < 1)
        return error_set(err, ERROR_USAGE,
                         "train_size must be a whole number, at least 1, not '%.60s'", value);
    e->train_size = n;
    return true;
}

/* ---- keys of a network ------------------------------------------------------------------------
 */

/* A task that was the data set's own follows the data set. */
static void follow_task(struct net_def *net, const char *old_task)
{
    const char *task = data_task(net->dataset);
    if (!task || !old_task || strcmp(net->task, old_task) != 0)
        return;
    free(net->task);
    net->task = xstrdup(task);
}

static bool set_net(struct net_def *net, const char *key, const json_t *value, struct error *err)
{
    if (strcmp(key, "optimizer") == 0)
        return net_change_optimizer(net, json_string_value(value), true, err);
    const char *old_task = strcmp(key, "dataset") == 0 ? data_task(net->dataset) : NULL;
    if (!net_set(net, key, value, err))
        return false;
    if (strcmp(key, "dataset") == 0)
        follow_task(net, old_task);
    return net_check_options(net, err);
}

static bool set_nets(struct experiment *e, const char *key, const json_t *value, struct error *err)
{
    if (e->n_models == 0)
        return set_net(&e->net, key, value, err);
    for (int32_t i = 0; i < e->n_models; i++)
        if (!set_net(&e->models[i], key, value, err))
            return error_prefix(err, "models[%d]", i);
    return true;
}

static bool replace_axis(struct experiment *e, const char *key, json_t *value)
{
    for (int32_t i = 0; i < e->n_axes; i++) {
        if (strcmp(e->axes[i].key, key) != 0)
            continue;
        json_array_clear(e->axes[i].values);
        json_array_append(e->axes[i].values, value);
        return true;
    }
    return false;
}

static bool set_field(struct experiment *e, const char *key, const char *text, struct error *err)
{
    if (strcmp(key, "optimizer") == 0 && overridden_option(e))
        return error_set(err, ERROR_USAGE, "set optimizer before its option %s",
                         overridden_option(e));
    json_t *value = net_value_from_text(key, text, err);
    if (!value)
        return false;
    /* An axis that is an option is no field of the base net, whose optimiser may lack it. */
    const bool axis = replace_axis(e, key, value);
    bool ok = axis || set_nets(e, key, value, err);
    if (ok && e->n_axes > 0)
        ok = e->workload->check(e, err);
    json_decref(value);
    return ok;
}

static bool set_any(struct experiment *e, const char *key, const char *value, struct error *err)
{
    static const char *const keys[] = {"epochs",        "batch_size",   "lr",       "k",
                                       "dataset",       "model",        "task",     "optimizer",
                                       "amp",           "train_size",   "momentum", "dampening",
                                       "nesterov",      "weight_decay", "betas",    "eps",
                                       "amsgrad",       "betas.0",      "betas.1",  "schedule",
                                       "clip_grad_norm"};
    if (overridden(e, key))
        return error_set(err, ERROR_USAGE, "%s is set twice: keep one", key);
    if (strcmp(key, "k") == 0)
        return set_k(e, value, err);
    if (strcmp(key, "train_size") == 0)
        return set_train_size(e, value, err);
    if (!net_key_known(key))
        return error_set(err, ERROR_USAGE, "an experiment has no '%.60s' to set%s", key,
                         text_did_you_mean(key, keys, sizeof keys / sizeof *keys));
    return set_field(e, key, value, err);
}

bool experiment_set(struct experiment *e, const char *key, const char *value, struct error *err)
{
    if (!set_any(e, key, value, err))
        return error_prefix(err, "--set %.60s=%.60s: %s", key, value, e->id);
    remember(e, key, value);
    return true;
}
