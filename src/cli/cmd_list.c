/* fugue list: the experiments and what they train; with --models and --datasets those tables. */
#include "base/env.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/list.h"
#include "exec/estimate.h"

#include <stdlib.h>
#include <string.h>

enum { OPT_EXP, OPT_MODELS, OPT_DATASETS, OPT_JSON };

static const struct option options[] = {
    [OPT_EXP] = {.name = "--exp",
                 .type = OPTION_LIST,
                 .arg = "ID ...",
                 .fallback = "all",
                 .help = "only these: ids (D01), numbers (5 is E05), ranges (E01:E05, 3:, :7)"},
    [OPT_MODELS] = {.name = "--models",
                    .type = OPTION_SWITCH,
                    .help =
                        "the models instead: parameters, multiply-adds and bytes of activations "
                        "a sample, input, arguments with their defaults"},
    [OPT_DATASETS] = {.name = "--datasets",
                      .type = OPTION_SWITCH,
                      .help =
                          "the data sets instead: shape, classes, task, sizes, and whether their "
                          "files are there"},
    [OPT_JSON] = {.name = "--json",
                  .type = OPTION_SWITCH,
                  .help = "as a JSON array of objects with everything there is to know"},
};

/* What is shown of one network. */
enum column {
    COL_ID,
    COL_TYPE,
    COL_MODEL,
    COL_DATASET,
    COL_K,
    COL_BATCH,
    COL_EPOCHS,
    COL_LR,
    COL_OPTIMIZER,
    COL_TASK,
    COL_AMP,
    COL_ONE,
    COL_ALL,
    COL_STATE,
    N_COLUMNS
};

static const char *const headings[N_COLUMNS] = {"ID",     "TYPE",    "MODEL",  "DATA SET",  ">K",
                                                ">BATCH", ">EPOCHS", ">LR",    "OPTIMIZER", "TASK",
                                                "AMP",    ">MEM 1",  ">MEM K", "STATE"};

struct row {
    char *cell[N_COLUMNS];
};

/* An experiment and what it needs. */
struct entry {
    const struct experiment *e;
    bool known; /* memory; else why not: */
    struct memory_estimate memory;
    struct error err;
};

static void estimate(struct entry *entry, const struct engine *engine)
{
    struct job *jobs;
    int32_t n;
    if (!experiment_jobs(entry->e, 0, 0, &jobs, &n, &entry->err))
        return;
    entry->known = estimate_memory(engine, jobs, n, &entry->memory, &entry->err);
    jobs_free(jobs, n);
}

/* Memory depends on the threads there are: what `run` would use. */
static struct entry *make_entries(const struct experiment *const *list, int32_t n,
                                  const struct engine *engine)
{
    struct entry *entries = xcalloc((size_t)n + 1, sizeof *entries);
    for (int32_t i = 0; i < n; i++) {
        entries[i].e = list[i];
        estimate(&entries[i], engine);
    }
    return entries;
}

static void row_release(struct row *r)
{
    for (int c = 0; c < N_COLUMNS; c++)
        free(r->cell[c]);
}

/* "0.0001|0.0003" of an axis, NULL when `key` is not searched over. */
static char *axis_text(const struct experiment *e, const char *key)
{
    for (int32_t i = 0; i < e->n_axes; i++) {
        if (strcmp(e->axes[i].key, key) != 0)
            continue;
        struct text out;
        text_init(&out);
        size_t v;
        json_t *value;
        json_array_foreach(e->axes[i].values, v, value)
        {
            text_add(&out, v ? "|" : "");
            if (json_is_number(value))
                text_addf(&out, "%g", json_number_value(value));
            else if (json_is_string(value))
                text_add(&out, json_string_value(value));
            else
                text_add(&out, json_is_true(value) ? "yes" : "no");
        }
        char *text = text_take(&out);
        text_release(&out);
        return text;
    }
    return NULL;
}

static char *axis_or(const struct experiment *e, const char *key, char *fallback)
{
    char *axis = axis_text(e, key);
    if (!axis)
        return fallback;
    free(fallback);
    return axis;
}

