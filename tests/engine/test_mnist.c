/* labels: full; timeout: 300 */
/* LeNet on the real MNIST: accuracies lie where PyTorch's do, and a network alone is the same bits
 * as within a bucket. */
#include "helper_engine.h"

#define MEMBERS 3

static void train(const struct dataset *d, const struct train_spec *jobs, int n, struct recorder *r)
{
    struct engine *e = open_engine(2);
    const struct bucket_spec spec = {.data = d,
                                     .model = "lenet",
                                     .task = "classification",
                                     .optimizer = "sgd",
                                     .batch_size = 256,
                                     .n_models = n,
                                     .models = jobs};
    struct bucket *b = make_bucket(e, &spec);
    const struct engine_events events = recorder_events(r);
    run_buckets(e, &b, 1, &events);
    bucket_free(b);
    engine_close(e);
}

static void test_accuracy(void **state)
{
    (void)state;
    struct dataset *d = load_data("mnist", false);
    struct train_spec jobs[MEMBERS];
    for (int i = 0; i < MEMBERS; i++) {
        jobs[i] = (struct train_spec){.job_id = "member",
                                      .seed = 42 + (uint64_t)i,
                                      .split = {.kind = SPLIT_FIXED},
                                      .epochs = 3,
                                      .optim = optim_defaults("sgd", 0.01)};
        jobs[i].optim.momentum = 0.9;
    }
    struct recorder *stacked = calloc(1, sizeof *stacked), *alone = calloc(1, sizeof *alone);
    train(d, jobs, MEMBERS, stacked);
    double sum = 0;
    for (int i = 0; i < MEMBERS; i++) {
        const struct model_result *m = &stacked->model[i].result;
        assert_int_equal(m->status, MODEL_OK);
        assert_int_equal(m->total_samples, 3 * 60000);
        assert_int_equal(m->n_val, 10000);
        assert_string_equal(m->val_source, "test");
        printf("member %d: test %.4f, train %.4f, %.2f s\n", i, m->val_score, m->train_score,
               m->train_s);
        sum += m->val_score;
    }
    printf("mean test accuracy %.4f\n", sum / MEMBERS);
    assert_true(sum / MEMBERS >= 0.96 && sum / MEMBERS <= 0.98);
    train(d, &jobs[1], 1, alone);
    assert_same_epochs(&alone->model[0], &stacked->model[1]);
    assert_same_result(&alone->model[0].result, &stacked->model[1].result);
    free(stacked);
    free(alone);
    data_free(d);
}

int main(void)
{
    if (!getenv("FUGUE_DATA_DIR")) {
        puts("skipped: FUGUE_DATA_DIR is not set, and this test needs the real mnist");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_accuracy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
