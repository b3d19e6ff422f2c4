/* csv:FILE: a table whose columns are features, but for the target and those to leave out. */
#include "base/text.h"
#include "data/csv_table.h"
#include "data/number.h"
#include "data/own.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How the columns are used; the same for both files. */
struct columns {
    int32_t n, target, n_features;
    bool *is_feature; /* n; owned */
};

struct table {
    struct csv_table csv;
    char *bytes, *name; /* owned */
};

static void table_release(struct table *t)
{
    csv_table_release(&t->csv);
    free(t->bytes);
    free(t->name);
}

/* Blanks around a field are no part of it. */
static struct csv_field trimmed(struct csv_field f)
{
    while (f.len > 0 && (f.text[0] == ' ' || f.text[0] == '\t')) {
        f.text++;
        f.len--;
    }
    while (f.len > 0 && (f.text[f.len - 1] == ' ' || f.text[f.len - 1] == '\t'))
        f.len--;
    return f;
}

static bool field_is(struct csv_field field, const char *text, size_t len)
{
    const struct csv_field f = trimmed(field);
    return f.len == len && memcmp(f.text, text, len) == 0;
}

static bool to_number(struct csv_field field, double *out)
{
    const struct csv_field f = trimmed(field);
    return number_parse(f.text, f.text + f.len, out);
}

/* ---- columns ---- */

/* "1: sepal_length, 2: ..." for errors. */
static char *column_list(const struct csv_table *t)
{
    struct text list;
    text_init(&list);
    for (int32_t i = 0; i < t->n_columns && list.len < 400; i++) {
        const struct csv_field f = t->header ? trimmed(t->header[i]) : (struct csv_field){"", 0};
        text_addf(&list, "%s%d%s%.*s", i ? ", " : "", i + 1, f.len ? " " : "",
                  (int)(f.len < 40 ? f.len : 40), f.text);
    }
    char *out = text_take(&list);
    text_release(&list);
    return out;
}

/* By its name in the header, else by its number from 1 (from the end: -1 is the last). */
static bool find_column(const struct data_args *args, const struct table *t, const char *key,
                        const char *text, size_t len, int32_t *out, struct error *err)
{
    const struct csv_table *c = &t->csv;
    for (int32_t i = 0; c->header && i < c->n_columns; i++)
        if (field_is(c->header[i], text, len)) {
            *out = i;
            return true;
        }
    char copy[24] = "";
    int64_t number = 0;
    if (len < sizeof copy)
        memcpy(copy, text, len);
    if (text_to_int64(copy, &number) && number != 0 && llabs(number) <= c->n_columns) {
        *out = (int32_t)(number > 0 ? number - 1 : c->n_columns + number);
        return true;
    }
    char *list = column_list(c);
    error_set(err, ERROR_USAGE,
              "data set '%s': argument %s: '%s' has no column '%.*s'; its columns are %s",
              args->text, key, t->name, (int)(len < 60 ? len : 60), text, list);
    free(list);
    return false;
}

static bool leave_out(const struct data_args *args, const struct table *t, struct columns *c,
                      struct error *err)
{
    const char *at = data_arg_text(args, "ignore");
    while (at) {
        const char *comma = strchr(at, ',');
        int32_t column;
        if (!find_column(args, t, "ignore", at, comma ? (size_t)(comma - at) : strlen(at), &column,
                         err))
            return false;
        c->is_feature[column] = false;
        at = comma ? comma + 1 : NULL;
    }
    return true;
}

static bool choose_columns(const struct data_args *args, const struct table *t, struct columns *c,
                           struct error *err)
{
    const char *target = data_arg_text(args, "target");
    *c = (struct columns){.n = t->csv.n_columns};
    c->is_feature = xmalloc((size_t)c->n * sizeof *c->is_feature);
    for (int32_t i = 0; i < c->n; i++)
        c->is_feature[i] = true;
    if (!find_column(args, t, "target", target, strlen(target), &c->target, err) ||
        !leave_out(args, t, c, err))
        return false;
    c->is_feature[c->target] = false;
    for (int32_t i = 0; i < c->n; i++)
        c->n_features += c->is_feature[i];
    return c->n_features > 0 ||
           error_set(err, ERROR_USAGE, "data set '%s': no column is left as a feature", args->text);
}

/* ---- cells ---- */

static bool bad_cell(const struct table *t, int64_t row, int32_t column, struct error *err)
{
    const struct csv_table *c = &t->csv;
    const struct csv_field f = trimmed(c->cell[row * c->n_columns + column]);
    const struct csv_field head =
        c->header ? trimmed(c->header[column]) : (struct csv_field){"", 0};
    char shown[FIELD_SHOWN];
    field_shown(f.text, f.text + f.len, shown);
    return error_set(
        err, ERROR_DATA,
        "%s:%lld: column %d%s%.*s: %s%s%s; fill or remove the row, or leave the column "
        "out (ignore=)",
        t->name, (long long)c->line[row], column + 1, head.len ? ", " : "",
        (int)(head.len < 40 ? head.len : 40), head.text, f.len ? "'" : "no value", shown,
        f.len ? "' is not a number" : "");
}

