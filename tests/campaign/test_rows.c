/* Rows: every key is a declared column, required ones are never blank, values are what was run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "helper_record.h"
#include "results/columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text(const json_t *row, const char *name)
{
    const char *s = json_string_value(json_object_get(row, name));
    return s ? s : "";
}

static double real(const json_t *row, const char *name)
{
    const json_t *v = json_object_get(row, name);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static bool blank(const json_t *row, const char *name)
{
    const json_t *v = json_object_get(row, name);
    return !v || json_is_null(v);
}

static bool fits(const struct column *c, const json_t *v)
{
    switch (c->type) {
    case COLUMN_TEXT:
        return json_is_string(v);
    case COLUMN_INT:
        return json_is_integer(v);
    case COLUMN_REAL:
        return json_is_number(v);
    case COLUMN_BOOL:
        return json_is_boolean(v);
    }
    return false;
}

/* Declared, of the declared type, and nothing blank that may never be. */
static void check_row(enum results_file file, const json_t *row)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)row, key, value)
    {
        const struct column *c = column_find(file, key);
        if (!c)
            fail_msg("'%s' is no column", key);
        if (!json_is_null(value) && !fits(c, value))
            fail_msg("'%s' is not of its column's type", key);
    }
    for (int i = 0; i < column_tables[file].n; i++) {
        const struct column *c = &column_tables[file].columns[i];
        if (strcmp(c->blank, "never") == 0 && blank(row, c->name))
            fail_msg("'%s' is blank", c->name);
    }
}

/* A job that got as far as its end fills every column but those with a reason not to. */
static void check_filled(enum results_file file, const json_t *row, const char *const *may_be_blank)
{
    for (int i = 0; i < column_tables[file].n; i++) {
        const char *name = column_tables[file].columns[i].name;
        bool excused = !blank(row, name);
        for (int k = 0; may_be_blank[k]; k++)
            excused = excused || strcmp(may_be_blank[k], name) == 0;
        if (!excused)
            fail_msg("'%s' is blank", name);
    }
}

static void a_good_job_fills_its_row(void **state)
{
    (void)state;
    static const char *const no_gpu[] = {"gpu_util_mean",
                                         "gpu_util_max",
                                         "vram_peak_mb",
                                         "energy_j",
                                         "gpu_name",
                                         "overrides",
                                         "cause",
                                         "gpu_uuid",
                                         "cuda_version",
                                         "nv_driver_version",
                                         "gpu_compute_mode",
                                         "gpu_vram_total_mb",
                                         "worker_pid",
                                         "perplexity",
                                         "num_workers",
                                         NULL};
    struct cell_spec spec;
    struct record r;
    struct job_result result;
    test_spec_make(&spec, def_ensemble, "seq");
    test_record_make(&r, &spec);
    test_result_ok(&result, 0.99, 0.95, 0.2);
    json_t *row = record_job(&r, 2, &result);
    check_row(RESULTS_INDIVIDUAL, row);
    check_filled(RESULTS_INDIVIDUAL, row, no_gpu);
    assert_string_equal(text(row, "group_id"), "seq_00000001");
    assert_string_equal(text(row, "job_id"), "T01_ens_s2");
    assert_string_equal(text(row, "status"), "ok");
    assert_string_equal(text(row, "dataset"), "digits");
    assert_string_equal(text(row, "optimizer_args"),
                        "betas=0.9,0.999 eps=1e-08 weight_decay=0 amsgrad=false");
    assert_string_equal(text(row, "schedule"), "constant");
    assert_true(real(row, "clip_grad_norm") == 0);
    assert_string_equal(text(row, "score_name"), "accuracy");
    assert_string_equal(text(row, "split"), "fixed");
    assert_string_equal(text(row, "plan_hash"), "0000000000000abc");
    assert_true(real(row, "seed") == 44);
    assert_true(real(row, "final_val_acc") == 0.95);
    assert_true(real(row, "final_train_acc") == 0.99);
    assert_true(real(row, "final_val_loss") == 0.2);
    assert_true(real(row, "total_time_s") == 1.5);
    assert_true(real(row, "throughput_sps") == 4314 / 1.5);
    /* Of another task exp(loss) is a figure of its own. */
    free(r.jobs[3].net.task);
    r.jobs[3].net.task = xstrdup("language_modeling");
    json_t *words = record_job(&r, 3, &result);
    assert_true(fabs(real(words, "perplexity") - exp(0.2)) < 1e-12);
    json_decref(words);
    /* Its life of 2.5 s is train + eval + build + what is left. */
    assert_true(fabs(real(row, "setup_s") - 0.625) < 1e-12);
    json_t *history = record_history(&r, 2, &result);
    assert_int_equal(json_array_size(history), 3);
    const json_t *line = json_array_get(history, 1);
    assert_int_equal(json_array_size(line), column_tables[RESULTS_HISTORY].n);
    assert_string_equal(json_string_value(json_array_get(line, 0)), "T01_ens_s2");
    assert_int_equal(json_integer_value(json_array_get(line, 1)), 2);
    assert_true(json_real_value(json_array_get(line, 2)) == 2); /* 102 s - begin at 100 s */
    assert_true(json_real_value(json_array_get(line, 4)) == 0.5);
    assert_true(json_is_null(json_array_get(line, 5)));
    json_decref(history);
    json_decref(row);
    job_result_release(&result);
    record_release(&r);
    cell_spec_release(&spec);
}

