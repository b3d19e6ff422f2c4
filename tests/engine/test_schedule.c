/* Schedules, gradient clipping and weights as an engine's user sees them. */
#include "helper_engine.h"

static const struct train_spec plain = {
    .job_id = "job", .seed = 7, .split = {.kind = SPLIT_FIXED}, .epochs = 3};

static struct train_spec job(const char *schedule, double lr)
{
    struct error err = ERROR_INIT;
    struct train_spec t = plain;
    t.optim = optim_defaults("sgd", lr);
    if (!schedule_parse(&t.schedule, schedule, &err))
        fail_msg("%s", err.text);
    return t;
}

static struct bucket_spec spec_of(const struct dataset *d, const struct train_spec *jobs, int n)
{
    return (struct bucket_spec){.data = d,
                                .train_limit = 70,
                                .model = "mlp",
                                .task = "classification",
                                .optimizer = "sgd",
                                .batch_size = 16,
                                .n_models = n,
                                .models = jobs};
}

struct trained {
    struct model_record record;
    struct blob state;
};

/* One job, from a state where one is given, up to an epoch where one is given. */
static struct trained train(const struct train_spec *t, const struct blob *from, int pause)
{
    struct error err = ERROR_INIT;
    struct dataset *d = load_data("digits", false);
    struct engine *e = open_engine(2);
    const struct bucket_spec spec = spec_of(d, t, 1);
    struct bucket *b = make_bucket(e, &spec);
    if (from && !bucket_import(b, 0, from->data, from->len, &err))
        fail_msg("%s", err.text);
    bucket_set_pause(b, 0, pause);
    struct recorder *r = calloc(1, sizeof *r);
    const struct engine_events events = recorder_events(r);
    run_buckets(e, &b, 1, &events);
    const struct trained out = {r->model[0], export_model(b, 0)};
    free(r);
    bucket_free(b);
    engine_close(e);
    data_free(d);
    return out;
}

static void test_rates_are_reported(void **state)
{
    (void)state;
    struct train_spec t = job("step?step_size=1&gamma=0.5", 0.1);
    struct trained a = train(&t, NULL, 0);
    assert_int_equal(a.record.n_epochs, 3);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(a.record.epochs[i].lr - 0.1 * pow(0.5, i)) < 1e-15);
    free(a.state.data);

    /* 70 samples in batches of 16 are 5 updates an epoch: the last has number 5, 10, 15. */
    t = job("linear?start_factor=1&end_factor=0&total_iters=20&per=update", 0.1);
    a = train(&t, NULL, 0);
    for (int i = 0; i < 3; i++) {
        const double want = 0.1 * (1 - (5 * i + 4) / 20.0);
        assert_true(fabs(a.record.epochs[i].lr - want) < 1e-15);
    }
    free(a.state.data);
}

/* The rates are not only reported: two epochs of a schedule are two jobs of one epoch each. */
static void test_rates_are_used(void **state)
{
    (void)state;
    struct train_spec t = job("step?step_size=1&gamma=0.5", 0.1);
    t.epochs = 2;
    struct trained whole = train(&t, NULL, 0);
    struct train_spec first = job("constant", 0.1), second = job("constant", 0.05);
    first.epochs = second.epochs = 2;
    struct trained half = train(&first, NULL, 1), rest = train(&second, &half.state, 0);
    assert_true(rest.record.result.val_loss == whole.record.result.val_loss);
    assert_true(rest.record.epochs[0].train_loss == whole.record.epochs[1].train_loss);
    struct trained other = train(&first, &half.state, 0);
    assert_true(other.record.result.val_loss != whole.record.result.val_loss);
    free(whole.state.data);
    free(half.state.data);
    free(rest.state.data);
    free(other.state.data);
}

/* A schedule that counts updates goes on where it stopped. */
static void test_position_survives_a_pause(void **state)
{
    (void)state;
    static const char *const schedules[] = {"cosine?per=update", "one_cycle",
                                            "linear?total_iters=4&warmup=1", "one_cycle?per=epoch",
                                            "cosine?per=update&warmup=3"};
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        struct train_spec t = job(schedules[i], 0.1);
        t.optim.momentum = 0.9;
        struct trained whole = train(&t, NULL, 0);
        struct trained half = train(&t, NULL, 2), rest = train(&t, &half.state, 0);
        assert_int_equal(whole.state.len, rest.state.len);
        assert_memory_equal(whole.state.data, rest.state.data, whole.state.len);
        free(whole.state.data);
        free(half.state.data);
        free(rest.state.data);
    }
}

static void expect_refused(const struct train_spec *t, const char *part)
{
    struct error err = ERROR_INIT;
    struct dataset *d = load_data("digits", false);
    struct engine *e = open_engine(1);
    const struct bucket_spec spec = spec_of(d, t, 1);
    assert_null(bucket_new(e, &spec, &err));
    assert_contains(err.text, part);
    assert_contains(err.text, "job");
    engine_close(e);
    data_free(d);
}

static void test_refusals(void **state)
{
    (void)state;
    struct train_spec t = job("one_cycle", 0.1); /* sgd without momentum */
    expect_refused(&t, "momentum");
    t = job("constant", 0.1);
    t.clip_grad_norm = -1;
    expect_refused(&t, "clip_grad_norm");
    t.clip_grad_norm = INFINITY;
    expect_refused(&t, "clip_grad_norm");
}

