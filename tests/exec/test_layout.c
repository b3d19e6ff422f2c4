/* Layouts, buckets and waves, the table of strategies: pure functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/os.h"
#include "exec/stacking.h"
#include "exec/strategies.h"
#include "helper_group.h"

#include <stdlib.h>
#include <string.h>

static struct layout layout_of(const char *slug, int n, int threads, int max_parallel)
{
    struct layout l;
    const struct exec_options o = test_options(threads, max_parallel);
    executor_find(slug)->layout(NULL, n, &o, &l);
    return l;
}

static void expect(struct layout l, int units, int threads, int each, const char *source)
{
    assert_int_equal(l.max_parallel, units);
    assert_int_equal(l.threads, threads);
    assert_int_equal(l.threads_per_unit, each);
    assert_string_equal(l.source, source);
}

static void layouts_are_as_documented(void **state)
{
    (void)state;
    expect(layout_of("seq", 16, 8, 0), 1, 8, 8, "fixed");
    expect(layout_of("mp", 16, 8, 0), 8, 8, 1, "default");
    expect(layout_of("mp", 3, 8, 0), 3, 8, 2, "default");
    expect(layout_of("mp", 16, 8, 4), 4, 8, 2, "--max-parallel");
    expect(layout_of("mp", 3, 8, 4), 3, 8, 2, "--max-parallel");
    expect(layout_of("mp", 16, 2, 5), 5, 2, 1, "--max-parallel");
    expect(layout_of("unified_model", 16, 8, 0), 16, 8, 8, "default");
    expect(layout_of("unified_model", 16, 8, 5), 5, 8, 8, "--max-parallel");
    expect(layout_of("unified_model", 3, 8, 5), 3, 8, 8, "--max-parallel");
    assert_int_equal(layout_of("seq", 1, 0, 0).threads, os_cpu_count());
}

static void threads_are_shared_out_whole(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 9; threads++)
        for (int n = 1; n <= 12; n++) {
            const struct layout l = layout_of("mp", n, threads, n);
            int sum = 0, least = 1000, most = 0;
            for (int slot = 0; slot < l.max_parallel; slot++) {
                const int t = layout_slot_threads(&l, slot);
                sum += t;
                least = t < least ? t : least;
                most = t > most ? t : most;
            }
            assert_int_equal(sum, threads > n ? threads : n);
            assert_true(least >= 1 && most - least <= 1);
        }
}

static void the_table_answers(void **state)
{
    (void)state;
    int baselines = 0, n = 0;
    for (; executor_table[n]; n++) {
        const struct executor_info *e = executor_table[n];
        assert_ptr_equal(executor_find(e->slug), e);
        assert_int_equal(strlen(e->colour), 7);
        assert_non_null(e->columns);
        baselines += e->baseline;
        for (int k = 0; k < n; k++)
            assert_string_not_equal(e->colour, executor_table[k]->colour);
    }
    assert_int_equal(n, 3);
    assert_int_equal(baselines, 1);
    assert_true(executor_find("seq")->baseline);
    assert_null(executor_find("SEQ"));
    assert_null(executor_find(NULL));
    assert_null(executor_planned("seq"));
    assert_string_equal(executor_planned("ray"),
                        "ray needs the Ray bridge, which this version does not have; use seq, mp "
                        "or unified_model");
}

static void unknown_devices_and_empty_groups_are_refused(void **state)
{
    (void)state;
    struct test_group g;
    struct error err = ERROR_INIT;
    test_group_make(&g, "{'type':'ensemble','dataset':'digits','model':'mlp','batch_size':64,"
                        "'epochs':1,'lr':0.01,'committee_size':2}");
    for (int i = 0; executor_table[i]; i++) {
        struct exec_options o = test_options(1, 0);
        assert_true(executor_table[i]->check(g.jobs, g.n, &o, &err));
        assert_false(executor_table[i]->check(g.jobs, 0, &o, &err));
        strcpy(o.device, "tpu");
        assert_false(executor_table[i]->check(g.jobs, g.n, &o, &err));
        assert_non_null(strstr(err.text, "'tpu'"));
        assert_int_equal(err.class_, ERROR_USAGE);
    }
    test_group_release(&g);
}

/* The grid whose batch sizes alternate: jobs 0, 2, 4 share a bucket, and 1, 3, 5. */
static const char *const interleaved =
    "{'type':'hpo','dataset':'digits','model':'mlp','epochs':1,"
    "'search_space':{'lr':[0.01,0.02,0.03],'batch_size':[32,64]}}";

