/* labels: quick; timeout: 180 */
/* The strategies with real jobs: the same bits from each, and what becomes of jobs that cannot run,
 * processes that die, stop, talk nonsense.  This program is its own worker binary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/os.h"
#include "exec/channel.h"
#include "helper_group.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const mlp_ensemble =
    "{'type':'ensemble','dataset':'digits','model':'mlp','batch_size':64,'epochs':3,'lr':0.001,"
    "'optimizer':'adam','committee_size':4}";

static void expect_same_bits(const struct recorder *a, const struct recorder *b)
{
    for (int i = 0; i < a->n; i++) {
        const struct job_result *x = &a->results[i], *y = &b->results[i];
        assert_int_equal(x->status, JOB_OK);
        assert_int_equal(y->status, JOB_OK);
        assert_memory_equal(&x->model.train_loss, &y->model.train_loss, sizeof(double));
        assert_memory_equal(&x->model.val_loss, &y->model.val_loss, sizeof(double));
        assert_memory_equal(&x->model.train_score, &y->model.train_score, sizeof(double));
        assert_memory_equal(&x->model.val_score, &y->model.val_score, sizeof(double));
        assert_true(isfinite(x->model.train_loss));
        assert_int_equal(x->model.total_samples, y->model.total_samples);
        assert_int_equal(x->n_history, y->n_history);
        for (int32_t e = 0; e < x->n_history; e++) {
            assert_memory_equal(&x->history[e].train_loss, &y->history[e].train_loss,
                                sizeof(double));
            if (!isnan(x->history[e].val_loss))
                assert_memory_equal(&x->history[e].val_loss, &y->history[e].val_loss,
                                    sizeof(double));
        }
    }
}

/* The same experiment under every strategy with 1 and 2 threads against seq with 1. */
static void same_under_all(const char *definition)
{
    struct test_group g;
    struct recorder base;
    test_group_make(&g, definition);
    recorder_init(&base, g.n);
    const struct exec_options one = test_options(1, 0);
    recorder_run(&base, "seq", &g, &one);
    assert_int_equal(base.results[0].n_history, g.jobs[0].net.epochs);
    for (int s = 0; executor_table[s]; s++)
        for (int threads = 1; threads <= 2; threads++)
            for (int parallel = 0; parallel <= 2; parallel += 2) {
                struct recorder r;
                const struct exec_options o = test_options(threads, parallel);
                recorder_init(&r, g.n);
                recorder_run(&r, executor_table[s]->slug, &g, &o);
                expect_same_bits(&base, &r);
                recorder_release(&r);
            }
    recorder_release(&base);
    test_group_release(&g);
}

static void ensembles_with_dropout_and_batch_norm_agree(void **state)
{
    (void)state;
    same_under_all("{'type':'ensemble','dataset':'digits','model':'digits_cnn','batch_size':64,"
                   "'epochs':1,'lr':0.002,'committee_size':3}");
}

static void unequal_folds_agree(void **state)
{
    (void)state;
    same_under_all("{'type':'cv','dataset':'digits','model':'mlp','batch_size':32,'epochs':2,"
                   "'lr':0.002,'folds':5}");
}

static void searches_agree(void **state)
{
    (void)state;
    same_under_all("{'type':'hpo','dataset':'digits','model':'mlp','optimizer':'sgd',"
                   "'search_space':{'lr':[0.01,0.1],'batch_size':[32,64],'epochs':[1,3]}}");
}

static void heterogeneous_groups_agree(void **state)
{
    (void)state;
    same_under_all("{'type':'multi_model','epochs':2,'lr':0.002,'models':["
                   "{'name':'mlp','dataset':'digits','batch_size':64},"
                   "{'name':'digits_cnn','dataset':'digits','batch_size':128,'epochs':1}]}");
}

