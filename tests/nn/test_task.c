#include "helper_nn.h"
#include "nn/model.h"
#include "nn/task.h"

static void test_lookup(void **state)
{
    (void)state;
    const struct task_info *c = task_find("classification"), *r = task_find("regression");
    assert_non_null(c);
    assert_non_null(r);
    assert_int_equal(c->loss, OP_CROSS_ENTROPY);
    assert_int_equal(r->loss, OP_MSE);
    assert_int_equal(c->target, TARGET_CLASS);
    assert_int_equal(r->target, TARGET_REAL);
    assert_string_equal(c->score_name, "accuracy");
    assert_string_equal(r->score_name, "R2");
    assert_null(task_find("Classification"));
    assert_non_null(task_find("language_modeling"));
    assert_true(!c->extra && !c->extra_name && !r->extra && !r->extra_name);
    assert_null(task_find("segmentation"));
    int n = 0;
    while (task_table[n])
        n++;
    assert_int_equal(n, 3);
}

static void test_classification(void **state)
{
    (void)state;
    double loss, score;
    task_find("classification")
        ->finish(&(struct pass_sums){.n = 8, .loss_sum = 6, .n_correct = 5}, &loss, &score);
    assert_true(loss == 0.75 && score == 0.625);
    task_find("classification")->finish(&(struct pass_sums){0}, &loss, &score);
    assert_true(isnan(loss) && isnan(score));
}

static void test_regression(void **state)
{
    (void)state;
    /* Targets 1, 2, 3, 6: mean 3, sum of squares about it 14; squared errors 3.5. */
    struct pass_sums s = {.n = 4, .loss_sum = 3.5, .target_sum = 12, .target_sq_sum = 50};
    double loss, score;
    task_find("regression")->finish(&s, &loss, &score);
    assert_true(loss == 0.875 && score == 0.75);
    s.loss_sum = 28; /* worse than the mean: below zero, not cut */
    task_find("regression")->finish(&s, &loss, &score);
    assert_true(score == -1);
    s = (struct pass_sums){.n = 4, .loss_sum = 2, .target_sum = 8, .target_sq_sum = 16};
    task_find("regression")->finish(&s, &loss, &score); /* all targets equal */
    assert_true(loss == 0.5 && score == 0);
    task_find("regression")->finish(&(struct pass_sums){0}, &loss, &score);
    assert_true(isnan(loss) && isnan(score));
    s = (struct pass_sums){.n = 4, .loss_sum = NAN, .target_sum = 12, .target_sq_sum = 50};
    task_find("regression")->finish(&s, &loss, &score);
    assert_true(isnan(loss) && isnan(score));
}

static void test_language_modeling(void **state)
{
    (void)state;
    const struct task_info *t = task_find("language_modeling");
    assert_string_equal(t->name, "language_modeling");
    assert_string_equal(t->score_name, "accuracy");
    assert_string_equal(t->extra_name, "perplexity");
    assert_int_equal(t->loss, OP_CROSS_ENTROPY);
    assert_int_equal(t->target, TARGET_TOKENS);
    double loss, score;
    /* Two samples of eight tokens: means are over tokens. */
    t->finish(&(struct pass_sums){.n = 2, .n_tokens = 16, .loss_sum = 8, .n_correct = 4}, &loss,
              &score);
    assert_true(loss == 0.5 && score == 0.25);
    assert_near(t->extra(loss), 1.6487212707001282, 1e-15);
    t->finish(&(struct pass_sums){0}, &loss, &score);
    assert_true(isnan(loss) && isnan(score));
}

/* What a network reads and gives, against samples and task. */
static void test_network(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct graph *values = model_build("mlp", shape_vector(16), 1, &err);
    struct graph *classes = model_build("mlp", shape_vector(16), 3, &err);
    struct graph *words =
        model_build("transformer?layers=1&d_model=16&heads=2&ff=16", shape_vector(16), 50, &err);
    struct graph *texts = model_build("xlm_roberta?layers=1&d_model=16&heads=2&ff=16&vocab=60",
                                      shape_vector(16), 3, &err);
    assert_true(values && classes && words && texts);
    const struct task_info *class_ = task_find("classification"), *real = task_find("regression");
    assert_true(task_check_network(class_, classes, NULL));
    assert_true(task_check_network(class_, texts, NULL));
    assert_true(task_check_network(real, values, NULL));
    assert_true(task_check_network(task_find("language_modeling"), words, NULL));
    assert_false(task_check_network(class_, words, &err));
    assert_contains(err.text, "task classification needs a vector a sample");
    assert_false(task_check_network(task_find("language_modeling"), texts, &err));
    assert_contains(err.text, "task language_modeling needs a vector a token");
    assert_false(task_check_network(real, classes, &err));
    assert_contains(err.text, "needs 1 output, the network has 3");

    assert_true(graph_check_input(values, 0, NULL));
    assert_true(graph_check_input(words, 50, NULL));
    assert_true(graph_check_input(texts, 60, NULL));
    assert_false(graph_check_input(texts, 61, &err));
    assert_contains(err.text, "word_embeddings' has 60 rows, too few for token ids up to 60");
    assert_false(graph_check_input(texts, 0, &err));
    assert_contains(err.text, "the network reads token ids, the samples are numbers");
    assert_false(graph_check_input(values, 16, &err));
    assert_contains(err.text, "the network reads numbers, the samples are token ids");
    graph_free(values);
    graph_free(classes);
    graph_free(words);
    graph_free(texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookup),     cmocka_unit_test(test_classification),
        cmocka_unit_test(test_regression), cmocka_unit_test(test_language_modeling),
        cmocka_unit_test(test_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
