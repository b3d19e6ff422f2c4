/* Options of `run` to cells: definitions, overrides, contradictions. */
#include "cli/run_plan.h"

#include "base/env.h"
#include "base/file.h"
#include "base/json.h"
#include "base/os.h"
#include "base/text.h"
#include "catalog/registry.h"
#include "cli/run_pretrained.h"
#include "data/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool given(const struct option_value *values, const char *name)
{
    return run_value(values, name)->given;
}

/* Options that only describe an ad-hoc experiment, with what to write instead. */
static const struct {
    const char *option, *instead;
} adhoc_only[] = {
    {"--type", NULL},
    {"--k", "--set k=N"},
    {"--task", "--set task=NAME"},
    {"--epochs", "--set epochs=N"},
    {"--batch-size", "--set batch_size=N"},
    {"--lr", "--set lr=X"},
    {"--optimizer", "--set optimizer=NAME"},
    {"--momentum", "--set momentum=X"},
    {"--weight-decay", "--set weight_decay=X"},
    {"--nesterov", "--set nesterov=true"},
    {"--optimizer-arg", "--set KEY=V"},
    {"--schedule", "--set schedule=NAME"},
    {"--clip-grad-norm", "--set clip_grad_norm=X"},
    {"--amp", "--set amp=true"},
    {"--search-space", NULL},
    {"--name", NULL},
};

static bool check_mode(const struct option_value *values, bool *adhoc, struct error *err)
{
    const bool model = given(values, "--model"), dataset = given(values, "--dataset");
    *adhoc = model || dataset;
    if (*adhoc && given(values, "--exp"))
        return error_set(err, ERROR_USAGE,
                         "--exp names experiments and --model/--dataset describe one: give either, "
                         "not both");
    if (!*adhoc && !given(values, "--exp"))
        return error_set(err, ERROR_USAGE,
                         "nothing to run: name experiments with --exp (for example --exp D01, or "
                         "--exp all), or describe one with --model and --dataset");
    if (model != dataset)
        return error_set(err, ERROR_USAGE,
                         "%s is missing: an ad-hoc run needs --model and --dataset",
                         model ? "--dataset" : "--model");
    if (*adhoc)
        return true;
    for (size_t i = 0; i < sizeof adhoc_only / sizeof adhoc_only[0]; i++) {
        if (!given(values, adhoc_only[i].option))
            continue;
        return error_set(err, ERROR_USAGE, "%s describes an ad-hoc run (--model, --dataset)%s%s",
                         adhoc_only[i].option,
                         adhoc_only[i].instead ? "; to change a catalogue experiment use "
                                               : " and means nothing with --exp",
                         adhoc_only[i].instead ? adhoc_only[i].instead : "");
    }
    return true;
}

/* "KEY=V" of --optimizer-arg as a typed member; optimizer checks follow in experiment_from_json. */
static bool put_optimizer_arg(json_t *kwargs, const char *token, struct error *err)
{
    const char *eq = strchr(token, '=');
    if (!eq || eq == token || !eq[1])
        return error_set(err, ERROR_USAGE,
                         "--optimizer-arg '%s': write KEY=V, for example eps=1e-6", token);
    char *key = xstrdup(token);
    key[eq - token] = '\0';
    const bool repeated = json_object_get(kwargs, key) != NULL;
    double a, b;
    json_t *value = NULL;
    const char *comma = strchr(eq + 1, ',');
    if (comma) {
        char *first = xstrdup(eq + 1);
        first[comma - (eq + 1)] = '\0';
        if (text_to_double(first, &a) && text_to_double(comma + 1, &b))
            value = json_pack("[ff]", a, b);
        free(first);
    } else if (text_equal_nocase(eq + 1, "true") || text_equal_nocase(eq + 1, "false")) {
        value = json_boolean(text_equal_nocase(eq + 1, "true"));
    } else if (text_to_double(eq + 1, &a)) {
        value = json_real(a);
    }
    bool ok = true;
    if (repeated)
        ok = error_set(err, ERROR_USAGE, "--optimizer-arg %s is given twice", key);
    else if (!value)
        ok = error_set(err, ERROR_USAGE,
                       "--optimizer-arg %s: '%s' is no number, true, false or pair of numbers", key,
                       eq + 1);
    else
        json_object_set(kwargs, key, value);
    json_decref(value);
    free(key);
    return ok;
}

