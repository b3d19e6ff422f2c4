/* The training loop: what is reported when, divergence, finished and interrupted models,
 * evaluations that are shared, and specifications that cannot work.
 */
#include "helper_engine.h"

struct setup {
    struct dataset *data;
    struct engine *engine;
    struct train_spec jobs[8];
    struct bucket_spec spec;
};

/* n jobs of mlp on digits, holdout, two epochs of 3 batches. */
static struct setup *setup_new(int n)
{
    static const char *const ids[] = {"job0", "job1", "job2", "job3",
                                      "job4", "job5", "job6", "job7"};
    struct setup *s = calloc(1, sizeof *s);
    s->data = load_data("digits", false);
    s->engine = open_engine(2);
    for (int i = 0; i < n; i++)
        s->jobs[i] =
            (struct train_spec){.job_id = ids[i],
                                .seed = 10 + (uint64_t)i,
                                .split = {.kind = SPLIT_HOLDOUT, .seed = 3, .fraction = 0.2},
                                .epochs = 2,
                                .optim = optim_defaults("sgd", 0.3)};
    s->spec = (struct bucket_spec){.data = s->data,
                                   .train_limit = 120,
                                   .model = "mlp",
                                   .task = "classification",
                                   .optimizer = "sgd",
                                   .batch_size = 32,
                                   .n_models = n,
                                   .models = s->jobs};
    return s;
}

static void setup_free(struct setup *s)
{
    engine_close(s->engine);
    data_free(s->data);
    free(s);
}

static struct bucket *run_recorded(struct setup *s, struct recorder *r)
{
    struct bucket *b = make_bucket(s->engine, &s->spec);
    const struct engine_events events = recorder_events(r);
    run_buckets(s->engine, &b, 1, &events);
    assert_false(r->overlapped);
    return b;
}

static void test_reports(void **state)
{
    (void)state;
    struct setup *s = setup_new(3);
    struct recorder *r = calloc(1, sizeof *r);
    struct bucket *b = run_recorded(s, r);
    for (int k = 0; k < 3; k++) {
        const struct model_record *m = &r->model[k];
        assert_int_equal(m->n_epochs, 2);
        assert_int_equal(m->n_train_passes, 2);
        assert_int_equal(m->n_eval_passes, 2);
        assert_int_equal(m->n_results, 1);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(m->epochs[i].epoch, i + 1);
            assert_int_equal(m->epochs[i].epochs, 2);
            assert_true(m->epochs[i].lr == 0.3);
            assert_true(m->epochs[i].t_end_s >= m->epochs[i].t_start_s);
            assert_true(isnan(m->epochs[i].val_loss) && isnan(m->epochs[i].score));
        }
        assert_true(m->epochs[0].train_loss > 1.5 && m->epochs[0].train_loss < 3.0);
        assert_true(m->epochs[1].train_loss < m->epochs[0].train_loss);
        assert_int_equal(m->result.status, MODEL_OK);
        assert_int_equal(m->result.epochs_run, 2);
        assert_int_equal(m->result.n_train, 96);
        assert_int_equal(m->result.n_val, 24);
        assert_int_equal(m->result.total_samples, 2 * 96);
        assert_string_equal(m->result.val_source, "holdout");
        assert_true(m->result.train_score > 0.2 && m->result.train_score <= 1.0);
        assert_true(m->result.train_loss < m->epochs[1].train_loss);
        assert_true(m->result.train_s > 0 && m->result.eval_s > 0);
    }
    /* Nothing is left to do: a second run is empty. */
    memset(r, 0, sizeof *r);
    const struct engine_events events = recorder_events(r);
    run_buckets(s->engine, &b, 1, &events);
    assert_int_equal(r->model[0].n_results + r->model[0].n_train_passes, 0);
    assert_int_equal(bucket_size(b), 3);
    bucket_set_user(b, s);
    assert_ptr_equal(bucket_user(b), s);
    assert_true(bucket_plan_hash(b) != 0);
    free(r);
    bucket_free(b);
    setup_free(s);
}

