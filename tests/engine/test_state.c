/* Job state: pausing, exporting, importing elsewhere and going on gives the same bits as never
 * having stopped; whatever is wrong with a file is refused and changes nothing.
 */
#include "helper_engine.h"

#include "base/rng.h"
#include "nn/safetensors.h"

static struct train_spec job(int i, const struct optim_args *args, int epochs)
{
    static char ids[4][8];
    snprintf(ids[i], sizeof ids[i], "job%d", i);
    return (struct train_spec){.job_id = ids[i],
                               .seed = 7 + (uint64_t)i,
                               .split = {.kind = SPLIT_KFOLD, .split_id = i, .seed = 1, .k = 3},
                               .epochs = epochs,
                               .optim = *args};
}

/* A bucket of n jobs, `first` the number of its first one. */
static struct bucket *cnn_bucket(struct engine *e, const struct dataset *d, const char *optimizer,
                                 int first, int n, int epochs)
{
    struct train_spec jobs[4];
    for (int i = 0; i < n; i++) {
        struct optim_args args = optim_defaults(optimizer, 0.01);
        args.momentum = strcmp(optimizer, "sgd") == 0 ? 0.9 : 0.0;
        args.amsgrad = strcmp(optimizer, "adamw") == 0 && first + i == 1;
        jobs[i] = job(first + i, &args, epochs);
    }
    const struct bucket_spec spec = {.data = d,
                                     .train_limit = 100,
                                     .model = "digits_cnn",
                                     .task = "classification",
                                     .optimizer = optimizer,
                                     .batch_size = 32,
                                     .n_models = n,
                                     .models = jobs};
    return make_bucket(e, &spec);
}

/* Job 1 of 3 paused after each epoch 1..3 and moved to a bucket of another size and place. */
static void check_moves(const char *optimizer)
{
    struct dataset *d = load_data("digits", false);
    struct engine *e = open_engine(2);
    struct recorder *whole = calloc(1, sizeof *whole), *parts = calloc(1, sizeof *parts);
    struct bucket *b = cnn_bucket(e, d, optimizer, 0, 3, 4);
    struct engine_events events = recorder_events(whole);
    run_buckets(e, &b, 1, &events);
    const struct blob end = export_model(b, 1);
    bucket_free(b);

    struct error err = ERROR_INIT;
    struct blob state = {0};
    for (int epoch = 1; epoch <= 4; epoch++) {
        const int first = epoch % 2; /* job 1 is model 1 of 3, then model 0 of 1 */
        b = cnn_bucket(e, d, optimizer, first, first ? 1 : 3, 4);
        const int k = 1 - first;
        if (state.data && !bucket_import(b, k, state.data, state.len, &err))
            fail_msg("%s", err.text);
        for (int i = 0; i < bucket_size(b); i++)
            bucket_set_pause(b, i, epoch);
        memset(parts, 0, sizeof *parts);
        events = recorder_events(parts);
        run_buckets(e, &b, 1, &events);
        assert_int_equal(parts->model[k].n_epochs, 1);
        assert_int_equal(parts->model[k].n_results, 0); /* paused: no evaluation, no result */
        assert_int_equal(parts->model[k].n_eval_passes, 0);
        assert_int_equal(parts->model[k].epochs[0].epoch, epoch);
        assert_true(parts->model[k].epochs[0].train_loss ==
                    whole->model[1].epochs[epoch - 1].train_loss);
        free(state.data);
        state = export_model(b, k);
        if (epoch == 4) { /* the pause held for one run: the next one evaluates */
            run_buckets(e, &b, 1, &events);
            assert_int_equal(parts->model[k].n_results, 1);
            assert_true(parts->model[k].result.val_loss == whole->model[1].result.val_loss);
            assert_true(parts->model[k].result.train_score == whole->model[1].result.train_score);
            assert_int_equal(parts->model[k].result.epochs_run, 4);
        }
        bucket_free(b);
    }
    assert_int_equal(state.len, end.len);
    assert_memory_equal(state.data, end.data, end.len);

    /* A state at the last epoch: nothing to train, the evaluations are still due. */
    b = cnn_bucket(e, d, optimizer, 1, 1, 4);
    assert_true(bucket_import(b, 0, end.data, end.len, &err));
    memset(parts, 0, sizeof *parts);
    run_buckets(e, &b, 1, &events);
    assert_int_equal(parts->model[0].n_train_passes, 0);
    assert_int_equal(parts->model[0].n_results, 1);
    assert_true(parts->model[0].result.val_loss == whole->model[1].result.val_loss);
    bucket_free(b);
    free(state.data);
    free(end.data);
    free(whole);
    free(parts);
    engine_close(e);
    data_free(d);
}