static bool optimizer_kwargs(const struct option_value *values, json_t *kwargs, struct error *err)
{
    if (given(values, "--momentum"))
        json_object_set_new(kwargs, "momentum", json_real(run_value(values, "--momentum")->number));
    if (given(values, "--weight-decay"))
        json_object_set_new(kwargs, "weight_decay",
                            json_real(run_value(values, "--weight-decay")->number));
    if (given(values, "--nesterov"))
        json_object_set_new(kwargs, "nesterov", json_true());
    const struct text_list *more = &run_value(values, "--optimizer-arg")->list;
    for (size_t i = 0; i < more->n; i++)
        if (!put_optimizer_arg(kwargs, more->items[i], err))
            return false;
    return true;
}

/* The value of an option, or its documented default. */
static const char *text_or_default(const struct option_value *values, const char *name)
{
    const struct option_value *v = run_value(values, name);
    return v->given ? v->text
                    : run_options[option_index(run_options, run_options_n, name)].fallback;
}

static int64_t int_or_default(const struct option_value *values, const char *name)
{
    const struct option_value *v = run_value(values, name);
    int64_t n = v->integer;
    if (!v->given)
        text_to_int64(run_options[option_index(run_options, run_options_n, name)].fallback, &n);
    return n;
}

static double number_or_default(const struct option_value *values, const char *name)
{
    const struct option_value *v = run_value(values, name);
    double x = v->number;
    if (!v->given)
        text_to_double(run_options[option_index(run_options, run_options_n, name)].fallback, &x);
    return x;
}

static bool check_adhoc_type(const struct option_value *values, const char *type, struct error *err)
{
    const size_t models = run_value(values, "--model")->list.n;
    const size_t datasets = run_value(values, "--dataset")->list.n;
    const bool many = strcmp(type, "multi_model") == 0;
    if (!many && (models > 1 || datasets > 1))
        return error_set(err, ERROR_USAGE,
                         "--type %s takes one model and one data set; use --type multi_model for "
                         "several",
                         type);
    if (many && models != datasets)
        return error_set(err, ERROR_USAGE,
                         "--type multi_model pairs models with data sets in order: %zu model%s and "
                         "%zu data set%s were given",
                         models, models == 1 ? "" : "s", datasets, datasets == 1 ? "" : "s");
    const bool hpo = strcmp(type, "hpo") == 0;
    if (hpo && !given(values, "--search-space"))
        return error_set(err, ERROR_USAGE,
                         "--type hpo needs --search-space, for example --search-space lr=0.1,0.01");
    if (!hpo && given(values, "--search-space"))
        return error_set(err, ERROR_USAGE,
                         "--search-space is a grid of --type hpo; --type %s has none", type);
    if ((hpo || many) && given(values, "--k"))
        return error_set(err, ERROR_USAGE,
                         "--k counts ensemble members or folds; --type %s has as many networks as "
                         "its %s",
                         type, hpo ? "search space" : "models");
    return true;
}

