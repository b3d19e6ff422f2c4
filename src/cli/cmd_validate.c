/* fugue validate: is every experiment usable as it is defined? */
#include "base/env.h"
#include "catalog/registry.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

enum { OPT_EXP, OPT_DATA, OPT_JSON };

static const struct option options[] = {
    [OPT_EXP] = {.name = "--exp",
                 .type = OPTION_LIST,
                 .arg = "ID ...",
                 .fallback = "all",
                 .help = "only these: ids (D01), numbers (5 is E05), ranges (E01:E05, 3:, :7)"},
    [OPT_DATA] = {.name = "--data",
                  .type = OPTION_SWITCH,
                  .help =
                      "also look whether the files of the data sets are there; missing ones are "
                      "warnings"},
    [OPT_JSON] = {.name = "--json", .type = OPTION_SWITCH, .help = "as one JSON object"},
};

/* What was found. */
struct findings {
    struct text_list errors, warnings;
    struct text_list models, datasets; /* distinct names */
    int32_t n, usable;
};

static void findings_init(struct findings *f)
{
    text_list_init(&f->errors);
    text_list_init(&f->warnings);
    text_list_init(&f->models);
    text_list_init(&f->datasets);
    f->n = f->usable = 0;
}

static void findings_release(struct findings *f)
{
    text_list_release(&f->errors);
    text_list_release(&f->warnings);
    text_list_release(&f->models);
    text_list_release(&f->datasets);
}

static void add_distinct(struct text_list *l, const char *s)
{
    if (!text_list_has(l, s))
        text_list_add(l, s);
}

static void count_net(struct findings *f, const struct net_def *net)
{
    add_distinct(&f->models, net->model);
    add_distinct(&f->datasets, net->dataset);
}

static void check_one(struct findings *f, const struct experiment *e)
{
    struct error err = ERROR_INIT;
    f->n++;
    if (e->n_models == 0)
        count_net(f, &e->net);
    for (int32_t i = 0; i < e->n_models; i++)
        count_net(f, &e->models[i]);
    if (experiment_check(e, false, &err))
        f->usable++;
    else
        text_list_add(&f->errors, err.text);
}

static void check_files(struct findings *f)
{
    for (size_t i = 0; i < f->datasets.n; i++) {
        struct error err = ERROR_INIT;
        const char *name = f->datasets.items[i];
        /* What cannot be used at all is an error already. */
        if (data_check(name, false, NULL) && !data_present(name, env_value(ENV_DATA_DIR), &err))
            text_list_add(&f->warnings, err.text);
    }
}

/* ---- printing ---------------------------------------------------------------------------------
 */

static void print_lines(const char *heading, const struct text_list *l)
{
    if (l->n > 0)
        printf("%zu %s%s:\n", l->n, heading, l->n == 1 ? "" : "s");
    for (size_t i = 0; i < l->n; i++)
        printf("  %s\n", l->items[i]);
}

static void print_people(const struct findings *f)
{
    printf("%d experiment%s (%d usable), %zu model%s, %zu data set%s\n", f->n, f->n == 1 ? "" : "s",
           f->usable, f->models.n, f->models.n == 1 ? "" : "s", f->datasets.n,
           f->datasets.n == 1 ? "" : "s");
    print_lines("warning", &f->warnings);
    print_lines("error", &f->errors);
}

static json_t *strings(const struct text_list *l)
{
    json_t *array = json_array();
    for (size_t i = 0; i < l->n; i++)
        json_array_append_new(array, json_string(l->items[i]));
    return array;
}

static void print_programs(const struct findings *f)
{
    json_t *obj = json_pack("{s:b,s:i,s:i,s:o,s:o,s:o,s:o}", "ok", f->errors.n == 0, "experiments",
                            f->n, "usable", f->usable, "models", strings(&f->models), "datasets",
                            strings(&f->datasets), "warnings", strings(&f->warnings), "errors",
                            strings(&f->errors));
    print_json(stdout, obj);
    json_decref(obj);
}

/* ---- the command ------------------------------------------------------------------------------
 */

static bool check_all(struct findings *f, const struct registry *registry,
                      const struct text_list *exp, bool files, struct error *err)
{
    const struct experiment **list;
    int32_t n;
    if (!registry_select(registry, list_items(exp), (int)exp->n, &list, &n, err))
        return false;
    for (int32_t i = 0; i < n; i++)
        check_one(f, list[i]);
    free(list);
    if (files)
        check_files(f);
    return true;
}

static int run(const struct option_value *values, const struct text_list *words, struct error *err)
{
    (void)words;
    struct registry registry;
    struct findings f;
    findings_init(&f);
    warn_unknown_variable();
    bool ok = registry_load_all(&registry, env_value(ENV_REGISTRY_DIR), &f.errors, err);
    if (ok) {
        ok = check_all(&f, &registry, &values[OPT_EXP].list, values[OPT_DATA].given, err);
        registry_release(&registry);
    }
    const bool good = ok && f.errors.n == 0;
    if (ok && values[OPT_JSON].given)
        print_programs(&f);
    else if (ok)
        print_people(&f);
    findings_release(&f);
    return good ? 0 : 1;
}

const struct command command_validate = {
    .name = "validate",
    .summary =
        "Check every experiment: names, types, ranges, and that model, data set and task fit.",
    .usage = "fugue validate [--exp ID ...] [--data] [--json]",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .details =
        "The exit code is 1 with any error, 0 otherwise. An experiment whose model, data set "
        "or task this version does not have yet is an error, too: it cannot be run. "
        "'fugue validate --exp D01' checks just what you are about to run. Definitions in "
        "your experiments.json that cannot be read are reported whatever is selected.",
    .run = run,
};
