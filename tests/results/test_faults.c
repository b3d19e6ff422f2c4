/* Torn ends, full disks, refused locks, folders that cannot be written. */
#include "base/file.h"
#include "base/text.h"
#include "helper_results.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int lock_errno; /* what a file system without locks answers; 0: the real call */

/* Stands before libc's. */
int flock(int fd, int operation)
{
    if (lock_errno) {
        errno = lock_errno;
        return -1;
    }
    return (int)syscall(SYS_flock, fd, operation);
}

static void a_torn_journal_tail_is_cut(void **state)
{
    struct results *r = open_ok(*state);
    add_job_ok(r, "g", "a", 1);
    add_job_ok(r, "g", "b", 2);
    results_close(r);
    char *whole = content(*state, "journal.jsonl");
    const size_t len = strlen(whole);
    const size_t first = (size_t)(strchr(whole, '\n') - whole) + 1;
    for (size_t cut = first + 1; cut + 1 < len; cut += 37) {
        put_n(*state, "journal.jsonl", whole, cut);
        catch_log();
        r = open_ok(*state);
        char *now = content(*state, "journal.jsonl");
        assert_int_equal(strlen(now), first);
        assert_memory_equal(now, whole, first);
        assert_true(logged("torn last line"));
        free(now);
        results_close(r);
    }
    /* Only the newline is missing: the record is whole and stays. */
    put_n(*state, "journal.jsonl", whole, len - 1);
    catch_log();
    r = open_ok(*state);
    char *now = content(*state, "journal.jsonl");
    assert_string_equal(now, whole);
    assert_false(logged("torn"));
    free(now);
    free(whole);
    results_close(r);
}

/* Another writer died after this one opened the store. */
static void a_tail_torn_meanwhile_is_cut_before_the_next_line(void **state)
{
    struct results *r = open_ok(*state);
    add_job_ok(r, "g", "a", 1);
    char *one = content(*state, "journal.jsonl");
    char *torn = xasprintf("%s{\"kind\":\"job\",\"ke", one);
    put(*state, "journal.jsonl", torn);
    add_job_ok(r, "g", "b", 2);
    char *now = content(*state, "journal.jsonl");
    assert_memory_equal(now, one, strlen(one));
    assert_non_null(strstr(now + strlen(one), "{\"kind\":\"job\",\"key\":\"g/b\""));
    sync_ok(r);
    json_t *all = rows(*state, "master_individual.csv");
    assert_int_equal(json_array_size(all), 2);
    json_decref(all);
    free(now);
    free(one);
    free(torn);
    results_close(r);
}

static void a_line_that_is_no_record_is_left_out(void **state)
{
    struct results *r = open_ok(*state);
    add_job_ok(r, "g", "a", 1);
    char *one = content(*state, "journal.jsonl");
    char *bad = xasprintf("not json\n%s\n{\"kind\":\"job\",\"key\":\"g/z\"}\n[]\n\xff\xfe\n"
                          "{\"kind\":\"pet\",\"key\":\"g/z\",\"row\":{}}\n",
                          one);
    put(*state, "journal.jsonl", bad);
    add_job_ok(r, "g", "b", 2);
    sync_ok(r);
    assert_true(logged("byte 0: this line is no record"));
    json_t *all = rows(*state, "master_individual.csv");
    assert_int_equal(json_array_size(all), 2);
    json_decref(all);
    char *now = content(*state, "journal.jsonl");
    assert_memory_equal(now, bad, strlen(bad)); /* complete lines are never touched */
    free(now);
    free(one);
    free(bad);
    results_close(r);
}

static void a_torn_row_of_ours_comes_again_whole(void **state)
{
    struct results *r = open_ok(*state);
    add_job_ok(r, "g", "a", 1);
    sync_ok(r);
    const int64_t first = file_size(results_path(r, RESULTS_INDIVIDUAL));
    add_job_ok(r, "g", "b", 2);
    sync_ok(r);
    char *whole = content(*state, "master_individual.csv");
    const int64_t len = (int64_t)strlen(whole);
    for (int64_t cut = first + 1; cut < len; cut += cut + 3 < len ? 3 : 1) {
        put_n(*state, "master_individual.csv", whole, (size_t)cut);
        sync_ok(r);
        char *now = content(*state, "master_individual.csv");
        assert_string_equal(now, whole);
        free(now);
    }
    free(whole);
    results_close(r);
}

static void a_row_of_others_without_its_line_end_is_kept(void **state)
{
    struct results *r = open_ok(*state);
    add_job_ok(r, "g", "a", 1);
    sync_ok(r);
    char *whole = content(*state, "master_individual.csv");
    struct text t;
    text_init(&t);
    text_add(&t, whole);
    text_add(&t, "theirs");
    for (int i = 1; i < column_tables[RESULTS_INDIVIDUAL].n; i++)
        text_add(&t, ",x");
    put(*state, "master_individual.csv", t.data);
    sync_ok(r); /* completed even with nothing to add */
    add_job_ok(r, "g", "b", 2);
    sync_ok(r);
    json_t *all = rows(*state, "master_individual.csv");
    assert_int_equal(json_array_size(all), 3);
    assert_int_equal(count(all, "group_id", "theirs"), 1);
    json_decref(all);
    text_release(&t);
    free(whole);
    results_close(r);
}

