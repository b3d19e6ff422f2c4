#include "results/history.h"
#include "base/file.h"
#include "base/text.h"
#include "results/table.h"

#include <stdlib.h>
#include <string.h>

bool history_name_ok(const char *group_id)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_-.";
    const size_t len = strlen(group_id);
    return len > 0 && len <= 200 && group_id[0] != '.' && strspn(group_id, allowed) == len;
}

/* The job_ids of the rows to write, as the keys of an object. */
static json_t *job_ids(const json_t *jobs)
{
    json_t *ids = json_object();
    size_t i, j;
    const json_t *job, *row;
    json_array_foreach(jobs, i, job)
        json_array_foreach(job, j, row) if (json_is_string(json_array_get(row, 0)))
            json_object_set_new(ids, json_string_value(json_array_get(row, 0)), json_null());
    return ids;
}

/* A row as an object, so that it can be written under whatever order the file's header has. */
static void add_row(struct table *t, const json_t *row)
{
    const struct column_table *columns = &column_tables[RESULTS_HISTORY];
    json_t *named = json_object();
    for (int i = 0; i < columns->n; i++)
        json_object_set(named, columns->columns[i].name, json_array_get(row, (size_t)i));
    const char *id = json_string_value(json_array_get(row, 0));
    table_add(t, id ? id : "", named);
    json_decref(named);
}

bool history_write(const char *folder, const char *group_id, const json_t *jobs, struct error *err)
{
    if (!file_make_dirs(folder, err))
        return false;
    char *name = xasprintf("%s.csv", group_id);
    char *path = path_join(folder, name);
    struct table t;
    bool ok = table_open(&t, RESULTS_HISTORY, path, true, err);
    if (ok) {
        json_t *ids = job_ids(jobs);
        size_t i, j;
        const json_t *job, *row;
        json_array_foreach(jobs, i, job) json_array_foreach(job, j, row) add_row(&t, row);
        ok = table_replace(&t, ids, err);
        json_decref(ids);
    }
    table_close(&t);
    free(path);
    free(name);
    return ok;
}
