#include "nn/model.h"

#include "base/text.h"
#include "nn/json_net.h"
#include "nn/models/models.h"

#include <stdio.h>

#define N_MODELS 10

const struct model_info *const model_table[N_MODELS + 1] = {&model_mlp,
                                                            &model_lenet,
                                                            &model_simplecnn,
                                                            &model_digits_cnn,
                                                            &model_resnet18,
                                                            &model_resnet50,
                                                            &model_mobilenet_v3_small,
                                                            &model_transformer,
                                                            &model_xlm_roberta,
                                                            &model_vgg16_cbam,
                                                            NULL};

const struct model_info *model_find(const char *name)
{
    for (size_t i = 0; i < N_MODELS; i++)
        if (text_equal_nocase(model_table[i]->name, name))
            return model_table[i];
    return NULL;
}

const struct weights_published *model_published(const char *name)
{
    struct spec spec;
    if (!spec_parse(&spec, name, NULL))
        return NULL;
    const struct model_info *info = json_net_is(spec.name) ? NULL : model_find(spec.name);
    spec_release(&spec);
    return info ? info->published : NULL;
}

static void unknown_model(const char *name, struct error *err)
{
    const char *names[N_MODELS];
    struct text list;
    text_init(&list);
    for (size_t i = 0; i < N_MODELS; i++) {
        names[i] = model_table[i]->name;
        text_addf(&list, "%s%s", i ? ", " : "", names[i]);
    }
    error_set(err, ERROR_USAGE,
              "unknown model '%s'%s; fugue has %s, and networks of your own as files that end in "
              ".json",
              name, text_did_you_mean(name, names, N_MODELS), list.data);
    text_release(&list);
}

static bool read_values(const struct model_info *info, const struct spec *spec, int64_t *values,
                        struct error *err)
{
    const char *known[MODEL_MAX_ARGS];
    for (int i = 0; i < info->n_args; i++)
        known[i] = info->args[i].name;
    if (!spec_only(spec, known, info->n_args, err))
        return false;
    for (int i = 0; i < info->n_args; i++) {
        const struct model_arg *a = &info->args[i];
        if (!spec_get_int(spec, a->name, a->fallback, a->min, a->max, &values[i], err))
            return false;
    }
    return true;
}

/* A model as asked for: a built-in one with its arguments, or a file. */
struct request {
    struct spec spec;
    const struct model_info *info; /* NULL: spec.name is a network file */
    int64_t values[MODEL_MAX_ARGS];
};

/* Released by spec_release(&r->spec) after true; nothing is left to release after false. */
static bool resolve(struct request *r, const char *text, struct error *err)
{
    *r = (struct request){0};
    if (!spec_parse(&r->spec, text, err))
        return error_prefix(err, "model");
    bool ok = true;
    if (json_net_is(r->spec.name)) {
        ok = spec_only(&r->spec, NULL, 0, err) || error_prefix(err, "model");
    } else {
        r->info = model_find(r->spec.name);
        if (!r->info)
            unknown_model(r->spec.name, err);
        ok = r->info &&
             (read_values(r->info, &r->spec, r->values, err) || error_prefix(err, "model"));
    }
    if (!ok)
        spec_release(&r->spec);
    return ok;
}

bool model_check(const char *spec, struct error *err)
{
    struct request r;
    if (!resolve(&r, spec, err))
        return false;
    const bool ok = r.info || json_net_check(r.spec.name, err);
    spec_release(&r.spec);
    return ok;
}

static void shape_text(struct shape s, char *out, size_t room)
{
    if (s.rank == 1)
        snprintf(out, room, "%d", s.d[0]);
    else if (s.rank == 2)
        snprintf(out, room, "%dx%d", s.d[0], s.d[1]);
    else
        snprintf(out, room, "%dx%dx%d", s.d[0], s.d[1], s.d[2]);
}

static struct graph *build_known(const struct request *r, struct shape in, int n_outputs,
                                 struct error *err)
{
    const struct model_info *info = r->info;
    struct graph *g = graph_new();
    const int x = info->tokens ? graph_tokens(g, in.d[0]) : graph_input(g, in);
    const int logits = info->build(g, x, n_outputs, r->values);
    if (graph_finish(g, logits, err) && graph_check_outputs(g, n_outputs, err))
        return g;
    graph_free(g);
    return NULL;
}

static const char *sample_kind(const struct model_info *info)
{
    if (info->tokens)
        return "sequences of token ids";
    return info->input_rank == 3 ? "images (height x width x channels)" : "vectors";
}

static struct graph *build_request(const struct request *r, const char *spec, struct shape in,
                                   int n_outputs, struct error *err)
{
    char shape[48];
    shape_text(in, shape, sizeof shape);
    if (n_outputs < 1) {
        error_set(err, ERROR_USAGE, "model '%s': %d outputs; at least 1 is needed", spec,
                  n_outputs);
        return NULL;
    }
    if (r->info && r->info->input_rank != 0 && in.rank != r->info->input_rank) {
        error_set(err, ERROR_USAGE, "model '%s' takes %s, not samples of shape %s", spec,
                  sample_kind(r->info), shape);
        return NULL;
    }
    if (!r->info)
        return json_net_build(r->spec.name, in, n_outputs, err);
    struct graph *g = build_known(r, in, n_outputs, err);
    if (!g)
        error_prefix(err, "model '%s' cannot take samples of shape %s", spec, shape);
    return g;
}

struct graph *model_build(const char *spec, struct shape in, int n_outputs, struct error *err)
{
    struct request r;
    if (!resolve(&r, spec, err))
        return NULL;
    struct graph *g = build_request(&r, spec, in, n_outputs, err);
    spec_release(&r.spec);
    return g;
}
