#include "results/results.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "results/csv.h"
#include "results/history.h"
#include "results/journal.h"
#include "results/project.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Raised when a column changes its meaning. */
#define SCHEMA_VERSION 1
/* Longer than any holder works: a whole projection of a large journal takes seconds. */
#define LOCK_WAIT_S 120.0
#define READ_MAX    ((size_t)4 << 30)

struct results {
    char *folder, *lock, *hint;
    char *journal, *files[RESULTS_FILE_COUNT];
};

static struct results *make(const char *runs_dir)
{
    struct results *r = xcalloc(1, sizeof *r);
    r->folder = xstrdup(runs_dir);
    r->lock = path_join(runs_dir, "results.lock");
    r->hint = path_join(runs_dir, "results.hint");
    r->journal = path_join(runs_dir, "journal.jsonl");
    r->files[RESULTS_INDIVIDUAL] = path_join(runs_dir, column_tables[RESULTS_INDIVIDUAL].file_name);
    r->files[RESULTS_GROUPS] = path_join(runs_dir, column_tables[RESULTS_GROUPS].file_name);
    r->files[RESULTS_HISTORY] = path_join(runs_dir, "history");
    return r;
}

/* A new journal's name must last as its lines do. */
static void sync_folder(const char *folder)
{
    const int fd = open(folder, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

struct results *results_open(const char *runs_dir, struct error *err)
{
    struct results *r = make(runs_dir);
    struct file_lock lock;
    bool ok = file_make_dirs(runs_dir, err) && file_lock_take(&lock, r->lock, LOCK_WAIT_S, err);
    if (ok) {
        const bool fresh = !file_exists(r->journal);
        ok = journal_prepare(r->journal, err);
        if (ok && fresh)
            sync_folder(r->folder);
        file_unlock(&lock);
    }
    if (ok)
        return r;
    error_prefix(err, "results cannot be kept in '%s'", runs_dir);
    results_close(r);
    return NULL;
}

void results_close(struct results *r)
{
    if (!r)
        return;
    for (int i = 0; i < RESULTS_FILE_COUNT; i++)
        free(r->files[i]);
    free(r->folder);
    free(r->lock);
    free(r->hint);
    free(r->journal);
    free(r);
}

const char *results_path(const struct results *r, enum results_file file)
{
    return r->files[file];
}

const char *results_journal_path(const struct results *r)
{
    return r->journal;
}

static bool is_whole_number(const json_t *v)
{
    int64_t i;
    uint64_t u;
    /* A seed may need all 64 bits, which JSON integers do not have: such a one is a string. */
    return json_is_integer(v) || (json_is_string(v) && (text_to_int64(json_string_value(v), &i) ||
                                                        text_to_uint64(json_string_value(v), &u)));
}

static bool fits(const json_t *v, const struct column *c)
{
    double number;
    if (!v || json_is_null(v))
        return true;
    if (c->type == COLUMN_TEXT)
        return json_is_string(v);
    if (c->type == COLUMN_INT)
        return is_whole_number(v);
    if (c->type == COLUMN_BOOL)
        return json_is_boolean(v);
    return json_to_number(v, &number);
}

static const char *type_name(enum column_type type)
{
    static const char *const names[] = {
        [COLUMN_TEXT] = "a text",
        [COLUMN_INT] = "an integer",
        [COLUMN_REAL] = "a number",
        [COLUMN_BOOL] = "a boolean",
    };
    return names[type];
}

static bool check_row(enum results_file file, const json_t *row, struct error *err)
{
    const char *name;
    json_t *value;
    if (!json_is_object(row))
        return error_set(err, ERROR_INTERNAL, "a result row is not an object");
    json_object_foreach((json_t *)row, name, value)
    {
        const struct column *c = column_find(file, name);
        if (!c)
            return error_set(err, ERROR_INTERNAL, "%s has no column '%s'",
                             column_tables[file].file_name, name);
        if (!fits(value, c))
            return error_set(err, ERROR_INTERNAL, "%s: the column '%s' holds %s, not this value",
                             column_tables[file].file_name, name, type_name(c->type));
    }
    const char *group_id = json_string_value(json_object_get(row, "group_id"));
    if (!group_id || !history_name_ok(group_id))
        return error_set(err, ERROR_INTERNAL,
                         "a result row needs a group_id of letters, digits, '_', '-' and '.'");
    return true;
}

static bool check_history(const char *job_id, const json_t *history, struct error *err)
{
    const struct column_table *t = &column_tables[RESULTS_HISTORY];
    size_t i;
    const json_t *row;
    if (history && !json_is_array(history))
        return error_set(err, ERROR_INTERNAL, "the history of '%s' is not an array", job_id);
    json_array_foreach(history, i, row)
    {
        const char *id = json_string_value(json_array_get(row, 0));
        if (json_array_size(row) != (size_t)t->n || !id || strcmp(id, job_id) != 0)
            return error_set(err, ERROR_INTERNAL,
                             "row %zu of the history of '%s' must be %d values, the first its "
                             "job_id",
                             i, job_id, t->n);
        for (int c = 0; c < t->n; c++)
            if (!fits(json_array_get(row, (size_t)c), &t->columns[c]))
                return error_set(err, ERROR_INTERNAL,
                                 "row %zu of the history of '%s': '%s' holds %s", i, job_id,
                                 t->columns[c].name, type_name(t->columns[c].type));
    }
    return true;
}

/* Row as it is journalled: with what this room knows best where the caller did not say it. */
static json_t *complete_row(const json_t *row)
{
    json_t *whole = json_copy((json_t *)row);
    if (!json_object_get(whole, "engine"))
        json_object_set_new(whole, "engine", json_string("fugue"));
    if (!json_object_get(whole, "schema_version"))
        json_object_set_new(whole, "schema_version", json_integer(SCHEMA_VERSION));
    return whole;
}

static bool add(struct results *r, const char *kind, const char *key, const json_t *row,
                const json_t *history, struct error *err)
{
    json_t *record = json_object();
    json_object_set_new(record, "kind", json_string(kind));
    json_object_set_new(record, "key", json_string(key));
    json_object_set_new(record, "row", complete_row(row));
    if (json_array_size(history) > 0)
        json_object_set(record, "history", (json_t *)history);
    char *line = json_line(record);
    json_decref(record);
    struct file_lock lock;
    bool ok = file_lock_take(&lock, r->lock, LOCK_WAIT_S, err);
    if (ok) {
        ok = journal_append(r->journal, line, err);
        file_unlock(&lock);
    }
    free(line);
    return ok || error_prefix(err, "the result '%s' is not recorded", key);
}

bool results_add_job(struct results *r, const json_t *row, const json_t *history, struct error *err)
{
    if (!check_row(RESULTS_INDIVIDUAL, row, err))
        return false;
    const char *job_id = json_string_value(json_object_get(row, "job_id"));
    if (!job_id || !*job_id)
        return error_set(err, ERROR_INTERNAL, "the row of a job needs a job_id");
    if (!check_history(job_id, history, err))
        return false;
    char *key = xasprintf("%s/%s", json_string_value(json_object_get(row, "group_id")), job_id);
    const bool ok = add(r, "job", key, row, history, err);
    free(key);
    return ok;
}

bool results_add_group(struct results *r, const json_t *row, struct error *err)
{
    return check_row(RESULTS_GROUPS, row, err) &&
           add(r, "group", json_string_value(json_object_get(row, "group_id")), row, NULL, err);
}

bool results_sync(struct results *r, struct error *err)
{
    const struct project_paths paths = {
        .journal = r->journal,
        .hint = r->hint,
        .history = r->files[RESULTS_HISTORY],
        .csv = {r->files[RESULTS_INDIVIDUAL], r->files[RESULTS_GROUPS]},
    };
    struct file_lock lock;
    if (!file_lock_take(&lock, r->lock, LOCK_WAIT_S, err))
        return false;
    const bool ok = journal_prepare(r->journal, err) && project(&paths, err);
    file_unlock(&lock);
    return ok;
}

/* A cell of another program may hold any bytes, JSON strings only UTF-8. */
static json_t *cell_string(const char *cell)
{
    json_t *v = json_string(cell);
    if (v)
        return v;
    char *ascii = xstrdup(cell);
    for (char *p = ascii; *p; p++)
        if ((unsigned char)*p > 126)
            *p = '?';
    v = json_string(ascii);
    free(ascii);
    return v;
}

json_t *results_read(const char *csv_path, struct error *err)
{
    char *data;
    size_t len;
    struct csv csv;
    if (!file_read(csv_path, READ_MAX, &data, &len, err) ||
        !csv_parse(&csv, data, len, csv_path, err))
        return NULL;
    json_t *rows = json_array();
    const struct csv_record *header = csv.n ? &csv.records[0] : NULL;
    for (size_t i = 1; i < csv.n; i++) {
        const struct csv_record *r = &csv.records[i];
        if (!r->ended && r->n < header->n)
            continue; /* somebody is writing it just now, or died doing so */
        json_t *row = json_object();
        for (int c = 0; c < header->n && c < r->n; c++)
            if (*csv_cell(&csv, r, c)) {
                json_t *name = cell_string(csv_cell(&csv, header, c));
                json_object_set_new(row, json_string_value(name),
                                    cell_string(csv_cell(&csv, r, c)));
                json_decref(name);
            }
        json_array_append_new(rows, row);
    }
    csv_release(&csv);
    return rows;
}