static json_t *adhoc_definition(const struct option_value *values, struct error *err)
{
    const char *type = text_or_default(values, "--type");
    if (!check_adhoc_type(values, type, err))
        return NULL;
    const bool many = strcmp(type, "multi_model") == 0;
    json_t *def = json_object();
    json_object_set_new(def, "type", json_string(type));
    const struct text_list *models = &run_value(values, "--model")->list;
    const struct text_list *datasets = &run_value(values, "--dataset")->list;
    if (many) {
        json_t *list = json_array();
        for (size_t i = 0; i < models->n; i++)
            json_array_append_new(
                list, json_pack("{ssss}", "name", models->items[i], "dataset", datasets->items[i]));
        json_object_set_new(def, "models", list);
    } else {
        json_object_set_new(def, "model", json_string(models->items[0]));
        json_object_set_new(def, "dataset", json_string(datasets->items[0]));
    }
    json_object_set_new(def, "batch_size", json_integer(int_or_default(values, "--batch-size")));
    json_object_set_new(def, "epochs", json_integer(int_or_default(values, "--epochs")));
    json_object_set_new(def, "lr", json_number(number_or_default(values, "--lr")));
    json_object_set_new(def, "optimizer", json_string(text_or_default(values, "--optimizer")));
    if (given(values, "--task"))
        json_object_set_new(def, "task", json_string(run_value(values, "--task")->text));
    if (given(values, "--amp"))
        json_object_set_new(def, "amp", json_true());
    if (given(values, "--schedule"))
        json_object_set_new(def, "schedule", json_string(run_value(values, "--schedule")->text));
    if (given(values, "--clip-grad-norm"))
        json_object_set_new(def, "clip_grad_norm",
                            json_number(number_or_default(values, "--clip-grad-norm")));
    json_t *kwargs = json_object();
    bool ok = optimizer_kwargs(values, kwargs, err);
    if (json_object_size(kwargs) > 0)
        json_object_set(def, "optimizer_kwargs", kwargs);
    json_decref(kwargs);
    const struct workload_info *workload = workload_find(type);
    if (workload && workload->count_key)
        json_object_set_new(def, workload->count_key, json_integer(int_or_default(values, "--k")));
    if (ok && given(values, "--search-space")) {
        const struct text_list *space = &run_value(values, "--search-space")->list;
        json_t *grid = search_space_parse((const char *const *)space->items, (int)space->n, err);
        if (grid)
            json_object_set_new(def, "search_space", grid);
        ok = grid != NULL;
    }
    if (!ok) {
        json_decref(def);
        return NULL;
    }
    return def;
}

static bool add_adhoc(const struct option_value *values, struct registry *registry,
                      struct error *err)
{
    json_t *def = adhoc_definition(values, err);
    if (!def)
        return false;
    struct experiment *e =
        experiment_from_json(text_or_default(values, "--name"), def, "ad-hoc", "ad-hoc run", err);
    json_decref(def);
    if (!e) {
        err->class_ = ERROR_USAGE;
        return false;
    }
    return registry_add(registry, e, err);
}

/* The experiments of this run: copies, with --set applied. */
static bool choose_experiments(const struct option_value *values, bool adhoc,
                               struct experiment ***out, int *n_out, struct error *err)
{
    struct registry registry;
    if (!registry_load(&registry, env_value(ENV_REGISTRY_DIR), err))
        return false;
    const struct experiment **chosen = NULL;
    int32_t n = 0;
    const char *name = text_or_default(values, "--name");
    const struct text_list *tokens = &run_value(values, "--exp")->list;
    bool ok = !adhoc || add_adhoc(values, &registry, err);
    if (ok && adhoc) {
        chosen = xcalloc(1, sizeof(const struct experiment *));
        chosen[0] = registry_find(&registry, name);
        n = 1;
    } else if (ok) {
        ok = registry_select(&registry, (const char *const *)tokens->items, (int)tokens->n, &chosen,
                             &n, err);
    }
    struct experiment **copies = xcalloc(n > 0 ? (size_t)n : 1, sizeof(struct experiment *));
    for (int i = 0; ok && i < n; i++)
        copies[i] = experiment_copy(chosen[i]);
    const struct text_list *sets = &run_value(values, "--set")->list;
    for (int i = 0; ok && i < n; i++)
        for (size_t j = 0; ok && j < sets->n; j++) {
            char *key = xstrdup(sets->items[j]);
            char *eq = strchr(key, '=');
            if (!eq || eq == key || !eq[1])
                ok = error_set(err, ERROR_USAGE, "--set '%s': write KEY=V, for example epochs=2",
                               sets->items[j]);
            else {
                *eq = '\0';
                ok = experiment_set(copies[i], key, eq + 1, err);
            }
            free(key);
        }
    free(chosen);
    registry_release(&registry);
    if (!ok) {
        for (int i = 0; i < n; i++)
            experiment_free(copies[i]);
        free(copies);
        return false;
    }
    *out = copies;
    *n_out = n;
    return true;
}

