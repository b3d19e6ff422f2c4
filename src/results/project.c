#include "results/project.h"
#include "base/log.h"
#include "results/hint.h"
#include "results/history.h"
#include "results/journal.h"
#include "results/table.h"

#include <string.h>

struct projection {
    const struct project_paths *paths;
    struct table tables[2];
    bool open[2];
    bool whole;        /* compare keys */
    json_t *histories; /* group_id -> array of the histories of its jobs */
};

static enum results_file file_of(const char *kind)
{
    return strcmp(kind, "job") == 0 ? RESULTS_INDIVIDUAL : RESULTS_GROUPS;
}

static bool open_table(struct projection *p, enum results_file file, struct error *err)
{
    if (p->open[file])
        return true;
    p->open[file] = true; /* closed also when opening failed half way */
    return table_open(&p->tables[file], file, p->paths->csv[file], p->whole, err);
}

static bool is_missing(void *ctx, const char *kind, const char *key)
{
    struct projection *p = ctx;
    return !table_take(&p->tables[file_of(kind)], key);
}

static void keep_history(struct projection *p, const json_t *record)
{
    const json_t *row = json_object_get(record, "row");
    json_t *history = json_object_get(record, "history");
    const char *group_id = json_string_value(json_object_get(row, "group_id"));
    if (json_array_size(history) == 0)
        return;
    if (!group_id || !history_name_ok(group_id)) {
        log_msg(LOG_WARNING, "%s: the history of '%s' is left out: its group_id is no file name",
                p->paths->journal, json_string_value(json_object_get(record, "key")));
        return;
    }
    json_t *jobs = json_object_get(p->histories, group_id);
    if (!jobs) {
        jobs = json_array();
        json_object_set_new(p->histories, group_id, jobs);
    }
    json_array_append(jobs, history);
}

static bool add_record(void *ctx, const char *kind, const char *key, const json_t *record,
                       struct error *err)
{
    struct projection *p = ctx;
    if (!open_table(p, file_of(kind), err))
        return false;
    table_add(&p->tables[file_of(kind)], key, json_object_get(record, "row"));
    if (file_of(kind) == RESULTS_INDIVIDUAL)
        keep_history(p, record);
    return true;
}

/* Histories first: they may be written twice, so a death before the rows are there costs nothing.
 */
static bool commit(struct projection *p, struct error *err)
{
    const char *group_id;
    json_t *jobs;
    json_object_foreach(
        p->histories, group_id,
        jobs) if (!history_write(p->paths->history, group_id, jobs, err)) return false;
    for (int i = 0; i < 2; i++)
        if (p->open[i] && !table_commit(&p->tables[i], err))
            return false;
    return true;
}

bool project(const struct project_paths *paths, struct error *err)
{
    int64_t start, end;
    const enum hint_state state = hint_check(paths->hint, paths->journal, paths->csv, &start);
    if (state == HINT_CURRENT)
        return true;
    struct projection p = {
        .paths = paths, .whole = state == HINT_UNKNOWN, .histories = json_object()};
    const struct journal_reader reader = {
        .ctx = &p, .want = p.whole ? is_missing : NULL, .record = add_record};
    bool ok = true;
    for (int i = 0; ok && p.whole && i < 2; i++)
        ok = open_table(&p, (enum results_file)i, err);
    ok = ok && journal_read(paths->journal, start, &reader, &end, err) && commit(&p, err);
    if (ok)
        hint_save(paths->hint, paths->journal, paths->csv, end);
    for (int i = 0; i < 2; i++)
        if (p.open[i])
            table_close(&p.tables[i]);
    json_decref(p.histories);
    return ok;
}