static void test_validation_each_epoch(void **state)
{
    (void)state;
    struct setup *s = setup_new(2);
    struct recorder *without = calloc(1, sizeof *without), *with = calloc(1, sizeof *with);
    bucket_free(run_recorded(s, without));
    s->spec.eval_each_epoch = true;
    bucket_free(run_recorded(s, with));
    for (int k = 0; k < 2; k++) {
        const struct model_record *m = &with->model[k];
        /* Two validations and the training set: the last validation is not repeated. */
        assert_int_equal(m->n_eval_passes, 3);
        assert_true(m->epochs[1].val_loss == m->result.val_loss);
        assert_true(m->epochs[1].score == m->result.val_score);
        assert_true(m->epochs[0].val_loss != m->epochs[1].val_loss);
        assert_true(m->result.val_loss == without->model[k].result.val_loss);
        assert_true(m->result.train_loss == without->model[k].result.train_loss);
    }
    free(with);
    free(without);
    setup_free(s);
}

/* A set without a test part is scored on its training part: one evaluation serves both. */
static void test_shared_evaluation(void **state)
{
    (void)state;
    struct setup *s = setup_new(1);
    data_free(s->data);
    s->data = load_data("cal_housing", true);
    s->spec.data = s->data;
    s->spec.task = "regression";
    s->spec.train_limit = 0;
    s->spec.batch_size = 256;
    s->jobs[0].split.kind = SPLIT_FIXED;
    s->jobs[0].epochs = 1;
    s->jobs[0].optim.lr = 0.001;
    struct recorder *r = calloc(1, sizeof *r);
    bucket_free(run_recorded(s, r));
    const struct model_record *m = &r->model[0];
    assert_int_equal(m->n_eval_passes, 1);
    assert_true(m->result.train_loss == m->result.val_loss && isfinite(m->result.val_loss));
    assert_true(m->result.train_score == m->result.val_score);
    assert_string_equal(m->result.val_source, "train");
    assert_int_equal(m->result.n_val, m->result.n_train);
    free(r);
    setup_free(s);
}

static void test_divergence(void **state)
{
    (void)state;
    struct setup *s = setup_new(3);
    s->jobs[1].optim.lr = 1e30;
    s->jobs[1].epochs = s->jobs[2].epochs = 5;
    struct recorder *r = calloc(1, sizeof *r), *alone = calloc(1, sizeof *alone);
    bucket_free(run_recorded(s, r));
    const struct model_result *bad = &r->model[1].result;
    assert_int_equal(bad->status, MODEL_DIVERGED);
    assert_int_equal(r->model[1].n_results, 1);
    assert_int_equal(bad->epochs_run, 1); /* its first epoch already */
    assert_int_equal(r->model[1].n_epochs, 1);
    assert_false(isfinite(r->model[1].epochs[0].train_loss));
    assert_true(isnan(bad->train_loss) && isnan(bad->val_score)); /* never evaluated */
    assert_int_equal(bad->total_samples, 96);
    assert_int_equal(r->model[2].result.status, MODEL_OK);
    /* Its neighbours did not notice. */
    s->jobs[0] = s->jobs[2];
    s->spec.n_models = 1;
    bucket_free(run_recorded(s, alone));
    assert_same_epochs(&alone->model[0], &r->model[2]);
    assert_same_result(&alone->model[0].result, &r->model[2].result);
    free(alone);
    free(r);
    setup_free(s);
}

/* A loss that is fine in every epoch, weights that are not: the evaluation finds out. */
static void test_divergence_in_the_last_update(void **state)
{
    (void)state;
    struct setup *s = setup_new(1);
    s->spec.batch_size = 200; /* one update an epoch */
    s->jobs[0].epochs = 1;
    s->jobs[0].optim.lr = 1e30;
    struct recorder *r = calloc(1, sizeof *r);
    bucket_free(run_recorded(s, r));
    assert_true(isfinite(r->model[0].epochs[0].train_loss));
    assert_int_equal(r->model[0].result.status, MODEL_DIVERGED);
    assert_int_equal(r->model[0].result.epochs_run, 1);
    assert_false(isfinite(r->model[0].result.train_loss));
    assert_true(isnan(r->model[0].result.val_loss));
    free(r);
    setup_free(s);
}

