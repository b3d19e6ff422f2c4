/* Files that were there before: the reference's own, older, foreign, empty. */
#include "base/file.h"
#include "base/text.h"
#include "helper_results.h"

#include <stdlib.h>
#include <string.h>

static const char reference_groups[] =
    "group_id,exp_id,executor,compile,mode,size,K,max_parallel,num_workers,scheduler,features,"
    "T_group,total_samples,throughput_group,energy_group,gpu_util_mean,gpu_util_max,vram_peak_mb,"
    "timestamp,gpu_name,torch_version,cuda_version,nv_driver_version,gpu_compute_mode,"
    "gpu_vram_total_mb,cpu_model,cpu_cores\r\n"
    "unified_model_0badcafe,E05,unified_model,False,ensemble,small,5,5,16,,\"vf:1,s:1,fl:1\","
    "10.123456789012345,2064000,203883.1,812.5,43.0,91,2310.5,20260101_120000,NVIDIA A100,2.11.0,"
    "13.0,580.1,DEFAULT,40960,AMD EPYC,16\r\n";

static void add_group_ok(struct results *r, const char *group_id)
{
    struct error err = ERROR_INIT;
    json_t *row = group_row(group_id, 1.5);
    assert_true(results_add_group(r, row, &err));
    json_decref(row);
    sync_ok(r);
}

static void check_cell(const json_t *all, size_t i, const char *column, const char *value)
{
    const char *cell = json_string_value(json_object_get(json_array_get(all, i), column));
    if (!cell || strcmp(cell, value) != 0)
        fail_msg("row %zu: %s is '%s', not '%s'", i, column, cell ? cell : "(blank)", value);
}

static void the_references_files_are_extended_without_loss(void **state)
{
    struct results *r = open_ok(*state);
    put(*state, "master_groups.csv", reference_groups);
    sync_ok(r); /* nothing to add: untouched */
    char *same = content(*state, "master_groups.csv");
    assert_string_equal(same, reference_groups);
    free(same);
    add_group_ok(r, "seq_1");
    char *copy = content(*state, "master_groups.csv.pre-upgrade.1.bak");
    assert_string_equal(copy, reference_groups);
    free(copy);
    assert_true(logged("master_groups.csv.pre-upgrade.1.bak"));

    json_t *all = rows(*state, "master_groups.csv");
    assert_int_equal(json_array_size(all), 2);
    assert_int_equal(json_object_size(json_array_get(all, 0)), 26); /* scheduler is blank */
    check_cell(all, 0, "features", "vf:1,s:1,fl:1");
    check_cell(all, 0, "T_group", "10.123456789012345");
    check_cell(all, 0, "gpu_util_max", "91");
    check_cell(all, 0, "cpu_cores", "16");
    assert_null(json_object_get(json_array_get(all, 0), "engine"));
    check_cell(all, 1, "engine", "fugue");
    json_decref(all);

    add_group_ok(r, "seq_2"); /* no second upgrade */
    assert_false(there(*state, "master_groups.csv.pre-upgrade.2.bak"));
    results_close(r);
}

static void a_renamed_column_and_foreign_ones_keep_their_values(void **state)
{
    struct results *r = open_ok(*state);
    put(*state, "master_groups.csv",
        "note,group_id,unn_features,T_group,\"my, own\"\n"
        "hello,u_1,\"vf:0,s:0\",3,\"x \"\"y\"\"\"\n"
        "short,u_2\n"
        "long,u_3,,4,z,beyond\n");
    add_group_ok(r, "seq_1");
    json_t *all = rows(*state, "master_groups.csv");
    assert_int_equal(json_array_size(all), 4);
    check_cell(all, 0, "features", "vf:0,s:0");
    check_cell(all, 0, "note", "hello");
    check_cell(all, 0, "my, own", "x \"y\"");
    check_cell(all, 0, "T_group", "3");
    check_cell(all, 1, "group_id", "u_2");
    check_cell(all, 2, "my, own", "z");
    check_cell(all, 3, "features", "vf:1,s:0");
    json_decref(all);
    char *text = content(*state, "master_groups.csv");
    assert_memory_equal(text, "group_id,exp_id,executor,", 25);
    assert_non_null(strstr(text, ",note,\"my, own\"\r\n"));
    assert_non_null(strstr(text, ",long,z,beyond\r\n"));
    assert_null(strstr(text, "unn_features"));
    free(text);
    results_close(r);
}

/* All columns in another order and a foreign one in their midst: appended to, not rewritten. */
static void an_order_of_its_own_is_kept(void **state)
{
    struct results *r = open_ok(*state);
    struct text t;
    text_init(&t);
    const struct column_table *table = &column_tables[RESULTS_GROUPS];
    text_add(&t, "extra");
    for (int i = table->n - 1; i >= 0; i--)
        text_addf(&t, ",%s", table->columns[i].name);
    text_add(&t, "\r\n");
    put(*state, "master_groups.csv", t.data);
    add_group_ok(r, "seq_1");
    char *text = content(*state, "master_groups.csv");
    assert_memory_equal(text, t.data, t.len);
    assert_string_equal(text + strlen(text) - strlen(",,,5,,,True,seq,E05,seq_1\r\n"),
                        ",,,5,,,True,seq,E05,seq_1\r\n");
    assert_int_equal(text[t.len], ','); /* extra is blank */
    assert_false(there(*state, "master_groups.csv.pre-upgrade.1.bak"));
    free(text);
    text_release(&t);
    results_close(r);
}