static void test_moves_sgd(void **state)
{
    (void)state;
    check_moves("sgd");
}

static void test_moves_adamw(void **state)
{
    (void)state;
    check_moves("adamw");
}

static void test_contents(void **state)
{
    (void)state;
    struct dataset *d = load_data("digits", false);
    struct engine *e = open_engine(1);
    struct bucket *b = cnn_bucket(e, d, "adamw", 0, 2, 1);
    run_buckets(e, &b, 1, NULL);
    const struct blob blob = export_model(b, 0);
    struct safetensors st;
    struct error err = ERROR_INIT;
    assert_true(safetensors_parse(&st, blob.data, blob.len, &err));
    assert_string_equal(safetensors_meta(&st, "format"), "fugue-job-state");
    assert_string_equal(safetensors_meta(&st, "version"), "1");
    assert_string_equal(safetensors_meta(&st, "model"), "digits_cnn");
    assert_string_equal(safetensors_meta(&st, "data"), "digits");
    assert_string_equal(safetensors_meta(&st, "task"), "classification");
    assert_string_equal(safetensors_meta(&st, "optimizer"), "adamw");
    assert_string_equal(safetensors_meta(&st, "seed"), "7");
    assert_string_equal(safetensors_meta(&st, "epoch"), "1");
    assert_string_equal(safetensors_meta(&st, "updates"), "3"); /* 66 samples in batches of 32 */
    assert_string_equal(safetensors_meta(&st, "batch_size"), "32");
    assert_contains(safetensors_meta(&st, "optimizer_args"), "\"lr\":0.01");
    static const char *const first[] = {
        "model.conv1.weight",     "model.conv1.bias",      "model.bn1.weight",  "model.bn1.bias",
        "model.bn1.running_mean", "model.bn1.running_var", "model.conv2.weight"};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        assert_string_equal(st.tensors[i].name, first[i]);
    const struct safetensor *w = safetensors_find(&st, "model.conv2.weight");
    assert_true(w && w->rank == 4 && w->dims[0] == 32 && w->dims[1] == 16 && w->dims[2] == 3);
    assert_non_null(safetensors_find(&st, "optim.exp_avg.fc2.bias"));
    assert_non_null(safetensors_find(&st, "optim.exp_avg_sq.conv1.weight"));
    /* Job 1 of this bucket has amsgrad; job 0's file must not carry its slot. */
    assert_null(safetensors_find(&st, "optim.max_exp_avg_sq.conv1.weight"));
    assert_int_equal(st.n, 16 + 2 * 12);
    safetensors_release(&st);
    free(blob.data);
    bucket_free(b);
    engine_close(e);
    data_free(d);
}

/* ---- refusals ---- */

static void refuse(struct bucket *b, const struct blob *blob, const char *words)
{
    struct error err = ERROR_INIT;
    const struct blob before = export_model(b, 0);
    assert_false(bucket_import(b, 0, blob->data, blob->len, &err));
    assert_contains(err.text, words);
    assert_contains(err.text, "job0");
    const struct blob after = export_model(b, 0);
    assert_int_equal(before.len, after.len);
    assert_memory_equal(before.data, after.data, after.len);
    free(before.data);
    free(after.data);
}

