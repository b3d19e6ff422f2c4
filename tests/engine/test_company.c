/* A job's result does not depend on its company: every loss of every epoch, every evaluation, the
 * final weights, running statistics and optimiser state are the same bits alone and stacked with 3,
 * 5 and 15 others, on 1, 2 and 3 threads.
 */
#include "helper_company.h"

static const struct scenario scenarios[] = {
    /* Batch norm, dropout, folds of 34, 34 and 33 samples, a partial last batch, momentum 0 beside
       0.9. */
    {"cnn", "digits", "digits_cnn", "sgd", false, 16, 101, SPLIT_KFOLD, true, 0.02, COMPANY_MAX,
     NULL},
    /* Several shards a batch. */
    {"wide batch", "digits", "digits_cnn", "adamw", false, 40, 90, SPLIT_KFOLD, false, 0.002,
     COMPANY_MAX, NULL},
    /* The batch is larger than the set. */
    {"small set", "digits", "mlp", "adam", false, 128, 50, SPLIT_HOLDOUT, false, 0.01, COMPANY_MAX,
     NULL},
    {"regression", "cal_housing", "mlp", "adam", true, 256, 700, SPLIT_HOLDOUT, true, 0.003,
     COMPANY_MAX, NULL},
    {"fixed", "digits", "mlp", "sgd", false, 32, 64, SPLIT_FIXED, false, 0.1, COMPANY_MAX, NULL},
};

static void test_batch_norm_dropout_folds(void **state)
{
    (void)state;
    company_check(&scenarios[0]);
}

static void test_several_shards(void **state)
{
    (void)state;
    company_check(&scenarios[1]);
}

static void test_batch_larger_than_the_set(void **state)
{
    (void)state;
    company_check(&scenarios[2]);
}

static void test_regression(void **state)
{
    (void)state;
    company_check(&scenarios[3]);
}

static void test_fixed_split(void **state)
{
    (void)state;
    company_check(&scenarios[4]);
}

/* Two buckets in one run, of different networks, are as good as two runs. */
static void test_two_buckets(void **state)
{
    (void)state;
    struct dataset *d = load_data("digits", false);
    struct model_record alone[4];
    struct blob blobs[4];
    company_train(&scenarios[1], d, 1, 0, 2, alone, blobs);
    company_train(&scenarios[2], d, 1, 0, 2, alone + 2, blobs + 2);
    struct engine *e = open_engine(2);
    struct bucket *b[2];
    for (int i = 0; i < 2; i++) {
        const struct scenario *s = &scenarios[1 + i];
        const struct train_spec jobs[2] = {company_job(s, 0), company_job(s, 1)};
        const struct bucket_spec spec = {.data = d,
                                         .train_limit = s->limit,
                                         .model = s->model,
                                         .task = d->task,
                                         .optimizer = s->optimizer,
                                         .batch_size = s->batch,
                                         .n_models = 2,
                                         .models = jobs};
        b[i] = make_bucket(e, &spec);
    }
    struct recorder *r = calloc(1, sizeof *r);
    r->buckets = b;
    r->n_buckets = 2;
    const struct engine_events events = recorder_events(r);
    run_buckets(e, b, 2, &events);
    assert_false(r->overlapped);
    for (int i = 0; i < 4; i++) {
        const struct model_record *m = &r->model[i / 2 * 8 + i % 2];
        assert_same_epochs(m, &alone[i]);
        assert_same_result(&m->result, &alone[i].result);
        const struct blob now = export_model(b[i / 2], i % 2);
        assert_int_equal(now.len, blobs[i].len);
        assert_memory_equal(now.data, blobs[i].data, now.len);
        free(now.data);
        free(blobs[i].data);
    }
    free(r);
    bucket_free(b[0]);
    bucket_free(b[1]);
    engine_close(e);
    data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_norm_dropout_folds),
        cmocka_unit_test(test_several_shards),
        cmocka_unit_test(test_batch_larger_than_the_set),
        cmocka_unit_test(test_regression),
        cmocka_unit_test(test_fixed_split),
        cmocka_unit_test(test_two_buckets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