static void an_empty_file_gets_a_header(void **state)
{
    static const char *const blanks[] = {"", "\r\n", "\n\n", "group_id,exp_id,execu"};
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++) {
        char *folder = in(*state, i == 0 ? "a" : i == 1 ? "b" : i == 2 ? "c" : "d");
        struct results *r = open_ok(folder);
        put(folder, "master_groups.csv", blanks[i]);
        sync_ok(r);
        add_group_ok(r, "seq_1");
        char *text = content(folder, "master_groups.csv");
        assert_memory_equal(text, "group_id,exp_id,executor,compile,mode,", 38);
        json_t *all = rows(folder, "master_groups.csv");
        assert_int_equal(json_array_size(all), 1);
        json_decref(all);
        free(text);
        results_close(r);
        free(folder);
    }
}

static void a_header_without_its_line_end_is_completed(void **state)
{
    struct results *r = open_ok(*state);
    put(*state, "master_groups.csv", "exp_id,group_id,mine");
    add_group_ok(r, "seq_1");
    json_t *all = rows(*state, "master_groups.csv");
    assert_int_equal(json_array_size(all), 1);
    check_cell(all, 0, "group_id", "seq_1");
    json_decref(all);
    results_close(r);
}

static void what_is_no_result_file_is_left_alone(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *says;
    } cases[] = {
        {"%PDF-1.4 nonsense\n\x01\x02", 20, "no result file"},
        {"a\0b,c\n", 6, "NUL"},
        {"group_id,T_group,T_group\n", 25, "two columns 'T_group'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[] = "a";
        name[0] = (char)('a' + i);
        char *folder = in(*state, name), *path = in(folder, "master_groups.csv");
        struct results *r = open_ok(folder);
        put_n(folder, "master_groups.csv", cases[i].text, cases[i].n);
        struct error err = ERROR_INIT;
        json_t *row = group_row("seq_1", 1);
        assert_true(results_add_group(r, row, &err)); /* safe in the journal */
        json_decref(row);
        assert_false(results_sync(r, &err));
        assert_int_equal(err.class_, ERROR_DATA);
        if (!strstr(err.text, cases[i].says) || !strstr(err.text, "master_groups.csv"))
            fail_msg("'%s' does not say '%s'", err.text, cases[i].says);
        assert_int_equal(file_size(path), cases[i].n);
        put(folder, "master_groups.csv", ""); /* moved away: all is there */
        sync_ok(r);
        json_t *all = rows(folder, "master_groups.csv");
        assert_int_equal(json_array_size(all), 1);
        json_decref(all);
        results_close(r);
        free(folder);
        free(path);
    }
}

/* A row of a newer fugue may have columns this one does not know: they go where the file has them.
 */
static void unknown_values_go_to_columns_of_their_name(void **state)
{
    struct results *r = open_ok(*state);
    put(*state, "master_groups.csv", "group_id,newer\r\n");
    put(*state, "journal.jsonl",
        "{\"kind\":\"group\",\"key\":\"g1\",\"row\":{\"group_id\":\"g1\",\"newer\":2.5,"
        "\"newest\":1}}\n");
    sync_ok(r);
    json_t *all = rows(*state, "master_groups.csv");
    assert_int_equal(json_array_size(all), 1);
    check_cell(all, 0, "newer", "2.5");
    json_decref(all);
    results_close(r);
}

/* Upgraded in a sync that knew where it was and had read the head of the file only. */
static void a_long_file_is_upgraded_whole(void **state)
{
    struct results *r = open_ok(*state);
    struct text t;
    text_init(&t);
    text_add(&t, "group_id,exp_id,note\r\n");
    for (int i = 0; i < 5000; i++)
        text_addf(&t, "old_%d,E05,some words for row %d\r\n", i, i);
    put(*state, "master_groups.csv", t.data);
    add_job_ok(r, "seq_1", "a", 1);
    sync_ok(r); /* the hint covers the old file from here on */
    add_group_ok(r, "seq_1");
    json_t *all = rows(*state, "master_groups.csv");
    assert_int_equal(json_array_size(all), 5001);
    check_cell(all, 4999, "note", "some words for row 4999");
    check_cell(all, 5000, "group_id", "seq_1");
    json_decref(all);
    text_release(&t);
    results_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
        TEST(the_references_files_are_extended_without_loss),
        TEST(a_renamed_column_and_foreign_ones_keep_their_values),
        TEST(an_order_of_its_own_is_kept),
        TEST(an_empty_file_gets_a_header),
        TEST(a_header_without_its_line_end_is_completed),
        TEST(what_is_no_result_file_is_left_alone),
        TEST(a_long_file_is_upgraded_whole),
        TEST(unknown_values_go_to_columns_of_their_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
