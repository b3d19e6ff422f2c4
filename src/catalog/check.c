/* Is an experiment usable now: model, data set, task, optimiser, and how they fit. */
#include "base/spec.h"
#include "base/text.h"
#include "catalog/definition.h"
#include "catalog/experiment.h"
#include "catalog/net.h"
#include "data/dataset.h"
#include "nn/model.h"
#include "nn/task.h"

#include <stdlib.h>
#include <string.h>

/* ---- one network ------------------------------------------------------------------------------
 */

static bool task_check(const char *name, struct error *err)
{
    if (task_find(name))
        return true;
    if (task_is_planned(name))
        return error_set(
            err, ERROR_USAGE,
            "task '%s' is in the catalogue, but this version of fugue does not have it "
            "yet",
            name);
    const char *names[16];
    struct text list;
    text_init(&list);
    size_t n = 0;
    for (; task_table[n] && n < 16; n++) {
        names[n] = task_table[n]->name;
        text_addf(&list, "%s%s", n ? ", " : "", names[n]);
    }
    error_set(err, ERROR_USAGE, "unknown task '%.60s'%s; there are %s", name,
              text_did_you_mean(name, names, n), list.data);
    text_release(&list);
    return false;
}

/* A task needs targets of its kind. */
static bool fit_task(const struct net_def *net, const struct data_info *data, struct error *err)
{
    const struct task_info *asked = task_find(net->task), *own = task_find(data->task);
    if (own && own->target == asked->target)
        return true;
    return error_set(err, ERROR_USAGE,
                     "task %s needs %s as targets, but data set %s is for %s: use task %s, or "
                     "another data set",
                     net->task, asked->target == TARGET_CLASS ? "class numbers" : "real numbers",
                     net->dataset, data->task, data->task);
}

static bool fit_model(const struct net_def *net, const struct data_info *data, struct error *err)
{
    struct graph *g = model_build(net->model, data->shape, data->n_outputs, err);
    if (!g)
        return error_prefix(err, "data set %s", net->dataset);
    graph_free(g);
    return true;
}

static bool net_check(const struct net_def *net, bool synthetic, struct error *err)
{
    if (!model_check(net->model, err) || !data_check(net->dataset, synthetic, err) ||
        !task_check(net->task, err))
        return false;
    const struct data_info *data = data_find(net->dataset);
    if (!data)
        return error_set(err, ERROR_USAGE, "unknown data set '%s'", net->dataset);
    return fit_task(net, data, err) && fit_model(net, data, err) &&
           optim_check(optim_find(net->optimizer), &net->optim, err);
}

/* ---- all networks of an experiment ------------------------------------------------------------
 */

/* Of a search only the task can differ in a way that matters here: batch sizes, rates and the
 * optimiser's options were checked when the definition was read. */
static bool tasks_check(const struct experiment *e, bool synthetic, struct error *err)
{
    for (int32_t a = 0; a < e->n_axes; a++) {
        if (strcmp(e->axes[a].key, "task") != 0)
            continue;
        size_t i;
        json_t *value;
        json_array_foreach(e->axes[a].values, i, value)
        {
            struct net_def net = e->net;
            net.task = (char *)json_string_value(value);
            if (!net_check(&net, synthetic, err))
                return false;
        }
    }
    return true;
}

bool experiment_check(const struct experiment *e, bool synthetic, struct error *err)
{
    bool ok = true;
    if (e->n_models == 0)
        ok = net_check(&e->net, synthetic, err) && tasks_check(e, synthetic, err);
    for (int32_t i = 0; ok && i < e->n_models; i++)
        ok = net_check(&e->models[i], synthetic, err);
    return ok || error_prefix(err, "%s", e->id);
}

/* ---- in a word --------------------------------------------------------------------------------
 */

static bool model_missing(const struct net_def *net)
{
    char *name = xasprintf("%.*s", (int)strcspn(net->model, "?"), net->model);
    const bool missing = model_is_planned(name);
    free(name);
    return missing;
}

static bool data_missing(const struct net_def *net, bool synthetic)
{
    const struct data_info *data = data_find(net->dataset);
    return data && !data->built && !(synthetic && data->synthetic);
}

static unsigned missing(const struct net_def *net, bool synthetic)
{
    return (model_missing(net) ? 1u : 0) | (data_missing(net, synthetic) ? 2u : 0) |
           (task_is_planned(net->task) ? 4u : 0);
}

const char *experiment_state(const struct experiment *e, bool synthetic)
{
    static const char *const words[] = {
        "built",
        "model not built yet",
        "data set not built yet",
        "model and data set not built yet",
        "task not built yet",
        "model and task not built yet",
        "data set and task not built yet",
        "model, data set and task not built yet",
    };
    unsigned what = e->n_models == 0 ? missing(&e->net, synthetic) : 0;
    for (int32_t i = 0; i < e->n_models; i++)
        what |= missing(&e->models[i], synthetic);
    if (what == 0 && !experiment_check(e, synthetic, NULL))
        return "not usable: see 'fugue validate'";
    return words[what];
}
