#include "catalog/experiment.h"

#include "base/json.h"
#include "base/text.h"
#include "catalog/definition.h"
#include "catalog/net.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- which keys a definition may have ---------------------------------------------------------
 */

static const char *const common_keys[] = {
    "type", "size",       "notes",  "optimizer", "optimizer_kwargs", "task",
    "amp",  "batch_size", "epochs", "lr",        "schedule",         "clip_grad_norm"};
static const char *const single_keys[] = {"model", "dataset"};
/* Written by experiment_to_json after --set; a user's file has no use for them. */
static const char *const override_keys[] = {"train_size", "overrides"};

/* Keys that belong to one workload type, so that a misplaced one can be told from a typing error.
 */
static const struct {
    const char *key, *type;
} type_keys[] = {{"committee_size", "ensemble"},
                 {"folds", "cv"},
                 {"search_space", "hpo"},
                 {"models", "multi_model"}};

static bool among(const char *key, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static bool is_multi(const struct workload_info *w)
{
    return strcmp(w->name, "multi_model") == 0;
}

static bool refuse_key(const char *key, const struct workload_info *w, struct error *err)
{
    for (size_t i = 0; i < COUNT(type_keys); i++)
        if (strcmp(type_keys[i].key, key) == 0)
            return error_set(err, ERROR_USAGE, "'%s' belongs to type %s, not to %s: take it out",
                             key, type_keys[i].type, w->name);
    if (is_multi(w) && among(key, single_keys, COUNT(single_keys)))
        return error_set(err, ERROR_USAGE,
                         "'%s' of a multi_model experiment stands in each entry of 'models'", key);
    if (strcmp(key, "scheduler") == 0 || strcmp(key, "priority") == 0)
        return error_set(err, ERROR_USAGE, "'%s' has no effect on an experiment: take it out", key);
    const char *known[COUNT(common_keys) + COUNT(single_keys) + COUNT(type_keys)];
    size_t n = 0;
    for (size_t i = 0; i < COUNT(common_keys); i++)
        known[n++] = common_keys[i];
    for (size_t i = 0; !is_multi(w) && i < COUNT(single_keys); i++)
        known[n++] = single_keys[i];
    for (size_t i = 0; i < COUNT(type_keys); i++)
        if (strcmp(type_keys[i].type, w->name) == 0)
            known[n++] = type_keys[i].key;
    const char *hint = text_did_you_mean(key, known, n);
    if (!*hint && net_key_known(key))
        hint = ": an optimizer's option stands in optimizer_kwargs";
    return error_set(err, ERROR_USAGE, "unknown key '%.60s'%s", key, hint);
}

static bool check_keys(const json_t *def, const struct experiment *e, const char **fault,
                       struct error *err)
{
    const bool user = strcmp(e->source, "experiments.json") == 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)def, key, value)
    {
        bool known = among(key, common_keys, COUNT(common_keys)) ||
                     (!is_multi(e->workload) && among(key, single_keys, COUNT(single_keys))) ||
                     (!user && among(key, override_keys, COUNT(override_keys)));
        for (size_t i = 0; i < COUNT(type_keys); i++)
            known = known || (strcmp(type_keys[i].key, key) == 0 &&
                              strcmp(type_keys[i].type, e->workload->name) == 0);
        if (known)
            continue;
        *fault = key;
        return refuse_key(key, e->workload, err);
    }
    return true;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static const char *known_source(const char *source)
{
    static const char *const names[] = {"built-in", "experiments.json"};
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(names[i], source) == 0)
            return names[i];
    return "ad-hoc";
}

static bool read_workload(struct experiment *e, const json_t *def, const char **fault,
                          struct error *err)
{
    const char *names[8];
    size_t n = 0;
    for (; workload_table[n]; n++)
        names[n] = workload_table[n]->name;
    const json_t *value = json_object_get(def, "type");
    if (!value)
        return error_set(err, ERROR_USAGE,
                         "type is missing: add it (ensemble, cv, multi_model or hpo)");
    *fault = "type";
    const char *name = json_string_value(value);
    if (!name)
        return error_set(err, ERROR_USAGE,
                         "type must be ensemble, cv, multi_model or hpo, in quotation marks");
    e->workload = workload_find(name);
    if (!e->workload)
        return error_set(err, ERROR_USAGE,
                         "unknown type '%.60s'%s; there are ensemble, cv, multi_model and hpo",
                         name, text_did_you_mean(name, names, n));
    *fault = NULL;
    return true;
}

static bool read_label(const json_t *def, const char *key, char **out, const char **fault,
                       struct error *err)
{
    const char *s = NULL;
    *fault = key;
    if (json_object_get(def, key)) {
        s = json_string_value(json_object_get(def, key));
        if (!s)
            return error_set(err, ERROR_USAGE, "%s must be a text in quotation marks", key);
    }
    *out = s ? xstrdup(s) : NULL;
    *fault = NULL;
    return true;
}

