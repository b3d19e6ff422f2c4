#include "nn/model.h"

#include "base/text.h"
#include "nn/models/models.h"

#include <stdio.h>

#define N_MODELS 4

const struct model_info *const model_table[N_MODELS + 1] = {
    &model_mlp, &model_lenet, &model_simplecnn, &model_digits_cnn, NULL};

static const char *const planned[] = {"resnet18",    "resnet50",    "mobilenet_v3_small",
                                      "transformer", "xlm_roberta", "vgg16_cbam"};

#define N_PLANNED (sizeof planned / sizeof *planned)

const struct model_info *model_find(const char *name)
{
    for (int i = 0; model_table[i]; i++)
        if (text_equal_nocase(model_table[i]->name, name))
            return model_table[i];
    return NULL;
}

bool model_is_planned(const char *name)
{
    for (size_t i = 0; i < N_PLANNED; i++)
        if (text_equal_nocase(planned[i], name))
            return true;
    return false;
}

static void unknown_model(const char *name, struct error *err)
{
    const char *names[N_MODELS + N_PLANNED];
    struct text list;
    text_init(&list);
    for (size_t i = 0; i < N_MODELS; i++) {
        names[i] = model_table[i]->name;
        text_addf(&list, "%s%s", i ? ", " : "", names[i]);
    }
    for (size_t i = 0; i < N_PLANNED; i++)
        names[N_MODELS + i] = planned[i];
    if (model_is_planned(name))
        error_set(err, ERROR_USAGE,
                  "model '%s' is in the catalogue, but this version of fugue does not have it yet; "
                  "it has %s",
                  name, list.data);
    else
        error_set(err, ERROR_USAGE, "unknown model '%s'%s; fugue has %s", name,
                  text_did_you_mean(name, names, N_MODELS + N_PLANNED), list.data);
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

/* The model `text` names, or NULL with an error; values[i] belongs to its args[i]. */
static const struct model_info *resolve(const char *text, int64_t values[MODEL_MAX_ARGS],
                                        struct error *err)
{
    struct spec spec;
    if (!spec_parse(&spec, text, err)) {
        error_prefix(err, "model");
        return NULL;
    }
    const struct model_info *info = model_find(spec.name);
    if (!info) {
        unknown_model(spec.name, err);
    } else if (!read_values(info, &spec, values, err)) {
        error_prefix(err, "model");
        info = NULL;
    }
    spec_release(&spec);
    return info;
}

bool model_check(const char *spec, struct error *err)
{
    int64_t values[MODEL_MAX_ARGS] = {0};
    return resolve(spec, values, err) != NULL;
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

struct graph *model_build(const char *spec, struct shape in, int n_outputs, struct error *err)
{
    int64_t values[MODEL_MAX_ARGS] = {0};
    const struct model_info *info = resolve(spec, values, err);
    if (!info)
        return NULL;
    char shape[48];
    shape_text(in, shape, sizeof shape);
    if (n_outputs < 1) {
        error_set(err, ERROR_USAGE, "model '%s': %d outputs; at least 1 is needed", spec,
                  n_outputs);
        return NULL;
    }
    if (info->input_rank != 0 && in.rank != info->input_rank) {
        error_set(err, ERROR_USAGE, "model '%s' takes %s, not samples of shape %s", spec,
                  info->input_rank == 3 ? "images (height x width x channels)" : "vectors", shape);
        return NULL;
    }
    struct graph *g = graph_new();
    const int logits = info->build(g, graph_input(g, in), n_outputs, values);
    if (graph_finish(g, logits, err))
        return g;
    error_prefix(err, "model '%s' cannot take samples of shape %s", spec, shape);
    graph_free(g);
    return NULL;
}