static bool unknown_executor(const char *slug, const char *const *names, size_t n,
                             struct error *err)
{
    struct text list;
    text_init(&list);
    for (size_t i = 0; i < n; i++)
        text_addf(&list, "%s%s", i ? ", " : "", names[i]);
    error_set(err, ERROR_USAGE, "--exec: there is no strategy '%.80s'%s; there are %s", slug,
              text_did_you_mean(slug, names, n), list.data);
    text_release(&list);
    return false;
}

static bool choose_executors(const struct option_value *values, const struct executor_info **out,
                             int *n_out, struct error *err)
{
    const struct text_list *slugs = &run_value(values, "--exec")->list;
    int known = 0;
    const char *names[64];
    for (const struct executor_info *const *x = executor_table; *x; x++)
        names[known++] = (*x)->slug;
    *n_out = 0;
    for (const struct executor_info *const *x = executor_table; slugs->n == 0 && *x; x++)
        if ((*x)->baseline && *n_out == 0)
            out[(*n_out)++] = *x;
    for (size_t i = 0; i < slugs->n; i++) {
        const char *slug = slugs->items[i];
        const struct executor_info *x = executor_find(slug);
        if (!x && executor_planned(slug))
            return error_set(err, ERROR_USAGE, "--exec %s: %s", slug, executor_planned(slug));
        if (!x)
            return unknown_executor(slug, names, (size_t)known, err);
        for (int j = 0; j < *n_out; j++)
            if (out[j] == x)
                return error_set(err, ERROR_USAGE, "--exec names %s twice; once is enough", slug);
        out[(*n_out)++] = x;
    }
    return true;
}

/* Flags that no selected cell could use are errors, not decoration. */
static bool check_useful(const struct option_value *values, struct experiment *const *experiments,
                         int n, const struct executor_info *const *executors, int n_executors,
                         struct error *err)
{
    bool parallel = false, seeded = false;
    for (int i = 0; i < n_executors; i++)
        parallel |= executors[i]->uses_max_parallel;
    if (given(values, "--max-parallel") && !parallel)
        return error_set(err, ERROR_USAGE,
                         "--max-parallel changes nothing: seq runs one network at a time; add "
                         "--exec mp or unified_model, or leave it out");
    for (int i = 0; i < n; i++) {
        const char *type = experiments[i]->workload->name;
        seeded |= strcmp(type, "cv") == 0 || strcmp(type, "hpo") == 0;
    }
    if (given(values, "--split-seed") && !seeded)
        return error_set(err, ERROR_USAGE,
                         "--split-seed changes nothing: only cv and hpo experiments split the "
                         "training set; leave it out");
    if (given(values, "--threads") && run_value(values, "--threads")->integer > os_cpu_count())
        return error_set(err, ERROR_USAGE, "--threads %lld: this process may use %d cores",
                         (long long)run_value(values, "--threads")->integer, os_cpu_count());
    if (given(values, "--quiet") && given(values, "--json"))
        return error_set(err, ERROR_USAGE,
                         "--quiet and --json contradict each other: --json prints every event");
    return true;
}

/* Such a run is another one than the definition's: its rows say so. */
static void start_from(struct cell_spec *cell, const char *file)
{
    struct experiment *e = cell->experiment;
    char *overrides = xasprintf("%s%sinit_weights=%s", e->overrides ? e->overrides : "",
                                e->overrides ? "," : "", file);
    free(e->overrides);
    e->overrides = overrides;
    snprintf(cell->options.init_weights, sizeof cell->options.init_weights, "%s", file);
}

