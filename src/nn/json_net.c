#include "nn/json_net.h"

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "nn/json_op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (16u << 20)

/* A layer as read.  Node 0 of the graph is the input, layer i becomes node i + 1. */
struct layer {
    const struct json_op *op;
    const char *name; /* NULL: generated */
    struct op_attr attr;
    bool out_is_outputs;
    int input[OP_MAX_INPUTS], n_inputs; /* nodes */
    int like;                           /* node; -1: parameters of its own */
};

struct net {
    const char *path;
    char *text;
    json_t *root;
    struct layer *layers;
    int n;
    bool tokens;
    int output; /* node */
};

bool json_net_is(const char *name)
{
    const size_t n = strlen(name);
    return n > 5 && text_equal_nocase(name + n - 5, ".json");
}

/* Puts file, line and column of what the error is about before it: a member of a layer (key NULL:
 * the layer; layer -1: of the whole).  Returns false. */
static bool located(const struct net *net, int layer, const char *key, struct error *err)
{
    char index[16];
    snprintf(index, sizeof index, "%d", layer);
    const char *const in_layer[] = {"layers", index, key}, *const whole[] = {key};
    int line = 1, column = 1;
    if (layer >= 0)
        json_locate_path(net->text, in_layer, key ? 3 : 2, &line, &column);
    else
        json_locate_path(net->text, whole, key ? 1 : 0, &line, &column);
    return error_prefix(err, "%s:%d:%d", net->path, line, column);
}

/* The node a layer of this name becomes, among the first n layers; -1: none. */
static int find_node(const struct net *net, const char *name, int n)
{
    if (strcmp(name, "input") == 0)
        return 0;
    for (int i = 0; i < n; i++)
        if (net->layers[i].name && strcmp(net->layers[i].name, name) == 0)
            return i + 1;
    return -1;
}

/* A link to an earlier layer. */
static bool read_link(const struct net *net, int i, const json_t *value, int *node,
                      struct error *err)
{
    const char *name = json_string_value(value);
    if (!name)
        return error_set(err, ERROR_USAGE, "a link is the name of an earlier layer, or \"input\"");
    *node = find_node(net, name, i);
    if (*node >= 0)
        return true;
    const char **names = xcalloc((size_t)i + 1, sizeof *names);
    size_t n = 0;
    names[n++] = "input";
    for (int j = 0; j < i; j++)
        if (net->layers[j].name)
            names[n++] = net->layers[j].name;
    error_set(err, ERROR_USAGE, "no earlier layer is named '%s'%s", name,
              text_did_you_mean(name, names, n));
    free(names);
    return false;
}

static bool read_inputs(const struct net *net, int i, const json_t *value, struct layer *layer,
                        struct error *err)
{
    const struct op_info *info = &op_infos[layer->op->op];
    const int most = info->max_inputs ? info->max_inputs : info->n_inputs;
    const bool list = json_is_array(value);
    const size_t n = list ? json_array_size(value) : 1;
    if (n < (size_t)info->n_inputs || n > (size_t)most) {
        char range[32];
        snprintf(range, sizeof range, most > info->n_inputs ? "%d to %d" : "%d", info->n_inputs,
                 most);
        return error_set(err, ERROR_USAGE, "%s takes %s input%s, not %zu", info->name, range,
                         most > 1 ? "s" : "", n);
    }
    layer->n_inputs = (int)n;
    if (!value) {
        layer->input[0] = i; /* the layer before: node i */
        return true;
    }
    for (size_t j = 0; j < n; j++)
        if (!read_link(net, i, list ? json_array_get(value, j) : value, &layer->input[j], err))
            return false;
    return true;
}

static bool read_name(const struct net *net, int i, const json_t *value, struct layer *layer,
                      struct error *err)
{
    layer->name = json_string_value(value);
    if (!value)
        return true;
    if (!layer->name || !*layer->name)
        return error_set(err, ERROR_USAGE, "'name' must be a text that is not empty");
    if (find_node(net, layer->name, i) >= 0)
        return error_set(err, ERROR_USAGE, "'%s' is the name of an earlier layer", layer->name);
    return true;
}

