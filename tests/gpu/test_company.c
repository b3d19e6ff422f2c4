/* labels: full; timeout: 300 */
/* Jobs that differ in all a bucket lets differ -- folds, epochs, schedules, clipping, optimiser
 * options -- trained on the GPU: against the CPU (same samples, masks and augmentation, so the same
 * losses but for rounding), twice (same bits), as graphs (same bits), alone and stacked.
 */
#include "helper_company.h"
#include "helper_gpu.h"

static const struct scenario scenarios[] = {
    {"cnn", "digits", "digits_cnn", "sgd", false, 16, 101, SPLIT_KFOLD, true, 0.02, COMPANY_MAX,
     NULL},
    {"adamw", "digits", "digits_cnn", "adamw", false, 40, 90, SPLIT_KFOLD, false, 0.002,
     COMPANY_MAX, "one_cycle?pct_start=0.4"},
    {"small set", "digits", "mlp", "adam", false, 128, 50, SPLIT_HOLDOUT, false, 0.01, COMPANY_MAX,
     "cosine?warmup=1"},
    {"regression", "cal_housing", "mlp", "adam", true, 256, 700, SPLIT_HOLDOUT, true, 0.003,
     COMPANY_MAX, NULL},
    {"crops", "cifar10", "simplecnn", "sgd", true, 16, 90, SPLIT_KFOLD, false, 0.01, 6, NULL},
    {"sequence", "wikitext", "transformer?layers=1&d_model=32&heads=2&ff=64", "adamw", true, 8, 24,
     SPLIT_FIXED, false, 0.001, 4, NULL},
};

struct trained {
    struct model_record records[COMPANY_MAX];
    struct blob states[COMPANY_MAX];
    int n;
};

static struct trained *train(const struct scenario *s, const struct dataset *d, const char *device,
                             bool compile, int first, int n)
{
    struct trained *t = calloc(1, sizeof *t);
    test_engine = (struct engine_options){.device = device, .compile = compile};
    t->n = n;
    company_train(s, d, 2, first, n, t->records, t->states);
    return t;
}

static void release(struct trained *t)
{
    for (int i = 0; i < t->n; i++)
        free(t->states[i].data);
    free(t);
}

static void close_to(const char *what, const struct scenario *s, int job, double a, double b,
                     double tolerance)
{
    if (isnan(a) && isnan(b))
        return;
    if (!(fabs(a - b) <= tolerance * fmax(1, fabs(b))))
        fail_msg("%s, job %d: %s is %.9g, not %.9g", s->name, job, what, a, b);
}

static void assert_close(const struct scenario *s, const struct trained *a, int a0,
                         const struct trained *b, int b0, int n, double tolerance)
{
    for (int i = 0; i < n; i++) {
        const struct model_record *x = &a->records[a0 + i], *y = &b->records[b0 + i];
        assert_int_equal(x->n_epochs, y->n_epochs);
        for (int e = 0; e < x->n_epochs; e++) {
            close_to("training loss", s, i, x->epochs[e].train_loss, y->epochs[e].train_loss,
                     tolerance);
            close_to("validation loss", s, i, x->epochs[e].val_loss, y->epochs[e].val_loss,
                     tolerance);
            assert_true(x->epochs[e].lr == y->epochs[e].lr);
        }
        close_to("final loss", s, i, x->result.train_loss, y->result.train_loss, tolerance);
        close_to("final validation loss", s, i, x->result.val_loss, y->result.val_loss, tolerance);
        assert_int_equal(x->result.total_samples, y->result.total_samples);
    }
}

static void assert_same(const struct scenario *s, const struct trained *a, const struct trained *b)
{
    for (int i = 0; i < a->n; i++) {
        assert_same_epochs(&a->records[i], &b->records[i]);
        assert_same_result(&a->records[i].result, &b->records[i].result);
        if (a->states[i].len != b->states[i].len ||
            memcmp(a->states[i].data, b->states[i].data, a->states[i].len) != 0)
            fail_msg("%s: job %d's state differs from run to run", s->name, i);
    }
}

static void check(const struct scenario *s)
{
    struct dataset *d = load_data(s->data, s->synthetic);
    const int n = s->models;
    struct trained *cpu = train(s, d, "cpu", false, 0, n), *gpu = train(s, d, "cuda", false, 0, n);
    struct trained *again = train(s, d, "cuda", false, 0, n);
    struct trained *graphs = train(s, d, "cuda", true, 0, n);
    struct trained *three = train(s, d, "cuda", true, n - 3, 3);
    struct trained *alone = train(s, d, "cuda", true, 1, 1);
    assert_close(s, gpu, 0, cpu, 0, n, 5e-3);
    assert_same(s, gpu, again);
    assert_same(s, gpu, graphs);
    assert_close(s, three, 0, gpu, n - 3, 3, 1e-4);
    assert_close(s, alone, 0, gpu, 1, 1, 1e-4);
    release(alone);
    release(three);
    release(graphs);
    release(again);
    release(gpu);
    release(cpu);
    data_free(d);
}

#define TEST(i, name)                                                                              \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        check(&scenarios[i]);                                                                      \
    }

TEST(0, batch_norm_dropout_folds)
TEST(1, one_cycle_and_clipping)
TEST(2, batch_larger_than_the_set)
TEST(3, regression)
TEST(4, crops_and_flips)
TEST(5, sequences)

int main(void)
{
    if (!gpu_backend())
        return GPU_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_norm_dropout_folds),
        cmocka_unit_test(test_one_cycle_and_clipping),
        cmocka_unit_test(test_batch_larger_than_the_set),
        cmocka_unit_test(test_regression),
        cmocka_unit_test(test_crops_and_flips),
        cmocka_unit_test(test_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
