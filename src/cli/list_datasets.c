/* fugue list --datasets: the table of data sets, and which are there. */
#include "cli/list.h"
#include "data/dataset.h"

#include <stdlib.h>

/* "present", "missing", or why the question does not arise. */
static const char *state_of(const struct data_info *d, const char *root)
{
    if (!d->built)
        return d->synthetic ? "only --data synthetic yet" : "not built yet";
    if (d->path)
        return "yours";
    return data_present(d->name, root, NULL) ? "present" : "missing";
}

enum {
    COL_NAME,
    COL_SHAPE,
    COL_OUTPUTS,
    COL_TASK,
    COL_TRAIN,
    COL_TEST,
    COL_STATE,
    COL_SUMMARY,
    N_COLUMNS
};

static const char *const headings[N_COLUMNS] = {"DATA SET", "INPUT", ">OUTPUTS", "TASK",
                                                ">TRAIN",   ">TEST", "STATE",    "CONTENT"};

/* A cell of a number that only the files of a scheme tell. */
static char *count_cell(const struct data_info *d, int64_t n)
{
    return d->path ? xstrdup("") : xasprintf("%lld", (long long)n);
}

static char *full_name(const struct data_info *d)
{
    return d->path ? xasprintf("%s:%s", d->name, d->path) : xstrdup(d->name);
}

static void add_row(struct table *t, const struct data_info *d, const char *root, int n_columns)
{
    char *cell[N_COLUMNS] = {
        [COL_NAME] = full_name(d),
        [COL_SHAPE] = d->path ? xstrdup("as it is") : list_shape(d->shape, d->vocabulary > 0),
        [COL_OUTPUTS] = count_cell(d, d->n_outputs),
        [COL_TASK] = xstrdup(d->task ? d->task : ""),
        [COL_TRAIN] = count_cell(d, d->n_train),
        [COL_TEST] = count_cell(d, d->n_test),
        [COL_STATE] = xstrdup(state_of(d, root)),
        [COL_SUMMARY] = xstrdup(d->summary),
    };
    for (int c = 0; c < N_COLUMNS; c++) {
        if (c < n_columns)
            print_table_add(t, cell[c]);
        free(cell[c]);
    }
}

static void fill_table(struct table *t, const char *root, int n_columns)
{
    print_table_init(t, n_columns);
    for (int c = 0; c < n_columns; c++)
        print_table_add(t, headings[c]);
    for (int i = 0; data_table[i]; i++)
        add_row(t, data_table[i], root, n_columns);
}

static void print_arguments(void)
{
    bool any = false;
    for (int i = 0; data_table[i]; i++) {
        const struct data_info *d = data_table[i];
        if (d->n_args == 0)
            continue;
        char *name = full_name(d);
        printf("%s\n%s\n", any ? "" : "\nArguments, written as NAME?KEY=VALUE&KEY=VALUE:", name);
        any = true;
        free(name);
        for (int a = 0; a < d->n_args; a++) {
            const struct data_arg *arg = &d->args[a];
            char *form = data_arg_form(arg);
            printf("  %-28s %s", form, arg->meaning);
            if (arg->required)
                printf(" (needed)");
            else if (arg->fallback)
                printf(" (%s)", arg->fallback);
            printf("\n");
            free(form);
        }
    }
}

static void print_people(const char *root)
{
    struct table t;
    fill_table(&t, root, N_COLUMNS);
    const int width = terminal_width(stdout);
    if (width > 0 && print_table_width(&t) > width) {
        print_table_release(&t);
        fill_table(&t, root, COL_SUMMARY);
    }
    print_table_show(&t, stdout);
    print_table_release(&t);
    print_arguments();
    printf("\nFiles are looked for in %s\n", root);
}

static json_t *arguments_json(const struct data_info *d)
{
    json_t *all = json_array();
    for (int i = 0; i < d->n_args; i++) {
        const struct data_arg *arg = &d->args[i];
        char *form = data_arg_form(arg);
        json_array_append_new(all, json_pack("{s:s,s:s,s:s?,s:b,s:s}", "name", arg->name, "form",
                                             form, "default", arg->fallback, "required",
                                             arg->required, "meaning", arg->meaning));
        free(form);
    }
    return all;
}

/* Of a scheme, what only its files tell is null. */
static json_t *told(const struct data_info *d, json_t *value)
{
    if (!d->path)
        return value;
    json_decref(value);
    return json_null();
}

static json_t *set_json(const struct data_info *d, const char *root)
{
    struct error err = ERROR_INIT;
    const bool present = d->built && !d->path && data_present(d->name, root, &err);
    json_t *obj =
        json_pack("{s:s,s:s?,s:s}", "name", d->name, "path", d->path, "summary", d->summary);
    json_object_set_new(obj, "input", told(d, list_shape_json(d->shape)));
    json_object_set_new(obj, "tokens", told(d, json_boolean(d->vocabulary > 0)));
    json_object_set_new(obj, "outputs", told(d, json_integer(d->n_outputs)));
    json_object_set_new(obj, "task", d->task ? json_string(d->task) : json_null());
    json_object_set_new(obj, "train", told(d, json_integer(d->n_train)));
    json_object_set_new(obj, "test", told(d, json_integer(d->n_test)));
    json_object_set_new(obj, "arguments", arguments_json(d));
    json_object_set_new(obj, "built", json_boolean(d->built));
    json_object_set_new(obj, "synthetic", json_boolean(d->synthetic));
    json_object_set_new(obj, "present", told(d, json_boolean(present)));
    json_object_set_new(obj, "state", json_string(state_of(d, root)));
    json_object_set_new(obj, "cause", err.class_ ? json_string(err.text) : json_null());
    return obj;
}

void list_datasets(const char *data_root, bool json)
{
    if (!json) {
        print_people(data_root);
        return;
    }
    json_t *all = json_array();
    for (int i = 0; data_table[i]; i++)
        json_array_append_new(all, set_json(data_table[i], data_root));
    print_json(stdout, all);
    json_decref(all);
}
