/* Whole cells, as processes: what they leave on disk when all is well, when jobs fail, when they
 * are stopped and when they are killed.  This program is its own cell and worker binary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/os.h"
#include "base/text.h"
#include "exec/channel.h"
#include "helper_record.h"
#include "results/results.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What came back from a cell, and what to do to it on the way. */
struct heard {
    int starts, epochs, jobs, groups, errors, notices;
    int pid;
    int strike_at_job; /* send `sig` at the first epoch after this many job events; -1 never */
    int sig;
    struct cell_outcome outcome;
    char runs[64];
    json_t *job_rows, *group_rows; /* of the CSV files */
};

static bool is(const json_t *event, const char *type)
{
    return strcmp(json_string_value(json_object_get(event, "type")), type) == 0;
}

static void on_event(void *ctx, const json_t *event)
{
    struct heard *h = ctx;
    if (is(event, "start"))
        h->pid = (int)json_integer_value(json_object_get(event, "pid"));
    h->starts += is(event, "start");
    h->epochs += is(event, "epoch");
    h->jobs += is(event, "job");
    h->groups += is(event, "group");
    h->errors += is(event, "error");
    h->notices += is(event, "notice");
    if (is(event, "epoch") && h->strike_at_job >= 0 && h->jobs >= h->strike_at_job) {
        h->strike_at_job = -1;
        kill(h->pid, h->sig);
    }
}

static void remove_tree(const char *path)
{
    char *command = xasprintf("rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
    free(command);
}

static json_t *read_rows(const struct heard *h, const char *file)
{
    struct error err = ERROR_INIT;
    char *path = xasprintf("%s/%s", h->runs, file);
    struct stat info;
    json_t *rows = stat(path, &info) == 0 ? results_read(path, &err) : json_array();
    if (!rows)
        fail_msg("%s", err.text);
    free(path);
    return rows;
}

/* Runs a cell with rows in a folder of its own and reads them back. */
static void run_spec(struct heard *h, struct cell_spec *spec, int strike_at_job, int sig)
{
    *h = (struct heard){.strike_at_job = strike_at_job, .sig = sig};
    snprintf(h->runs, sizeof h->runs, "/tmp/fugue-test-cell-XXXXXX");
    assert_non_null(mkdtemp(h->runs));
    spec->runs_dir = xstrdup(h->runs);
    cell_run(spec, on_event, h, &h->outcome);
    cell_spec_release(spec);
    h->job_rows = read_rows(h, "master_individual.csv");
    h->group_rows = read_rows(h, "master_groups.csv");
}

static void run(struct heard *h, const char *definition, const char *executor, int strike_at_job,
                int sig)
{
    struct cell_spec spec;
    test_spec_make(&spec, definition, executor);
    run_spec(h, &spec, strike_at_job, sig);
}

static void release(struct heard *h)
{
    json_decref(h->outcome.group);
    json_decref(h->job_rows);
    json_decref(h->group_rows);
    remove_tree(h->runs);
}

static const char *cell(const json_t *rows, size_t i, const char *name)
{
    const char *s = json_string_value(json_object_get(json_array_get(rows, i), name));
    return s ? s : "";
}

static const char *const phase_names[] = {"train_s", "eval_s",     "compile_s", "build_s",
                                          "data_s",  "teardown_s", "setup_s"};

static int count(const json_t *rows, const char *status)
{
    int n = 0;
    for (size_t i = 0; i < json_array_size(rows); i++)
        n += strcmp(cell(rows, i, "status"), status) == 0;
    return n;
}

/* Exactly one row for each of n jobs, and one for the group, all of one group and run. */
static void expect_whole(const struct heard *h, size_t n, const char *status)
{
    assert_int_equal(json_array_size(h->job_rows), n);
    assert_int_equal(json_array_size(h->group_rows), 1);
    assert_string_equal(cell(h->group_rows, 0, "status"), status);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(cell(h->job_rows, i, "group_id"), cell(h->group_rows, 0, "group_id"));
        assert_string_equal(cell(h->job_rows, i, "run_id"), cell(h->group_rows, 0, "run_id"));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(cell(h->job_rows, i, "job_id"), cell(h->job_rows, k, "job_id"));
    }
}