static void a_result_is_complete(void **state)
{
    (void)state;
    for (int s = 0; executor_table[s]; s++) {
        struct test_group g;
        struct recorder r;
        test_group_make(&g, mlp_ensemble);
        recorder_init(&r, g.n);
        recorder_run(&r, executor_table[s]->slug, &g, NULL);
        const bool mp = strcmp(executor_table[s]->slug, "mp") == 0;
        for (int i = 0; i < g.n; i++) {
            const struct job_result *x = &r.results[i];
            assert_int_equal(x->status, JOB_OK);
            assert_string_equal(x->cause, "");
            assert_int_equal(x->model.epochs_run, 3);
            assert_int_equal(x->model.total_samples, 3 * 1438);
            assert_int_equal(x->model.n_train, 1438);
            assert_int_equal(x->model.n_val, 359);
            assert_string_equal(x->model.val_source, "test");
            assert_string_equal(x->data_source, "real");
            assert_true(strlen(x->variant) > 0);
            assert_true(x->plan_hash != 0);
            assert_true(x->t_end_s > x->t_start_s);
            assert_true(x->phase_s[PHASE_TRAIN] > 0 && x->phase_s[PHASE_EVAL] > 0 &&
                        x->phase_s[PHASE_BUILD] > 0);
            assert_true(x->peak_rss_mb > 1);
            assert_int_equal(x->threads, mp ? 1 : 2);
            assert_int_equal(x->worker_pid > 0, mp);
            assert_int_equal(x->n_history, 3);
            assert_int_equal(x->history[2].epoch, 3);
            assert_true(x->history[2].train_loss < x->history[0].train_loss);
        }
        if (mp)
            assert_int_equal(r.n_pids, 2); /* each took more than one job */
        recorder_release(&r);
        test_group_release(&g);
    }
}

/* A learning rate that no network survives, and a fold without validation rows. */
static void a_bad_job_does_not_take_the_others_with_it(void **state)
{
    (void)state;
    for (int s = 0; executor_table[s]; s++) {
        struct test_group g;
        struct recorder r;
        test_group_make(&g, mlp_ensemble);
        g.jobs[1].net.optim.lr = 1e30;
        free(g.jobs[2].net.dataset);
        g.jobs[2].net.dataset = strdup("mnist"); /* there is no data root */
        g.jobs[3].split = (struct split_spec){.kind = SPLIT_HOLDOUT, .fraction = 1e-9};
        recorder_init(&r, g.n);
        recorder_run(&r, executor_table[s]->slug, &g, NULL);
        assert_int_equal(r.results[0].status, JOB_OK);
        assert_int_equal(r.results[1].status, JOB_DIVERGED);
        assert_non_null(strstr(r.results[1].cause, "no longer finite"));
        assert_int_equal(r.results[2].status, JOB_FAILED);
        assert_non_null(strstr(r.results[2].cause, "mnist"));
        assert_int_equal(r.results[3].status, JOB_FAILED);
        assert_true(strlen(r.results[3].cause) > 20);
        recorder_release(&r);
        test_group_release(&g);
    }
}

/* ---- worker processes ---------------------------------------------------------------------- */

#define MODE "EXEC_TEST_WORKER"

/* Sends a signal to the worker that has job 1, in its second epoch: workers are started in the
 * order of the first jobs. */
static void strike(struct recorder *r, int job, const struct epoch_report *e)
{
    if (job == 1 && e->epoch == 2)
        kill(r->pids[1], *(const int *)r->hook_data);
}

static void expect_gone(const struct recorder *r)
{
    for (int i = 0; i < r->n_pids; i++) {
        assert_int_equal(kill(r->pids[i], 0), -1);
        assert_int_equal(errno, ESRCH);
    }
}

static void a_killed_worker_costs_its_job_only(void **state)
{
    (void)state;
    struct test_group g;
    struct recorder r;
    int sig = SIGKILL;
    test_group_make(&g, mlp_ensemble);
    g.jobs[1].net.epochs = 5000;
    recorder_init(&r, g.n);
    r.on_epoch = strike;
    r.hook_data = &sig;
    const struct exec_options o = test_options(2, 2);
    recorder_run(&r, "mp", &g, &o);
    const struct job_result *lost = &r.results[1];
    char expected[64];
    snprintf(expected, sizeof expected, "worker %d killed by signal 9 (Killed) at epoch ",
             (int)r.pids[1]);
    assert_int_equal(lost->status, JOB_KILLED);
    assert_memory_equal(lost->cause, expected, strlen(expected));
    assert_non_null(strstr(lost->cause, " of 5000"));
    assert_true(lost->n_history >= 2 && lost->n_history < 5000);
    assert_int_equal(lost->model.epochs_run, lost->n_history);
    assert_true(isnan(lost->model.train_loss));
    for (int i = 0; i < 4; i++)
        if (i != 1)
            assert_int_equal(r.results[i].status, JOB_OK);
    expect_gone(&r);
    recorder_release(&r);
    test_group_release(&g);
}