static bool read_like(const struct net *net, int i, const json_t *value, struct layer *layer,
                      struct error *err)
{
    const bool tied = layer->op->op == OP_TIED_LINEAR;
    layer->like = -1;
    if (!value && !tied)
        return true;
    if (!value)
        return error_set(err, ERROR_USAGE, "tied_linear needs 'like', the name of an embedding");
    if (!read_link(net, i, value, &layer->like, err))
        return false;
    const enum op_kind wanted = tied ? OP_EMBEDDING : layer->op->op;
    const struct layer *like = layer->like > 0 ? &net->layers[layer->like - 1] : NULL;
    if (!like || like->op->op != wanted)
        return error_set(err, ERROR_USAGE, "'like' must name a layer of operation %s",
                         op_infos[wanted].name);
    if (tied)
        layer->attr.out_features = like->attr.rows;
    return true;
}

/* What follows from the number of inputs. */
static void settle(struct layer *layer)
{
    struct op_attr *a = &layer->attr;
    if (layer->op->op == OP_POSITIONS && layer->n_inputs == 2)
        a->position = POSITION_OF_TOKENS;
    if (layer->op->op == OP_ATTENTION)
        a->masked = layer->n_inputs % 2 == 0;
}

static bool check_members(const struct net *net, int i, const json_t *object,
                          const struct json_op *op, struct error *err)
{
    const char *known[JSON_OP_MAX_ARGS + 4] = {"op", "name", "input"};
    size_t n = 3;
    if (op->shares)
        known[n++] = "like";
    for (int j = 0; j < op->n_args; j++)
        known[n++] = op->args[j].name;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        size_t j = 0;
        while (j < n && strcmp(known[j], key) != 0)
            j++;
        if (j == n) {
            error_set(err, ERROR_USAGE, "%s has no argument '%s'%s", op_infos[op->op].name, key,
                      text_did_you_mean(key, known, n));
            return located(net, i, key, err);
        }
    }
    return true;
}

static bool find_op(const json_t *object, const struct json_op **op, struct error *err)
{
    const char *name = json_string_value(json_object_get(object, "op"));
    if (!name)
        return error_set(err, ERROR_USAGE, "a layer needs 'op', the name of its operation");
    *op = json_op_find(name);
    if (*op)
        return true;
    const char **names = xcalloc((size_t)json_op_count, sizeof *names);
    for (int i = 0; i < json_op_count; i++)
        names[i] = op_infos[json_ops[i].op].name;
    error_set(err, ERROR_USAGE, "there is no operation '%s'%s", name,
              text_did_you_mean(name, names, (size_t)json_op_count));
    free(names);
    return false;
}

static bool read_layer(struct net *net, int i, const json_t *object, struct error *err)
{
    struct layer *layer = &net->layers[i];
    const char *bad = NULL;
    if (!json_is_object(object)) {
        error_set(err, ERROR_USAGE, "a layer is an object: {\"op\": ...}");
        return located(net, i, NULL, err);
    }
    if (!find_op(object, &layer->op, err))
        return located(net, i, json_object_get(object, "op") ? "op" : NULL, err);
    if (!check_members(net, i, object, layer->op, err))
        return false;
    if (!json_op_read(layer->op, object, &layer->attr, &layer->out_is_outputs, &bad, err))
        return located(net, i, bad, err);
    const json_t *name = json_object_get(object, "name"), *input = json_object_get(object, "input");
    const json_t *like = json_object_get(object, "like");
    if (!read_name(net, i, name, layer, err))
        return located(net, i, "name", err);
    if (!read_inputs(net, i, input, layer, err))
        return located(net, i, input ? "input" : NULL, err);
    if (!read_like(net, i, like, layer, err))
        return located(net, i, like ? "like" : NULL, err);
    settle(layer);
    return true;
}

static bool read_layers(struct net *net, struct error *err)
{
    const json_t *list = json_object_get(net->root, "layers");
    if (!json_is_array(list) || json_array_size(list) == 0) {
        error_set(err, ERROR_USAGE, "'layers' must be a list of at least one layer");
        return located(net, -1, list ? "layers" : NULL, err);
    }
    const int n = (int)json_array_size(list);
    net->layers = xcalloc((size_t)n, sizeof *net->layers);
    for (; net->n < n; net->n++)
        if (!read_layer(net, net->n, json_array_get(list, (size_t)net->n), err))
            return false;
    return true;
}

