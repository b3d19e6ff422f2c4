/* Scores: mean and deviation, the best trial with its values, each model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "helper_record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scored {
    struct cell_spec spec;
    struct record record;
};

static void make(struct scored *s, const char *definition)
{
    test_spec_make(&s->spec, definition, "seq");
    test_record_make(&s->record, &s->spec);
}

static void put(struct scored *s, int job, double score, double loss)
{
    s->record.outcomes[job] = (struct job_outcome){true, JOB_OK, score + 0.01, loss, score, 100};
}

static void expect(struct scored *s, const char *expected)
{
    json_t *score = score_of(&s->record);
    char *line = json_line(score);
    assert_string_equal(line, expected);
    free(line);
    json_decref(score);
    record_release(&s->record);
    cell_spec_release(&s->spec);
}

static void mean_and_deviation_leave_out_what_is_unknown(void **state)
{
    (void)state;
    const double values[] = {1, (double)NAN, 2, 4, (double)INFINITY};
    double mean, sd;
    assert_int_equal(score_mean_sd(values, 5, &mean, &sd), 3);
    assert_true(fabs(mean - 7.0 / 3) < 1e-15);
    assert_true(fabs(sd - sqrt(7.0 / 3)) < 1e-15); /* sum of squares 42/9, over 2 */
    assert_int_equal(score_mean_sd(values, 1, &mean, &sd), 1);
    assert_true(mean == 1 && isnan(sd));
    assert_int_equal(score_mean_sd(values + 1, 1, &mean, &sd), 0);
    assert_true(isnan(mean) && isnan(sd));
}

static void ensembles_and_folds_have_mean_and_deviation(void **state)
{
    (void)state;
    struct scored s;
    make(&s, def_cv);
    put(&s, 0, 0.5, 1);
    put(&s, 1, 0.75, 1);
    put(&s, 2, 1, 1);
    expect(&s, "{\"score_name\":\"accuracy\",\"n\":3,\"mean\":0.75,\"sd\":0.25}");
    /* A job that failed is not part of the mean. */
    make(&s, def_ensemble);
    put(&s, 0, 0.5, 1);
    put(&s, 1, 1, 1);
    s.record.outcomes[1].status = JOB_FAILED;
    expect(&s, "{\"score_name\":\"accuracy\",\"n\":1,\"mean\":0.5,\"sd\":null}");
    make(&s, def_ensemble);
    expect(&s, "{\"score_name\":\"accuracy\",\"n\":0,\"mean\":null,\"sd\":null}");
}

static void the_best_trial_is_named_with_its_values(void **state)
{
    (void)state;
    struct scored s;
    make(&s, def_hpo); /* lr 0.01, 0.1 x batch size 32, 64, 128, the last fastest */
    for (int i = 0; i < 6; i++)
        put(&s, i, 0.5, 1);
    put(&s, 3, 0.75, 0.5);
    put(&s, 4, 0.75, 0.25);
    put(&s, 5, 0.75, 0.25);
    json_t *score = score_of(&s.record);
    char *best = json_line(json_object_get(score, "best"));
    assert_string_equal(best, "{\"job_id\":\"T01_t4\",\"score\":0.75,\"val_loss\":0.25,\"values\":"
                              "{\"lr\":0.10000000000000001,\"batch_size\":64}}");
    /* The job really has these values. */
    assert_int_equal(s.record.jobs[4].net.batch_size, 64);
    assert_true(s.record.jobs[4].net.optim.lr == 0.1);
    free(best);
    json_decref(score);
    /* The best that did not end well is not the best. */
    s.record.outcomes[4].status = JOB_KILLED;
    assert_int_equal(score_best(&s.record), 5);
    for (int i = 0; i < 6; i++)
        s.record.outcomes[i].val_score = NAN;
    assert_int_equal(score_best(&s.record), -1);
    expect(&s, "{\"score_name\":\"accuracy\",\"n\":0,\"mean\":null,\"sd\":null}");
}

static void models_are_scored_each(void **state)
{
    (void)state;
    struct scored s;
    make(&s, def_multi_model);
    put(&s, 1, 0.5, 1);
    expect(&s, "{\"score_name\":\"accuracy\",\"n\":1,\"mean\":0.5,\"sd\":null,\"models\":["
               "{\"job_id\":\"T01_m0_mlp\",\"model\":\"mlp\",\"dataset\":\"digits\","
               "\"score_name\":\"accuracy\",\"score\":null},"
               "{\"job_id\":\"T01_m1_digits_cnn\",\"model\":\"digits_cnn\",\"dataset\":\"digits\","
               "\"score_name\":\"accuracy\",\"score\":0.5}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_and_deviation_leave_out_what_is_unknown),
        cmocka_unit_test(ensembles_and_folds_have_mean_and_deviation),
        cmocka_unit_test(the_best_trial_is_named_with_its_values),
        cmocka_unit_test(models_are_scored_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