/* A model that ends early is frozen exactly there while its neighbour goes on. */
static void test_early_finisher(void **state)
{
    (void)state;
    struct setup *s = setup_new(2);
    s->jobs[0].epochs = 1;
    s->jobs[1].epochs = 6;
    struct recorder *r = calloc(1, sizeof *r);
    struct bucket *b = run_recorded(s, r);
    const struct blob together = export_model(b, 0);
    assert_int_equal(r->model[0].n_train_passes, 1);
    assert_int_equal(r->model[1].n_train_passes, 6);
    bucket_free(b);
    s->spec.n_models = 1;
    memset(r, 0, sizeof *r);
    b = run_recorded(s, r);
    const struct blob alone = export_model(b, 0);
    assert_int_equal(together.len, alone.len);
    assert_memory_equal(together.data, alone.data, alone.len);
    free(together.data);
    free(alone.data);
    free(r);
    bucket_free(b);
    setup_free(s);
}

/* Stopped after the third epoch event: whoever was not done says so, and can tell how far it was.
 */
static void test_interrupted(void **state)
{
    (void)state;
    struct setup *s = setup_new(4);
    for (int k = 0; k < 4; k++)
        s->jobs[k].epochs = 30;
    struct recorder *r = calloc(1, sizeof *r), *whole = calloc(1, sizeof *whole);
    bucket_free(run_recorded(s, whole));
    r->stop_after_epochs = 3;
    struct bucket *b = run_recorded(s, r);
    assert_true(r->n_epochs >= 3 && r->n_epochs < 4 * 30);
    int sum = 0;
    for (int k = 0; k < 4; k++) {
        assert_int_equal(r->model[k].n_results, 1);
        assert_int_equal(r->model[k].result.status, MODEL_INTERRUPTED);
        assert_int_equal(r->model[k].result.epochs_run, r->model[k].n_epochs);
        assert_true(isnan(r->model[k].result.val_loss));
        sum += r->model[k].result.epochs_run;
        struct error err = ERROR_INIT;
        struct blob blob = {0};
        const int64_t trained = r->model[k].result.total_samples;
        const bool between = trained == 96 * (int64_t)r->model[k].result.epochs_run;
        assert_int_equal(bucket_export(b, k, &blob.data, &blob.len, &err), between);
        if (!between)
            assert_contains(err.text, "stopped inside");
        free(blob.data);
    }
    assert_int_equal(sum, r->n_epochs);
    /* Those between epochs go on as if nothing had been. */
    struct recorder *again = calloc(1, sizeof *again);
    const struct engine_events events = recorder_events(again);
    run_buckets(s->engine, &b, 1, &events);
    for (int k = 0; k < 4; k++) {
        const bool between =
            r->model[k].result.total_samples == 96 * (int64_t)r->model[k].result.epochs_run;
        assert_int_equal(again->model[k].n_results, between);
        if (between)
            assert_same_result(&again->model[k].result, &whole->model[k].result);
    }
    free(again);
    free(whole);
    free(r);
    bucket_free(b);
    setup_free(s);
}

/* Stopped between an epoch and its validation: the epoch is reported without, and nothing is lost.
 */
static void test_interrupted_before_validation(void **state)
{
    (void)state;
    struct setup *s = setup_new(1);
    s->spec.eval_each_epoch = true;
    s->jobs[0].epochs = 4;
    struct recorder *whole = calloc(1, sizeof *whole), *r = calloc(1, sizeof *r);
    bucket_free(run_recorded(s, whole));
    r->stop_after_train_passes = 2;
    struct bucket *b = run_recorded(s, r);
    const struct model_record *m = &r->model[0];
    assert_int_equal(m->n_epochs, 2);
    assert_true(m->epochs[1].train_loss == whole->model[0].epochs[1].train_loss);
    assert_true(isfinite(m->epochs[0].val_loss) && isnan(m->epochs[1].val_loss));
    assert_int_equal(m->result.status, MODEL_INTERRUPTED);
    assert_int_equal(m->result.epochs_run, 2);
    const struct blob blob = export_model(b, 0);
    free(blob.data);
    memset(r, 0, sizeof *r);
    const struct engine_events events = recorder_events(r);
    run_buckets(s->engine, &b, 1, &events);
    assert_int_equal(m->n_epochs, 2);
    assert_int_equal(m->epochs[0].epoch, 3);
    assert_same_result(&m->result, &whole->model[0].result);
    free(r);
    free(whole);
    bucket_free(b);
    setup_free(s);
}

