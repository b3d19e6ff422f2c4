#include "results/table.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CSV_MAX    ((size_t)4 << 30)
#define HEADER_MAX 65536

/* A column the reference once called otherwise. */
static const char *current_name(const char *name, const struct csv *csv)
{
    if (strcmp(name, "unn_features") != 0)
        return name;
    for (int i = 0; i < csv->records[0].n; i++)
        if (strcmp(csv_cell(csv, &csv->records[0], i), "features") == 0)
            return name;
    return "features";
}

/* Where the (renamed) column stands in the file; -1 when it does not. */
static int find_name(const struct csv *csv, const char *name)
{
    for (int i = 0; i < csv->records[0].n; i++)
        if (strcmp(current_name(csv_cell(csv, &csv->records[0], i), csv), name) == 0)
            return i;
    return -1;
}

static bool check_header(const struct table *t, struct error *err)
{
    const struct csv_record *h = &t->csv.records[0];
    const char *id = t->file == RESULTS_HISTORY ? "job_id" : "group_id";
    if (find_name(&t->csv, id) < 0)
        return error_set(err, ERROR_DATA,
                         "'%s' is no result file: its first line has no column '%s'; move it away "
                         "and try again (rows are safe in the journal)",
                         t->path, id);
    for (int i = 0; i < h->n; i++) {
        const char *name = csv_cell(&t->csv, h, i);
        for (int j = 0; j < i; j++)
            if (strcmp(csv_cell(&t->csv, h, j), name) == 0)
                return error_set(err, ERROR_DATA,
                                 "'%s' has two columns '%s' in its first line; rename one and try "
                                 "again (rows are safe in the journal)",
                                 t->path, name);
    }
    return true;
}

/* True when all there is of the file is the beginning of the header fugue writes. */
static bool own_header_torn(const struct table *t)
{
    const struct column_table *ours = &column_tables[t->file];
    const struct csv_record *h = &t->csv.records[0];
    if (t->csv.n != 1 || h->ended || h->n > ours->n)
        return false;
    for (int i = 0; i < h->n; i++) {
        const char *cell = csv_cell(&t->csv, h, i);
        const bool same = i + 1 < h->n ? strcmp(ours->columns[i].name, cell) == 0
                                       : text_starts_with(ours->columns[i].name, cell);
        if (!same)
            return false;
    }
    return true;
}

/* Decides names, columns and whether the file must be upgraded. */
static void choose_header(struct table *t)
{
    const struct column_table *ours = &column_tables[t->file];
    const int n = t->exists ? t->csv.records[0].n : 0;
    /* A header without its line end cannot be appended to either. */
    t->upgrade = t->exists && !t->csv.records[0].ended;
    for (int i = 0; t->exists && i < ours->n; i++)
        t->upgrade |= find_name(&t->csv, ours->columns[i].name) < 0;
    for (int i = 0; t->exists && i < n; i++) {
        const char *name = csv_cell(&t->csv, &t->csv.records[0], i);
        t->upgrade |= strcmp(current_name(name, &t->csv), name) != 0;
    }
    if (!t->exists || t->upgrade)
        for (int i = 0; i < ours->n; i++)
            text_list_add(&t->names, ours->columns[i].name);
    for (int i = 0; i < n; i++) {
        const char *name = current_name(csv_cell(&t->csv, &t->csv.records[0], i), &t->csv);
        if (!t->upgrade || !column_find(t->file, name))
            text_list_add(&t->names, name);
    }
    t->columns = xcalloc(t->names.n, sizeof *t->columns);
    for (size_t i = 0; i < t->names.n; i++)
        t->columns[i] = column_find(t->file, t->names.items[i]);
}

/* Key of a row as the journal has it: group_id/job_id, group_id, or job_id in a history. */
static void row_key(const struct table *t, const struct csv_record *r, struct text *out)
{
    text_clear(out);
    if (t->file != RESULTS_HISTORY)
        text_add(out, csv_cell(&t->csv, r, find_name(&t->csv, "group_id")));
    if (t->file == RESULTS_INDIVIDUAL)
        text_add(out, "/");
    if (t->file != RESULTS_GROUPS)
        text_add(out, csv_cell(&t->csv, r, find_name(&t->csv, "job_id")));
}