static void with_one_slot_a_new_worker_takes_the_rest(void **state)
{
    (void)state;
    struct test_group g;
    struct recorder r;
    test_group_make(&g, mlp_ensemble);
    recorder_init(&r, g.n);
    setenv(MODE, "die-at-job-1", 1);
    const struct exec_options o = test_options(2, 1);
    recorder_run(&r, "mp", &g, &o);
    unsetenv(MODE);
    assert_int_equal(r.results[0].status, JOB_OK);
    assert_int_equal(r.results[1].status, JOB_KILLED);
    assert_non_null(strstr(r.results[1].cause, "before its first epoch"));
    assert_int_equal(r.results[2].status, JOB_OK);
    assert_int_equal(r.results[3].status, JOB_OK);
    assert_int_equal(r.n_pids, 2);
    expect_gone(&r);
    recorder_release(&r);
    test_group_release(&g);
}

static void a_silent_worker_is_ended(void **state)
{
    (void)state;
    struct test_group g;
    struct recorder r;
    int sig = SIGSTOP;
    test_group_make(&g, mlp_ensemble);
    g.jobs[1].net.epochs = 5000;
    recorder_init(&r, g.n);
    r.on_epoch = strike;
    r.hook_data = &sig;
    struct exec_options o = test_options(2, 2);
    o.silence_s = 3;
    recorder_run(&r, "mp", &g, &o);
    assert_int_equal(r.results[1].status, JOB_KILLED);
    assert_non_null(strstr(r.results[1].cause, "sent nothing for 3 s at epoch"));
    assert_int_equal(r.results[0].status, JOB_OK);
    assert_int_equal(r.results[3].status, JOB_OK);
    expect_gone(&r);
    recorder_release(&r);
    test_group_release(&g);
}

/* Workers that misbehave from the start: what each leaves as the status and cause of every job. */
static void misbehaving_workers_are_said_to(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        enum job_status status;
        const char *said;
    } cases[] = {
        {"exit", JOB_FAILED, "ended with exit code 3"},
        {"exit", JOB_FAILED, "its last words: out of luck|really"},
        {"garbage", JOB_FAILED, "message from another process"},
        {"other-build", JOB_FAILED, "different"},
        {"no-hello", JOB_FAILED, "before its hello"},
        {"wrong-job", JOB_FAILED, "a job it does not have"},
        {"half-result", JOB_FAILED, "result message"},
        {"abort", JOB_KILLED, "killed by signal 6"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_group g;
        struct recorder r;
        test_group_make(&g, mlp_ensemble);
        recorder_init(&r, g.n);
        setenv(MODE, cases[i].mode, 1);
        recorder_run(&r, "mp", &g, NULL);
        unsetenv(MODE);
        for (int k = 0; k < g.n; k++) {
            assert_int_equal(r.results[k].status, cases[i].status);
            if (!strstr(r.results[k].cause, cases[i].said))
                fail_msg("%s says: %s", cases[i].mode, r.results[k].cause);
        }
        expect_gone(&r);
        recorder_release(&r);
        test_group_release(&g);
    }
}

static bool is_type(const json_t *msg, const char *type)
{
    return strcmp(json_string_value(json_object_get(msg, "type")), type) == 0;
}

/* A worker whose parent is gone ends in the middle of its training. */
static void a_worker_ends_at_the_end_of_its_channel(void **state)
{
    (void)state;
    struct test_group g;
    struct error err = ERROR_INIT;
    struct os_child child;
    struct channel c;
    int ours, theirs, status = 0;
    char name[] = "worker", command[] = "__worker";
    char *argv[] = {name, command, NULL};
    const struct exec_options o = test_options(1, 0);
    json_t *msg;
    test_group_make(&g, mlp_ensemble);
    g.jobs[0].net.epochs = 1000000;
    assert_true(channel_pair(&ours, &theirs, &err));
    assert_true(os_spawn(&child, os_executable(), argv, -1, theirs, false, &err));
    close(theirs);
    channel_init(&c, ours);
    assert_true(channel_hello_parent(&c, 20, &err));
    assert_true(channel_sendf(&c, &err, "job", "{s:i,s:o,s:o}", "index", 0, "job",
                              job_to_json(&g.jobs[0]), "options", exec_options_to_json(&o)));
    for (bool training = false; !training; json_decref(msg)) {
        assert_int_equal(channel_receive(&c, 20, &msg, &err), CHANNEL_MESSAGE);
        training = is_type(msg, "epoch");
    }
    channel_release(&c);
    assert_true(os_wait(&child, 20, &status));
    assert_int_equal(status, 0);
    test_group_release(&g);
}

