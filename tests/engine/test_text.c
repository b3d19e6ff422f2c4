/* labels: full; timeout: 300 */
/* Networks of texts learn the real WikiText-2 and SST-2: small ones for a short time, held to what
 * guessing reaches.  bench/text_nets is the long form. */
#include "helper_engine.h"
#include "helper_unigram.h"

static struct model_result train(const struct dataset *d, struct bucket_spec spec, double lr,
                                 int epochs)
{
    struct engine *e = open_engine(2);
    struct recorder *r = calloc(1, sizeof *r);
    struct error err = ERROR_INIT;
    struct train_spec job = {.job_id = "text",
                             .seed = 42,
                             .split = {.kind = SPLIT_FIXED},
                             .epochs = epochs,
                             .optim = optim_defaults("adamw", lr),
                             .clip_grad_norm = 1};
    if (!schedule_parse(&job.schedule, "one_cycle", &err))
        fail_msg("%s", err.text);
    spec.data = d;
    spec.task = d->task;
    spec.optimizer = "adamw";
    spec.n_models = 1;
    spec.models = &job;
    struct bucket *b = make_bucket(e, &spec);
    const struct engine_events events = recorder_events(r);
    run_buckets(e, &b, 1, &events);
    const struct model_result result = r->model[0].result;
    assert_int_equal(result.status, MODEL_OK);
    assert_int_equal(result.total_samples, epochs * d->train.n);
    assert_string_equal(result.val_source, "test");
    bucket_free(b);
    engine_close(e);
    free(r);
    return result;
}

static void test_words(void **state)
{
    (void)state;
    struct dataset *d = load_data("wikitext?train=valid&vocab=1000&seq=32&n_test=1000", false);
    const struct model_result m =
        train(d,
              (struct bucket_spec){.model = "transformer?layers=2&d_model=64&heads=4&ff=256",
                                   .batch_size = 8},
              0.01, 1);
    const double unigram = unigram_perplexity(d), got = exp(m.val_loss);
    printf("test perplexity %.2f, unigram model %.2f; %.1f s\n", got, unigram, m.train_s);
    assert_true(fabs(unigram - 70.65) < 0.01); /* by Python, on these windows */
    assert_true(got < 0.9 * unigram);
    data_free(d);
}

static void test_sentences(void **state)
{
    (void)state;
    struct dataset *d = load_data(
        "sst2?tokenizer=tokenizer/spm_wt2valid_unigram2k.model&seq=32&n_train=12000", false);
    const struct model_result m = train(
        d,
        (struct bucket_spec){.model = "xlm_roberta?layers=2&d_model=64&heads=4&ff=256&vocab=2002",
                             .batch_size = 32},
        0.002, 2);
    printf("dev accuracy %.4f, train %.4f; %.1f s\n", m.val_score, m.train_score, m.train_s);
    assert_int_equal(m.n_val, 872);
    assert_true(m.val_score > 0.65); /* the more frequent class: 0.509 */
    data_free(d);
}

int main(void)
{
    if (!getenv("FUGUE_DATA_DIR")) {
        puts("skipped: FUGUE_DATA_DIR is not set, and this test needs the real wikitext and sst2");
        return 77;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_sentences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
