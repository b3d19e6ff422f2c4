/* digits_cnn learns the real digits: D01's network and options, one model. */
#include "helper_engine.h"

static void test_accuracy(void **state)
{
    (void)state;
    struct dataset *d = load_data("digits", false);
    struct engine *e = open_engine(1);
    const struct train_spec jobs[1] = {{.job_id = "digits",
                                        .seed = 42,
                                        .split = {.kind = SPLIT_FIXED},
                                        .epochs = 10,
                                        .optim = optim_defaults("adamw", 0.002)}};
    const struct bucket_spec spec = {.data = d,
                                     .model = "digits_cnn",
                                     .task = "classification",
                                     .optimizer = "adamw",
                                     .batch_size = 64,
                                     .n_models = 1,
                                     .models = jobs};
    struct bucket *b = make_bucket(e, &spec);
    struct recorder *r = calloc(1, sizeof *r);
    const struct engine_events events = recorder_events(r);
    run_buckets(e, &b, 1, &events);
    const struct model_result *m = &r->model[0].result;
    printf("digits_cnn: train %.4f, test %.4f, %.2f s\n", m->train_score, m->val_score, m->train_s);
    assert_int_equal(m->n_train, 1438);
    assert_int_equal(m->n_val, 359);
    assert_string_equal(m->val_source, "test");
    assert_true(m->val_score > 0.95);
    assert_true(m->train_score > 0.98);
    free(r);
    bucket_free(b);
    engine_close(e);
    data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_accuracy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