static const struct csv_record *torn_record(const struct table *t)
{
    if (!t->whole || t->csv.n < 2 || t->csv.records[t->csv.n - 1].ended)
        return NULL;
    return &t->csv.records[t->csv.n - 1];
}

static void count_rows(struct table *t)
{
    struct text key;
    text_init(&key);
    for (size_t i = 1; i < t->csv.n; i++) {
        if (!t->csv.records[i].ended)
            continue;
        row_key(t, &t->csv.records[i], &key);
        const json_int_t n = json_integer_value(json_object_get(t->counts, key.data));
        json_object_set_new(t->counts, key.data, json_integer(n + 1));
    }
    text_release(&key);
}

/* The first bytes of the file, enough for its header. */
static bool read_head(const char *path, char **data, size_t *len, struct error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_errno(err, errno, "cannot read '%s'", path);
    *data = xmalloc(HEADER_MAX + 1);
    const ssize_t n = read(fd, *data, HEADER_MAX);
    const int why = errno;
    close(fd);
    if (n < 0) {
        free(*data);
        error_errno(err, why, "cannot read '%s'", path);
        return false;
    }
    (*data)[n] = '\0';
    *len = (size_t)n;
    return true;
}

bool table_open(struct table *t, enum results_file file, const char *path, bool whole,
                struct error *err)
{
    *t = (struct table){.file = file, .path = path, .whole = whole};
    text_list_init(&t->names);
    text_init(&t->pending);
    t->counts = json_object();
    char *data = NULL;
    size_t len = 0;
    if (file_size(path) > 0) {
        const bool have =
            whole ? file_read(path, CSV_MAX, &data, &len, err) : read_head(path, &data, &len, err);
        if (!have || !csv_parse(&t->csv, data, len, path, err))
            return false;
        t->restart = t->csv.n == 0 || own_header_torn(t);
        t->exists = !t->restart;
        if (t->exists && !check_header(t, err))
            return false;
    }
    choose_header(t);
    if (!whole && (t->upgrade || t->restart)) { /* the head alone will not do */
        table_close(t);
        return table_open(t, file, path, true, err);
    }
    if (whole && t->exists)
        count_rows(t);
    return true;
}

void table_close(struct table *t)
{
    text_list_release(&t->names);
    free(t->columns);
    csv_release(&t->csv);
    json_decref(t->counts);
    text_release(&t->pending);
}

bool table_take(struct table *t, const char *key)
{
    const json_int_t n = json_integer_value(json_object_get(t->counts, key));
    if (n > 0)
        json_object_set_new(t->counts, key, json_integer(n - 1));
    return n > 0;
}

void table_cell_text(const json_t *value, const struct column *column, struct text *out)
{
    char real[CSV_REAL_SIZE];
    double number;
    if (json_is_boolean(value))
        text_add(out, json_is_true(value) ? "True" : "False");
    else if (json_is_real(value) ||
             (column && column->type == COLUMN_REAL && json_to_number(value, &number))) {
        csv_real(json_is_number(value) ? json_number_value(value) : number, real);
        text_add(out, real);
    } else if (json_is_integer(value))
        text_addf(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_string(value))
        text_add(out, json_string_value(value));
}

void table_add(struct table *t, const char *key, const json_t *row)
{
    const struct csv_record *torn = torn_record(t);
    struct text cell;
    text_init(&cell);
    if (torn) {
        row_key(t, torn, &cell);
        t->torn_is_ours |= strcmp(cell.data, key) == 0;
    }
    for (size_t i = 0; i < t->names.n; i++) {
        text_clear(&cell);
        table_cell_text(json_object_get(row, t->names.items[i]), t->columns[i], &cell);
        csv_add_cell(&t->pending, cell.data, i == 0);
    }
    csv_end_line(&t->pending);
    t->n_pending++;
    text_release(&cell);
}

static void add_header(const struct table *t, struct text *out)
{
    for (size_t i = 0; i < t->names.n; i++)
        csv_add_cell(out, t->names.items[i], i == 0);
    csv_end_line(out);
}

/* A torn last row is completed when all its cells are there and the journal does not know it
 * (another program's row without a line end); otherwise it is cut off. */
static bool keep_torn(const struct table *t, const struct csv_record *torn)
{
    return !t->torn_is_ours && torn->n == t->csv.records[0].n;
}

/* The old rows under the new header, cells kept as they are; without those whose key is a member of
 * `without` (may be NULL). */