/* The same file with one piece of header text replaced by another of the same length. */
static struct blob edited(const struct blob *from, const char *old, const char *new)
{
    struct blob b = {malloc(from->len), from->len};
    memcpy(b.data, from->data, from->len);
    char *at = memmem(b.data, b.len, old, strlen(old));
    assert_non_null(at);
    assert_int_equal(strlen(old), strlen(new));
    memcpy(at, new, strlen(new));
    return b;
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *old, *new, *words;
    } cases[] = {
        {"fugue-job-state", "fugue-job-stage", "format is 'fugue-job-stage'"},
        {"\"version\":\"1\"", "\"version\":\"2\"", "version is '2'"},
        {"\"model\":\"digits_cnn\"", "\"model\":\"digits_dnn\"", "this job needs 'digits_cnn'"},
        {"\"task\":\"classification\"", "\"task\":\"classificatiom\"", "task is"},
        {"\"optimizer\":\"adamw\"", "\"optimizer\":\"adamx\"", "this job needs 'adamw'"},
        {"\"epoch\":\"1\"", "\"epoch\":\"3\"", "this job ends at 2"},
        {"\"epoch\":\"1\"", "\"epoch\":\"x\"", "not a whole number"},
        {"\"epoch\":\"1\"", "\"epoch\":\"0\"", "cannot be"},
        {"\"updates\":\"3\"", "\"updatez\":\"3\"", "updates is not a whole number"},
        {"model.fc2.bias", "model.fc2.bies", "tensor model.fc2.bias is missing"},
        {"[32,16,3,3]", "[16,32,3,3]", "model.conv2.weight is not F32 of the shape"},
    };
    struct dataset *d = load_data("digits", false);
    struct engine *e = open_engine(1);
    struct bucket *b = cnn_bucket(e, d, "adamw", 0, 2, 2);
    bucket_set_pause(b, 0, 1);
    bucket_set_pause(b, 1, 1);
    run_buckets(e, &b, 1, NULL);
    const struct blob good = export_model(b, 0), other = export_model(b, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct blob bad = edited(&good, cases[i].old, cases[i].new);
        refuse(b, &bad, cases[i].words);
        free(bad.data);
    }
    refuse(b, &other, "52 tensors where this network and optimiser have 40"); /* amsgrad's slot */
    struct error err = ERROR_INIT;
    assert_false(bucket_import(b, 1, good.data, good.len, &err));
    assert_contains(err.text, "optim.max_exp_avg_sq.conv1.weight is missing");
    free(good.data);
    free(other.data);
    bucket_free(b);
    engine_close(e);
    data_free(d);
}

/* Every length of file and thousands of random changes to the header: refused, or read as a state
 * that is one, never a crash (the sanitizers watch). */
static void test_damaged_files(void **state)
{
    (void)state;
    struct dataset *d = load_data("digits", false);
    struct engine *e = open_engine(1);
    struct bucket *b = cnn_bucket(e, d, "sgd", 0, 1, 1);
    const struct blob good = export_model(b, 0);
    uint64_t header = 0;
    memcpy(&header, good.data, 8);
    struct error err = ERROR_INIT;
    unsigned char *bytes = malloc(good.len);
    for (size_t len = 0; len < good.len; len += len < header + 16 ? 7 : 9973) {
        /* A copy of exactly this length, so that a read beyond it is seen. */
        unsigned char *cut = malloc(len + 1);
        memcpy(cut, good.data, len);
        assert_false(bucket_import(b, 0, cut, len, &err));
        free(cut);
    }
    int refused = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        memcpy(bytes, good.data, good.len);
        for (uint32_t j = 0; j < 1 + i % 4; j++) {
            const struct rng_block r = rng_block_at(9, RNG_TEST, j, 0, i, 0);
            const char digits[] = "0123456789-[]{},:\"e.";
            bytes[r.v[0] % (8 + (uint32_t)header)] =
                (unsigned char)(r.v[1] % 2 ? (uint32_t)digits[r.v[2] % 20] : r.v[2]);
        }
        refused += !bucket_import(b, 0, bytes, good.len, &err);
    }
    assert_true(refused > 1000);
    assert_true(bucket_import(b, 0, good.data, good.len, &err));
    free(bytes);
    free(good.data);
    bucket_free(b);
    engine_close(e);
    data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves_sgd),     cmocka_unit_test(test_moves_adamw),
        cmocka_unit_test(test_contents),      cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_damaged_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