/* A worker that is told what it cannot do says so and goes on. */
static void a_worker_answers_bad_jobs(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct os_child child;
    struct channel c;
    int ours, theirs, status = 0;
    char name[] = "worker", command[] = "__worker";
    char *argv[] = {name, command, NULL};
    const char *const bad[] = {"{\"type\":\"job\"}", "{\"type\":\"job\",\"index\":1}",
                               "{\"type\":\"dance\"}"};
    assert_true(channel_pair(&ours, &theirs, &err));
    assert_true(os_spawn(&child, os_executable(), argv, -1, theirs, false, &err));
    close(theirs);
    channel_init(&c, ours);
    assert_true(channel_hello_parent(&c, 20, &err));
    for (size_t i = 0; i < 3; i++) {
        json_t *msg = json_loads(bad[i], 0, NULL);
        assert_true(channel_send(&c, msg, &err));
        json_decref(msg);
        bool answered = false;
        for (; !answered; json_decref(msg)) {
            assert_int_equal(channel_receive(&c, 20, &msg, &err), CHANNEL_MESSAGE);
            answered = is_type(msg, "error");
            assert_true(answered || is_type(msg, "heartbeat"));
        }
    }
    channel_release(&c);
    assert_true(os_wait(&child, 20, &status));
    assert_int_equal(status, 0);
}

/* ---- the misbehaving workers --------------------------------------------------------------- */

static void say(const char *text)
{
    if (write(OS_CHANNEL_FD, text, strlen(text)) < 0)
        _exit(9);
}

/* Greets, takes a message; its type "job" is checked. */
static json_t *take_job(struct channel *c)
{
    json_t *msg = NULL;
    struct error err = ERROR_INIT;
    channel_init(c, OS_CHANNEL_FD);
    if (!channel_hello_child(c, &err) || channel_receive(c, 20, &msg, &err) != CHANNEL_MESSAGE)
        _exit(8);
    return msg;
}

static int bad_worker(const char *mode)
{
    struct channel c;
    if (strcmp(mode, "exit") == 0) {
        fprintf(stderr, "out of luck\nreally\n");
        return 3;
    }
    if (strcmp(mode, "abort") == 0)
        os_die_by_signal(SIGABRT);
    if (strcmp(mode, "garbage") == 0)
        say("Segmentation fault\n");
    if (strcmp(mode, "other-build") == 0)
        say("{\"type\":\"hello\",\"protocol\":7,\"build_id\":\"x\"}\n");
    if (strcmp(mode, "no-hello") == 0)
        say("{\"type\":\"heartbeat\"}\n");
    if (strcmp(mode, "wrong-job") == 0) {
        json_decref(take_job(&c));
        say("{\"type\":\"progress\",\"job\":77,\"epochs_done\":1,\"samples_per_s\":1,"
            "\"loss\":1}\n");
    }
    if (strcmp(mode, "half-result") == 0) {
        json_t *msg = take_job(&c);
        channel_sendf(&c, NULL, "result", "{s:O}", "job", json_object_get(msg, "index"));
    }
    pause(); /* until the parent ends us */
    return 0;
}

/* Answers each job at once, and dies when it is given job 1. */
static int worker_that_dies_at_job_1(void)
{
    struct channel c;
    json_t *msg = take_job(&c);
    struct job_result r;
    for (struct error err = ERROR_INIT;;) {
        const json_int_t index = json_integer_value(json_object_get(msg, "index"));
        if (index == 1)
            raise(SIGKILL);
        job_result_init(&r);
        r.status = JOB_OK;
        json_t *answer = job_result_to_json(&r);
        json_object_set_new(answer, "type", json_string("result"));
        json_object_set_new(answer, "job", json_integer(index));
        channel_send(&c, answer, NULL);
        if (channel_receive(&c, 20, &msg, &err) != CHANNEL_MESSAGE)
            return 0;
    }
}

int main(int argc, char **argv)
{
    const char *mode = getenv(MODE);
    if (argc > 1 && strcmp(argv[1], "__worker") == 0) {
        if (mode && strcmp(mode, "die-at-job-1") == 0)
            return worker_that_dies_at_job_1();
        return mode ? bad_worker(mode) : worker_main();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ensembles_with_dropout_and_batch_norm_agree),
        cmocka_unit_test(unequal_folds_agree),
        cmocka_unit_test(searches_agree),
        cmocka_unit_test(heterogeneous_groups_agree),
        cmocka_unit_test(a_result_is_complete),
        cmocka_unit_test(a_bad_job_does_not_take_the_others_with_it),
        cmocka_unit_test(a_killed_worker_costs_its_job_only),
        cmocka_unit_test(with_one_slot_a_new_worker_takes_the_rest),
        cmocka_unit_test(a_silent_worker_is_ended),
        cmocka_unit_test(misbehaving_workers_are_said_to),
        cmocka_unit_test(a_worker_ends_at_the_end_of_its_channel),
        cmocka_unit_test(a_worker_answers_bad_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
