/* Journal lines and the exact bytes of the files made from them. */
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "helper_results.h"
#include "results/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The header a new file gets: names joined by commas. */
static char *header_of(enum results_file file)
{
    struct text t;
    text_init(&t);
    for (int i = 0; i < column_tables[file].n; i++)
        csv_add_cell(&t, column_tables[file].columns[i].name, i == 0);
    csv_end_line(&t);
    char *whole = text_take(&t);
    text_release(&t);
    return whole;
}

static void a_journal_line_is_one_json_object(void **state)
{
    struct results *r = open_ok(*state);
    json_t *row = job_row("seq_0a", "E05_ens_s0", NAN), *history = job_history("E05_ens_s0", 1);
    struct error err = ERROR_INIT;
    assert_true(results_add_job(r, row, history, &err));
    char *journal = content(*state, "journal.jsonl");
    assert_string_equal(
        journal,
        "{\"kind\":\"job\",\"key\":\"seq_0a/E05_ens_s0\",\"row\":{\"group_id\":\"seq_0a\","
        "\"job_id\":\"E05_ens_s0\",\"exp_id\":\"E05\",\"compile\":false,\"epochs\":20,"
        "\"final_train_loss\":\"nan\",\"energy_j\":null,\"status\":\"ok\",\"engine\":\"fugue\","
        "\"schema_version\":1},\"history\":[[\"E05_ens_s0\",1,0.0,0.5,1.0,null,null,"
        "0.001]]}\n");
    assert_null(json_object_get(row, "engine")); /* the caller's row is his */
    assert_false(there(*state, "master_individual.csv"));
    free(journal);
    json_decref(row);
    json_decref(history);
    results_close(r);
}

static void files_have_these_bytes(void **state)
{
    struct results *r = open_ok(*state);
    struct error err = ERROR_INIT;
    json_t *row = job_row("seq_0a", "E05_ens_s0", 0.25), *history = job_history("E05_ens_s0", 2);
    json_object_set_new(row, "seed", json_string("18446744073709551615"));
    json_object_set_new(row, "cause", json_string("a \"quoted\", long\nstory"));
    assert_true(results_add_job(r, row, history, &err));
    json_decref(row);
    json_decref(history);
    row = group_row("seq_0a", 12.5);
    assert_true(results_add_group(r, row, &err));
    json_decref(row);
    sync_ok(r);

    char *found = content(*state, "master_groups.csv"), *header = header_of(RESULTS_GROUPS);
    assert_memory_equal(found, header, strlen(header));
    assert_memory_equal(header, "group_id,exp_id,executor,compile,mode,size,K,max_parallel,", 58);
    assert_string_equal(header + strlen(header) - 2, "\r\n");
    const char *line = found + strlen(header);
    const char *start = "seq_0a,E05,seq,True,,,5,,,,\"vf:1,s:0\",12.5,,,,,,,,,,,,,,,,,,,,,,,fugue,";
    assert_memory_equal(line, start, strlen(start));
    assert_string_equal(line + strlen(line) - 2, "\r\n");
    free(found);
    free(header);

    found = content(*state, "master_individual.csv");
    header = header_of(RESULTS_INDIVIDUAL);
    assert_memory_equal(found, header, strlen(header));
    line = found + strlen(header);
    start = "seq_0a,E05_ens_s0,E05,,,,False,,,,,,,,,,,,0.25,,,,18446744073709551615,,20,,,,,,,,ok,"
            "\"a \"\"quoted\"\", long\nstory\",fugue,,,1,";
    assert_memory_equal(line, start, strlen(start));
    free(found);
    free(header);

    found = content(*state, "history/seq_0a.csv");
    assert_string_equal(found, "job_id,epoch,t_start_s,t_end_s,train_loss,val_loss,score,lr\r\n"
                               "E05_ens_s0,1,0.0,0.5,1.0,,,0.001\r\n"
                               "E05_ens_s0,2,1.0,1.5,0.5,,,0.001\r\n");
    free(found);
    results_close(r);
}

