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
    static const char *const targets[] = {[TARGET_CLASS] = "class numbers",
                                          [TARGET_REAL] = "real numbers",
                                          [TARGET_TOKENS] = "a word for every place"};
    const struct task_info *asked = task_find(net->task), *own = task_find(data->task);
    if (own && own->target == asked->target)
        return true;
    return error_set(err, ERROR_USAGE,
                     "task %s needs %s as targets, but data set %s is for %s: use task %s, or "
                     "another data set",
                     net->task, targets[asked->target], net->dataset, data->task, data->task);
}

static bool fit_model(const struct net_def *net, const struct data_info *data, struct error *err)
{
    struct graph *g = model_build(net->model, data->shape, data->n_outputs, err);
    if (!g)
        return error_prefix(err, "data set %s", net->dataset);
    const bool ok = graph_check_input(g, data->vocabulary, err) &&
                    task_check_network(task_find(net->task), g, err);
    graph_free(g);
    return ok || error_prefix(err, "model '%s', data set %s", net->model, net->dataset);
}

static bool net_check(const struct net_def *net, bool synthetic, struct error *err)
{
    struct data_info data;
    if (!model_check(net->model, err) || !data_describe(net->dataset, synthetic, &data, err) ||
        !task_check(net->task, err))
        return false;
    return fit_task(net, &data, err) && fit_model(net, &data, err) && net_check_options(net, err);
}

/* ---- what this version lacks ------------------------------------------------------------------
 */

static bool data_missing(const struct net_def *net, bool synthetic)
{
    const struct data_info *data = data_find(net->dataset);
    return data && !data->built && !(synthetic && data->synthetic);
}

/* Distinct data sets of the catalogue whose content this version does not have. */
struct missing {
    struct text_list datasets;
    bool synthetic_helps; /* all of them can be generated */
};

static void add_missing(struct missing *m, const struct net_def *net, bool synthetic)
{
    if (!data_missing(net, synthetic))
        return;
    if (!text_list_has(&m->datasets, net->dataset))
        text_list_add(&m->datasets, net->dataset);
    if (!data_find(net->dataset)->synthetic)
        m->synthetic_helps = false;
}

static void find_missing(struct missing *m, const struct experiment *e, bool synthetic)
{
    text_list_init(&m->datasets);
    m->synthetic_helps = true;
    if (e->n_models == 0)
        add_missing(m, &e->net, synthetic);
    for (int32_t i = 0; i < e->n_models; i++)
        add_missing(m, &e->models[i], synthetic);
}

static void missing_release(struct missing *m)
{
    text_list_release(&m->datasets);
}

/* All of it in one sentence: who asks why E17 cannot be run wants to know the whole of it. */
static bool built_check(const struct experiment *e, bool synthetic, struct error *err)
{
    struct missing m;
    struct text list;
    find_missing(&m, e, synthetic);
    text_init(&list);
    for (size_t i = 0; i < m.datasets.n; i++)
        text_addf(&list, "%s %s", i ? "," : "", m.datasets.items[i]);
    const bool ok = m.datasets.n == 0;
    if (!ok)
        error_set(err, ERROR_USAGE, "not built yet in this version of fugue: data set%s%s%s",
                  m.datasets.n > 1 ? "s" : "", list.data,
                  m.synthetic_helps ? " (--data synthetic generates its shape, for speed only)"
                                    : "");
    text_release(&list);
    missing_release(&m);
    return ok;
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
    bool ok = built_check(e, synthetic, err);
    if (ok && e->n_models == 0)
        ok = net_check(&e->net, synthetic, err) && tasks_check(e, synthetic, err);
    for (int32_t i = 0; ok && i < e->n_models; i++)
        ok = net_check(&e->models[i], synthetic, err);
    return ok || error_prefix(err, "%s", e->id);
}

/* ---- in a word --------------------------------------------------------------------------------
 */

const char *experiment_state(const struct experiment *e, bool synthetic)
{
    struct missing m;
    find_missing(&m, e, synthetic);
    const bool is_missing = m.datasets.n > 0;
    missing_release(&m);
    if (is_missing)
        return "data set not built yet";
    return experiment_check(e, synthetic, NULL) ? "built" : "not usable: see 'fugue validate'";
}
