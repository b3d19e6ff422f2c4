#include "base/file.h"
#include "base/text.h"
#include "helper_results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const individual27[] = {"group_id",
                                           "job_id",
                                           "exp_id",
                                           "dataset",
                                           "model",
                                           "executor",
                                           "compile",
                                           "num_workers",
                                           "total_time_s",
                                           "total_samples",
                                           "throughput_sps",
                                           "gpu_util_mean",
                                           "gpu_util_max",
                                           "vram_peak_mb",
                                           "energy_j",
                                           "early_stopped",
                                           "epochs_run",
                                           "gpu_name",
                                           "final_train_loss",
                                           "final_train_acc",
                                           "final_val_loss",
                                           "final_val_acc",
                                           "seed",
                                           "batch_size",
                                           "epochs",
                                           "lr",
                                           "amp"};
static const char *const groups27[] = {"group_id",
                                       "exp_id",
                                       "executor",
                                       "compile",
                                       "mode",
                                       "size",
                                       "K",
                                       "max_parallel",
                                       "num_workers",
                                       "scheduler",
                                       "features",
                                       "T_group",
                                       "total_samples",
                                       "throughput_group",
                                       "energy_group",
                                       "gpu_util_mean",
                                       "gpu_util_max",
                                       "vram_peak_mb",
                                       "timestamp",
                                       "gpu_name",
                                       "torch_version",
                                       "cuda_version",
                                       "nv_driver_version",
                                       "gpu_compute_mode",
                                       "gpu_vram_total_mb",
                                       "cpu_model",
                                       "cpu_cores"};

static void the_references_columns_come_first(void **state)
{
    (void)state;
    for (int i = 0; i < 27; i++) {
        assert_string_equal(column_tables[RESULTS_INDIVIDUAL].columns[i].name, individual27[i]);
        assert_string_equal(column_tables[RESULTS_GROUPS].columns[i].name, groups27[i]);
    }
}

static void names_are_unique_and_described(void **state)
{
    (void)state;
    for (int f = 0; f < RESULTS_FILE_COUNT; f++) {
        const struct column_table *t = &column_tables[f];
        for (int i = 0; i < t->n; i++) {
            const struct column *c = &t->columns[i];
            assert_ptr_equal(column_find((enum results_file)f, c->name),
                             c); /* the first so named */
            assert_true(strlen(c->meaning) > 3 && strlen(c->blank) > 3 && c->unit);
            assert_null(strpbrk(c->name, ",\"\r\n "));
        }
    }
    assert_null(column_find(RESULTS_GROUPS, "no_such"));
    assert_null(column_find(RESULTS_HISTORY, "group_id"));
}

static void both_files_record_the_environment(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu_name",
                                        "cuda_version",
                                        "nv_driver_version",
                                        "gpu_compute_mode",
                                        "gpu_vram_total_mb",
                                        "cpu_model",
                                        "cpu_cores",
                                        "ram_total_mb",
                                        "hostname",
                                        "os",
                                        "gpu_uuid",
                                        "engine",
                                        "status",
                                        "cause",
                                        "device",
                                        "plan_hash"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_non_null(column_find(RESULTS_INDIVIDUAL, names[i]));
        assert_non_null(column_find(RESULTS_GROUPS, names[i]));
    }
}

static char *page_path(void)
{
    const char *source = getenv("FUGUE_TEST_SOURCE");
    return source ? path_join(source, "docs/results.md") : NULL;
}

static void the_manual_is_the_table(void **state)
{
    (void)state;
    char *path = page_path(), *wanted = results_page(), *found = NULL;
    size_t len;
    struct error err = ERROR_INIT;
    if (!path) {
        print_message("FUGUE_TEST_SOURCE is not set: run this through ctest\n");
        free(wanted);
        skip();
    }
    if (!file_read(path, 1 << 20, &found, &len, &err))
        fail_msg("%s", err.text);
    if (strcmp(found, wanted) != 0)
        fail_msg("docs/results.md is not what columns.c says: run results_columns --write");
    free(path);
    free(found);
    free(wanted);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_references_columns_come_first),
        cmocka_unit_test(names_are_unique_and_described),
        cmocka_unit_test(both_files_record_the_environment),
        cmocka_unit_test(the_manual_is_the_table),
    };
    if (argc == 2 && strcmp(argv[1], "--write") == 0) {
        char *page = results_page(), *path = page_path();
        struct error err = ERROR_INIT;
        const bool ok = path && file_write_atomic(path, page, strlen(page), &err);
        if (!ok)
            fprintf(stderr, "%s\n", path ? err.text : "set FUGUE_TEST_SOURCE to the repository");
        free(page);
        free(path);
        return ok ? 0 : 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