static void reading_gives_back_what_was_written(void **state)
{
    struct results *r = open_ok(*state);
    add_job_ok(r, "mp_1", "D01_ens_s0", 0.1);
    add_job_ok(r, "mp_1", "D01_ens_s1", NAN);
    sync_ok(r);
    struct error err = ERROR_INIT;
    json_t *all = results_read(results_path(r, RESULTS_INDIVIDUAL), &err);
    assert_int_equal(json_array_size(all), 2);
    const json_t *row = json_array_get(all, 1);
    assert_string_equal(json_string_value(json_object_get(row, "job_id")), "D01_ens_s1");
    assert_string_equal(json_string_value(json_object_get(row, "final_train_loss")), "nan");
    assert_string_equal(json_string_value(json_object_get(row, "compile")), "False");
    assert_null(json_object_get(row, "energy_j"));
    assert_int_equal(json_object_size(row), 9);
    json_decref(all);
    assert_null(results_read("/no/such/file.csv", &err));
    assert_int_equal(err.class_, ERROR_DATA);
    results_close(r);
}

static void every_line_is_projected_once(void **state)
{
    struct results *r = open_ok(*state);
    char job[32];
    for (int i = 0; i < 12; i++) {
        snprintf(job, sizeof job, "j%d", i);
        add_job_ok(r, "g", job, i);
        sync_ok(r);
        if (i % 3 == 0)
            sync_ok(r);
        char *hint = in(*state, "results.hint");
        if (i % 4 == 1) /* then keys are compared */
            unlink(hint);
        if (i % 4 == 2)
            put(*state, "results.hint", "1 2 3");
        free(hint);
    }
    sync_ok(r);
    json_t *all = rows(*state, "master_individual.csv");
    assert_int_equal(json_array_size(all), 12);
    for (int i = 0; i < 12; i++) {
        snprintf(job, sizeof job, "j%d", i);
        assert_string_equal(
            json_string_value(json_object_get(json_array_get(all, (size_t)i), "job_id")), job);
    }
    json_decref(all);
    results_close(r);
}

/* What a process leaves that dies between appending rows and writing the hint. */
static void rows_appended_before_a_death_are_not_doubled(void **state)
{
    struct results *r = open_ok(*state);
    add_job_ok(r, "g", "a", 1);
    sync_ok(r);
    char *hint = content(*state, "results.hint");
    add_job_ok(r, "g", "b", 2);
    add_job_ok(r, "g", "b", 3); /* a key again is another row */
    sync_ok(r);
    put(*state, "results.hint", hint);
    sync_ok(r);
    put(*state, "results.hint", hint);
    add_job_ok(r, "g", "c", 4);
    sync_ok(r);
    json_t *all = rows(*state, "master_individual.csv");
    assert_int_equal(json_array_size(all), 4);
    assert_int_equal(count(all, "job_id", "b"), 2);
    assert_int_equal(count(all, "final_train_loss", "3.0"), 1);
    json_decref(all);
    free(hint);
    results_close(r);
}

/* A journal put together by hand (two folders merged, say) keeps its inode and grows. */
static void a_journal_changed_in_its_midst_is_read_again(void **state)
{
    struct results *r = open_ok(*state);
    add_job_ok(r, "g", "a", 1);
    add_job_ok(r, "g", "b", 2);
    sync_ok(r);
    char *old = content(*state, "journal.jsonl");
    char *merged = xasprintf("{\"kind\":\"job\",\"key\":\"h/c\",\"row\":{\"group_id\":\"h\","
                             "\"job_id\":\"c\"}}\n%s",
                             old);
    put(*state, "journal.jsonl", merged);
    sync_ok(r);
    json_t *all = rows(*state, "master_individual.csv");
    assert_int_equal(json_array_size(all), 3);
    assert_int_equal(count(all, "job_id", "c"), 1);
    assert_false(logged("no record"));
    json_decref(all);
    free(old);
    free(merged);
    results_close(r);
}

static void lost_files_come_back_from_the_journal(void **state)
{
    struct results *r = open_ok(*state);
    struct error err = ERROR_INIT;
    json_t *row = job_row("g", "a", 1), *history = job_history("a", 3);
    assert_true(results_add_job(r, row, history, &err));
    json_decref(row);
    json_decref(history);
    sync_ok(r);
    char *csv = content(*state, "master_individual.csv");
    unlink(results_path(r, RESULTS_INDIVIDUAL));
    sync_ok(r);
    char *again = content(*state, "master_individual.csv");
    assert_string_equal(csv, again);
    char *lines = content(*state, "history/g.csv"); /* replaced, not doubled */
    assert_string_equal(lines, "job_id,epoch,t_start_s,t_end_s,train_loss,val_loss,score,lr\r\n"
                               "a,1,0.0,0.5,1.0,,,0.001\r\n"
                               "a,2,1.0,1.5,0.5,,,0.001\r\n"
                               "a,3,2.0,2.5,0.3333333333333333,,,0.001\r\n");
    free(lines);
    free(csv);
    free(again);
    results_close(r);
}

