#include "catalog/net.h"

#include "base/json.h"
#include "base/text.h"
#include "data/dataset.h"
#include "nn/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct net_field {
    const char *name;
    size_t offset; /* in struct net_def */
    bool (*set)(struct net_def *net, const struct net_field *f, const json_t *value,
                struct error *err);
    json_t *(*parse)(const char *text); /* NULL when the text is not of the type */
    int64_t min, max;
    const char *what; /* "a whole number" */
    bool required;
};

/* ---- values of fields -------------------------------------------------------------------------
 */

/* The value as written, cut to what fits a sentence. */
static bool bad_value(const struct net_field *f, const json_t *value, struct error *err)
{
    char *given = json_line(value);
    const bool ranged = f->max > f->min;
    if (ranged)
        error_set(err, ERROR_USAGE, "%s must be %s from %lld to %lld, not %.60s", f->name, f->what,
                  (long long)f->min, (long long)f->max, given);
    else
        error_set(err, ERROR_USAGE, "%s must be %s, not %.60s", f->name, f->what, given);
    free(given);
    return false;
}

static bool set_text(struct net_def *net, const struct net_field *f, const json_t *value,
                     struct error *err)
{
    const char *s = json_string_value(value);
    if (!s || !*s || strlen(s) != json_string_length(value))
        return bad_value(f, value, err);
    char **field = (char **)((char *)net + f->offset);
    free(*field);
    *field = xstrdup(s);
    return true;
}

static bool set_int(struct net_def *net, const struct net_field *f, const json_t *value,
                    struct error *err)
{
    const json_int_t v = json_integer_value(value);
    if (!json_is_integer(value) || v < f->min || v > f->max)
        return bad_value(f, value, err);
    *(int32_t *)((char *)net + f->offset) = (int32_t)v;
    return true;
}

static bool set_rate(struct net_def *net, const struct net_field *f, const json_t *value,
                     struct error *err)
{
    const double v = json_number_value(value);
    if (!json_is_number(value) || !isfinite(v) || v < 0)
        return bad_value(f, value, err);
    *(double *)((char *)net + f->offset) = v;
    return true;
}

static bool set_bool(struct net_def *net, const struct net_field *f, const json_t *value,
                     struct error *err)
{
    if (!json_is_boolean(value))
        return bad_value(f, value, err);
    *(bool *)((char *)net + f->offset) = json_is_true(value);
    return true;
}

static bool set_optimizer(struct net_def *net, const struct net_field *f, const json_t *value,
                          struct error *err)
{
    if (!json_is_string(value))
        return bad_value(f, value, err);
    return net_change_optimizer(net, json_string_value(value), false, err);
}

/* "constant" is kept as nothing: it is what a definition without the field means. */
static bool set_schedule(struct net_def *net, const struct net_field *f, const json_t *value,
                         struct error *err)
{
    const char *s = json_string_value(value);
    struct schedule parsed;
    if (!s || !*s || strlen(s) != json_string_length(value))
        return bad_value(f, value, err);
    if (!schedule_parse(&parsed, s, err))
        return false;
    free(net->schedule);
    net->schedule = strcmp(s, "constant") == 0 ? NULL : xstrdup(s);
    return true;
}

static bool set_option(struct net_def *net, const char *name, const json_t *value,
                       struct error *err);

/* All options at once: what the object does not name goes back to the default. */
static bool set_options(struct net_def *net, const struct net_field *f, const json_t *value,
                        struct error *err)
{
    if (!json_is_object(value))
        return bad_value(f, value, err);
    const double lr = net->optim.lr;
    net->optim = optim_find(net->optimizer)->defaults;
    net->optim.lr = lr;
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)value, name, member)
    {
        if (!set_option(net, name, member, err))
            return false;
    }
    return true;
}

static json_t *parse_text(const char *text)
{
    return *text ? json_string(text) : NULL;
}

static json_t *parse_int(const char *text)
{
    int64_t v;
    return text_to_int64(text, &v) ? json_integer(v) : NULL;
}

static json_t *parse_number(const char *text)
{
    double v;
    return text_to_double(text, &v) ? json_real(v) : NULL;
}

static json_t *parse_bool(const char *text)
{
    if (text_equal_nocase(text, "true"))
        return json_true();
    return text_equal_nocase(text, "false") ? json_false() : NULL;
}