/* "sgd momentum=0.9 weight_decay=0|0.01": options that are not the defaults, and searched ones. */
static char *optimizer_text(const struct experiment *e, const struct net_def *net)
{
    struct text out;
    text_init(&out);
    char *name = axis_or(e, "optimizer", xstrdup(net->optimizer));
    char *set = net_options_text(net);
    text_addf(&out, "%s%s%s", name, *set ? " " : "", set);
    for (int32_t i = 0; i < e->n_axes; i++) {
        const char *key = e->axes[i].key;
        static const char *const own[] = {"lr", "batch_size", "epochs", "optimizer", "task", "amp"};
        bool shown = false;
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            shown = shown || strcmp(own[k], key) == 0;
        char *values = shown ? NULL : axis_text(e, key);
        if (values)
            text_addf(&out, " %s=%s", key, values);
        free(values);
    }
    free(name);
    free(set);
    char *text = text_take(&out);
    text_release(&out);
    return text;
}

static void fill_row(struct row *r, const struct experiment *e, const struct net_def *net)
{
    r->cell[COL_MODEL] = xstrdup(net->model);
    r->cell[COL_DATASET] = xstrdup(net->dataset);
    r->cell[COL_BATCH] = axis_or(e, "batch_size", xasprintf("%d", net->batch_size));
    r->cell[COL_EPOCHS] = axis_or(e, "epochs", xasprintf("%d", net->epochs));
    r->cell[COL_LR] = axis_or(e, "lr", xasprintf("%g", net->optim.lr));
    r->cell[COL_OPTIMIZER] = optimizer_text(e, net);
    r->cell[COL_TASK] = axis_or(e, "task", xstrdup(net->task));
    r->cell[COL_AMP] = axis_or(e, "amp", xstrdup(net->amp ? "yes" : "no"));
}

/* Row i of an experiment: a multi_model has one an entry, and says what is common once. */
static bool make_row(struct row *r, const struct entry *entry, int32_t i)
{
    const struct experiment *e = entry->e;
    if (i > 0 && i >= e->n_models)
        return false;
    fill_row(r, e, e->n_models ? &e->models[i] : &e->net);
    r->cell[COL_ID] = xstrdup(i == 0 ? e->id : "");
    r->cell[COL_TYPE] = xstrdup(i == 0 ? e->workload->name : "");
    r->cell[COL_K] = i == 0 ? xasprintf("%lld", (long long)e->workload->job_count(e)) : xstrdup("");
    const bool shown = i == 0 && entry->known;
    r->cell[COL_ONE] = shown ? list_bytes((double)entry->memory.one) : xstrdup("");
    r->cell[COL_ALL] = shown ? list_bytes((double)entry->memory.all) : xstrdup("");
    r->cell[COL_STATE] = xstrdup(i == 0 ? experiment_state(e, false) : "");
    return true;
}

static void fill_table(struct table *t, const struct entry *list, int32_t n)
{
    print_table_init(t, N_COLUMNS);
    for (int c = 0; c < N_COLUMNS; c++)
        print_table_add(t, headings[c]);
    for (int32_t i = 0; i < n; i++) {
        struct row r;
        for (int32_t k = 0; make_row(&r, &list[i], k); k++) {
            for (int c = 0; c < N_COLUMNS; c++)
                print_table_add(t, r.cell[c]);
            row_release(&r);
        }
    }
}

/* Where the terminal is narrower than the table: two lines a network. */
static void print_narrow(const struct entry *list, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        struct row r;
        for (int32_t k = 0; make_row(&r, &list[i], k); k++) {
            char **c = r.cell;
            if (k == 0)
                printf("%s  %s, K %s%s%s  [%s]\n", c[COL_ID], c[COL_TYPE], c[COL_K],
                       *c[COL_ALL] ? ", " : "", c[COL_ALL], c[COL_STATE]);
            printf("     %s / %s\n", c[COL_MODEL], c[COL_DATASET]);
            printf("     batch %s, epochs %s, lr %s, %s, %s%s\n", c[COL_BATCH], c[COL_EPOCHS],
                   c[COL_LR], c[COL_OPTIMIZER], c[COL_TASK],
                   strcmp(c[COL_AMP], "yes") == 0 ? ", AMP" : "");
            row_release(&r);
        }
    }
}