static void add_old_rows(const struct table *t, const json_t *without, struct text *out)
{
    struct text key;
    text_init(&key);
    int *from = xcalloc(t->names.n, sizeof *from);
    for (size_t i = 0; i < t->names.n; i++)
        from[i] = find_name(&t->csv, t->names.items[i]);
    const struct csv_record *torn = torn_record(t);
    for (size_t i = 1; i < t->csv.n; i++) {
        const struct csv_record *r = &t->csv.records[i];
        row_key(t, r, &key);
        if ((r == torn && !keep_torn(t, torn)) || json_object_get(without, key.data))
            continue;
        for (size_t j = 0; j < t->names.n; j++)
            csv_add_cell(out, csv_cell(&t->csv, r, from[j]), j == 0);
        /* Cells beyond the header belong to nobody, but they are somebody's. */
        for (int j = t->csv.records[0].n; j < r->n; j++)
            csv_add_cell(out, csv_cell(&t->csv, r, j), false);
        csv_end_line(out);
    }
    free(from);
    text_release(&key);
}

/* Keeps a copy of the file under the first free <name>.pre-upgrade.<n>.bak. */
static bool back_up(const char *path, char **copy, struct error *err)
{
    char *data;
    size_t len;
    if (!file_read(path, CSV_MAX, &data, &len, err))
        return false;
    *copy = NULL;
    for (int n = 1; !*copy || file_exists(*copy); n++) {
        free(*copy);
        *copy = xasprintf("%s.pre-upgrade.%d.bak", path, n);
    }
    const bool ok = file_write_atomic(*copy, data, len, err);
    free(data);
    return ok;
}

static bool commit_upgrade(struct table *t, struct error *err)
{
    struct text all;
    char *copy = NULL;
    text_init(&all);
    add_header(t, &all);
    add_old_rows(t, NULL, &all);
    text_add_n(&all, t->pending.data, t->pending.len);
    const bool ok =
        back_up(t->path, &copy, err) && file_write_atomic(t->path, all.data, all.len, err);
    if (ok)
        log_msg(LOG_NOTICE, "%s: columns were added; the old file is kept as %s", t->path, copy);
    text_release(&all);
    free(copy);
    return ok;
}

/* Cuts or completes a torn last row; what must stand before the pending lines goes to *before. */
static bool repair_end(const struct table *t, int fd, struct text *before, struct error *err)
{
    const struct csv_record *torn = torn_record(t);
    if (!torn)
        return true;
    if (keep_torn(t, torn)) {
        csv_end_line(before);
        return true;
    }
    if (ftruncate(fd, (off_t)torn->start) != 0)
        return error_errno(err, errno, "cannot cut the torn last line off '%s'", t->path);
    if (!t->torn_is_ours)
        log_msg(LOG_WARNING, "%s: a torn last line was cut off: %.60s", t->path,
                csv_cell(&t->csv, torn, 0));
    return true;
}

bool table_commit(struct table *t, struct error *err)
{
    if (t->n_pending == 0 && !torn_record(t))
        return true;
    if (t->exists && t->upgrade && t->n_pending > 0)
        return commit_upgrade(t, err);
    const int fd = open(t->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_errno(err, errno, "cannot open '%s' for writing", t->path);
    struct text all;
    text_init(&all);
    if (!t->exists)
        add_header(t, &all);
    bool ok = !t->restart || ftruncate(fd, 0) == 0 ||
              error_errno(err, errno, "cannot rewrite '%s'", t->path);
    ok = ok && repair_end(t, fd, &all, err);
    text_add_n(&all, t->pending.data, t->pending.len);
    ok = ok && file_append(fd, t->path, all.data, all.len, false, err);
    text_release(&all);
    close(fd);
    return ok;
}

bool table_replace(struct table *t, const json_t *keys, struct error *err)
{
    bool there = torn_record(t) != NULL;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)keys, key, value) there |=
        json_object_get(t->counts, key) != NULL;
    if (!there)
        return table_commit(t, err);
    struct text all;
    text_init(&all);
    add_header(t, &all);
    add_old_rows(t, keys, &all);
    text_add_n(&all, t->pending.data, t->pending.len);
    const bool ok = file_write_atomic(t->path, all.data, all.len, err);
    text_release(&all);
    return ok;
}
