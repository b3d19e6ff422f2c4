#include "nn/optim.h"

#include "base/text.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a)       (int)(sizeof(a) / sizeof *(a))
#define OPTIM_MAX_ARGS 8
#define AT(field)      offsetof(struct optim_args, field)
#define NUMBER(n, f, hi)                                                                           \
    {                                                                                              \
        .name = (n), .type = OPTIM_ARG_NUMBER, .offset = AT(f), .max = (hi)                        \
    }
#define BETA(n, f)                                                                                 \
    {                                                                                              \
        .name = (n), .offset = AT(f), .max = 1, .max_open = true                                   \
    }
#define FLAG(n, f)                                                                                 \
    {                                                                                              \
        .name = (n), .type = OPTIM_ARG_BOOL, .offset = AT(f), .max = 1                             \
    }

static const struct optim_arg sgd_args[] = {
    NUMBER("momentum", momentum, DBL_MAX),
    NUMBER("dampening", dampening, 1),
    NUMBER("weight_decay", weight_decay, DBL_MAX),
    FLAG("nesterov", nesterov),
};

static const struct optim_arg adam_args[] = {
    BETA("betas.0", beta1),      BETA("betas.1", beta2),
    NUMBER("eps", eps, DBL_MAX), NUMBER("weight_decay", weight_decay, DBL_MAX),
    FLAG("amsgrad", amsgrad),
};

const struct optim_info optim_infos[OPTIM_COUNT] = {
    [OPTIM_SGD] = {.name = "sgd", .kind = OPTIM_SGD, .args = sgd_args, .n_args = COUNT(sgd_args)},
    [OPTIM_ADAM] = {.name = "adam",
                    .kind = OPTIM_ADAM,
                    .defaults = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8},
                    .args = adam_args,
                    .n_args = COUNT(adam_args)},
    [OPTIM_ADAMW] = {.name = "adamw",
                     .kind = OPTIM_ADAMW,
                     .defaults = {.weight_decay = 0.01, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8},
                     .args = adam_args,
                     .n_args = COUNT(adam_args)},
};

const struct optim_info *optim_find(const char *name)
{
    for (int i = 0; i < OPTIM_COUNT; i++)
        if (text_equal_nocase(optim_infos[i].name, name))
            return &optim_infos[i];
    return NULL;
}

/* ---- setting one option -----------------------------------------------------------------------
 */

static const struct optim_arg *find_arg(const struct optim_info *info, const char *name)
{
    for (int i = 0; i < info->n_args; i++)
        if (strcmp(info->args[i].name, name) == 0)
            return &info->args[i];
    return NULL;
}

static bool in_range(const struct optim_arg *arg, double v)
{
    return isfinite(v) && v >= arg->min && (arg->max_open ? v < arg->max : v <= arg->max);
}

static bool range_error(const struct optim_info *info, const struct optim_arg *arg,
                        const char *given, struct error *err)
{
    if (arg->max == DBL_MAX)
        return error_set(err, ERROR_USAGE, "%s: %s=%s must be a finite number, at least %g",
                         info->name, arg->name, given, arg->min);
    return error_set(err, ERROR_USAGE, "%s: %s=%s must be a number, at least %g and %s %g",
                     info->name, arg->name, given, arg->min, arg->max_open ? "below" : "at most",
                     arg->max);
}

static bool set_arg(const struct optim_info *info, struct optim_args *args,
                    const struct optim_arg *arg, const char *value, struct error *err)
{
    char *field = (char *)args + arg->offset;
    if (arg->type == OPTIM_ARG_BOOL) {
        const bool on = text_equal_nocase(value, "true");
        if (!on && !text_equal_nocase(value, "false"))
            return error_set(err, ERROR_USAGE, "%s: %s=%s must be true or false", info->name,
                             arg->name, value);
        memcpy(field, &on, sizeof on);
        return true;
    }
    double v;
    if (!text_to_double(value, &v) || !in_range(arg, v))
        return range_error(info, arg, value, err);
    memcpy(field, &v, sizeof v);
    return true;
}

