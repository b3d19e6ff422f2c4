/* Several processes on one folder, some of them killed at random moments. */
#include "base/file.h"
#include "base/text.h"
#include "helper_results.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WRITERS 4
#define ROWS    50

/* Adds ROWS jobs with histories and syncs at every other one.  What is on disk for sure is said on
 * `said`: a byte a row. */
static void write_rows(const char *folder, int writer, int said)
{
    struct error err = ERROR_INIT;
    struct results *r = results_open(folder, &err);
    char group[16], job[16];
    snprintf(group, sizeof group, "g%d", writer);
    bool ok = r != NULL;
    for (int i = 0; ok && i < ROWS; i++) {
        snprintf(job, sizeof job, "j%d", i);
        json_t *row = job_row(group, job, i), *history = job_history(job, 2);
        ok = results_add_job(r, row, history, &err);
        ok = ok && write(said, "x", 1) == 1;
        if (i % 2 == writer % 2)
            ok = ok && results_sync(r, &err);
        json_decref(row);
        json_decref(history);
    }
    if (!ok)
        fprintf(stderr, "writer %d: %s\n", writer, err.text);
    results_close(r);
    _exit(ok ? 0 : 1);
}

struct writer {
    pid_t pid;
    int said;
};

static struct writer start(const char *folder, int writer)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        write_rows(folder, writer, ends[1]);
    }
    assert_true(pid > 0);
    close(ends[1]);
    return (struct writer){pid, ends[0]};
}

/* Waits; returns how many rows the writer knew to be on disk. */
static int finish(const struct writer *w, bool may_be_killed)
{
    char bytes[ROWS];
    int n = 0, status;
    for (ssize_t got; (got = read(w->said, bytes, sizeof bytes)) > 0;)
        n += (int)got;
    close(w->said);
    assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
    if (!may_be_killed || !WIFSIGNALED(status))
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return n;
}

/* Rows of a group stand in order, without holes, once each, and at least `sure` of them. */
static void check_group(const json_t *all, int writer, int sure)
{
    char group[16], job[16];
    int n = 0;
    size_t i;
    const json_t *row;
    snprintf(group, sizeof group, "g%d", writer);
    json_array_foreach(all, i, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "group_id")), group) != 0)
            continue;
        snprintf(job, sizeof job, "j%d", n++);
        assert_string_equal(json_string_value(json_object_get(row, "job_id")), job);
        assert_int_equal(json_object_size(row), 9);
    }
    assert_true(n >= sure && n <= ROWS);
}

/* Histories: two lines a row, in order too. */
static void check_history(const char *folder, const json_t *all, int writer)
{
    char group[16], name[32];
    snprintf(group, sizeof group, "g%d", writer);
    snprintf(name, sizeof name, "history/%s.csv", group);
    const int n = count(all, "group_id", group);
    if (n == 0 && !there(folder, name))
        return;
    json_t *lines = rows(folder, name);
    assert_int_equal(json_array_size(lines), 2 * n);
    for (int i = 0; i < n; i++) {
        char job[16];
        snprintf(job, sizeof job, "j%d", i);
        assert_int_equal(count(lines, "job_id", job), 2);
    }
    json_decref(lines);
}

static void check_all(const char *folder, const int sure[WRITERS])
{
    struct results *r = open_ok(folder);
    sync_ok(r);
    results_close(r);
    json_t *all = rows(folder, "master_individual.csv");
    for (int w = 0; w < WRITERS; w++) {
        check_group(all, w, sure[w]);
        check_history(folder, all, w);
    }
    json_decref(all);
    /* As many rows as journal lines, every line whole. */
    char *csv = content(folder, "master_individual.csv"),
         *journal = content(folder, "journal.jsonl");
    size_t lines = 0, records = 0;
    for (const char *p = csv; (p = strstr(p, "\r\n")) != NULL; p += 2)
        lines++;
    for (const char *p = journal; (p = strchr(p, '\n')) != NULL; p++)
        records++;
    assert_int_equal(lines, records + 1);
    assert_string_equal(csv + strlen(csv) - 2, "\r\n");
    free(csv);
    free(journal);
}

static void four_writers_at_once(void **state)
{
    struct writer writers[WRITERS];
    int sure[WRITERS];
    for (int w = 0; w < WRITERS; w++)
        writers[w] = start(*state, w);
    for (int w = 0; w < WRITERS; w++) {
        sure[w] = finish(&writers[w], false);
        assert_int_equal(sure[w], ROWS);
    }
    check_all(*state, sure);
}

static void writers_killed_at_random_moments(void **state)
{
    unsigned random = 20261130;
    for (int round = 0; round < 30; round++) {
        char name[16];
        snprintf(name, sizeof name, "r%d", round);
        char *folder = in(*state, name);
        struct writer writers[WRITERS];
        int sure[WRITERS];
        for (int w = 0; w < WRITERS; w++)
            writers[w] = start(folder, w);
        for (int w = 0; w < WRITERS - 1; w++) {
            random = random * 1664525u + 1013904223u;
            const struct timespec pause = {0, (long)(random >> 8) % 12000000};
            nanosleep(&pause, NULL);
            kill(writers[w].pid, SIGKILL);
        }
        for (int w = 0; w < WRITERS; w++)
            sure[w] = finish(&writers[w], w < WRITERS - 1);
        assert_int_equal(sure[WRITERS - 1], ROWS);
        check_all(folder, sure);
        free(folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(four_writers_at_once, make_fast_folder, remove_folder),
        cmocka_unit_test_setup_teardown(writers_killed_at_random_moments, make_fast_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