static bool read_head(struct net *net, struct error *err)
{
    static const char *const known[] = {"summary", "input", "layers", "output"};
    if (!json_is_object(net->root)) {
        error_set(err, ERROR_USAGE, "a network is an object: {\"layers\": [...]}");
        return located(net, -1, NULL, err);
    }
    const char *key;
    json_t *value;
    json_object_foreach(net->root, key, value)
    {
        size_t i = 0;
        while (i < 4 && strcmp(known[i], key) != 0)
            i++;
        if (i < 4 && (i == 2 || json_is_string(value)))
            continue;
        if (i < 4)
            error_set(err, ERROR_USAGE, "'%s' must be a text", key);
        else
            error_set(err, ERROR_USAGE, "a network has no '%s'%s", key,
                      text_did_you_mean(key, known, 4));
        return located(net, -1, key, err);
    }
    const char *input = json_string_value(json_object_get(net->root, "input"));
    net->tokens = input && strcmp(input, "tokens") == 0;
    if (input && !net->tokens && strcmp(input, "values") != 0) {
        error_set(err, ERROR_USAGE, "'input' is \"values\" or \"tokens\", not \"%s\"", input);
        return located(net, -1, "input", err);
    }
    return true;
}

static bool read_output(struct net *net, struct error *err)
{
    const char *name = json_string_value(json_object_get(net->root, "output"));
    net->output = name ? find_node(net, name, net->n) : net->n;
    if (net->output > 0)
        return true;
    error_set(err, ERROR_USAGE, "no layer is named '%s'", name);
    return located(net, -1, "output", err);
}

static void release(struct net *net)
{
    free(net->layers);
    json_decref(net->root);
    free(net->text);
}

/* On false nothing is left to release. */
static bool read_net(struct net *net, const char *path, struct error *err)
{
    size_t len = 0;
    *net = (struct net){.path = path};
    if (!file_read(path, FILE_MAX, &net->text, &len, err))
        return false;
    net->root = json_read_text(net->text, len, path, err);
    if (net->root && read_head(net, err) && read_layers(net, err) && read_output(net, err))
        return true;
    release(net);
    return false;
}

bool json_net_check(const char *path, struct error *err)
{
    struct net net;
    if (!read_net(&net, path, err))
        return false;
    release(&net);
    return true;
}

static int add_layer(struct graph *g, const struct layer *layer, int n_outputs)
{
    struct op_attr attr = layer->attr;
    if (layer->out_is_outputs)
        attr.out_features = n_outputs;
    return graph_op(g, layer->op->op, layer->name, layer->input, layer->n_inputs, &attr,
                    layer->like);
}

static bool build(struct graph *g, const struct net *net, struct shape in, int n_outputs,
                  struct error *err)
{
    if (net->tokens && in.rank != 1) {
        error_set(err, ERROR_USAGE, "the network reads tokens, not samples of %d dimensions",
                  in.rank);
        return located(net, -1, "input", err);
    }
    if ((net->tokens ? graph_tokens(g, in.d[0]) : graph_input(g, in)) < 0) {
        graph_finish(g, -1, err);
        return located(net, -1, NULL, err);
    }
    for (int i = 0; i < net->n; i++)
        if (add_layer(g, &net->layers[i], n_outputs) < 0) {
            graph_finish(g, -1, err);
            return located(net, i, NULL, err);
        }
    if (graph_finish(g, net->output, err) && graph_check_outputs(g, n_outputs, err))
        return true;
    err->class_ = ERROR_USAGE; /* an idle layer is the file's mistake here, not fugue's */
    return located(net, net->output - 1, NULL, err);
}

struct graph *json_net_build(const char *path, struct shape in, int n_outputs, struct error *err)
{
    struct net net;
    struct error own = ERROR_INIT;
    if (!read_net(&net, path, err))
        return NULL;
    struct graph *g = graph_new();
    if (!build(g, &net, in, n_outputs, &own)) {
        error_set(err, own.class_, "%s", own.text);
        graph_free(g);
        g = NULL;
    }
    release(&net);
    return g;
}