static void jobs_that_did_not_end_well_have_rows_too(void **state)
{
    (void)state;
    for (int s = JOB_FAILED; s <= JOB_NOT_STARTED; s++) {
        struct cell_spec spec;
        struct record r;
        struct job_result result;
        test_spec_make(&spec, def_cv, "mp");
        test_record_make(&r, &spec);
        job_result_init(&result);
        result.status = (enum job_status)s;
        snprintf(result.cause, sizeof result.cause, "because of %d", s);
        if (s != JOB_NOT_STARTED) {
            result.t_start_s = 101;
            result.t_end_s = 102;
        }
        json_t *row = record_job(&r, 1, &result);
        check_row(RESULTS_INDIVIDUAL, row);
        assert_string_equal(text(row, "status"), job_status_name((enum job_status)s));
        assert_string_equal(text(row, "cause"), result.cause);
        assert_string_equal(text(row, "split"), "kfold 2 of 3");
        assert_true(blank(row, "final_val_acc"));
        assert_true(blank(row, "total_samples"));
        assert_true(blank(row, "plan_hash"));
        assert_int_equal(blank(row, "t_start_utc"), s == JOB_NOT_STARTED);
        assert_int_equal(blank(row, "setup_s"), s == JOB_NOT_STARTED);
        json_decref(row);
        record_release(&r);
        cell_spec_release(&spec);
    }
}

static const double phases[PHASE_COUNT] = {1, 0.5, 0, 0.25, 0.125, 0.0625, 0.03125};

static json_t *group_row(const struct record *r)
{
    const struct monitor_summary m = {.gpu_energy_counter_j = NAN,
                                      .gpu_energy_integral_j = NAN,
                                      .gpu_energy_ratio = NAN,
                                      .gpu_idle_w = NAN,
                                      .gpu_util_mean = NAN,
                                      .gpu_util_max = NAN,
                                      .vram_peak_mb = NAN,
                                      .gpu_power_mean_w = NAN,
                                      .gpu_temp_max_c = NAN,
                                      .sm_clock_mean_mhz = NAN,
                                      .host_energy_j = 50,
                                      .host_peak_mb = 33,
                                      .energy_method = "rapl"};
    return record_group(r, 2, phases, &m, 0);
}

static void run_all(struct record *r)
{
    for (int i = 0; i < r->n_jobs; i++) {
        struct job_result result;
        test_result_ok(&result, 0.9 + 0.01 * i, 0.8 + 0.01 * i, 0.5);
        json_decref(record_job(r, i, &result));
        job_result_release(&result);
    }
    r->t_end_s = 102;
}

