/* fugue list --datasets: the table of data sets, and which are there. */
#include "cli/list.h"
#include "data/dataset.h"

#include <stdlib.h>

/* "present", "missing", or why the question does not arise. */
static const char *state_of(const struct data_info *d, const char *root)
{
    if (!d->built)
        return d->synthetic ? "only --data synthetic yet" : "not built yet";
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

static void add_row(struct table *t, const struct data_info *d, const char *root, int n_columns)
{
    char *cell[N_COLUMNS] = {
        [COL_NAME] = xstrdup(d->name),
        [COL_SHAPE] = list_shape(d->shape, d->vocabulary > 0),
        [COL_OUTPUTS] = xasprintf("%d", (int)d->n_outputs),
        [COL_TASK] = xstrdup(d->task),
        [COL_TRAIN] = xasprintf("%lld", (long long)d->n_train),
        [COL_TEST] = xasprintf("%lld", (long long)d->n_test),
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
    printf("\nFiles are looked for in %s\n", root);
}

static json_t *set_json(const struct data_info *d, const char *root)
{
    struct error err = ERROR_INIT;
    const bool present = d->built && data_present(d->name, root, &err);
    return json_pack("{s:s,s:s,s:o,s:b,s:i,s:s,s:I,s:I,s:b,s:b,s:b,s:s,s:s?}", "name", d->name,
                     "summary", d->summary, "input", list_shape_json(d->shape), "tokens",
                     d->vocabulary > 0, "outputs", (int)d->n_outputs, "task", d->task, "train",
                     (json_int_t)d->n_train, "test", (json_int_t)d->n_test, "built", d->built,
                     "synthetic", d->synthetic, "present", present, "state", state_of(d, root),
                     "cause", err.class_ == ERROR_NONE ? NULL : err.text);
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
