#include "nn/schedule.h"

#include "base/spec.h"
#include "base/text.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define PI 3.14159265358979323846

enum arg_type { ARG_NUMBER, ARG_WHOLE, ARG_FLAG, ARG_CHOICE /* a flag with words */ };

struct arg {
    const char *name;
    enum arg_type type;
    size_t offset;
    double fallback, min, max;
    const char *word[2]; /* ARG_CHOICE: false, true */
};

#define AT(field) offsetof(struct schedule, field)
#define NUMBER(field, otherwise, lo, hi)                                                           \
    {                                                                                              \
        .name = #field, .offset = AT(field), .fallback = (otherwise), .min = (lo), .max = (hi)     \
    }
#define WHOLE(field, otherwise, lo)                                                                \
    {                                                                                              \
        .name = #field, .type = ARG_WHOLE, .offset = AT(field), .fallback = (otherwise),           \
        .min = (lo), .max = 1e15                                                                   \
    }
#define FLAG(field, otherwise)                                                                     \
    {                                                                                              \
        .name = #field, .type = ARG_FLAG, .offset = AT(field), .fallback = (otherwise)             \
    }
#define CHOICE(key, field, otherwise, no, yes)                                                     \
    {                                                                                              \
        .name = (key), .type = ARG_CHOICE, .offset = AT(field), .fallback = (otherwise), .word = { \
            (no),                                                                                  \
            (yes)                                                                                  \
        }                                                                                          \
    }
#define PER(otherwise) CHOICE("per", per_update, otherwise, "epoch", "update")
#define WARMUP         WHOLE(warmup, 0, 0), NUMBER(warmup_factor, 1.0 / 3, DBL_MIN, 1)

static const struct arg constant_args[] = {PER(0), WARMUP};
static const struct arg step_args[] = {
    PER(0),
    WARMUP,
    {.name = "step_size",
     .type = ARG_WHOLE,
     .offset = AT(step_size),
     .fallback = -1,
     .min = 1,
     .max = 1e15},
    NUMBER(gamma, 0.1, 0, DBL_MAX),
};
static const struct arg cosine_args[] = {
    PER(0),
    WARMUP,
    WHOLE(t_max, 0, 0),
    NUMBER(eta_min, 0, 0, DBL_MAX),
};
static const struct arg one_cycle_args[] = {
    PER(1),
    NUMBER(max_lr, 0, 0, DBL_MAX),
    NUMBER(pct_start, 0.3, 0, 1),
    NUMBER(div_factor, 25, DBL_MIN, DBL_MAX),
    NUMBER(final_div_factor, 1e4, DBL_MIN, DBL_MAX),
    CHOICE("anneal", linear_anneal, 0, "cos", "linear"),
    FLAG(three_phase, 0),
    FLAG(cycle_momentum, 1),
    NUMBER(base_momentum, 0.85, 0, 0.999999),
    NUMBER(max_momentum, 0.95, 0, 0.999999),
};
static const struct arg linear_args[] = {
    PER(0),
    WARMUP,
    NUMBER(start_factor, 1.0 / 3, DBL_MIN, 1),
    NUMBER(end_factor, 1, 0, 1),
    WHOLE(total_iters, 5, 1),
};

#define ARGS(a) (a), (int)(sizeof(a) / sizeof *(a))
static const struct {
    const char *name;
    const struct arg *args;
    int n_args;
} kinds[SCHEDULE_COUNT] = {
    [SCHEDULE_CONSTANT] = {"constant", ARGS(constant_args)},
    [SCHEDULE_STEP] = {"step", ARGS(step_args)},
    [SCHEDULE_COSINE] = {"cosine", ARGS(cosine_args)},
    [SCHEDULE_ONE_CYCLE] = {"one_cycle", ARGS(one_cycle_args)},
    [SCHEDULE_LINEAR] = {"linear", ARGS(linear_args)},
};

static void put(struct schedule *s, const struct arg *a, double v)
{
    char *field = (char *)s + a->offset;
    const bool on = v != 0;
    if (a->type == ARG_FLAG || a->type == ARG_CHOICE)
        memcpy(field, &on, sizeof on);
    else
        memcpy(field, &v, sizeof v);
}

static bool read_word(const struct arg *a, const char *value, double *v, struct error *err)
{
    const char *no = a->type == ARG_FLAG ? "false" : a->word[0];
    const char *yes = a->type == ARG_FLAG ? "true" : a->word[1];
    *v = text_equal_nocase(value, yes);
    if (*v != 0 || text_equal_nocase(value, no))
        return true;
    return error_set(err, ERROR_USAGE, "%s=%s must be %s or %s", a->name, value, yes, no);
}

static bool read_arg(struct schedule *s, const struct arg *a, const struct spec *spec,
                     struct error *err)
{
    const char *value = spec_get(spec, a->name);
    double v = a->fallback;
    int64_t n = 0;
    if (!value && v < a->min && a->type == ARG_WHOLE)
        return error_set(err, ERROR_USAGE, "%s is needed", a->name);
    if (value && (a->type == ARG_FLAG || a->type == ARG_CHOICE)) {
        if (!read_word(a, value, &v, err))
            return false;
    } else if (value && a->type == ARG_WHOLE) {
        if (!spec_get_int(spec, a->name, 0, (int64_t)a->min, (int64_t)a->max, &n, err))
            return false;
        v = (double)n;
    } else if (value && !spec_get_number(spec, a->name, 0, a->min, a->max, &v, err)) {
        return false;
    }
    put(s, a, v);
    return true;
}