static bool read_count(struct experiment *e, const json_t *def, const char **fault,
                       struct error *err)
{
    const char *key = e->workload->count_key;
    if (!key)
        return true;
    const json_t *value = json_object_get(def, key);
    if (!value)
        return error_set(err, ERROR_USAGE, "%s is missing: type %s needs it", key,
                         e->workload->name);
    *fault = key;
    if (!json_is_integer(value) || json_integer_value(value) < 1 ||
        json_integer_value(value) > EXPERIMENT_MAX_JOBS) {
        char *given = json_line(value);
        error_set(err, ERROR_USAGE, "%s must be a whole number from 1 to %d, not %.60s", key,
                  EXPERIMENT_MAX_JOBS, given);
        free(given);
        return false;
    }
    e->k = (int32_t)json_integer_value(value);
    *fault = NULL;
    return true;
}

/* lr 1 and lr 1.0 are the same definition and must have the same hash. */
static json_t *axis_value(const char *key, const json_t *value)
{
    const bool whole = strcmp(key, "batch_size") == 0 || strcmp(key, "epochs") == 0;
    if (json_is_integer(value) && !whole)
        return json_real((double)json_integer_value(value));
    return json_deep_copy(value);
}

static bool read_axis(struct experiment *e, const char *key, const json_t *values,
                      struct error *err)
{
    if (!net_key_known(key) || strcmp(key, "model") == 0 || strcmp(key, "dataset") == 0)
        return error_set(err, ERROR_USAGE, "search_space: a job has no '%.60s' to search over%s",
                         key, net_key_hint(key));
    if (!json_is_array(values) || json_array_size(values) == 0)
        return error_set(err, ERROR_USAGE,
                         "search_space: %s must be a list of at least one value, as in [1, 2]",
                         key);
    struct search_axis *axis = &e->axes[e->n_axes++];
    axis->key = xstrdup(key);
    axis->values = json_array();
    for (size_t i = 0; i < json_array_size(values); i++)
        json_array_append_new(axis->values, axis_value(key, json_array_get(values, i)));
    return true;
}

static bool read_axes(struct experiment *e, const json_t *def, const char **fault,
                      struct error *err)
{
    const json_t *space = json_object_get(def, "search_space");
    if (!space)
        return error_set(err, ERROR_USAGE,
                         "search_space is missing: type hpo needs it (KEY: list of values)");
    *fault = "search_space";
    if (!json_is_object(space) || json_object_size(space) == 0)
        return error_set(err, ERROR_USAGE,
                         "search_space must be an object of lists, as in "
                         "{\"lr\": [0.001, 0.01]}");
    e->axes = xcalloc(json_object_size(space), sizeof *e->axes);
    const char *key;
    json_t *values;
    json_object_foreach((json_t *)space, key, values)
    {
        if (!read_axis(e, key, values, err))
            return false;
    }
    *fault = NULL;
    return true;
}

/* The net all trials start from: a searched field stands at its first value. */
static bool read_base_net(struct experiment *e, const json_t *def, const char **fault,
                          struct error *err)
{
    json_t *first = json_copy((json_t *)def);
    for (int32_t i = 0; i < e->n_axes; i++) {
        const char *key = e->axes[i].key;
        if (strcmp(key, "optimizer") != 0 && strcmp(key, "optimizer_kwargs") != 0)
            json_object_set(first, key, json_array_get(e->axes[i].values, 0));
    }
    const bool ok = net_from_json(&e->net, first, "model", fault, err);
    for (int32_t i = 0; !ok && *fault && i < e->n_axes; i++)
        if (strcmp(*fault, e->axes[i].key) == 0)
            *fault = "search_space";
    json_decref(first);
    return ok;
}

static bool check_entry_keys(const json_t *entry, struct error *err)
{
    static const char *const known[] = {"name", "dataset",   "batch_size",       "epochs",
                                        "lr",   "optimizer", "optimizer_kwargs", "task",
                                        "amp",  "schedule",  "clip_grad_norm"};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)entry, key, value)
    {
        if (strcmp(key, "priority") == 0)
            return error_set(err, ERROR_USAGE, "'priority' has no effect: take it out");
        if (!among(key, known, COUNT(known)))
            return error_set(err, ERROR_USAGE, "unknown key '%.60s'%s", key,
                             text_did_you_mean(key, known, COUNT(known)));
    }
    return true;
}

/* An entry's fields, each falling back to the experiment's. */
static bool read_entry(struct net_def *net, const json_t *def, const json_t *entry,
                       struct error *err)
{
    if (!json_is_object(entry))
        return error_set(err, ERROR_USAGE, "an object with name and dataset was expected");
    if (!check_entry_keys(entry, err))
        return false;
    json_t *merged = json_copy((json_t *)def);
    json_object_update(merged, (json_t *)entry);
    const bool ok = net_from_json(net, merged, "name", NULL, err);
    json_decref(merged);
    return ok;
}