static void fill_cell(struct cell_spec *cell, const struct option_value *values,
                      const struct run_device *device, const struct experiment *e,
                      const struct executor_info *x)
{
    memset(cell, 0, sizeof *cell);
    cell->experiment = experiment_copy(e);
    cell->executor = x->slug;
    cell->seed = (uint64_t)int_or_default(values, "--seed");
    cell->split_seed = (uint64_t)int_or_default(values, "--split-seed");
    cell->data_root = xstrdup(env_value(ENV_DATA_DIR));
    cell->runs_dir = given(values, "--no-save-results") ? NULL : xstrdup(env_value(ENV_RUNS_DIR));
    cell->attempt = 1;
    struct exec_options *o = &cell->options;
    snprintf(o->device, sizeof o->device, "%s", device->name);
    o->gpu = device->gpu;
    o->compile = device->compile;
    o->threads = (int)run_value(values, "--threads")->integer;
    if (x->uses_max_parallel)
        o->max_parallel = (int)run_value(values, "--max-parallel")->integer;
    o->synthetic = strcmp(text_or_default(values, "--data"), "synthetic") == 0;
    o->data_root = cell->data_root;
    o->silence_s = 30;
    if (given(values, "--save-weights"))
        snprintf(o->save_weights, sizeof o->save_weights, "%s",
                 run_value(values, "--save-weights")->text);
    if (given(values, "--init-weights"))
        start_from(cell, run_value(values, "--init-weights")->text);
}

/* Paths of weights can be used, and no job's file would be written twice. */
static bool check_weights(const struct option_value *values, int n_executors, struct error *err)
{
    static const char *const options[] = {"--save-weights", "--init-weights"};
    for (int i = 0; i < 2; i++)
        if (given(values, options[i]) &&
            strlen(run_value(values, options[i])->text) >= EXEC_MAX_PATH)
            return error_set(err, ERROR_USAGE, "%s: the path is longer than %d bytes", options[i],
                             EXEC_MAX_PATH - 1);
    if (given(values, "--init-weights") && !file_exists(run_value(values, "--init-weights")->text))
        return error_set(err, ERROR_USAGE, "--init-weights: there is no file '%s'",
                         run_value(values, "--init-weights")->text);
    if (given(values, "--save-weights") && n_executors > 1)
        return error_set(err, ERROR_USAGE,
                         "--save-weights: %d strategies would write the same files; name one with "
                         "--exec",
                         n_executors);
    return true;
}

/* Of what a split would find only once the data is loaded, what the table knows already. */
static bool check_split(const struct cell_spec *cell, const struct job *job, struct error *err)
{
    const struct experiment *e = cell->experiment;
    struct data_info info;
    if (!data_describe(job->net.dataset, cell->options.synthetic, &info, err))
        return false;
    if (info.n_train <= 0)
        return true;
    if (job->train_size > info.n_train)
        return error_set(
            err, ERROR_USAGE, "--set train_size=%lld on %s: data set %s has %lld training samples",
            (long long)job->train_size, e->id, job->net.dataset, (long long)info.n_train);
    const int64_t n = job->train_size > 0 ? job->train_size : info.n_train;
    if (job->split.kind == SPLIT_KFOLD && job->split.k > n)
        return error_set(err, ERROR_USAGE,
                         "%s: %d folds of %lld training samples: 2 to %lld folds are possible",
                         e->id, (int)job->split.k, (long long)n, (long long)n);
    return true;
}

/* Definition, data and executor can work together; real data files are there. */
static bool check_cell(const struct cell_spec *cell, struct error *err)
{
    const struct experiment *e = cell->experiment;
    if (!experiment_check(e, cell->options.synthetic, err)) {
        err->class_ = ERROR_USAGE; /* also of a network's file: nothing was done yet */
        return false;
    }
    struct job *jobs;
    int32_t n;
    if (!experiment_jobs(e, cell->seed, cell->split_seed, &jobs, &n, err))
        return false;
    bool ok = executor_find(cell->executor)->check(jobs, n, &cell->options, err) ||
              error_prefix(err, "%s under %s", e->id, cell->executor);
    for (int i = 0; ok && i < n; i++)
        ok = check_split(cell, &jobs[i], err);
    for (int i = 0; ok && !cell->options.synthetic && i < n; i++)
        if (i == 0 || strcmp(jobs[i].net.dataset, jobs[i - 1].net.dataset) != 0)
            ok = data_present(jobs[i].net.dataset, cell->data_root, err);
    jobs_free(jobs, n);
    return ok;
}