static bool find_kind(struct schedule *s, const char *name, struct error *err)
{
    const char *names[SCHEDULE_COUNT];
    for (int i = 0; i < SCHEDULE_COUNT; i++) {
        names[i] = kinds[i].name;
        s->kind = (enum schedule_kind)i;
        if (text_equal_nocase(name, names[i]))
            return true;
    }
    return error_set(err, ERROR_USAGE,
                     "unknown schedule '%s'%s; there are constant, step, cosine, one_cycle, linear",
                     name, text_did_you_mean(name, names, SCHEDULE_COUNT));
}

static bool read_args(struct schedule *s, const struct spec *spec, struct error *err)
{
    const char *names[16];
    const int n = kinds[s->kind].n_args;
    for (int i = 0; i < n; i++)
        names[i] = kinds[s->kind].args[i].name;
    if (!spec_only(spec, names, n, err))
        return false;
    for (int i = 0; i < n; i++)
        if (!read_arg(s, &kinds[s->kind].args[i], spec, err))
            return error_prefix(err, "%s", kinds[s->kind].name);
    return true;
}

bool schedule_parse(struct schedule *s, const char *text, struct error *err)
{
    struct spec spec;
    *s = (struct schedule){.kind = SCHEDULE_CONSTANT};
    if (!text || !*text)
        return true;
    if (!spec_parse(&spec, text, err))
        return error_prefix(err, "schedule");
    const bool ok = find_kind(s, spec.name, err) && read_args(s, &spec, err);
    spec_release(&spec);
    return ok || error_prefix(err, "schedule");
}

bool schedule_check(const struct schedule *s, enum optim_kind optim, const struct optim_args *args,
                    struct error *err)
{
    if (s->kind == SCHEDULE_ONE_CYCLE && s->cycle_momentum && optim == OPTIM_SGD &&
        args->momentum == 0)
        return error_set(err, ERROR_USAGE,
                         "schedule one_cycle moves the momentum, but sgd has none: give it a "
                         "momentum, or say one_cycle?cycle_momentum=false");
    return true;
}

/* ---- the formulas -----------------------------------------------------------------------------
 */

static double anneal(const struct schedule *s, double from, double to, double part)
{
    if (s->linear_anneal)
        return (to - from) * part + from;
    return to + (from - to) / 2 * (cos(PI * part) + 1);
}

/* A value that goes through the phases v[0] -> v[1] -> ... of OneCycleLR. */
static double one_cycle(const struct schedule *s, const double *v, double t, double total)
{
    const double end[3] = {s->pct_start * total - 1,
                           s->three_phase ? 2 * s->pct_start * total - 2 : total - 1, total - 1};
    const int last = s->three_phase ? 2 : 1;
    double start = 0;
    int i = 0;
    for (; i < last && t > end[i]; i++)
        start = end[i];
    const double part = end[i] > start ? (t - start) / (end[i] - start) : 1;
    return anneal(s, v[i], v[i + 1], part);
}

static double one_cycle_lr(const struct schedule *s, double base, double t, double total)
{
    const double most = s->max_lr > 0 ? s->max_lr : base, first = most / s->div_factor;
    const double least = first / s->final_div_factor;
    const double two[] = {first, most, least}, three[] = {first, most, first, least};
    return one_cycle(s, s->three_phase ? three : two, t, total);
}

static double one_cycle_momentum(const struct schedule *s, double t, double total)
{
    const double most = s->max_momentum, least = s->base_momentum;
    return one_cycle(s, (const double[]){most, least, most, most}, t, total);
}

static double cut(double t, double total)
{
    const double last = total > 1 ? total - 1 : 0;
    return t < 0 ? 0 : t > last ? last : t;
}

/* After the warm-up, if any. */
static double main_lr(const struct schedule *s, double base, double t, double total)
{
    switch (s->kind) {
    case SCHEDULE_STEP:
        return base * pow(s->gamma, floor(t / s->step_size));
    case SCHEDULE_COSINE: {
        const double period = s->t_max > 0 ? s->t_max : total > 1 ? total : 1;
        return s->eta_min + (base - s->eta_min) * (1 + cos(PI * t / period)) / 2;
    }
    case SCHEDULE_ONE_CYCLE:
        return one_cycle_lr(s, base, cut(t, total), total);
    case SCHEDULE_LINEAR:
        return base * (s->start_factor + (s->end_factor - s->start_factor) *
                                             fmin(t, s->total_iters) / s->total_iters);
    default:
        return base;
    }
}

double schedule_lr(const struct schedule *s, double base, int64_t t, int64_t total)
{
    const double step = (double)t, steps = (double)total;
    if (step < s->warmup)
        return base * (s->warmup_factor + (1 - s->warmup_factor) * step / s->warmup);
    return main_lr(s, base, step - s->warmup, steps - s->warmup);
}

struct optim_args schedule_apply(const struct schedule *s, enum optim_kind optim,
                                 const struct optim_args *args, int64_t t, int64_t total)
{
    struct optim_args now = *args;
    now.lr = schedule_lr(s, args->lr, t, total);
    if (s->kind == SCHEDULE_ONE_CYCLE && s->cycle_momentum) {
        const double v = one_cycle_momentum(s, cut((double)t, (double)total), (double)total);
        *(optim == OPTIM_SGD ? &now.momentum : &now.beta1) = v;
    }
    return now;
}
