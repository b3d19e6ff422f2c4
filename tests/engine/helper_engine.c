#include "helper_engine.h"

struct engine_options test_engine = {.device = "cpu"};

struct engine *open_engine(int threads)
{
    struct error err = ERROR_INIT;
    struct engine_options options = test_engine;
    options.threads = threads;
    struct engine *e = engine_open(&options, &err);
    if (!e)
        fail_msg("%s", err.text);
    return e;
}

struct dataset *load_data(const char *name, bool synthetic)
{
    struct error err = ERROR_INIT;
    const char *root = getenv("FUGUE_DATA_DIR");
    struct dataset *d = data_load(name, root ? root : "/nonexistent", synthetic, &err);
    if (!d)
        fail_msg("%s", err.text);
    return d;
}

struct bucket *make_bucket(struct engine *e, const struct bucket_spec *spec)
{
    struct error err = ERROR_INIT;
    struct bucket *b = bucket_new(e, spec, &err);
    if (!b || (test_engine.compile && !bucket_compile(b, &err)))
        fail_msg("%s", err.text);
    return b;
}

void run_buckets(struct engine *e, struct bucket *const *buckets, int n,
                 const struct engine_events *events)
{
    struct error err = ERROR_INIT;
    if (!engine_run(e, buckets, n, events, &err))
        fail_msg("%s", err.text);
}

struct optim_args optim_defaults(const char *name, double lr)
{
    struct optim_args args = optim_find(name)->defaults;
    args.lr = lr;
    return args;
}

static struct model_record *enter(struct recorder *r, const struct bucket *b, int model)
{
    if (__atomic_add_fetch(&r->inside, 1, __ATOMIC_SEQ_CST) != 1)
        r->overlapped = true;
    for (int i = 1; i < r->n_buckets; i++)
        if (r->buckets[i] == b)
            model += 8 * i;
    return &r->model[model];
}

static void leave(struct recorder *r)
{
    __atomic_sub_fetch(&r->inside, 1, __ATOMIC_SEQ_CST);
}

static void on_epoch(void *ctx, const struct bucket *b, int model, const struct epoch_report *e)
{
    struct recorder *r = ctx;
    struct model_record *m = enter(r, b, model);
    if (m->n_epochs < RECORD_EPOCHS)
        m->epochs[m->n_epochs++] = *e;
    r->n_epochs++;
    if (r->stop_after_epochs > 0 && r->n_epochs >= r->stop_after_epochs)
        r->stop = true;
    leave(r);
}

static void on_result(void *ctx, const struct bucket *b, int model, const struct model_result *x)
{
    struct recorder *r = ctx;
    struct model_record *m = enter(r, b, model);
    m->result = *x;
    m->n_results++;
    leave(r);
}

static void on_phase(void *ctx, const struct bucket *b, int model, enum phase phase, double start_s,
                     double end_s)
{
    struct recorder *r = ctx;
    struct model_record *m = enter(r, b, model);
    if (end_s < start_s)
        r->overlapped = true;
    if (phase == PHASE_TRAIN)
        m->n_train_passes++;
    else
        m->n_eval_passes++;
    r->n_train_passes += phase == PHASE_TRAIN;
    if (r->stop_after_train_passes > 0 && r->n_train_passes >= r->stop_after_train_passes)
        r->stop = true;
    leave(r);
}

static void on_progress(void *ctx, const struct bucket *b, int model, double epochs_done,
                        double samples_per_s, double loss)
{
    (void)samples_per_s;
    (void)loss;
    struct recorder *r = ctx;
    struct model_record *m = enter(r, b, model);
    m->n_progress++;
    m->last_progress = epochs_done;
    leave(r);
}

static bool on_should_stop(void *ctx)
{
    return ((const struct recorder *)ctx)->stop;
}

struct engine_events recorder_events(struct recorder *r)
{
    return (struct engine_events){.ctx = r,
                                  .epoch = on_epoch,
                                  .result = on_result,
                                  .phase = on_phase,
                                  .progress = on_progress,
                                  .should_stop = on_should_stop};
}

static void assert_same_bits(double a, double b, const char *what, int epoch)
{
    if (memcmp(&a, &b, sizeof a) != 0 && !(isnan(a) && isnan(b)))
        fail_msg("%s of epoch %d: %.17g against %.17g", what, epoch, a, b);
}

void assert_same_epochs(const struct model_record *a, const struct model_record *b)
{
    assert_int_equal(a->n_epochs, b->n_epochs);
    for (int i = 0; i < a->n_epochs; i++) {
        const struct epoch_report *x = &a->epochs[i], *y = &b->epochs[i];
        assert_int_equal(x->epoch, y->epoch);
        assert_int_equal(x->epochs, y->epochs);
        assert_same_bits(x->train_loss, y->train_loss, "train_loss", x->epoch);
        assert_same_bits(x->val_loss, y->val_loss, "val_loss", x->epoch);
        assert_same_bits(x->score, y->score, "score", x->epoch);
        assert_same_bits(x->lr, y->lr, "lr", x->epoch);
    }
}

void assert_same_result(const struct model_result *a, const struct model_result *b)
{
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->epochs_run, b->epochs_run);
    assert_int_equal(a->total_samples, b->total_samples);
    assert_same_bits(a->train_loss, b->train_loss, "result: train_loss", a->epochs_run);
    assert_same_bits(a->train_score, b->train_score, "result: train_score", a->epochs_run);
    assert_same_bits(a->val_loss, b->val_loss, "result: val_loss", a->epochs_run);
    assert_same_bits(a->val_score, b->val_score, "result: val_score", a->epochs_run);
    assert_int_equal(a->n_train, b->n_train);
    assert_int_equal(a->n_val, b->n_val);
    assert_string_equal(a->val_source, b->val_source);
}

struct blob export_model(const struct bucket *b, int model)
{
    struct error err = ERROR_INIT;
    struct blob blob = {0};
    if (!bucket_export(b, model, &blob.data, &blob.len, &err))
        fail_msg("%s", err.text);
    return blob;
}
