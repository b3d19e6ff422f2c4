/* Results, epochs and options as messages: everything comes back, nonsense is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/text.h"
#include "exec/executor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(struct job_result *r)
{
    job_result_init(r);
    r->status = JOB_DIVERGED;
    snprintf(r->cause, sizeof r->cause, "loss \"inf\"\nat epoch 3");
    r->model = (struct model_result){MODEL_DIVERGED, 3,         INT64_C(5000000000),
                                     1.25,           0.5,       (double)INFINITY,
                                     (double)NAN,    1.0 / 3.0, 0.1,
                                     1438,           359,       "holdout"};
    r->t_start_s = 123456.789012345;
    r->t_end_s = 123457.1;
    for (int p = 0; p < PHASE_COUNT; p++)
        r->phase_s[p] = 0.1 * (p + 1);
    r->peak_rss_mb = 12.5;
    r->plan_hash = UINT64_C(0xfedcba9876543210);
    snprintf(r->variant, sizeof r->variant, "avx512");
    snprintf(r->data_source, sizeof r->data_source, "real");
    snprintf(r->data_layout, sizeof r->data_layout, "tokens");
    r->threads = 2;
    r->worker_pid = 4711;
    for (int i = 1; i <= 5; i++) {
        const struct epoch_report e = {i, 5, i, i + 0.5, 1.0 / i, 0.002, (double)NAN, 0.9};
        job_result_add_epoch(r, &e);
    }
}

static void a_result_comes_back_bit_by_bit(void **state)
{
    (void)state;
    struct job_result a, b;
    struct error err = ERROR_INIT;
    fill(&a);
    json_t *first = job_result_to_json(&a);
    char *line = json_line(first);
    json_t *msg = json_read_text(line, strlen(line), "line", &err);
    assert_true(job_result_from_json(msg, &b, &err));
    assert_int_equal(b.status, JOB_DIVERGED);
    assert_string_equal(b.cause, a.cause);
    assert_int_equal(b.model.status, MODEL_DIVERGED);
    assert_int_equal(b.model.total_samples, INT64_C(5000000000));
    assert_true(isinf(b.model.train_loss) && isnan(b.model.train_score));
    assert_memory_equal(&b.model.val_loss, &a.model.val_loss, sizeof(double));
    assert_string_equal(b.model.val_source, "holdout");
    assert_memory_equal(b.phase_s, a.phase_s, sizeof a.phase_s);
    assert_memory_equal(&b.t_start_s, &a.t_start_s, sizeof(double));
    assert_true(b.plan_hash == a.plan_hash);
    assert_string_equal(b.variant, "avx512");
    assert_string_equal(b.data_source, "real");
    assert_string_equal(b.data_layout, "tokens");
    assert_int_equal(b.threads, 2);
    assert_int_equal(b.worker_pid, 4711);
    assert_int_equal(b.n_history, 5);
    assert_memory_equal(&b.history[4].train_loss, &a.history[4].train_loss, sizeof(double));
    assert_true(isnan(b.history[0].val_loss));
    /* And the message of what came back is the same message. */
    json_t *again = job_result_to_json(&b);
    assert_true(json_equal(first, again));
    json_decref(again);
    json_decref(msg);
    json_decref(first);
    free(line);
    job_result_release(&a);
    job_result_release(&b);
}

static void a_result_with_a_part_missing_or_wrong_is_refused(void **state)
{
    (void)state;
    struct job_result a;
    fill(&a);
    json_t *whole = job_result_to_json(&a);
    const char *key;
    json_t *value;
    int tried = 0;
    json_object_foreach(whole, key, value)
    {
        json_t *const wrong[] = {NULL, json_true(), json_pack("{s:s}", "x", "y")};
        for (size_t i = 0; i < 3; i++) {
            struct job_result b;
            struct error err = ERROR_INIT;
            json_t *msg = json_deep_copy(whole);
            if (wrong[i])
                json_object_set(msg, key, wrong[i]);
            else
                json_object_del(msg, key);
            if (job_result_from_json(msg, &b, &err))
                fail_msg("accepted with a wrong '%s'", key);
            assert_non_null(strstr(err.text, "result message"));
            assert_null(b.history);
            json_decref(msg);
            tried++;
        }
        json_decref(wrong[2]);
    }
    assert_true(tried >= 36);
    json_decref(whole);
    job_result_release(&a);
}

static void unknown_words_are_refused(void **state)
{
    (void)state;
    struct job_result a, b;
    struct error err = ERROR_INIT;
    fill(&a);
    json_t *msg = job_result_to_json(&a);
    json_object_set_new(msg, "status", json_string("splendid"));
    assert_false(job_result_from_json(msg, &b, &err));
    assert_non_null(strstr(err.text, "splendid"));
    json_object_set_new(msg, "status", json_string("ok"));
    json_object_set_new(msg, "plan_hash", json_string("12"));
    assert_false(job_result_from_json(msg, &b, &err));
    json_object_set_new(msg, "plan_hash", json_string("0000000000000000"));
    json_object_set_new(json_object_get(msg, "model"), "epochs_run",
                        json_integer(INT64_C(1) << 40));
    assert_false(job_result_from_json(msg, &b, &err));
    assert_non_null(strstr(err.text, "out of range"));
    json_decref(msg);
    job_result_release(&a);
}

static void status_names_are_those_of_the_rows(void **state)
{
    (void)state;
    static const char *const names[] = {"ok",       "failed",      "killed",
                                        "diverged", "interrupted", "not_started"};
    for (int i = 0; i < 6; i++) {
        enum job_status s;
        assert_string_equal(job_status_name((enum job_status)i), names[i]);
        assert_true(job_status_parse(names[i], &s));
        assert_int_equal(s, i);
    }
    enum job_status s;
    assert_false(job_status_parse("OK", &s));
    assert_false(job_status_parse(NULL, &s));
    assert_string_equal(job_status_name((enum job_status)99), "unknown");
}

static void options_come_back(void **state)
{
    (void)state;
    const struct exec_options a = {.device = "cpu",
                                   .gpu = 3,
                                   .threads = 2,
                                   .max_parallel = 7,
                                   .synthetic = true,
                                   .data_root = "/data/\xc3\xa9",
                                   .silence_s = 0.25,
                                   .save_weights = "out/a",
                                   .init_weights = "in.safetensors",
                                   .pretrained = "vgg16"};
    struct exec_options b;
    struct error err = ERROR_INIT;
    char *root = NULL;
    json_t *msg = exec_options_to_json(&a);
    assert_true(exec_options_from_json(msg, &b, &root, &err));
    assert_string_equal(b.device, "cpu");
    assert_int_equal(b.gpu, 3);
    assert_int_equal(b.threads, 2);
    assert_int_equal(b.max_parallel, 7);
    assert_true(b.synthetic);
    assert_string_equal(b.data_root, "/data/\xc3\xa9");
    assert_true(b.silence_s == 0.25);
    assert_string_equal(b.save_weights, "out/a");
    assert_string_equal(b.init_weights, "in.safetensors");
    assert_string_equal(b.pretrained, "vgg16");
    free(root);
    json_object_set_new(msg, "threads", json_integer(-1));
    assert_false(exec_options_from_json(msg, &b, &root, &err));
    json_object_del(msg, "threads");
    assert_false(exec_options_from_json(msg, &b, &root, &err));
    json_decref(msg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_comes_back_bit_by_bit),
        cmocka_unit_test(a_result_with_a_part_missing_or_wrong_is_refused),
        cmocka_unit_test(unknown_words_are_refused),
        cmocka_unit_test(status_names_are_those_of_the_rows),
        cmocka_unit_test(options_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
