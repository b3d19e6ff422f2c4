/* labels: full; timeout: 300 */
/* E05 on the real California housing: the mean R2 of five members lies where PyTorch's does (0.772,
 * standard deviation 0.006 over five seeds).
 */
#include "helper_engine.h"

#define MEMBERS 5

static void test_r2(void **state)
{
    (void)state;
    struct dataset *d = load_data("cal_housing", false);
    struct engine *e = open_engine(2);
    struct train_spec jobs[MEMBERS];
    for (int i = 0; i < MEMBERS; i++)
        jobs[i] = (struct train_spec){.job_id = "member",
                                      .seed = 42 + (uint64_t)i,
                                      .split = {.kind = SPLIT_FIXED},
                                      .epochs = 20,
                                      .optim = optim_defaults("adam", 0.001)};
    const struct bucket_spec spec = {.data = d,
                                     .model = "mlp",
                                     .task = "regression",
                                     .optimizer = "adam",
                                     .batch_size = 256,
                                     .n_models = MEMBERS,
                                     .models = jobs};
    struct bucket *b = make_bucket(e, &spec);
    struct recorder *r = calloc(1, sizeof *r);
    const struct engine_events events = recorder_events(r);
    run_buckets(e, &b, 1, &events);
    double sum = 0;
    for (int i = 0; i < MEMBERS; i++) {
        const struct model_result *m = &r->model[i].result;
        assert_int_equal(m->status, MODEL_OK);
        assert_int_equal(m->total_samples, 20 * 20640);
        printf("member %d: R2 %.4f, loss %.4f, train %.2f s\n", i, m->train_score, m->train_loss,
               m->train_s);
        sum += m->train_score;
    }
    printf("mean train R2 %.4f\n", sum / MEMBERS);
    assert_true(sum / MEMBERS >= 0.760 && sum / MEMBERS <= 0.785);
    free(r);
    bucket_free(b);
    engine_close(e);
    data_free(d);
}

int main(void)
{
    if (!getenv("FUGUE_DATA_DIR")) {
        puts("skipped: FUGUE_DATA_DIR is not set, and this test needs the real cal_housing");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_r2)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