/* ---- clipping ---- */

/* Weights of a model as one vector, in the file's order. */
static float *weights_of(const struct bucket *b, int model, size_t *n)
{
    struct error err = ERROR_INIT;
    void *data;
    size_t len;
    if (!bucket_weights_export(b, model, &data, &len, &err))
        fail_msg("%s", err.text);
    uint64_t header;
    memcpy(&header, data, sizeof header);
    *n = (len - 8 - (size_t)header) / sizeof(float);
    float *w = malloc(*n * sizeof *w);
    memcpy(w, (const char *)data + 8 + header, *n * sizeof *w);
    free(data);
    return w;
}

/* Plain SGD for one update: the weights move by lr times the clipped gradient. */
static void test_clipped_update(void **state)
{
    (void)state;
    static const double limits[] = {0, 1e6, 0.25, 0.01};
    struct train_spec jobs[4];
    struct dataset *d = load_data("digits", false);
    struct engine *e = open_engine(2);
    for (int i = 0; i < 4; i++) {
        jobs[i] = job("constant", 0.5);
        jobs[i].epochs = 1;
        jobs[i].clip_grad_norm = limits[i];
    }
    struct bucket_spec spec = spec_of(d, jobs, 4);
    spec.batch_size = 70;
    struct bucket *b = make_bucket(e, &spec);
    size_t n;
    float *before = weights_of(b, 0, &n), *after[4];
    run_buckets(e, &b, 1, NULL);
    double norm[4] = {0}, cosine[4] = {0};
    for (int k = 0; k < 4; k++) {
        after[k] = weights_of(b, k, &n);
        for (size_t i = 0; i < n; i++) {
            const double step = (double)after[k][i] - (double)before[i];
            norm[k] += step * step;
            cosine[k] += step * ((double)after[0][i] - (double)before[i]);
        }
        norm[k] = sqrt(norm[k]);
    }
    for (int k = 0; k < 4; k++)
        cosine[k] /= norm[k] * norm[0];
    assert_true(norm[0] / 0.5 > 0.25); /* a limit of 0.25 does clip */
    assert_memory_equal(after[0], after[1], n * sizeof(float));
    for (int k = 2; k < 4; k++) {
        const double g = norm[0] / 0.5, want = 0.5 * limits[k] * g / (g + 1e-6);
        if (fabs(norm[k] - want) > 1e-4 * want || cosine[k] < 0.9999)
            fail_msg("limit %g: moved by %.9g, expected %.9g (cosine %.9g)", limits[k], norm[k],
                     want, cosine[k]);
    }
    for (int k = 0; k < 4; k++)
        free(after[k]);
    free(before);
    bucket_free(b);
    engine_close(e);
    data_free(d);
}

/* ---- weights ---- */

static struct model_result evaluate(struct bucket *b, struct engine *e)
{
    struct recorder *r = calloc(1, sizeof *r);
    const struct engine_events events = recorder_events(r);
    run_buckets(e, &b, 1, &events);
    const struct model_result result = r->model[0].result;
    free(r);
    return result;
}

static void test_weights(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct dataset *d = load_data("digits", false);
    struct engine *e = open_engine(2);
    struct train_spec t = job("constant", 0.1), frozen = job("constant", 0);
    frozen.seed = 8;
    frozen.epochs = 1;
    struct bucket_spec spec = spec_of(d, &t, 1);
    struct bucket *b = make_bucket(e, &spec);
    const struct model_result trained = evaluate(b, e);
    void *data;
    size_t len;
    if (!bucket_weights_export(b, 0, &data, &len, &err))
        fail_msg("%s", err.text);
    assert_false(bucket_weights_import(b, 0, data, len, true, NULL, &err));
    assert_contains(err.text, "has been trained");
    error_clear(&err);
    bucket_free(b);

    spec.models = &frozen;
    b = make_bucket(e, &spec);
    struct weights_report report;
    weights_report_init(&report);
    if (!bucket_weights_import(b, 0, data, len, true, &report, &err))
        fail_msg("%s", err.text);
    assert_int_equal(report.n_loaded, 6);
    weights_report_release(&report);
    const struct model_result same = evaluate(b, e); /* a learning rate of 0 keeps them */
    assert_true(same.val_loss == trained.val_loss && same.val_score == trained.val_score);
    assert_true(same.train_loss == trained.train_loss);
    bucket_free(b);

    /* Another network takes nothing and stays as it was. */
    spec.model = "digits_cnn";
    b = make_bucket(e, &spec);
    size_t n;
    float *before = weights_of(b, 0, &n);
    assert_false(bucket_weights_import(b, 0, data, len, false, NULL, &err));
    float *after = weights_of(b, 0, &n);
    assert_memory_equal(before, after, n * sizeof *after);
    free(before);
    free(after);
    free(data);
    bucket_free(b);
    engine_close(e);
    data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates_are_reported),
        cmocka_unit_test(test_rates_are_used),
        cmocka_unit_test(test_position_survives_a_pause),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_clipped_update),
        cmocka_unit_test(test_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