static void expect_waves(const struct test_group *g, int limit, const char *expected)
{
    struct waves w;
    char text[256] = "";
    waves_make(g->jobs, g->n, limit, &w);
    for (int i = 0; i < w.n; i++) {
        strcat(text, i ? " |" : "");
        for (int k = w.start[i]; k < w.start[i + 1]; k++)
            sprintf(text + strlen(text), " %d", w.order[k]);
    }
    assert_string_equal(text, expected);
    waves_release(&w);
}

static void waves_cut_within_buckets_only(void **state)
{
    (void)state;
    struct test_group g;
    test_group_make(&g, interleaved);
    assert_int_equal(g.n, 6);
    expect_waves(&g, 0, " 0 2 4 1 3 5");
    expect_waves(&g, 6, " 0 2 4 1 3 5");
    expect_waves(&g, 5, " 0 2 4 | 1 3 5");
    expect_waves(&g, 3, " 0 2 4 | 1 3 5");
    expect_waves(&g, 2, " 0 2 | 4 | 1 3 | 5");
    expect_waves(&g, 4, " 0 2 4 | 1 3 5");
    expect_waves(&g, 1, " 0 | 2 | 4 | 1 | 3 | 5");
    test_group_release(&g);
}

static void buckets_hold_what_can_be_stacked(void **state)
{
    (void)state;
    struct test_group g;
    test_group_make(&g, "{'type':'ensemble','dataset':'digits','model':'mlp','batch_size':64,"
                        "'epochs':1,'lr':0.01,'committee_size':2}");
    struct job *a = &g.jobs[0], *b = &g.jobs[1];
    assert_true(stacking_same(a, b));
    /* What belongs to each model. */
    b->net.optim.lr = 0.5;
    b->net.optim.momentum = 0.9;
    b->net.epochs = 9;
    b->split.split_id = 4;
    b->seed = 1;
    assert_true(stacking_same(a, b));
    free(b->net.optimizer);
    b->net.optimizer = strdup("AdamW");
    free(b->net.model);
    b->net.model = strdup("MLP");
    assert_true(stacking_same(a, b));
    /* What the bucket is made of. */
    b->net.batch_size = 32;
    assert_false(stacking_same(a, b));
    b->net.batch_size = 64;
    b->net.amp = true;
    assert_false(stacking_same(a, b));
    b->net.amp = false;
    b->train_size = 100;
    assert_false(stacking_same(a, b));
    b->train_size = 0;
    free(b->net.model);
    b->net.model = strdup("mlp?hidden=64");
    assert_false(stacking_same(a, b));
    free(a->net.model);
    a->net.model = strdup("Mlp?hidden=64");
    assert_true(stacking_same(a, b));
    free(a->net.dataset);
    free(b->net.dataset);
    a->net.dataset = strdup("folder:/Data");
    b->net.dataset = strdup("folder:/data");
    assert_false(stacking_same(a, b));
    test_group_release(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_as_documented),
        cmocka_unit_test(threads_are_shared_out_whole),
        cmocka_unit_test(the_table_answers),
        cmocka_unit_test(unknown_devices_and_empty_groups_are_refused),
        cmocka_unit_test(waves_cut_within_buckets_only),
        cmocka_unit_test(buckets_hold_what_can_be_stacked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