static void a_good_group_fills_its_row(void **state)
{
    (void)state;
    static const char *const excused[] = {"scheduler",
                                          "features",
                                          "gpu_util_mean",
                                          "gpu_util_max",
                                          "vram_peak_mb",
                                          "gpu_name",
                                          "torch_version",
                                          "cuda_version",
                                          "nv_driver_version",
                                          "gpu_compute_mode",
                                          "gpu_vram_total_mb",
                                          "overrides",
                                          "cause",
                                          "best_job_id",
                                          "gpu_energy_counter_j",
                                          "gpu_energy_integral_j",
                                          "gpu_energy_ratio",
                                          "gpu_idle_w",
                                          "energy_cause",
                                          "gpu_power_mean_w",
                                          "gpu_temp_max_c",
                                          "sm_clock_mean_mhz",
                                          "throttle_reasons",
                                          "power_limit_w",
                                          "gpu_uuid",
                                          "perplexity",
                                          "num_workers",
                                          NULL};
    struct cell_spec spec;
    struct record r;
    test_spec_make(&spec, def_ensemble, "unified_model");
    test_record_make(&r, &spec);
    run_all(&r);
    json_t *row = group_row(&r);
    check_row(RESULTS_GROUPS, row);
    check_filled(RESULTS_GROUPS, row, excused);
    assert_string_equal(text(row, "status"), "ok");
    assert_string_equal(text(row, "mode"), "ensemble");
    assert_string_equal(text(row, "size"), "small");
    assert_true(real(row, "K") == 4);
    assert_true(real(row, "jobs_ok") == 4 && real(row, "jobs_failed") == 0);
    assert_true(real(row, "T_group") == 2);
    assert_true(real(row, "total_samples") == 4 * 4314);
    assert_true(real(row, "throughput_group") == 2 * 4314);
    assert_true(real(row, "energy_group") == 50);
    assert_true(fabs(real(row, "score_mean") - 0.815) < 1e-12);
    assert_true(fabs(real(row, "score_sd") - 0.0129099444873581) < 1e-12);
    assert_true(fabs(real(row, "train_score_mean") - 0.915) < 1e-12);
    assert_true(real(row, "train_s") == 1 && real(row, "setup_s") == 0.03125);
    assert_string_equal(text(row, "model"), "mlp");
    json_decref(row);
    record_release(&r);
    cell_spec_release(&spec);
}

static void what_jobs_differ_in_is_blank(void **state)
{
    (void)state;
    struct cell_spec spec;
    struct record r;
    test_spec_make(&spec, def_multi_model, "seq");
    test_record_make(&r, &spec);
    run_all(&r);
    json_t *row = group_row(&r);
    check_row(RESULTS_GROUPS, row);
    assert_true(blank(row, "model"));
    assert_string_equal(text(row, "dataset"), "digits");
    assert_string_equal(text(row, "task"), "classification");
    json_decref(row);
    record_release(&r);
    cell_spec_release(&spec);
}

static void a_group_is_ok_only_if_every_job_is(void **state)
{
    (void)state;
    static const struct {
        enum job_status a, b, group;
    } cases[] = {
        {JOB_OK, JOB_FAILED, JOB_FAILED},           {JOB_DIVERGED, JOB_OK, JOB_DIVERGED},
        {JOB_KILLED, JOB_FAILED, JOB_KILLED},       {JOB_KILLED, JOB_INTERRUPTED, JOB_INTERRUPTED},
        {JOB_OK, JOB_NOT_STARTED, JOB_INTERRUPTED},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct cell_spec spec;
        struct record r;
        test_spec_make(&spec, def_ensemble, "mp");
        test_record_make(&r, &spec);
        run_all(&r);
        const enum job_status both[] = {cases[c].a, cases[c].b};
        for (int i = 0; i < 2; i++) {
            struct job_result result;
            if (both[i] == JOB_OK)
                continue;
            job_result_init(&result);
            result.status = both[i];
            snprintf(result.cause, sizeof result.cause, "cause %d", i);
            json_decref(record_job(&r, i, &result));
        }
        json_t *row = group_row(&r);
        check_row(RESULTS_GROUPS, row);
        assert_string_equal(text(row, "status"), job_status_name(cases[c].group));
        assert_non_null(strstr(text(row, "cause"), "jobs did not end well; first: T01_ens_s"));
        assert_true(real(row, "jobs_ok") + real(row, "jobs_failed") == 4);
        json_decref(row);
        record_release(&r);
        cell_spec_release(&spec);
    }
}

