/* A job's result does not depend on its company: every loss of every epoch, every evaluation, the
 * final weights, running statistics and optimiser state are the same bits alone and stacked with 3,
 * 5 and 15 others, on 1, 2 and 3 threads.
 */
#include "helper_engine.h"

#define MODELS 15

/* Jobs that differ in all a bucket lets differ. */
struct scenario {
    const char *name, *data, *model, *optimizer;
    bool synthetic;
    int batch;
    int64_t limit;
    enum split_kind split;
    bool eval_each_epoch;
    double lr;
};

static const struct scenario scenarios[] = {
    /* Batch norm, dropout, folds of 34, 34 and 33 samples, a partial last batch, momentum 0 beside
       0.9. */
    {"cnn", "digits", "digits_cnn", "sgd", false, 16, 101, SPLIT_KFOLD, true, 0.02},
    /* Several shards a batch. */
    {"wide batch", "digits", "digits_cnn", "adamw", false, 40, 90, SPLIT_KFOLD, false, 0.002},
    /* The batch is larger than the set. */
    {"small set", "digits", "mlp", "adam", false, 128, 50, SPLIT_HOLDOUT, false, 0.01},
    {"regression", "cal_housing", "mlp", "adam", true, 256, 700, SPLIT_HOLDOUT, true, 0.003},
    {"fixed", "digits", "mlp", "sgd", false, 32, 64, SPLIT_FIXED, false, 0.1},
};

static struct train_spec job(const struct scenario *s, int i)
{
    static char ids[MODELS][16];
    snprintf(ids[i], sizeof ids[i], "job%d", i);
    struct train_spec spec = {
        .job_id = ids[i],
        .seed = 100 + (uint64_t)i,
        .split = {.kind = s->split, .split_id = i % 3, .seed = 42, .k = 3, .fraction = 0.2},
        .epochs = 1 + (i * 2) % 3,
        .optim = optim_defaults(s->optimizer, s->lr * (1.0 + 0.3 * (i % 5)))};
    if (strcmp(s->optimizer, "sgd") == 0) {
        spec.optim.momentum = i % 2 ? 0.9 : 0.0;
        spec.optim.nesterov = i % 4 == 3;
    } else {
        spec.optim.weight_decay = 0.01 * (i % 3);
        spec.optim.amsgrad = i % 3 == 1;
    }
    return spec;
}

/* Trains jobs [first, first + n) as one bucket; writes their records and states. */
static void train(const struct scenario *s, const struct dataset *d, int threads, int first, int n,
                  struct model_record *records, struct blob *blobs)
{
    struct train_spec jobs[MODELS];
    for (int i = 0; i < n; i++)
        jobs[i] = job(s, first + i);
    const struct bucket_spec spec = {.data = d,
                                     .train_limit = s->limit,
                                     .model = s->model,
                                     .task = d->task,
                                     .optimizer = s->optimizer,
                                     .batch_size = s->batch,
                                     .n_models = n,
                                     .models = jobs,
                                     .eval_each_epoch = s->eval_each_epoch};
    struct engine *e = open_engine(threads);
    struct bucket *b = make_bucket(e, &spec);
    struct recorder *r = calloc(1, sizeof *r);
    const struct engine_events events = recorder_events(r);
    run_buckets(e, &b, 1, &events);
    assert_false(r->overlapped);
    for (int i = 0; i < n; i++) {
        assert_int_equal(r->model[i].n_results, 1);
        assert_int_equal(r->model[i].result.status, MODEL_OK);
        records[i] = r->model[i];
        blobs[i] = export_model(b, i);
    }
    free(r);
    bucket_free(b);
    engine_close(e);
}

static void compare(const struct scenario *s, const struct model_record *alone,
                    const struct blob *alone_state, const struct dataset *d, int threads, int first,
                    int n)
{
    struct model_record records[MODELS];
    struct blob blobs[MODELS];
    train(s, d, threads, first, n, records, blobs);
    for (int i = 0; i < n; i++) {
        assert_same_epochs(&records[i], &alone[first + i]);
        assert_same_result(&records[i].result, &alone[first + i].result);
        if (blobs[i].len != alone_state[first + i].len ||
            memcmp(blobs[i].data, alone_state[first + i].data, blobs[i].len) != 0)
            fail_msg("%s: job %d differs from itself alone (K %d, %d threads)", s->name, first + i,
                     n, threads);
        free(blobs[i].data);
    }
}

static void check_scenario(const struct scenario *s)
{
    struct dataset *d = load_data(s->data, s->synthetic);
    struct model_record alone[MODELS];
    struct blob state[MODELS];
    for (int i = 0; i < MODELS; i++)
        train(s, d, 1, i, 1, &alone[i], &state[i]);
    for (int i = 1; i < MODELS; i++) /* they are 15 jobs, not one 15 times */
        assert_true(alone[i].epochs[0].train_loss != alone[0].epochs[0].train_loss);
    compare(s, alone, state, d, 3, 7, 1);
    compare(s, alone, state, d, 2, 4, 3);
    compare(s, alone, state, d, 1, 9, 5);
    compare(s, alone, state, d, 3, 2, 5);
    compare(s, alone, state, d, 2, 0, MODELS);
    compare(s, alone, state, d, 3, 0, MODELS);
    for (int i = 0; i < MODELS; i++)
        free(state[i].data);
    data_free(d);
}

static void test_batch_norm_dropout_folds(void **state)
{
    (void)state;
    check_scenario(&scenarios[0]);
}

static void test_several_shards(void **state)
{
    (void)state;
    check_scenario(&scenarios[1]);
}

static void test_batch_larger_than_the_set(void **state)
{
    (void)state;
    check_scenario(&scenarios[2]);
}

static void test_regression(void **state)
{
    (void)state;
    check_scenario(&scenarios[3]);
}

static void test_fixed_split(void **state)
{
    (void)state;
    check_scenario(&scenarios[4]);
}

/* Two buckets in one run, of different networks, are as good as two runs. */
static void test_two_buckets(void **state)
{
    (void)state;
    struct dataset *d = load_data("digits", false);
    struct model_record alone[4];
    struct blob blobs[4];
    train(&scenarios[1], d, 1, 0, 2, alone, blobs);
    train(&scenarios[2], d, 1, 0, 2, alone + 2, blobs + 2);
    struct engine *e = open_engine(2);
    struct bucket *b[2];
    for (int i = 0; i < 2; i++) {
        const struct scenario *s = &scenarios[1 + i];
        const struct train_spec jobs[2] = {job(s, 0), job(s, 1)};
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
