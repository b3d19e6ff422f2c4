/* digits_cnn learns the real digits with D01's options, alone and stacked: the same bits. */
#include "helper_engine.h"

#define MEMBERS 4

static void train(const struct dataset *d, const struct train_spec *jobs, int n, int threads,
                  struct recorder *r)
{
    struct engine *e = open_engine(threads);
    const struct bucket_spec spec = {.data = d,
                                     .model = "digits_cnn",
                                     .task = "classification",
                                     .optimizer = "adamw",
                                     .batch_size = 64,
                                     .n_models = n,
                                     .models = jobs};
    struct bucket *b = make_bucket(e, &spec);
    const struct engine_events events = recorder_events(r);
    run_buckets(e, &b, 1, &events);
    bucket_free(b);
    engine_close(e);
}

static void check(const struct model_result *m)
{
    printf("digits_cnn: train %.4f, test %.4f, %.2f s\n", m->train_score, m->val_score, m->train_s);
    assert_int_equal(m->status, MODEL_OK);
    assert_int_equal(m->n_train, 1438);
    assert_int_equal(m->n_val, 359);
    assert_string_equal(m->val_source, "test");
    assert_true(m->val_score > 0.97);
    assert_true(m->train_score > 0.98);
}

static void test_accuracy(void **state)
{
    (void)state;
    struct dataset *d = load_data("digits", false);
    struct train_spec jobs[MEMBERS];
    for (int i = 0; i < MEMBERS; i++)
        jobs[i] = (struct train_spec){.job_id = "digits",
                                      .seed = 42 + (uint64_t)i,
                                      .split = {.kind = SPLIT_FIXED},
                                      .epochs = 10,
                                      .optim = optim_defaults("adamw", 0.002)};
    struct recorder *alone = calloc(1, sizeof *alone), *stacked = calloc(1, sizeof *stacked);
    train(d, jobs, 1, 1, alone);
    train(d, jobs, MEMBERS, 2, stacked);
    for (int i = 0; i < MEMBERS; i++)
        check(&stacked->model[i].result);
    check(&alone->model[0].result);
    assert_same_epochs(&alone->model[0], &stacked->model[0]);
    assert_same_result(&alone->model[0].result, &stacked->model[0].result);
    free(alone);
    free(stacked);
    data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_accuracy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