/* "betas" is the name both of PyTorch's and of the pair here: "0.9,0.999". */
static bool set_betas(const struct optim_info *info, struct optim_args *args, const char *value,
                      struct error *err)
{
    struct text_list parts;
    text_list_init(&parts);
    text_split(&parts, value, ',');
    struct optim_args changed = *args;
    bool ok = parts.n == 2;
    if (!ok)
        error_set(err, ERROR_USAGE, "%s: betas=%s must be two numbers, as in 0.9,0.999", info->name,
                  value);
    ok = ok && set_arg(info, &changed, find_arg(info, "betas.0"), parts.items[0], err) &&
         set_arg(info, &changed, find_arg(info, "betas.1"), parts.items[1], err);
    if (ok)
        *args = changed;
    text_list_release(&parts);
    return ok;
}

static bool unknown_arg(const struct optim_info *info, const char *name, struct error *err)
{
    const char *names[OPTIM_MAX_ARGS];
    size_t n = 0;
    for (int i = 0; i < info->n_args; i++) {
        if (text_starts_with(info->args[i].name, "betas."))
            continue;
        names[n++] = info->args[i].name;
    }
    if (find_arg(info, "betas.0"))
        names[n++] = "betas";
    if (strcmp(name, "lr") == 0)
        return error_set(err, ERROR_USAGE,
                         "%s: lr is not one of the optimizer's options; it is the job's own lr",
                         info->name);
    struct text list;
    text_init(&list);
    for (size_t i = 0; i < n; i++)
        text_addf(&list, "%s%s", i ? ", " : "", names[i]);
    error_set(err, ERROR_USAGE, "%s has no option '%s'%s; it takes %s", info->name, name,
              text_did_you_mean(name, names, n), list.data);
    text_release(&list);
    return false;
}

bool optim_set(const struct optim_info *info, struct optim_args *args, const char *name,
               const char *value, struct error *err)
{
    if (strcmp(name, "betas") == 0 && find_arg(info, "betas.0"))
        return set_betas(info, args, value, err);
    const struct optim_arg *arg = find_arg(info, name);
    return arg ? set_arg(info, args, arg, value, err) : unknown_arg(info, name, err);
}

bool optim_check(const struct optim_info *info, const struct optim_args *args, struct error *err)
{
    if (!isfinite(args->lr) || args->lr < 0)
        return error_set(err, ERROR_USAGE, "%s: lr=%g must be a finite number, at least 0",
                         info->name, args->lr);
    for (int i = 0; i < info->n_args; i++) {
        const struct optim_arg *arg = &info->args[i];
        if (arg->type != OPTIM_ARG_NUMBER)
            continue;
        double v;
        memcpy(&v, (const char *)args + arg->offset, sizeof v);
        if (in_range(arg, v))
            continue;
        char *given = xasprintf("%g", v);
        range_error(info, arg, given, err);
        free(given);
        return false;
    }
    if (info->kind == OPTIM_SGD && args->nesterov && (args->momentum <= 0 || args->dampening != 0))
        return error_set(err, ERROR_USAGE,
                         "sgd: nesterov needs a momentum above 0 and no dampening (momentum=%g, "
                         "dampening=%g)",
                         args->momentum, args->dampening);
    return true;
}

/* ---- state ------------------------------------------------------------------------------------
 */

int optim_slots(enum optim_kind kind, const struct optim_args *args)
{
    if (kind == OPTIM_SGD)
        return args->momentum != 0 ? 1 : 0;
    return args->amsgrad ? 3 : 2;
}

const char *optim_slot_name(enum optim_kind kind, int slot)
{
    static const char *const adam_slots[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
    if (kind == OPTIM_SGD)
        return slot == 0 ? "momentum_buffer" : NULL;
    return slot >= 0 && slot < 3 ? adam_slots[slot] : NULL;
}