static void print_people(const struct entry *list, int32_t n)
{
    struct table t;
    fill_table(&t, list, n);
    const int width = terminal_width(stdout);
    if (width == 0 || print_table_width(&t) <= width)
        print_table_show(&t, stdout);
    else
        print_narrow(list, n);
    print_table_release(&t);
}

static json_t *memory_json(const struct entry *entry, const struct engine *engine)
{
    if (!entry->known)
        return json_pack("{s:s}", "cause", entry->err.text);
    return json_pack("{s:I,s:I,s:i}", "one", (json_int_t)entry->memory.one, "all",
                     (json_int_t)entry->memory.all, "threads", engine_threads(engine));
}

static void print_programs(const struct entry *list, int32_t n, const struct engine *engine)
{
    json_t *all = json_array();
    for (int32_t i = 0; i < n; i++) {
        const struct experiment *e = list[i].e;
        char hash[17];
        experiment_hash(e, hash);
        json_t *obj =
            json_pack("{s:s,s:s,s:s,s:I,s:o,s:s}", "id", e->id, "source", e->source, "state",
                      experiment_state(e, false), "k", (json_int_t)e->workload->job_count(e),
                      "memory_bytes", memory_json(&list[i], engine), "definition_hash", hash);
        json_t *def = experiment_to_json(e);
        json_object_update(obj, def);
        json_decref(def);
        json_array_append_new(all, obj);
    }
    print_json(stdout, all);
    json_decref(all);
}

static bool list_experiments(const struct registry *registry, const struct text_list *exp,
                             bool json, struct error *err)
{
    const struct experiment **list;
    int32_t n;
    if (!registry_select(registry, list_items(exp), (int)exp->n, &list, &n, err))
        return false;
    struct engine *engine = engine_open(&(struct engine_options){.device = "cpu"}, err);
    if (engine) {
        struct entry *entries = make_entries(list, n, engine);
        if (json)
            print_programs(entries, n, engine);
        else
            print_people(entries, n);
        free(entries);
    }
    free(list);
    engine_close(engine);
    return engine != NULL;
}

static bool one_table(const struct option_value *values, struct error *err)
{
    if (values[OPT_MODELS].given && values[OPT_DATASETS].given)
        return error_set(err, ERROR_USAGE, "--models and --datasets are two tables: give one");
    if (values[OPT_EXP].given && (values[OPT_MODELS].given || values[OPT_DATASETS].given))
        return error_set(err, ERROR_USAGE,
                         "--exp selects experiments, and %s lists none: leave one of them out",
                         values[OPT_MODELS].given ? "--models" : "--datasets");
    return true;
}

static int run(const struct option_value *values, const struct text_list *words, struct error *err)
{
    (void)words;
    struct registry registry;
    const bool json = values[OPT_JSON].given;
    if (!one_table(values, err))
        return 2;
    if (values[OPT_DATASETS].given) {
        list_datasets(env_value(ENV_DATA_DIR), json);
        return 0;
    }
    if (!registry_load(&registry, env_value(ENV_REGISTRY_DIR), err))
        return 1;
    bool ok = true;
    if (values[OPT_MODELS].given)
        list_models(&registry, json);
    else
        ok = list_experiments(&registry, &values[OPT_EXP].list, json, err);
    registry_release(&registry);
    return ok ? 0 : 1;
}

const struct command command_list = {
    .name = "list",
    .summary = "List the experiments: what they train, with which values, and whether this version "
               "can run them.",
    .usage = "fugue list [--exp ID ...] [--json]\n"
             "fugue list --models [--json]\n"
             "fugue list --datasets [--json]",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .details =
        "K is the number of networks; values joined by | are searched over. The catalogue is "
        "what fugue brings along and your own experiments.json in the folder that 'fugue env' "
        "shows as FUGUE_REGISTRY_DIR.",
    .run = run,
};