#define AT(member) offsetof(struct net_def, member)
static const struct net_field fields[] = {
    {"model", AT(model), set_text, parse_text, 0, 0, "a name", true},
    {"dataset", AT(dataset), set_text, parse_text, 0, 0, "a name", true},
    {"batch_size", AT(batch_size), set_int, parse_int, 1, NET_MAX_BATCH, "a whole number", true},
    {"epochs", AT(epochs), set_int, parse_int, 1, NET_MAX_EPOCHS, "a whole number", true},
    {"lr", AT(optim.lr), set_rate, parse_number, 0, 0, "a finite number, at least 0", true},
    {"optimizer", AT(optimizer), set_optimizer, parse_text, 0, 0, "the name of an optimizer",
     false},
    {"optimizer_kwargs", AT(optim), set_options, NULL, 0, 0,
     "an object of options, as in {\"momentum\": 0.9}", false},
    {"schedule", AT(schedule), set_schedule, parse_text, 0, 0,
     "a schedule of the learning rate, as in cosine?t_max=20", false},
    {"clip_grad_norm", AT(clip_grad_norm), set_rate, parse_number, 0, 0,
     "a finite number, at least 0", false},
    {"task", AT(task), set_text, parse_text, 0, 0, "a name", false},
    {"amp", AT(amp), set_bool, parse_bool, 0, 0, "true or false", false},
};
#define N_FIELDS (sizeof fields / sizeof *fields)