/* Runs fn with files limited to `limit` bytes, as on a disk that is full. */
static bool limited(rlim_t limit, bool (*fn)(struct results *, struct error *), struct results *r,
                    struct error *err)
{
    struct rlimit old, small;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){limit, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const bool ok = fn(r, err);
    setrlimit(RLIMIT_FSIZE, &old);
    return ok;
}

static bool add_one(struct results *r, struct error *err)
{
    json_t *row = job_row("g", "too_much", 1);
    const bool ok = results_add_job(r, row, NULL, err);
    json_decref(row);
    return ok;
}

static void a_short_journal_write_is_cut_back(void **state)
{
    struct results *r = open_ok(*state);
    add_job_ok(r, "g", "a", 1);
    char *one = content(*state, "journal.jsonl");
    const size_t len = strlen(one);
    for (rlim_t room = 0; room < 100; room += 33) {
        struct error err = ERROR_INIT;
        assert_false(limited(len + room, add_one, r, &err));
        assert_int_equal(err.class_, ERROR_SYSTEM);
        assert_non_null(strstr(err.text, "g/too_much"));
        char *now = content(*state, "journal.jsonl");
        assert_string_equal(now, one);
        free(now);
    }
    free(one);
    add_job_ok(r, "g", "b", 2);
    sync_ok(r);
    json_t *all = rows(*state, "master_individual.csv");
    assert_int_equal(json_array_size(all), 2);
    json_decref(all);
    results_close(r);
}

static void a_short_row_is_cut_back_and_comes_later(void **state)
{
    struct results *r = open_ok(*state);
    add_job_ok(r, "g", "a", 1);
    sync_ok(r);
    char *before = content(*state, "master_individual.csv");
    add_job_ok(r, "g", "b", 2);
    add_job_ok(r, "g", "c", 3);
    for (rlim_t room = 1; room < 200; room += 60) {
        struct error err = ERROR_INIT;
        assert_false(limited(strlen(before) + room, results_sync, r, &err));
        assert_non_null(strstr(err.text, "master_individual.csv"));
        char *now = content(*state, "master_individual.csv");
        assert_string_equal(now, before);
        free(now);
    }
    free(before);
    sync_ok(r);
    sync_ok(r);
    json_t *all = rows(*state, "master_individual.csv");
    assert_int_equal(json_array_size(all), 3);
    json_decref(all);
    results_close(r);
}

static void a_place_without_locks_is_refused(void **state)
{
    static const int answers[] = {ENOLCK, EOPNOTSUPP, ENOSYS};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct error err = ERROR_INIT;
        lock_errno = answers[i];
        struct results *r = results_open(*state, &err);
        lock_errno = 0;
        assert_null(r);
        assert_int_equal(err.class_, ERROR_SYSTEM);
        assert_non_null(strstr(err.text, "no file locks"));
        assert_non_null(strstr(err.text, *state));
    }
    assert_false(there(*state, "journal.jsonl"));
}

static void a_folder_that_cannot_be_written_is_refused(void **state)
{
    struct error err = ERROR_INIT;
    char *file = in(*state, "file");
    put(*state, "file", "x");
    assert_null(results_open(file, &err));
    assert_non_null(strstr(err.text, file));
    free(file);
    assert_null(results_open("/proc/fugue", &err));
    assert_int_equal(err.class_, ERROR_SYSTEM);
    char *journal = in(*state, "journal.jsonl"); /* a folder where the journal belongs */
    assert_true(file_make_dirs(journal, &err));
    assert_null(results_open(*state, &err));
    assert_non_null(strstr(err.text, "journal.jsonl"));
    free(journal);
}

static void a_read_only_folder_is_refused(void **state)
{
    struct error err = ERROR_INIT;
    if (geteuid() == 0) {
        print_message("root may write anywhere\n");
        skip();
    }
    assert_int_equal(chmod(*state, 0500), 0);
    assert_null(results_open(*state, &err));
    chmod(*state, 0700);
    assert_non_null(strstr(err.text, "results.lock"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
        TEST(a_torn_journal_tail_is_cut),
        TEST(a_tail_torn_meanwhile_is_cut_before_the_next_line),
        TEST(a_line_that_is_no_record_is_left_out),
        TEST(a_torn_row_of_ours_comes_again_whole),
        TEST(a_row_of_others_without_its_line_end_is_kept),
        TEST(a_short_journal_write_is_cut_back),
        TEST(a_short_row_is_cut_back_and_comes_later),
        TEST(a_place_without_locks_is_refused),
        TEST(a_folder_that_cannot_be_written_is_refused),
        TEST(a_read_only_folder_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
