#include "helper_company.h"

struct train_spec company_job(const struct scenario *s, int i)
{
    static char ids[COMPANY_MAX][16];
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
    struct error err = ERROR_INIT;
    if (s->schedule && i % 2 && !schedule_parse(&spec.schedule, s->schedule, &err))
        fail_msg("%s", err.text);
    if (s->schedule)
        spec.clip_grad_norm = 0.5 * (i % 3);
    return spec;
}

/* Trains jobs [first, first + n) as one bucket; writes their records and states. */
void company_train(const struct scenario *s, const struct dataset *d, int threads, int first, int n,
                   struct model_record *records, struct blob *blobs)
{
    struct train_spec jobs[COMPANY_MAX];
    for (int i = 0; i < n; i++)
        jobs[i] = company_job(s, first + i);
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
    struct model_record records[COMPANY_MAX];
    struct blob blobs[COMPANY_MAX];
    company_train(s, d, threads, first, n, records, blobs);
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

void company_check(const struct scenario *s)
{
    struct dataset *d = load_data(s->data, s->synthetic);
    const int n = s->models, half = n > 5 ? 5 : n - 1;
    struct model_record alone[COMPANY_MAX] = {0};
    struct blob state[COMPANY_MAX] = {0};
    for (int i = 0; i < n; i++)
        company_train(s, d, 1, i, 1, &alone[i], &state[i]);
    for (int i = 1; i < n; i++) /* they are n jobs, not one n times */
        assert_true(alone[i].epochs[0].train_loss != alone[0].epochs[0].train_loss);
    compare(s, alone, state, d, 3, n / 2, 1);
    compare(s, alone, state, d, 2, n - 3, 3);
    compare(s, alone, state, d, 1, n - half, half);
    compare(s, alone, state, d, 3, 0, half);
    compare(s, alone, state, d, 2, 0, n);
    compare(s, alone, state, d, 3, 0, n);
    for (int i = 0; i < n; i++)
        free(state[i].data);
    data_free(d);
}