static const struct net_field *find_field(const char *name)
{
    for (size_t i = 0; i < N_FIELDS; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

/* ---- options of optimisers --------------------------------------------------------------------
 */

static const struct optim_arg *find_option(const struct optim_info *info, const char *name)
{
    for (int i = 0; i < info->n_args; i++)
        if (strcmp(info->args[i].name, name) == 0)
            return &info->args[i];
    return NULL;
}

/* The option of that name of any optimiser: they agree on its type. */
static const struct optim_arg *any_option(const char *name)
{
    for (int i = 0; i < OPTIM_COUNT; i++) {
        const struct optim_arg *arg = find_option(&optim_infos[i], name);
        if (arg)
            return arg;
    }
    return NULL;
}

static bool is_betas(const char *name)
{
    return strcmp(name, "betas") == 0;
}

/* Typed JSON as the text optim_set takes; malloc'd, NULL when of the wrong type. */
static char *option_text(const struct optim_arg *arg, const char *name, const json_t *value)
{
    if (is_betas(name)) {
        const json_t *a = json_array_get(value, 0), *b = json_array_get(value, 1);
        if (json_array_size(value) != 2 || !json_is_number(a) || !json_is_number(b))
            return NULL;
        return xasprintf("%.17g,%.17g", json_number_value(a), json_number_value(b));
    }
    if (arg->type == OPTIM_ARG_BOOL)
        return json_is_boolean(value) ? xstrdup(json_is_true(value) ? "true" : "false") : NULL;
    return json_is_number(value) ? xasprintf("%.17g", json_number_value(value)) : NULL;
}

static bool set_option(struct net_def *net, const char *name, const json_t *value,
                       struct error *err)
{
    const struct optim_info *info = optim_find(net->optimizer);
    const struct optim_arg *arg = find_option(info, is_betas(name) ? "betas.0" : name);
    if (!arg)
        return optim_set(info, &net->optim, name, "", err); /* says what there is */
    char *text = option_text(arg, name, value);
    if (!text) {
        char *given = json_line(value);
        error_set(err, ERROR_USAGE, "%s: %s must be %s, not %.60s", info->name, name,
                  is_betas(name)                ? "a list of two numbers, as in [0.9, 0.999]"
                  : arg->type == OPTIM_ARG_BOOL ? "true or false"
                                                : "a number",
                  given);
        free(given);
        return false;
    }
    const bool ok = optim_set(info, &net->optim, name, text, err);
    free(text);
    return ok;
}

static json_t *option_value(const struct optim_arg *arg, const struct optim_args *args)
{
    const char *field = (const char *)args + arg->offset;
    if (arg->type == OPTIM_ARG_BOOL)
        return json_boolean(*(const bool *)field);
    return json_real(*(const double *)field);
}

static json_t *options_json(const struct net_def *net)
{
    const struct optim_info *info = optim_find(net->optimizer);
    json_t *obj = json_object();
    for (int i = 0; i < info->n_args; i++) {
        const struct optim_arg *arg = &info->args[i];
        json_t *value = option_value(arg, &net->optim);
        if (!text_starts_with(arg->name, "betas.")) {
            json_object_set_new(obj, arg->name, value);
            continue;
        }
        if (!json_object_get(obj, "betas"))
            json_object_set_new(obj, "betas", json_array());
        json_array_append_new(json_object_get(obj, "betas"), value);
    }
    return obj;
}

static bool is_changed(const struct net_def *net, const struct optim_info *info, int i)
{
    json_t *value = option_value(&info->args[i], &net->optim);
    json_t *fallback = option_value(&info->args[i], &info->defaults);
    const bool changed = !json_equal(value, fallback);
    json_decref(value);
    json_decref(fallback);
    return changed;
}

static void add_option(struct text *out, const struct net_def *net, const struct optim_arg *arg)
{
    json_t *value = option_value(arg, &net->optim);
    if (json_is_true(value))
        text_add(out, arg->name);
    else
        text_addf(out, "%s=%g", arg->name, json_number_value(value));
    json_decref(value);
}

char *net_options_text(const struct net_def *net)
{
    const struct optim_info *info = optim_find(net->optimizer);
    struct text out;
    text_init(&out);
    for (int i = 0; i < info->n_args; i++) {
        const bool pair = strcmp(info->args[i].name, "betas.0") == 0;
        if (is_changed(net, info, i) || (pair && is_changed(net, info, i + 1))) {
            text_add(&out, out.len ? " " : "");
            if (pair)
                text_addf(&out, "betas=%g,%g", net->optim.beta1, net->optim.beta2);
            else
                add_option(&out, net, &info->args[i]);
        }
        i += pair;
    }
    char *result = text_take(&out);
    text_release(&out);
    return result;
}

static bool unknown_optimizer(const char *name, struct error *err)
{
    const char *names[OPTIM_COUNT];
    for (int i = 0; i < OPTIM_COUNT; i++)
        names[i] = optim_infos[i].name;
    struct text list;
    text_init(&list);
    for (int i = 0; i < OPTIM_COUNT; i++)
        text_addf(&list, "%s%s", i ? ", " : "", names[i]);
    error_set(err, ERROR_USAGE, "unknown optimizer '%.60s'%s; there are %s", name,
              text_did_you_mean(name, names, OPTIM_COUNT), list.data);
    text_release(&list);
    return false;
}

bool net_change_optimizer(struct net_def *net, const char *name, bool drop, struct error *err)
{
    const struct optim_info *to = optim_find(name), *from = optim_find(net->optimizer);
    if (!to)
        return unknown_optimizer(name, err);
    if (to == from)
        return true;
    struct optim_args args = to->defaults;
    args.lr = net->optim.lr;
    for (int i = 0; i < from->n_args; i++) {
        const struct optim_arg *arg = &from->args[i], *there = find_option(to, arg->name);
        json_t *value = option_value(arg, &net->optim);
        json_t *fallback = option_value(arg, &from->defaults);
        const bool given = !json_equal(value, fallback);
        if (given && there && there->type == OPTIM_ARG_BOOL)
            *(bool *)((char *)&args + there->offset) = json_is_true(value);
        else if (given && there)
            *(double *)((char *)&args + there->offset) = json_number_value(value);
        json_decref(value);
        json_decref(fallback);
        if (given && !there && !drop)
            return error_set(err, ERROR_USAGE,
                             "optimizer %s has no option '%s', which is set for %s: take it out of "
                             "optimizer_kwargs",
                             to->name, arg->name, from->name);
    }
    free(net->optimizer);
    net->optimizer = xstrdup(to->name);
    net->optim = args;
    return true;
}

/* ---- keys -------------------------------------------------------------------------------------
 */

bool net_key_known(const char *key)
{
    return find_field(key) || any_option(key) || is_betas(key);
}

const char *net_key_hint(const char *key)
{
    static const char *const keys[] = {
        "model",        "dataset",  "batch_size", "epochs",         "lr",       "optimizer",
        "task",         "amp",      "schedule",   "clip_grad_norm", "momentum", "dampening",
        "weight_decay", "nesterov", "betas.0",    "betas.1",        "amsgrad",  "eps"};
    return text_did_you_mean(key, keys, sizeof keys / sizeof *keys);
}

bool net_set(struct net_def *net, const char *key, const json_t *value, struct error *err)
{
    const struct net_field *f = find_field(key);
    return f ? f->set(net, f, value, err) : set_option(net, key, value, err);
}

static json_t *betas_from_text(const char *text)
{
    struct text_list parts;
    text_list_init(&parts);
    text_split(&parts, text, ',');
    double a, b;
    json_t *pair = NULL;
    if (parts.n == 2 && text_to_double(parts.items[0], &a) && text_to_double(parts.items[1], &b))
        pair = json_pack("[f,f]", a, b);
    text_list_release(&parts);
    return pair;
}

json_t *net_value_from_text(const char *key, const char *text, struct error *err)
{
    const struct net_field *f = find_field(key);
    const struct optim_arg *arg = any_option(key);
    json_t *value = NULL;
    const char *what = "a number";
    if (f && !f->parse) {
        error_set(err, ERROR_USAGE,
                  "%s cannot be given as text: name its options, as in momentum=0.9", key);
        return NULL;
    }
    if (f) {
        value = f->parse(text);
        what = f->what;
    } else if (is_betas(key)) {
        value = betas_from_text(text);
        what = "two numbers, as in 0.9,0.999";
    } else if (arg && arg->type == OPTIM_ARG_BOOL) {
        value = parse_bool(text);
        what = "true or false";
    } else if (arg) {
        value = parse_number(text);
    }
    if (!value)
        error_set(err, ERROR_USAGE, "%s must be %s, not '%.60s'", key, what, text);
    return value;
}

/* ---- whole nets -------------------------------------------------------------------------------
 */

void net_init(struct net_def *net)
{
    memset(net, 0, sizeof *net);
    net->optimizer = xstrdup("adamw");
    net->optim = optim_find("adamw")->defaults;
}

static char *dup_or_null(const char *s)
{
    return s ? xstrdup(s) : NULL;
}

void net_copy(struct net_def *dst, const struct net_def *src)
{
    *dst = *src;
    dst->model = dup_or_null(src->model);
    dst->dataset = dup_or_null(src->dataset);
    dst->task = dup_or_null(src->task);
    dst->optimizer = dup_or_null(src->optimizer);
    dst->schedule = dup_or_null(src->schedule);
}

void net_release(struct net_def *net)
{
    free(net->model);
    free(net->dataset);
    free(net->task);
    free(net->optimizer);
    free(net->schedule);
    memset(net, 0, sizeof *net);
}

bool net_from_json(struct net_def *net, const json_t *def, const char *model_key,
                   const char **fault, struct error *err)
{
    static const char *const order[] = {"optimizer",
                                        "optimizer_kwargs",
                                        "model",
                                        "dataset",
                                        "batch_size",
                                        "epochs",
                                        "lr",
                                        "task",
                                        "amp",
                                        "schedule",
                                        "clip_grad_norm"};
    const char *unused;
    fault = fault ? fault : &unused;
    *fault = NULL;
    net_init(net);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        struct net_field f = *find_field(order[i]);
        const char *key = strcmp(f.name, "model") == 0 ? model_key : f.name;
        const json_t *value = json_object_get(def, key);
        f.name = key;
        if (!value && f.required)
            return error_set(err, ERROR_USAGE, "%s is missing: add it (%s)", key, f.what);
        if (!value)
            continue;
        *fault = key;
        if (!f.set(net, &f, value, err))
            return false;
        *fault = NULL;
    }
    if (!net->task) {
        const char *task = data_task(net->dataset);
        net->task = xstrdup(task ? task : "classification");
    }
    return net_check_options(net, err);
}

bool net_check_options(const struct net_def *net, struct error *err)
{
    const struct optim_info *info = optim_find(net->optimizer);
    struct schedule schedule;
    return optim_check(info, &net->optim, err) && schedule_parse(&schedule, net->schedule, err) &&
           schedule_check(&schedule, info->kind, &net->optim, err);
}

/* What a definition need not say is written only where it says something: the hash of a definition
 * does not change when there is a new field. */
void net_to_json(const struct net_def *net, const char *model_key, json_t *obj)
{
    json_object_set_new(obj, model_key, json_string(net->model));
    json_object_set_new(obj, "dataset", json_string(net->dataset));
    json_object_set_new(obj, "batch_size", json_integer(net->batch_size));
    json_object_set_new(obj, "epochs", json_integer(net->epochs));
    json_object_set_new(obj, "lr", json_number(net->optim.lr));
    json_object_set_new(obj, "optimizer", json_string(net->optimizer));
    json_object_set_new(obj, "optimizer_kwargs", options_json(net));
    json_object_set_new(obj, "task", json_string(net->task));
    json_object_set_new(obj, "amp", json_boolean(net->amp));
    if (net->schedule)
        json_object_set_new(obj, "schedule", json_string(net->schedule));
    if (net->clip_grad_norm > 0)
        json_object_set_new(obj, "clip_grad_norm", json_number(net->clip_grad_norm));
}