static bool read_features(const struct table *t, const struct columns *c, struct own_part *part,
                          struct error *err)
{
    const struct csv_table *csv = &t->csv;
    const size_t cells = (size_t)csv->n_rows * (size_t)c->n_features;
    float *x = malloc(cells ? cells * sizeof *x : 1);
    if (!x)
        return error_set(err, ERROR_SYSTEM, "no memory for the features of '%s'", t->name);
    part->x = x;
    for (int64_t row = 0; row < csv->n_rows; row++)
        for (int32_t i = 0; i < c->n; i++) {
            double v;
            if (!c->is_feature[i])
                continue;
            if (!to_number(csv->cell[row * c->n + i], &v) || fabs(v) > 1e30)
                return bad_cell(t, row, i, err);
            *x++ = (float)v;
        }
    return true;
}

/* Numbers if all are; else text, of which none may be empty. */
static bool read_targets(const struct table *t, const struct columns *c, struct own_targets *y,
                         struct error *err)
{
    const struct csv_table *csv = &t->csv;
    bool numbers = true;
    y->n = csv->n_rows;
    y->number = xmalloc((size_t)y->n * sizeof *y->number);
    for (int64_t row = 0; row < y->n; row++) {
        const struct csv_field f = csv->cell[row * c->n + c->target];
        if (trimmed(f).len == 0)
            return bad_cell(t, row, c->target, err);
        numbers = numbers && to_number(f, &y->number[row]);
    }
    if (numbers)
        return true;
    free(y->number);
    y->number = NULL;
    y->text = xmalloc((size_t)y->n * sizeof *y->text);
    for (int64_t row = 0; row < y->n; row++)
        y->text[row] = trimmed(csv->cell[row * c->n + c->target]);
    return true;
}

/* ---- files ---- */

static char separator_of(const struct data_args *args)
{
    const char *name = data_arg_text(args, "separator");
    return strcmp(name, "semicolon") == 0 ? ';' : strcmp(name, "tab") == 0 ? '\t' : ',';
}

/* A first line of numbers only is data taken for a header. */
static bool check_header(const struct data_args *args, const struct table *t, struct error *err)
{
    double unused;
    if (!t->csv.header || data_arg_given(args, "header"))
        return true;
    for (int32_t i = 0; i < t->csv.n_columns; i++)
        if (!to_number(t->csv.header[i], &unused))
            return true;
    return error_set(err, ERROR_USAGE,
                     "data set '%s': the first line of '%s' holds numbers only; say header=0 when "
                     "it is data, header=1 when these are names",
                     args->text, t->name);
}

static bool read_table(const struct data_args *args, const char *path, struct table *t,
                       struct error *err)
{
    size_t n;
    *t = (struct table){.bytes = NULL};
    return own_read(path, &t->bytes, &n, &t->name, err) &&
           csv_table_parse(t->bytes, n, separator_of(args), data_arg_int(args, "header") == 1,
                           t->name, &t->csv, err) &&
           check_header(args, t, err);
}

static bool same_header(const struct table *a, const struct table *b, struct error *err)
{
    if (a->csv.n_columns != b->csv.n_columns)
        return error_set(err, ERROR_DATA, "'%s' has %d columns, but '%s' has %d", a->name,
                         a->csv.n_columns, b->name, b->csv.n_columns);
    for (int32_t i = 0; a->csv.header && i < a->csv.n_columns; i++) {
        const struct csv_field f = trimmed(a->csv.header[i]);
        if (!field_is(b->csv.header[i], f.text, f.len))
            return error_set(err, ERROR_DATA, "column %d of '%s' and of '%s' have different names",
                             i + 1, a->name, b->name);
    }
    return true;
}

/* The text of targets stays in the tables, which outlive the set. */
struct csv_files {
    struct table train, test;
    struct columns columns;
    struct own_set set;
};

static void files_release(struct csv_files *f)
{
    own_release(&f->set);
    table_release(&f->train);
    table_release(&f->test);
    free(f->columns.is_feature);
}

static bool read_part(const struct table *t, struct csv_files *f, struct own_part *part,
                      struct error *err)
{
    return read_targets(t, &f->columns, &part->y, err) && read_features(t, &f->columns, part, err);
}

static bool read_files(const struct data_args *args, const char *root, struct csv_files *f,
                       struct error *err)
{
    char *test = data_arg_path(args, "test", root);
    *f = (struct csv_files){.set = {.x_type = DATA_F32, .divisor = 1, .has_test = test != NULL}};
    bool ok = read_table(args, args->path, &f->train, err) &&
              choose_columns(args, &f->train, &f->columns, err) &&
              read_part(&f->train, f, &f->set.train, err);
    if (ok && test)
        ok = read_table(args, test, &f->test, err) && same_header(&f->train, &f->test, err) &&
             read_part(&f->test, f, &f->set.test, err);
    free(test);
    f->set.shape = shape_vector(f->columns.n_features);
    ok = ok && own_finish(&f->set, args, err);
    if (!ok)
        files_release(f);
    return ok;
}

bool csv_describe(const struct data_args *args, const char *root, struct data_info *info,
                  struct error *err)
{
    struct csv_files f;
    if (!read_files(args, root, &f, err))
        return false;
    own_describe(&f.set, args, info);
    files_release(&f);
    return true;
}

bool csv_load(const struct data_args *args, const char *root, struct dataset *d, struct error *err)
{
    struct csv_files f;
    if (!read_files(args, root, &f, err))
        return false;
    if (data_arg_int(args, "standardise"))
        own_standardise(&f.set, args);
    const bool ok = own_fill(&f.set, args, d, err);
    files_release(&f);
    return ok;
}