/* What stands in the way of a run: the experiments, and why the first of them cannot run. */
struct obstacles {
    struct text_list ids;
    struct error first;
};

#define SHOWN_OBSTACLES 5

/* One sentence about all of them.  A single one needs no list. */
static bool say_obstacles(const struct obstacles *o, int n_experiments, struct error *err)
{
    struct text ids;
    const size_t n = o->ids.n;
    if (n < 2) {
        *err = o->first;
        return n == 0;
    }
    text_init(&ids);
    for (size_t i = 0; i < n && i < SHOWN_OBSTACLES; i++)
        text_addf(&ids, "%s%s", i == 0 ? "" : i + 1 == n ? " and " : ", ", o->ids.items[i]);
    if (n > SHOWN_OBSTACLES)
        text_addf(&ids, " and %zu more", n - SHOWN_OBSTACLES);
    error_set(err, o->first.class_,
              "%s (%zu of %d experiments) cannot run: leave them out ('fugue validate --data' says "
              "why of each); the first: %s",
              ids.data, n, n_experiments, o->first.text);
    text_release(&ids);
    return false;
}

/* A cell for every experiment and strategy; all experiments are looked at before any is refused. */
static bool make_cells(const struct option_value *values, struct run_plan *plan,
                       struct experiment *const *experiments, int n,
                       const struct executor_info *const *executors, int n_executors,
                       struct error *err)
{
    struct obstacles obstacles = {.first = ERROR_INIT};
    text_list_init(&obstacles.ids);
    plan->cells = xcalloc((size_t)n * (size_t)n_executors, sizeof *plan->cells);
    for (int i = 0; i < n; i++) {
        struct error why = ERROR_INIT;
        bool ok = true;
        for (int j = 0; ok && j < n_executors; j++) {
            struct cell_spec *cell = &plan->cells[plan->n++];
            fill_cell(cell, values, &plan->device, experiments[i], executors[j]);
            ok = check_cell(cell, &why) && run_pretrained_settle(values, cell, &why);
        }
        if (ok)
            continue;
        if (obstacles.ids.n == 0)
            obstacles.first = why;
        text_list_add(&obstacles.ids, experiments[i]->id);
    }
    const bool ok = say_obstacles(&obstacles, n, err);
    text_list_release(&obstacles.ids);
    return ok;
}

bool run_plan_make(const struct option_value *values, struct run_plan *plan, struct error *err)
{
    memset(plan, 0, sizeof *plan);
    const struct executor_info *executors[64];
    struct experiment **experiments = NULL;
    int n = 0, n_executors = 0;
    if (!check_mode(values, &plan->adhoc, err) ||
        !choose_executors(values, executors, &n_executors, err) ||
        !choose_experiments(values, plan->adhoc, &experiments, &n, err))
        return false;
    bool ok = check_useful(values, experiments, n, executors, n_executors, err) &&
              check_weights(values, n_executors, err) && run_device(values, &plan->device, err) &&
              run_pretrained_useful(values, experiments, n, err) &&
              make_cells(values, plan, experiments, n, executors, n_executors, err);
    if (ok && given(values, "--save-weights"))
        ok = file_make_dirs(run_value(values, "--save-weights")->text, err) ||
             error_prefix(err, "--save-weights");
    for (int i = 0; i < n; i++)
        experiment_free(experiments[i]);
    free(experiments);
    if (!ok)
        run_plan_release(plan);
    return ok;
}

void run_plan_release(struct run_plan *plan)
{
    for (int i = 0; i < plan->n; i++)
        cell_spec_release(&plan->cells[i]);
    free(plan->cells);
    plan->cells = NULL;
    plan->n = 0;
}
