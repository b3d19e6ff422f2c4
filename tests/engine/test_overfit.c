/* labels: full; timeout: 300 */
/* A network that can learn, learns 512 samples by heart. */
#include "helper_engine.h"

#define SAMPLES 512

/* Accuracy on the training set after training; the epochs' losses must have fallen on the way. */
static double overfit(const char *data, const char *model, const char *task, double lr,
                      int32_t batch, int32_t epochs)
{
    struct dataset *d = load_data(data, true);
    struct engine *e = open_engine(2);
    const struct train_spec job = {.job_id = "overfit",
                                   .seed = 42,
                                   .split = {.kind = SPLIT_FIXED},
                                   .epochs = epochs,
                                   .optim = optim_defaults("adam", lr)};
    const struct bucket_spec spec = {.data = d,
                                     .model = model,
                                     .task = task,
                                     .optimizer = "adam",
                                     .batch_size = batch,
                                     .n_models = 1,
                                     .models = &job};
    struct bucket *b = make_bucket(e, &spec);
    struct recorder *r = calloc(1, sizeof *r);
    const struct engine_events events = recorder_events(r);
    run_buckets(e, &b, 1, &events);
    const struct model_record *m = &r->model[0];
    printf("%s on %s: train %.4f (loss %.4f), test %.4f (loss %.4f), %.1f s\n", model, data,
           m->result.train_score, m->result.train_loss, m->result.val_score, m->result.val_loss,
           m->result.train_s);
    assert_int_equal(m->result.status, MODEL_OK);
    assert_int_equal(m->result.n_train, SAMPLES);
    assert_int_equal(m->result.total_samples, SAMPLES * epochs);
    assert_true(m->epochs[m->n_epochs - 1].train_loss < m->epochs[0].train_loss / 4);
    const double score = m->result.train_score;
    free(r);
    bucket_free(b);
    engine_close(e);
    data_free(d);
    return score;
}

static void test_images(void **state)
{
    (void)state;
    const double accuracy =
        overfit("cifar10?n_train=512&n_test=512", "simplecnn", "classification", 0.001, 64, 12);
    assert_true(accuracy > 0.99);
}

static void test_words(void **state)
{
    (void)state;
    const double accuracy = overfit("wikitext?seq=16&vocab=200&n_train=512&n_test=512",
                                    "transformer?layers=2&d_model=64&heads=4&ff=128&dropout_pct=0",
                                    "language_modeling", 0.003, 32, 30);
    assert_true(accuracy > 0.99);
}

/* Sentences: what tells the class are a few words among many. */
static void test_texts(void **state)
{
    (void)state;
    const double accuracy =
        overfit("sst2?seq=36&vocab=1000&n_train=512&n_test=512",
                "xlm_roberta?layers=1&d_model=32&heads=2&ff=64&vocab=1000&dropout_pct=0",
                "classification", 0.001, 32, 30);
    assert_true(accuracy > 0.99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
