/* The built-in catalogue: E01-E17 of the reference, D01-D04 on the embedded digits. */
#include "catalog/definition.h"

#include <stddef.h>

#define MAX_VALUES 4
#define MAX_NETS   3

struct builtin_net {
    const char *model, *dataset;
    int batch_size, epochs; /* 0: searched over */
    double lr;
    const char *optimizer;
    double momentum; /* 0: the optimiser takes none */
    const char *task;
};

struct builtin {
    const char *id, *type, *size;
    int k; /* ensemble, cv */
    bool amp;
    struct builtin_net nets[MAX_NETS];
    double lrs[MAX_VALUES]; /* hpo: searched in the order lr, batch_size, epochs */
    int batch_sizes[MAX_VALUES];
    int epochs;
};

#define CLASSIFY              "classification"
#define ONE(...)              .nets = {{__VA_ARGS__}}
#define SGD(m, d, b, e, lr)   ONE(m, d, b, e, lr, "sgd", 0.9, CLASSIFY)
#define ADAMW(m, d, b, e, lr) ONE(m, d, b, e, lr, "adamw", 0, CLASSIFY)
#define SEARCH(m, d)          ONE(m, d, 0, 0, 0, "adamw", 0, CLASSIFY)
#define HOUSING               ONE("mlp", "cal_housing", 256, 20, 0.001, "adam", 0, "regression")

/* clang-format off */
static const struct builtin builtins[] = {
    /* id     type        size      K  AMP    model / data set, batch size, epochs, lr */
    {"E01", "ensemble", "medium", 3, true,  SGD("resnet18", "cifar10", 128, 10, 0.01)},
    {"E02", "ensemble", "medium", 7, true,  SGD("resnet18", "cifar10", 128, 10, 0.01)},
    {"E03", "ensemble", "large",  2, true,  SGD("resnet50", "cifar100", 64, 15, 0.01)},
    {"E04", "ensemble", "large",  5, true,  SGD("resnet50", "cifar100", 64, 15, 0.01)},
    {"E05", "ensemble", "small",  5, false, HOUSING},
    {"E06", "ensemble", "small", 15, false, HOUSING},
    {"E07", "cv", "small",  3, true, ADAMW("mobilenet_v3_small", "cifar10", 256, 5, 0.001)},
    {"E08", "cv", "medium", 3, true, ADAMW("resnet18", "cifar100", 128, 5, 0.001)},
    {"E09", "cv", "small",  5, true, ADAMW("mobilenet_v3_small", "cifar100", 64, 8, 0.001)},
    {"E10", "cv", "medium", 5, true, ADAMW("resnet18", "cifar10", 32, 8, 0.001)},
    {"E11", "cv", "large",  5, true, ADAMW("resnet50", "cifar100", 16, 5, 0.001)},
    {"E12", "hpo", "medium", 0, true, SEARCH("resnet18", "cifar10"),
     {1e-4, 3e-4, 1e-3}, {64, 128}, 5},
    {"E13", "hpo", "large",  0, true, SEARCH("resnet50", "cifar10"),
     {1e-4, 3e-4, 1e-3}, {32, 64}, 5},
    {"E14", "hpo", "small",  0, true, SEARCH("simplecnn", "cifar10"),
     {1e-4, 5e-4, 1e-3, 3e-3}, {32, 64}, 10},
    {"E15", "hpo", "small",  0, true, SEARCH("mobilenet_v3_small", "cifar100"),
     {1e-4, 3e-4, 1e-3}, {32, 64, 128}, 10},
    {"E16", "multi_model", "mixed", 0, true,
     .nets = {{"lenet", "mnist", 256, 20, 0.01, "sgd", 0.9, CLASSIFY},
              {"resnet18", "cifar10", 128, 100, 0.001, "sgd", 0.9, CLASSIFY},
              {"resnet50", "cifar100", 64, 120, 0.002, "sgd", 0.9, CLASSIFY}}},
    {"E17", "multi_model", "mixed", 0, true,
     .nets = {{"transformer", "wikitext", 10, 10, 5.0, "sgd", 0.9, "language_modeling"},
              {"xlm_roberta", "sst2", 16, 5, 1e-5, "adam", 0, CLASSIFY},
              {"vgg16_cbam", "imagenette", 64, 10, 0.002, "sgd", 0.9, CLASSIFY}}},
    {"D01", "ensemble", "small", 16, false, ADAMW("digits_cnn", "digits", 64, 10, 0.002)},
    {"D02", "cv",       "small",  5, false, ADAMW("digits_cnn", "digits", 32, 8, 0.002)},
    {"D03", "hpo",      "small",  0, false, SEARCH("digits_cnn", "digits"),
     {0.0003, 0.001, 0.003}, {32, 64, 128}, 9},
    {"D04", "multi_model", "small", 0, false,
     .nets = {{"mlp", "digits", 64, 10, 0.001, "adam", 0, CLASSIFY},
              {"digits_cnn", "digits", 32, 8, 0.002, "adamw", 0, CLASSIFY}}},
};
/* clang-format on */

#define N_BUILTINS (int)(sizeof builtins / sizeof *builtins)

static json_t *net_json(const struct builtin_net *net, const char *model_key)
{
    json_t *obj = json_pack("{s:s,s:s,s:s,s:s}", model_key, net->model, "dataset", net->dataset,
                            "optimizer", net->optimizer, "task", net->task);
    if (net->momentum > 0)
        json_object_set_new(obj, "optimizer_kwargs", json_pack("{s:f}", "momentum", net->momentum));
    if (net->batch_size == 0)
        return obj;
    json_object_set_new(obj, "batch_size", json_integer(net->batch_size));
    json_object_set_new(obj, "epochs", json_integer(net->epochs));
    json_object_set_new(obj, "lr", json_real(net->lr));
    return obj;
}

static json_t *models_json(const struct builtin *b)
{
    json_t *models = json_array();
    for (int i = 0; i < MAX_NETS && b->nets[i].model; i++)
        json_array_append_new(models, net_json(&b->nets[i], "name"));
    return models;
}

static json_t *space_json(const struct builtin *b)
{
    json_t *space = json_pack("{s:[],s:[],s:[i]}", "lr", "batch_size", "epochs", b->epochs);
    for (int i = 0; i < MAX_VALUES && b->lrs[i] > 0; i++)
        json_array_append_new(json_object_get(space, "lr"), json_real(b->lrs[i]));
    for (int i = 0; i < MAX_VALUES && b->batch_sizes[i] > 0; i++)
        json_array_append_new(json_object_get(space, "batch_size"),
                              json_integer(b->batch_sizes[i]));
    return space;
}

json_t *builtin_definition(int i, const char **id)
{
    if (i < 0 || i >= N_BUILTINS)
        return NULL;
    const struct builtin *b = &builtins[i];
    const bool several = b->nets[1].model != NULL;
    const struct workload_info *w = workload_find(b->type);
    *id = b->id;
    json_t *obj = several ? json_object() : net_json(&b->nets[0], "model");
    json_object_set_new(obj, "type", json_string(b->type));
    json_object_set_new(obj, "size", json_string(b->size));
    json_object_set_new(obj, "amp", json_boolean(b->amp));
    if (several)
        json_object_set_new(obj, "models", models_json(b));
    if (w->count_key)
        json_object_set_new(obj, w->count_key, json_integer(b->k));
    if (b->epochs > 0)
        json_object_set_new(obj, "search_space", space_json(b));
    return obj;
}
