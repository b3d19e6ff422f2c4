#include "helper_results.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct text messages;

static void keep(void *ctx, enum log_level level, const char *text)
{
    (void)level;
    text_add(ctx, text);
    text_add(ctx, "\n");
}

void catch_log(void)
{
    if (!messages.data)
        text_init(&messages);
    text_clear(&messages);
    log_set_sink(keep, &messages);
}

bool logged(const char *part)
{
    return messages.data && strstr(messages.data, part);
}

static int make_folder_in(const char *parent, void **state)
{
    char *name = path_join(parent, "fugue-results-XXXXXX");
    *state = name;
    catch_log();
    return mkdtemp(name) ? 0 : -1;
}

int make_folder(void **state)
{
    return make_folder_in("/tmp", state);
}

int make_fast_folder(void **state)
{
    return make_folder_in(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", state);
}

static void remove_tree(const char *path)
{
    DIR *d = opendir(path);
    const struct dirent *e;
    while (d && (e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        char *inner = path_join(path, e->d_name);
        if (unlink(inner) != 0)
            remove_tree(inner);
        free(inner);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

int remove_folder(void **state)
{
    log_set_sink(NULL, NULL);
    text_release(&messages);
    messages.data = NULL;
    remove_tree(*state);
    free(*state);
    return 0;
}

char *in(const char *folder, const char *name)
{
    return path_join(folder, name);
}

char *content(const char *folder, const char *name)
{
    char *path = in(folder, name), *data = NULL;
    size_t len;
    struct error err = ERROR_INIT;
    if (!file_read(path, 1 << 28, &data, &len, &err))
        fail_msg("%s", err.text);
    free(path);
    return data;
}

void put_n(const char *folder, const char *name, const char *data, size_t n)
{
    char *path = in(folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    free(path);
}

void put(const char *folder, const char *name, const char *text)
{
    put_n(folder, name, text, strlen(text));
}

bool there(const char *folder, const char *name)
{
    char *path = in(folder, name);
    const bool yes = file_exists(path);
    free(path);
    return yes;
}

json_t *job_row(const char *group_id, const char *job_id, double loss)
{
    return json_pack("{s:s,s:s,s:s,s:b,s:i,s:o,s:n,s:s}", "group_id", group_id, "job_id", job_id,
                     "exp_id", "E05", "compile", 0, "epochs", 20, "final_train_loss",
                     json_number(loss), "energy_j", "status", "ok");
}

json_t *group_row(const char *group_id, double t_group)
{
    return json_pack("{s:s,s:s,s:s,s:b,s:i,s:f,s:s}", "group_id", group_id, "exp_id", "E05",
                     "executor", "seq", "compile", 1, "K", 5, "T_group", t_group, "features",
                     "vf:1,s:0");
}

json_t *job_history(const char *job_id, int n)
{
    json_t *all = json_array();
    for (int i = 1; i <= n; i++)
        json_array_append_new(
            all, json_pack("[s,i,f,f,f,n,n,f]", job_id, i, i - 1.0, i - 0.5, 1.0 / i, 0.001));
    return all;
}

struct results *open_ok(const char *folder)
{
    struct error err = ERROR_INIT;
    struct results *r = results_open(folder, &err);
    if (!r)
        fail_msg("%s", err.text);
    return r;
}

void add_job_ok(struct results *r, const char *group_id, const char *job_id, double loss)
{
    struct error err = ERROR_INIT;
    json_t *row = job_row(group_id, job_id, loss);
    if (!results_add_job(r, row, NULL, &err))
        fail_msg("%s", err.text);
    json_decref(row);
}

void sync_ok(struct results *r)
{
    struct error err = ERROR_INIT;
    if (!results_sync(r, &err))
        fail_msg("%s", err.text);
}

json_t *rows(const char *folder, const char *name)
{
    struct error err = ERROR_INIT;
    char *path = in(folder, name);
    json_t *all = results_read(path, &err);
    if (!all)
        fail_msg("%s", err.text);
    free(path);
    return all;
}

int count(const json_t *rows_, const char *column, const char *value)
{
    int n = 0;
    size_t i;
    const json_t *row;
    json_array_foreach(rows_, i, row)
    {
        const char *cell = json_string_value(json_object_get(row, column));
        n += cell && strcmp(cell, value) == 0;
    }
    return n;
}

static void add_table(struct text *page, enum results_file file, const char *about)
{
    static const char *const types[] = {[COLUMN_TEXT] = "text",
                                        [COLUMN_INT] = "integer",
                                        [COLUMN_REAL] = "real",
                                        [COLUMN_BOOL] = "True/False"};
    const struct column_table *t = &column_tables[file];
    text_addf(page,
              "\n## %s\n\n%s\n\n| column | type | unit | meaning | blank when |\n|---|---|---|"
              "---|---|\n",
              t->file_name, about);
    for (int i = 0; i < t->n; i++)
        text_addf(page, "| `%s` | %s | %s | %s | %s |\n", t->columns[i].name,
                  types[t->columns[i].type], t->columns[i].unit, t->columns[i].meaning,
                  t->columns[i].blank);
}

char *results_page(void)
{
    struct text page;
    text_init(&page);
    text_add(&page,
             "# Result files\n"
             "\n"
             "Made from `src/results/columns.c` by `results_columns --write`; a test holds it "
             "against the table.\n"
             "\n"
             "`fugue run` leaves in the runs folder (`$FUGUE_RUNS_DIR`):\n"
             "\n"
             "* `journal.jsonl`: the truth. One line a finished job or group, on disk before "
             "anything else: `{\"kind\": \"job\" or \"group\", \"key\": ..., \"row\": {column: "
             "value}, \"history\": [...]}`.\n"
             "* `master_individual.csv`, `master_groups.csv`, `history/<group_id>.csv`: "
             "projections of it, each line exactly once. Deleted rows or master files come back "
             "from the "
             "journal at the next run; rows of other programs are never touched.\n"
             "* `results.lock` (held while any of them is written; never remove it while fugue "
             "runs) and `results.hint` (how far the CSV files are; may be removed).\n"
             "\n"
             "The CSV files have commas, quotes where needed, CRLF line ends, `True` and `False`, "
             "blank for unknown, the shortest decimals that read back equal, and `nan`, `inf`, "
             "`-inf` for what a diverged job gave. The first 27 columns of the two master files "
             "are those of fugue-bench, in its order. A file that lacks columns gets them when a "
             "row is added; its columns of other programs are kept at the end, and the old file "
             "as `<name>.pre-upgrade.<n>.bak`. A file that has all columns keeps its order.\n");
    add_table(&page, RESULTS_INDIVIDUAL, "One row a job, also for jobs that failed.");
    add_table(&page, RESULTS_GROUPS,
              "One row a group: the jobs of one experiment under one "
              "executor.");
    add_table(&page, RESULTS_HISTORY, "One row a job and epoch.");
    char *whole = text_take(&page);
    text_release(&page);
    return whole;
}