static bool read_models(struct experiment *e, const json_t *def, const char **fault,
                        struct error *err)
{
    const json_t *models = json_object_get(def, "models");
    if (!models)
        return error_set(err, ERROR_USAGE,
                         "models is missing: type multi_model needs it (a list of "
                         "objects with name and dataset)");
    *fault = "models";
    const size_t n = json_array_size(models);
    if (n < 1 || n > EXPERIMENT_MAX_JOBS)
        return error_set(err, ERROR_USAGE,
                         "models must be a list of 1 to %d objects with name and "
                         "dataset",
                         EXPERIMENT_MAX_JOBS);
    e->models = xcalloc(n, sizeof *e->models);
    for (size_t i = 0; i < n; i++) {
        struct net_def *net = &e->models[e->n_models++];
        if (!read_entry(net, def, json_array_get(models, i), err))
            return error_prefix(err, "models[%zu]", i);
    }
    *fault = NULL;
    return true;
}

static bool read_overrides(struct experiment *e, const json_t *def, struct error *err)
{
    int64_t size;
    const char *overrides;
    if (!json_get_int_or(def, "train_size", e->id, 0, &size, err) ||
        !json_get_string_or(def, "overrides", e->id, NULL, &overrides, err))
        return false;
    if (size < 0)
        return error_set(err, ERROR_USAGE, "train_size must be at least 0, not %lld",
                         (long long)size);
    e->train_size = size;
    e->overrides = overrides ? xstrdup(overrides) : NULL;
    return true;
}

static bool read_body(struct experiment *e, const json_t *def, const char **fault,
                      struct error *err)
{
    if (!read_workload(e, def, fault, err) || !check_keys(def, e, fault, err) ||
        !read_label(def, "size", &e->size, fault, err) ||
        !read_label(def, "notes", &e->notes, fault, err) || !read_count(e, def, fault, err) ||
        !read_overrides(e, def, err))
        return false;
    if (is_multi(e->workload))
        return read_models(e, def, fault, err) && e->workload->check(e, err);
    if (strcmp(e->workload->name, "hpo") == 0 && !read_axes(e, def, fault, err))
        return false;
    if (!read_base_net(e, def, fault, err))
        return false;
    *fault = strcmp(e->workload->name, "hpo") == 0 ? "search_space" : e->workload->count_key;
    return e->workload->check(e, err);
}

struct experiment *definition_read(const char *id, const json_t *def, const char *source,
                                   const char **fault, struct error *err)
{
    *fault = NULL;
    if (!id_check(id, err))
        return NULL;
    if (!json_is_object(def)) {
        error_set(err, ERROR_USAGE,
                  "a definition is an object, as in {\"type\": \"ensemble\", ...}");
        return NULL;
    }
    struct experiment *e = xcalloc(1, sizeof *e);
    e->id = xstrdup(id);
    e->source = known_source(source);
    if (read_body(e, def, fault, err))
        return e;
    experiment_free(e);
    return NULL;
}

struct experiment *experiment_from_json(const char *id, const json_t *def, const char *source,
                                        const char *where, struct error *err)
{
    const char *fault;
    struct experiment *e = definition_read(id, def, source, &fault, err);
    if (!e && where)
        error_prefix(err, "%s", where);
    return e;
}

/* ---- life -------------------------------------------------------------------------------------
 */

void experiment_free(struct experiment *e)
{
    if (!e)
        return;
    for (int32_t i = 0; i < e->n_axes; i++) {
        free(e->axes[i].key);
        json_decref(e->axes[i].values);
    }
    for (int32_t i = 0; i < e->n_models; i++)
        net_release(&e->models[i]);
    net_release(&e->net);
    free(e->axes);
    free(e->models);
    free(e->id);
    free(e->size);
    free(e->notes);
    free(e->overrides);
    free(e);
}

struct experiment *experiment_copy(const struct experiment *e)
{
    struct experiment *c = xcalloc(1, sizeof *c);
    *c = *e;
    c->id = xstrdup(e->id);
    c->size = e->size ? xstrdup(e->size) : NULL;
    c->notes = e->notes ? xstrdup(e->notes) : NULL;
    c->overrides = e->overrides ? xstrdup(e->overrides) : NULL;
    net_copy(&c->net, &e->net);
    c->axes = xcalloc((size_t)e->n_axes + 1, sizeof *c->axes);
    for (int32_t i = 0; i < e->n_axes; i++) {
        c->axes[i].key = xstrdup(e->axes[i].key);
        c->axes[i].values = json_deep_copy(e->axes[i].values);
    }
    c->models = xcalloc((size_t)e->n_models + 1, sizeof *c->models);
    for (int32_t i = 0; i < e->n_models; i++)
        net_copy(&c->models[i], &e->models[i]);
    return c;
}