static void a_cell_leaves_its_rows(void **state)
{
    (void)state;
    for (int s = 0; executor_table[s]; s++) {
        struct heard h;
        run(&h, def_ensemble, executor_table[s]->slug, -1, 0);
        if (!h.outcome.ok)
            fail_msg("%s: %s", executor_table[s]->slug, h.outcome.err.text);
        assert_false(h.outcome.interrupted);
        expect_whole(&h, 4, "ok");
        assert_int_equal(count(h.job_rows, "ok"), 4);
        assert_int_equal(h.starts, 1);
        assert_int_equal(h.epochs, 12);
        assert_int_equal(h.jobs, 4);
        assert_int_equal(h.groups, 1);
        assert_int_equal(h.errors, 0);
        /* The phases of the cell add up to its life. */
        double sum = 0, total = 0, v;
        for (int p = 0; p < 7; p++) {
            assert_true(text_to_double(cell(h.group_rows, 0, phase_names[p]), &v));
            sum += v;
        }
        assert_true(text_to_double(cell(h.group_rows, 0, "T_total"), &total));
        assert_true(total > 0 && sum > total - 1e-3 && sum < total + 1e-3);
        /* And each job's to its own, within its group's time. */
        assert_true(text_to_double(cell(h.group_rows, 0, "T_group"), &v));
        assert_true(v > 0 && v < total);
        char *path = xasprintf("history/%s.csv", cell(h.group_rows, 0, "group_id"));
        json_t *history = read_rows(&h, path);
        assert_int_equal(json_array_size(history), 12);
        json_decref(history);
        free(path);
        release(&h);
    }
}

static void without_a_folder_nothing_is_written(void **state)
{
    (void)state;
    struct cell_spec spec;
    struct heard h = {.strike_at_job = -1};
    test_spec_make(&spec, def_ensemble, "seq");
    cell_run(&spec, on_event, &h, &h.outcome);
    assert_true(h.outcome.ok);
    assert_int_equal(h.jobs, 4);
    assert_non_null(h.outcome.group);
    json_decref(h.outcome.group);
    cell_spec_release(&spec);
}

static void jobs_that_fail_are_rows_and_the_cell_is_not_ok(void **state)
{
    (void)state;
    for (int s = 0; executor_table[s]; s++) {
        struct heard h;
        run(&h,
            "{'type':'hpo','dataset':'digits','model':'mlp','optimizer':'sgd','epochs':2,"
            "'batch_size':64,'search_space':{'lr':[0.01,1e30]}}",
            executor_table[s]->slug, -1, 0);
        assert_false(h.outcome.ok);
        expect_whole(&h, 2, "diverged");
        assert_int_equal(count(h.job_rows, "ok"), 1);
        assert_int_equal(count(h.job_rows, "diverged"), 1);
        assert_string_equal(cell(h.group_rows, 0, "best_job_id"), "T01_t0");
        release(&h);
    }
}

static void missing_data_is_every_jobs_cause(void **state)
{
    (void)state;
    struct heard h;
    run(&h,
        "{'type':'ensemble','dataset':'mnist','model':'lenet','batch_size':64,'epochs':1,"
        "'lr':0.01,'committee_size':2}",
        "mp", -1, 0);
    assert_false(h.outcome.ok);
    expect_whole(&h, 2, "failed");
    assert_non_null(strstr(cell(h.job_rows, 0, "cause"), "/nonexistent"));
    release(&h);
}

static void what_cannot_be_run_is_an_error_and_no_row(void **state)
{
    (void)state;
    struct cell_spec spec;
    struct heard h;
    test_spec_make(&spec, def_ensemble, "seq");
    strcpy(spec.options.device, "tpu");
    run_spec(&h, &spec, -1, 0);
    assert_false(h.outcome.ok);
    assert_null(h.outcome.group);
    assert_int_equal(h.outcome.err.class_, ERROR_USAGE);
    assert_non_null(strstr(h.outcome.err.text, "'tpu'"));
    assert_int_equal(json_array_size(h.job_rows), 0);
    release(&h);
}

