/* schedule and clip_grad_norm as fields: definitions, axes, --set, messages, hashes; networks in
 * files. */
#include "helper_catalog.h"

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BASE "\"dataset\":\"digits\",\"batch_size\":64,\"epochs\":3,\"lr\":0.01"
#define ENSEMBLE(more)                                                                             \
    "{\"type\":\"ensemble\",\"model\":\"mlp\"," BASE ",\"committee_size\":2" more "}"

static void hash_of(const char *definition, char out[17])
{
    struct experiment *e = experiment_of("X", definition);
    experiment_hash(e, out);
    experiment_free(e);
}

static void test_fields(void **state)
{
    (void)state;
    struct experiment *e = experiment_of("X", ENSEMBLE(""));
    assert_null(e->net.schedule);
    assert_true(e->net.clip_grad_norm == 0);
    experiment_free(e);
    e = experiment_of("X", ENSEMBLE(",\"schedule\":\"cosine?t_max=5\",\"clip_grad_norm\":0.5"));
    assert_string_equal(e->net.schedule, "cosine?t_max=5");
    assert_true(e->net.clip_grad_norm == 0.5);
    json_t *back = experiment_to_json(e);
    assert_string_equal(json_string_value(json_object_get(back, "schedule")), "cosine?t_max=5");
    assert_true(json_number_value(json_object_get(back, "clip_grad_norm")) == 0.5);
    json_decref(back);
    experiment_free(e);
}

/* What says nothing new does not make another definition. */
static void test_hash(void **state)
{
    (void)state;
    char plain[17], constant[17], cosine[17], clipped[17];
    hash_of(ENSEMBLE(""), plain);
    hash_of(ENSEMBLE(",\"schedule\":\"constant\",\"clip_grad_norm\":0"), constant);
    hash_of(ENSEMBLE(",\"schedule\":\"cosine\""), cosine);
    hash_of(ENSEMBLE(",\"clip_grad_norm\":1"), clipped);
    assert_string_equal(plain, constant);
    assert_string_not_equal(plain, cosine);
    assert_string_not_equal(plain, clipped);
}

static void test_refused(void **state)
{
    (void)state;
    assert_contains(definition_error(ENSEMBLE(",\"schedule\":\"cosin\"")), "cosine");
    assert_contains(definition_error(ENSEMBLE(",\"schedule\":3")),
                    "schedule must be a schedule of the learning rate");
    assert_contains(definition_error(ENSEMBLE(",\"schedule\":\"step?step_size=1&gamma=x\"")),
                    "gamma");
    assert_contains(definition_error(ENSEMBLE(",\"clip_grad_norm\":-1")),
                    "clip_grad_norm must be a finite number, at least 0");
    assert_contains(definition_error(ENSEMBLE(",\"clip_grad_norm\":\"1\"")), "clip_grad_norm");
    /* one_cycle moves the momentum, and this optimiser has none. */
    assert_contains(definition_error(ENSEMBLE(",\"optimizer\":\"sgd\",\"schedule\":\"one_cycle\"")),
                    "momentum");
}

static void test_axis_and_set(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct experiment *e = experiment_of(
        "X",
        "{\"type\":\"hpo\",\"model\":\"mlp\"," BASE
        ",\"search_space\":{\"schedule\":[\"constant\",\"cosine\"],\"clip_grad_norm\":[0,1]}}");
    struct job *jobs;
    int32_t n;
    assert_true(experiment_jobs(e, 1, 0, &jobs, &n, &err));
    assert_int_equal(n, 4);
    assert_null(jobs[0].net.schedule);
    assert_true(jobs[1].net.clip_grad_norm == 1);
    assert_string_equal(jobs[3].net.schedule, "cosine");
    json_t *msg = job_to_json(&jobs[3]);
    struct job back;
    assert_true(job_from_json(msg, &back, &err));
    assert_string_equal(back.net.schedule, "cosine");
    assert_true(back.net.clip_grad_norm == 1);
    job_release(&back);
    json_decref(msg);
    jobs_free(jobs, n);
    experiment_free(e);

    e = builtin_copy("D01");
    assert_true(experiment_set(e, "schedule", "linear?total_iters=3", &err));
    assert_true(experiment_set(e, "clip_grad_norm", "2.5", &err));
    assert_string_equal(e->net.schedule, "linear?total_iters=3");
    assert_true(e->net.clip_grad_norm == 2.5);
    assert_string_equal(e->overrides, "schedule=linear?total_iters=3,clip_grad_norm=2.5");
    assert_false(experiment_set(e, "clip_grad_nrm", "1", &err));
    assert_contains(err.text, "clip_grad_norm");
    experiment_free(e);
}

static void write_net(const char *path, const char *text)
{
    struct error err = ERROR_INIT;
    assert_true(file_write_atomic(path, text, strlen(text), &err));
}

static void test_network_in_a_file(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char *folder = registry_folder(NULL), *path = path_join(folder, "net.json"), a[17], b[17];
    char *def =
        xasprintf("{\"type\":\"multi_model\",\"models\":[{\"name\":\"%s\"," BASE "}]}", path);
    write_net(path, "{\"layers\":[{\"op\":\"flatten\"},{\"op\":\"linear\",\"out\":\"outputs\"}]}");
    hash_of(def, a);
    struct experiment *e = experiment_of("X", def);
    assert_true(experiment_check(e, false, &err));
    struct job *jobs;
    int32_t n;
    assert_true(experiment_jobs(e, 1, 0, &jobs, &n, &err));
    assert_string_equal(jobs[0].job_id, "X_m0_net");
    assert_string_equal(jobs[0].net.model, path);
    jobs_free(jobs, n);
    write_net(path, "{\"layers\":[{\"op\":\"flatten\"},{\"op\":\"linear\",\"out\":7}]}");
    hash_of(def, b);
    assert_string_not_equal(a, b);
    assert_false(experiment_check(e, false, &err));
    assert_contains(err.text, "10 outputs are needed");
    error_clear(&err);
    write_net(path, "{\"layers\":[{\"op\":\"flat\"}]}");
    assert_false(experiment_check(e, false, &err));
    assert_contains(err.text, "net.json:1:");
    experiment_free(e);
    unlink(path);
    free(def);
    free(path);
    remove_registry_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_axis_and_set),
        cmocka_unit_test(test_network_in_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