static void test_stopped_before_it_began(void **state)
{
    (void)state;
    struct setup *s = setup_new(2);
    struct recorder *r = calloc(1, sizeof *r);
    r->stop = true;
    bucket_free(run_recorded(s, r));
    for (int k = 0; k < 2; k++) {
        assert_int_equal(r->model[k].n_epochs, 0);
        assert_int_equal(r->model[k].n_results, 1);
        assert_int_equal(r->model[k].result.status, MODEL_INTERRUPTED);
        assert_int_equal(r->model[k].result.epochs_run, 0);
    }
    free(r);
    setup_free(s);
}

static void expect_refusal(const struct setup *s, const char *words)
{
    struct error err = ERROR_INIT;
    assert_null(bucket_new(s->engine, &s->spec, &err));
    assert_contains(err.text, words);
    assert_int_equal(err.class_, ERROR_USAGE);
    error_clear(&err);
}

static void test_specifications_that_cannot_work(void **state)
{
    (void)state;
    struct setup *s = setup_new(2);
    const struct bucket_spec good = s->spec;
    s->spec.task = "regression";
    expect_refusal(s, "task regression does not fit data set digits");
    s->spec.task = "clasification";
    expect_refusal(s, "unknown task 'clasification'");
    s->spec = good;
    s->spec.optimizer = "sdg";
    expect_refusal(s, "unknown optimizer 'sdg'");
    s->spec = good;
    s->spec.model = "lenet?n=1";
    struct error err = ERROR_INIT;
    assert_null(bucket_new(s->engine, &s->spec, &err));
    s->spec = good;
    s->spec.batch_size = 0;
    expect_refusal(s, "batch size 0");
    s->spec = good;
    s->spec.n_models = 0;
    expect_refusal(s, "at least one model");
    s->spec = good;
    s->jobs[1].epochs = 0;
    expect_refusal(s, "job job1: 0 epochs");
    s->jobs[1].epochs = 2;
    s->jobs[1].optim.lr = -1;
    assert_null(bucket_new(s->engine, &s->spec, &err));
    assert_contains(err.text, "job job1");
    s->jobs[1].optim.lr = 0.1;
    s->jobs[1].split.fraction = 0.0;
    assert_null(bucket_new(s->engine, &s->spec, &err));
    assert_contains(err.text, "job job1");
    assert_null(engine_open(&(struct engine_options){.device = "abacus", .threads = 1}, &err));
    assert_contains(err.text, "abacus");
    setup_free(s);
}

static void test_bytes(void **state)
{
    (void)state;
    struct setup *s = setup_new(4);
    struct error err = ERROR_INIT;
    size_t four = 0, one = 0;
    assert_true(engine_bucket_bytes(s->engine, &s->spec, &four, &err));
    s->spec.n_models = 1;
    assert_true(engine_bucket_bytes(s->engine, &s->spec, &one, &err));
    /* mlp on 64 inputs: 17226 parameters of 4 bytes and more. */
    assert_true(one > 17226 * 4);
    assert_true(four >= one + 3 * 17226 * 4);
    s->spec.task = "regression";
    assert_false(engine_bucket_bytes(s->engine, &s->spec, &one, &err));
    assert_int_equal(engine_threads(s->engine), 2);
    assert_string_equal(engine_device(s->engine), "cpu");
    assert_true(strlen(engine_variant(s->engine)) > 0);
    setup_free(s);
}

/* Progress is at most ten a second and model, and its place lies within the epochs. */
static void test_progress(void **state)
{
    (void)state;
    struct setup *s = setup_new(1);
    s->spec.train_limit = 0;
    s->jobs[0].epochs = 10;
    struct recorder *r = calloc(1, sizeof *r);
    bucket_free(run_recorded(s, r));
    const struct model_record *m = &r->model[0];
    const double spent_s = m->epochs[9].t_end_s - m->epochs[0].t_start_s;
    assert_true(m->n_progress >= 1);
    assert_true(m->n_progress <= 2 + (int)(spent_s * 10.0));
    assert_true(m->last_progress > 0 && m->last_progress <= 10);
    free(r);
    setup_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_validation_each_epoch),
        cmocka_unit_test(test_shared_evaluation),
        cmocka_unit_test(test_divergence),
        cmocka_unit_test(test_divergence_in_the_last_update),
        cmocka_unit_test(test_early_finisher),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_interrupted_before_validation),
        cmocka_unit_test(test_stopped_before_it_began),
        cmocka_unit_test(test_specifications_that_cannot_work),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