/* Long enough that it never ends on its own while it is struck. */
#define LONG                                                                                       \
    "{'type':'hpo','dataset':'digits','model':'mlp','optimizer':'sgd','batch_size':64,"            \
    "'lr':0.01,'search_space':{'epochs':[2,20000,20000,20000]}}"

/* How many jobs to let end before the strike: stacked models are begun longest first, so that the
 * short one is not finished early. */
static int before_strike(int strategy)
{
    return strcmp(executor_table[strategy]->slug, "unified_model") == 0 ? 0 : 1;
}

static void a_stopped_cell_keeps_what_is_finished(void **state)
{
    (void)state;
    for (int s = 0; executor_table[s]; s++) {
        struct heard h;
        const int done = before_strike(s);
        run(&h, LONG, executor_table[s]->slug, done, SIGTERM);
        assert_false(h.outcome.ok);
        assert_true(h.outcome.interrupted);
        expect_whole(&h, 4, "interrupted");
        assert_int_equal(count(h.job_rows, "ok"), done);
        assert_true(count(h.job_rows, "interrupted") >= 1);
        assert_int_equal(count(h.job_rows, "interrupted") + count(h.job_rows, "not_started"),
                         4 - done);
        assert_int_equal(h.jobs, 4);
        assert_int_equal(h.groups, 1);
        release(&h);
    }
}

static void a_killed_cell_is_completed_by_its_parent(void **state)
{
    (void)state;
    for (int s = 0; executor_table[s]; s++) {
        struct heard h;
        const int done = before_strike(s);
        run(&h, LONG, executor_table[s]->slug, done, SIGKILL);
        assert_false(h.outcome.ok);
        expect_whole(&h, 4, "killed");
        assert_int_equal(count(h.job_rows, "ok"), done);
        assert_int_equal(count(h.job_rows, "killed"), 4 - done);
        assert_int_equal(h.jobs, 4);
        char expected[80];
        snprintf(expected, sizeof expected, "the cell's process %d was killed by signal 9 (Killed)",
                 h.pid);
        assert_string_equal(cell(h.job_rows, 3, "cause"), expected);
        /* Its clock died with it: unknown is blank, never 0. */
        double total;
        assert_true(text_to_double(cell(h.group_rows, 0, "T_total"), &total) && total > 0);
        for (int p = 0; p < 7; p++)
            assert_string_equal(cell(h.group_rows, 0, phase_names[p]), "");
        /* Whoever prints it says which cell it was. */
        assert_string_equal(h.outcome.err.text, expected);
        assert_non_null(h.outcome.group);
        release(&h);
    }
}

/* No process whose parent is this one, or that was started as a cell or worker by it, is left. */
static void nobody_is_left(void **state)
{
    (void)state;
    DIR *proc = opendir("/proc");
    int found = 0;
    assert_non_null(proc);
    for (struct dirent *d; (d = readdir(proc));) {
        char path[300], text[4096];
        int64_t pid;
        if (!text_to_int64(d->d_name, &pid) || pid == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/%s/exe", d->d_name);
        const ssize_t n = readlink(path, text, sizeof text - 1);
        if (n <= 0)
            continue;
        text[n] = '\0';
        found += strcmp(text, os_executable()) == 0;
    }
    closedir(proc);
    assert_int_equal(found, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "__cell") == 0)
        return cell_main();
    if (argc > 1 && strcmp(argv[1], "__worker") == 0)
        return worker_main();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cell_leaves_its_rows),
        cmocka_unit_test(without_a_folder_nothing_is_written),
        cmocka_unit_test(jobs_that_fail_are_rows_and_the_cell_is_not_ok),
        cmocka_unit_test(missing_data_is_every_jobs_cause),
        cmocka_unit_test(what_cannot_be_run_is_an_error_and_no_row),
        cmocka_unit_test(a_stopped_cell_keeps_what_is_finished),
        cmocka_unit_test(a_killed_cell_is_completed_by_its_parent),
        cmocka_unit_test(nobody_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