static void lost_rows_spoil_a_group(void **state)
{
    (void)state;
    struct cell_spec spec;
    struct record r;
    test_spec_make(&spec, def_ensemble, "mp");
    test_record_make(&r, &spec);
    run_all(&r);
    json_t *row = record_group(&r, 2, phases, NULL, 3);
    check_row(RESULTS_GROUPS, row);
    assert_string_equal(text(row, "status"), "failed");
    assert_string_equal(text(row, "cause"), "the rows of 3 of 4 jobs could not be written");
    assert_true(blank(row, "energy_group") && !blank(row, "energy_cause"));
    json_decref(row);
    record_release(&r);
    cell_spec_release(&spec);
}

/* A group whose cell died is completed from rows that others wrote, as JSON or as CSV text. */
static void a_record_is_completed_from_rows(void **state)
{
    (void)state;
    struct cell_spec spec;
    struct record a, b;
    test_spec_make(&spec, def_ensemble, "mp");
    test_record_make(&a, &spec);
    test_record_make(&b, &spec);
    run_all(&a);
    for (int i = 0; i < a.n_jobs; i++) {
        struct job_result result;
        test_result_ok(&result, 0.9 + 0.01 * i, 0.8 + 0.01 * i, 0.5);
        json_t *row = record_job(&a, i, &result);
        if (i == 1) /* as read from the CSV file */
            json_object_set_new(row, "final_val_acc", json_string("0.81"));
        record_note_row(&b, i, row);
        json_decref(row);
        job_result_release(&result);
    }
    b.t_end_s = a.t_end_s;
    json_t *x = group_row(&a), *y = group_row(&b);
    assert_string_equal(text(y, "status"), "ok");
    assert_true(real(x, "score_sd") == real(y, "score_sd"));
    assert_true(real(x, "total_samples") == real(y, "total_samples"));
    assert_string_equal(text(y, "plan_hash"), "0000000000000abc");
    json_decref(x);
    json_decref(y);
    record_release(&a);
    record_release(&b);
    cell_spec_release(&spec);
}

static void ids_are_what_they_should_be(void **state)
{
    (void)state;
    struct cell_spec spec;
    struct record a, b;
    struct error err = ERROR_INIT;
    char run[17], again[17];
    record_run_id(run);
    record_run_id(again);
    assert_int_equal(strlen(run), 16);
    assert_string_equal(run, again);
    test_spec_make(&spec, def_ensemble, "unified_model");
    assert_true(record_init(&a, &spec, NULL, run, 0, &err));
    assert_true(record_init(&b, &spec, NULL, run, 0, &err));
    assert_int_equal(strlen(a.group_id), strlen("unified_model_") + 8);
    assert_memory_equal(a.group_id, "unified_model_", strlen("unified_model_"));
    assert_int_equal(strspn(a.group_id + strlen("unified_model_"), "0123456789abcdef"), 8);
    assert_string_not_equal(a.group_id, b.group_id);
    assert_string_equal(a.cell_key, b.cell_key);
    record_release(&a);
    record_release(&b);
    cell_spec_release(&spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_job_fills_its_row),
        cmocka_unit_test(jobs_that_did_not_end_well_have_rows_too),
        cmocka_unit_test(a_good_group_fills_its_row),
        cmocka_unit_test(what_jobs_differ_in_is_blank),
        cmocka_unit_test(a_group_is_ok_only_if_every_job_is),
        cmocka_unit_test(lost_rows_spoil_a_group),
        cmocka_unit_test(a_record_is_completed_from_rows),
        cmocka_unit_test(ids_are_what_they_should_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
