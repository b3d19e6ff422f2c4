/* fugue list --models: every architecture at the shape it is usually trained at. */
#include "cli/list.h"
#include "data/dataset.h"
#include "nn/model.h"

#include <stdlib.h>
#include <string.h>

/* A model, and its network for one data set. */
struct shown_model {
    const struct model_info *info;
    struct data_info data; /* the data set it is shown for; no name: none trains it */
    bool measured;
    double parameters, macs, activation_bytes;
    char cause[200]; /* why it is not measured */
};

/* The data set of the first experiment that trains this model as it is, without arguments. */
static const char *usual_dataset(const struct registry *catalogue, const char *model)
{
    for (int32_t i = 0; i < catalogue->n; i++) {
        const struct experiment *e = catalogue->items[i];
        for (int32_t k = 0; k < (e->n_models ? e->n_models : 1); k++) {
            const struct net_def *net = e->n_models ? &e->models[k] : &e->net;
            if (text_equal_nocase(net->model, model) && data_find(net->dataset))
                return net->dataset;
        }
    }
    return NULL;
}

static void measure(struct shown_model *m, const struct registry *catalogue)
{
    struct error err = ERROR_INIT;
    const char *dataset = usual_dataset(catalogue, m->info->name);
    if (!dataset) {
        snprintf(m->cause, sizeof m->cause, "no experiment of the catalogue trains it");
        return;
    }
    struct graph *g = NULL;
    if (data_describe(dataset, false, &m->data, NULL) ||
        data_describe(dataset, true, &m->data, &err))
        g = model_build(m->info->name, m->data.shape, m->data.n_outputs, &err);
    if (!g) {
        snprintf(m->cause, sizeof m->cause, "%.199s", err.text);
        return;
    }
    m->measured = true;
    m->parameters = (double)graph_parameter_count(g);
    m->macs = graph_macs(g);
    m->activation_bytes = (double)graph_activations(g) * sizeof(float);
    graph_free(g);
}

/* ---- for people -------------------------------------------------------------------------------
 */

enum {
    COL_MODEL,
    COL_DATASET,
    COL_INPUT,
    COL_OUTPUTS,
    COL_PARAMETERS,
    COL_MACS,
    COL_ACTIVATIONS,
    COL_ARGUMENTS,
    N_COLUMNS
};

static const char *const headings[N_COLUMNS] = {
    "MODEL", "DATA SET", "INPUT", ">OUTPUTS", ">PARAMETERS", ">MACS", ">ACTIVATIONS", "ARGUMENTS"};

static char *arguments_text(const struct model_info *info)
{
    struct text t;
    text_init(&t);
    for (int i = 0; i < info->n_args; i++)
        text_addf(&t, "%s%s=%lld", i ? " " : "", info->args[i].name,
                  (long long)info->args[i].fallback);
    char *out = text_take(&t);
    text_release(&t);
    return out;
}

static void add_row(struct table *t, const struct shown_model *m, int n_columns)
{
    char *cell[N_COLUMNS] = {NULL};
    cell[COL_MODEL] = xstrdup(m->info->name);
    if (m->data.name) {
        cell[COL_DATASET] = xstrdup(m->data.name);
        cell[COL_INPUT] = list_shape(m->data.shape, m->data.vocabulary > 0);
        cell[COL_OUTPUTS] = xasprintf("%d", (int)m->data.n_outputs);
    }
    if (m->measured) {
        cell[COL_PARAMETERS] = list_count(m->parameters);
        cell[COL_MACS] = list_count(m->macs);
        cell[COL_ACTIVATIONS] = list_bytes(m->activation_bytes);
    }
    cell[COL_ARGUMENTS] = arguments_text(m->info);
    for (int c = 0; c < n_columns; c++)
        print_table_add(t, cell[c] ? cell[c] : "");
    for (int c = 0; c < N_COLUMNS; c++)
        free(cell[c]);
}

static void fill_table(struct table *t, const struct shown_model *models, int n, int n_columns)
{
    print_table_init(t, n_columns);
    for (int c = 0; c < n_columns; c++)
        print_table_add(t, headings[c]);
    for (int i = 0; i < n; i++)
        add_row(t, &models[i], n_columns);
}

/* Where the terminal is too narrow for it, the column of arguments becomes lines of its own. */
static void print_people(const struct shown_model *models, int n)
{
    struct table t;
    fill_table(&t, models, n, N_COLUMNS);
    const int width = terminal_width(stdout);
    const bool fits = width == 0 || print_table_width(&t) <= width;
    if (!fits) {
        print_table_release(&t);
        fill_table(&t, models, n, N_COLUMNS - 1);
    }
    print_table_show(&t, stdout);
    print_table_release(&t);
    for (int i = 0; !fits && i < n; i++) {
        char *arguments = arguments_text(models[i].info);
        if (*arguments)
            printf("%s%s: %s\n", i == 0 ? "\n" : "", models[i].info->name, arguments);
        free(arguments);
    }
}

/* ---- for programs -----------------------------------------------------------------------------
 */

static json_t *model_json(const struct shown_model *m)
{
    const struct model_info *info = m->info;
    json_t *arguments = json_array();
    for (int i = 0; i < info->n_args; i++)
        json_array_append_new(
            arguments,
            json_pack("{s:s,s:I,s:I,s:I,s:s}", "name", info->args[i].name, "default",
                      (json_int_t)info->args[i].fallback, "min", (json_int_t)info->args[i].min,
                      "max", (json_int_t)info->args[i].max, "meaning", info->args[i].meaning));
    json_t *obj = json_pack("{s:s,s:s}", "name", info->name, "summary", info->summary);
    if (m->data.name) {
        json_object_set_new(obj, "dataset", json_string(m->data.name));
        json_object_set_new(obj, "input", list_shape_json(m->data.shape));
        json_object_set_new(obj, "tokens", json_boolean(m->data.vocabulary > 0));
        json_object_set_new(obj, "outputs", json_integer(m->data.n_outputs));
    }
    if (m->measured) {
        json_object_set_new(obj, "parameters", json_integer((json_int_t)m->parameters));
        json_object_set_new(obj, "macs_per_sample", json_integer((json_int_t)m->macs));
        json_object_set_new(obj, "activation_bytes_per_sample",
                            json_integer((json_int_t)m->activation_bytes));
    } else {
        json_object_set_new(obj, "cause", json_string(m->cause));
    }
    json_object_set_new(obj, "arguments", arguments);
    return obj;
}

void list_models(const struct registry *catalogue, bool json)
{
    int n = 0;
    while (model_table[n])
        n++;
    struct shown_model *models = xcalloc((size_t)n, sizeof *models);
    for (int i = 0; i < n; i++) {
        models[i].info = model_table[i];
        measure(&models[i], catalogue);
    }
    if (json) {
        json_t *all = json_array();
        for (int i = 0; i < n; i++)
            json_array_append_new(all, model_json(&models[i]));
        print_json(stdout, all);
        json_decref(all);
    } else {
        print_people(models, n);
    }
    free(models);
}