static void histories_of_a_group_share_a_file(void **state)
{
    struct results *r = open_ok(*state);
    struct error err = ERROR_INIT;
    static const char *const jobs[] = {"a", "b", "c"};
    put(*state, "x", "");
    for (int i = 0; i < 3; i++) {
        json_t *row = job_row("g", jobs[i], 1), *history = job_history(jobs[i], 1);
        assert_true(results_add_job(r, row, history, &err));
        json_decref(row);
        json_decref(history);
        sync_ok(r);
    }
    /* b's rows stand there although its master row is gone, and c's line is torn. */
    json_t *row = job_row("g", "c", 1), *history = job_history("c", 1);
    put(*state, "history/g.csv",
        "job_id,epoch,t_start_s,t_end_s,train_loss,val_loss,score,lr\r\n"
        "a,1,0.0,0.5,1.0,,,0.001\r\nb,1,0.0,9.9,9.9,,,9.9\r\nc,1,0.0");
    unlink(results_path(r, RESULTS_INDIVIDUAL));
    sync_ok(r);
    json_decref(row);
    json_decref(history);
    char *lines = content(*state, "history/g.csv");
    assert_string_equal(lines, "job_id,epoch,t_start_s,t_end_s,train_loss,val_loss,score,lr\r\n"
                               "a,1,0.0,0.5,1.0,,,0.001\r\n"
                               "b,1,0.0,0.5,1.0,,,0.001\r\n"
                               "c,1,0.0,0.5,1.0,,,0.001\r\n");
    free(lines);
    results_close(r);
}

static void rows_that_are_no_rows_are_refused(void **state)
{
    struct results *r = open_ok(*state);
    static const struct {
        const char *row, *says;
    } cases[] = {
        {"{\"group_id\":\"g\",\"job_id\":\"a\",\"no_such\":1}", "no column 'no_such'"},
        {"{\"group_id\":\"g\",\"job_id\":\"a\",\"epochs\":\"many\"}", "'epochs' holds an integer"},
        {"{\"group_id\":\"g\",\"job_id\":\"a\",\"epochs\":1.5}", "'epochs' holds an integer"},
        {"{\"group_id\":\"g\",\"job_id\":\"a\",\"lr\":\"fast\"}", "'lr' holds a number"},
        {"{\"group_id\":\"g\",\"job_id\":\"a\",\"amp\":1}", "'amp' holds a boolean"},
        {"{\"group_id\":\"g\",\"job_id\":\"a\",\"status\":1}", "'status' holds a text"},
        {"{\"group_id\":\"../g\",\"job_id\":\"a\"}", "group_id"},
        {"{\"job_id\":\"a\"}", "group_id"},
        {"{\"group_id\":\"g\"}", "job_id"},
        {"[1]", "not an object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        json_t *row = json_loads(cases[i].row, 0, NULL);
        assert_false(results_add_job(r, row, NULL, &err));
        assert_int_equal(err.class_, ERROR_INTERNAL);
        if (!strstr(err.text, cases[i].says))
            fail_msg("'%s' does not say '%s'", err.text, cases[i].says);
        json_decref(row);
    }
    json_t *row = job_row("g", "a", 1), *history = job_history("b", 1);
    struct error err = ERROR_INIT;
    assert_false(results_add_job(r, row, history, &err));
    assert_non_null(strstr(err.text, "job_id"));
    json_decref(history);
    history = json_pack("[[s,i]]", "a", 1);
    assert_false(results_add_job(r, row, history, &err));
    json_decref(history);
    json_decref(row);
    char *journal = content(*state, "journal.jsonl");
    assert_string_equal(journal, "");
    free(journal);
    results_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
        TEST(a_journal_line_is_one_json_object),
        TEST(files_have_these_bytes),
        TEST(reading_gives_back_what_was_written),
        TEST(every_line_is_projected_once),
        TEST(rows_appended_before_a_death_are_not_doubled),
        TEST(a_journal_changed_in_its_midst_is_read_again),
        TEST(lost_files_come_back_from_the_journal),
        TEST(histories_of_a_group_share_a_file),
        TEST(rows_that_are_no_rows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
