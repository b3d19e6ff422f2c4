/* Running passes: results are the same bits whatever shares the machine with them; callbacks keep
 * their promises; stopping, sums, state in and out.
 */
#include "helper_plan.h"

#include "base/clock.h"
#include "base/rng.h"

#include <stdatomic.h>

#define ROWS   203
#define MODELS 5

static float x[ROWS * PLAN_INPUTS];
static int32_t label[ROWS];
static uint32_t order[ROWS];
static const struct source source = {.type = SOURCE_F32,
                                     .x = x,
                                     .sample_count = PLAN_INPUTS,
                                     .shape = {1, {PLAN_INPUTS, 1, 1}},
                                     .divisor = 1.0f,
                                     .label = label};

static float draw(uint32_t ordinal, uint32_t i)
{
    return 2.0f * rng_unit(rng_u32_at(9, RNG_TEST, ordinal, 0, 0, i)) - 1.0f;
}

static void fill_source(void)
{
    for (uint32_t i = 0; i < ROWS * PLAN_INPUTS; i++)
        x[i] = draw(0, i);
    for (uint32_t i = 0; i < ROWS; i++) {
        label[i] = (int32_t)((x[i * PLAN_INPUTS] + 1.0f) * 0.5f * PLAN_CLASSES);
        order[i] = (i * 71) % ROWS;
    }
}

/* A model that trains `epochs` passes and evaluates after each. */
struct model {
    int epochs, passes;
    struct pass pass;
    struct pass_sums train[8], eval[8];
    atomic_int inside;
    bool overlapped, stopped;
    int n_done;
};

static bool next_pass(void *ctx, struct pass *pass)
{
    struct model *m = ctx;
    m->overlapped |= atomic_fetch_add(&m->inside, 1) != 0;
    const bool more = m->passes < 2 * m->epochs;
    if (more) {
        m->pass.kind = m->passes % 2 ? PASS_EVAL : PASS_TRAIN;
        m->pass.epoch = 1 + (uint32_t)m->passes / 2;
        m->passes++;
        *pass = m->pass;
    }
    atomic_fetch_sub(&m->inside, 1);
    return more;
}

static void pass_done(void *ctx, const struct pass *pass, const struct pass_result *result)
{
    struct model *m = ctx;
    m->overlapped |= atomic_fetch_add(&m->inside, 1) != 0;
    (pass->kind == PASS_TRAIN ? m->train : m->eval)[pass->epoch - 1] = result->sums;
    if (pass->kind == PASS_TRAIN)
        m->pass.first_update += result->n_updates;
    m->stopped |= result->stopped;
    m->n_done++;
    assert_true(result->t_end_s >= result->t_start_s);
    atomic_fetch_sub(&m->inside, 1);
}

static double remaining(void *ctx)
{
    const struct model *m = ctx;
    return 2 * m->epochs - m->passes;
}

/* Everything a model ends with. */
struct outcome {
    float params[2048], slots[4096], buffers[64];
    struct pass_sums train[8], eval[8];
};

static int epochs_of(int job)
{
    return 1 + job % 3;
}

static void model_init(struct model *m, int job, int64_t rows)
{
    memset(m, 0, sizeof *m);
    m->epochs = epochs_of(job);
    m->pass = (struct pass){.source = &source,
                            .rows = order,
                            .n_rows = rows,
                            .seed = 100 + (uint64_t)job,
                            .first_update = 1,
                            .optim = optim_infos[OPTIM_ADAM].defaults};
    m->pass.optim.lr = 0.01 * (1 + job);
}

/* Trains jobs [first, first + n) together. */
static void train(const struct cpu_isa *isa, bool fuse, int threads, int32_t batch, int32_t shard,
                  int first, int n, struct outcome *out)
{
    static struct hand_plan h;
    struct error err = ERROR_INIT;
    hand_plan_init(&h, batch, shard);
    struct backend_device *dev = cpu_open(threads, isa, fuse, &err);
    assert_non_null(dev);
    struct backend_bucket *b = backend_cpu.bucket_new(dev, &h.plan, n, &err);
    assert_non_null(b);
    struct model models[MODELS];
    struct model_run runs[MODELS], *list[MODELS];
    float params[2048] = {0}, buffers[64] = {0};
    for (int i = 0; i < n; i++) {
        for (size_t p = 0; p < h.plan.param_floats; p++)
            params[p] = 0.3f * draw(10 + (uint32_t)(first + i), (uint32_t)p);
        for (int p = 32; p < 64; p++)
            buffers[p] = 1.0f;
        backend_cpu.model_write(b, i, params, NULL, buffers);
        model_init(&models[i], first + i, ROWS - first - i);
        runs[i] = (struct model_run){b, i, &models[i], next_pass, pass_done, remaining};
        list[i] = &runs[i];
    }
    assert_true(backend_cpu.run(dev, list, n, NULL, &err));
    for (int i = 0; i < n; i++) {
        assert_false(models[i].overlapped || models[i].stopped);
        assert_int_equal(models[i].n_done, 2 * models[i].epochs);
        memset(&out[i], 0, sizeof out[i]);
        backend_cpu.model_read(b, i, out[i].params, out[i].slots, out[i].buffers);
        memcpy(out[i].train, models[i].train, sizeof out[i].train);
        memcpy(out[i].eval, models[i].eval, sizeof out[i].eval);
    }
    backend_cpu.bucket_free(b);
    backend_cpu.close(dev);
}

static void check_same(const struct outcome *a, const struct outcome *b, const char *what)
{
    if (memcmp(a, b, sizeof *a) != 0)
        fail_msg("%s: results differ (first loss %.17g, %.17g)", what, a->train[0].loss_sum,
                 b->train[0].loss_sum);
}

/* Alone on one thread is what every other way must give. */
static void check_company(const struct cpu_isa *isa, int32_t batch, int32_t shard)
{
    static struct outcome alone[MODELS], got[MODELS];
    static const int threads[] = {1, 2, 3, 4};
    char what[200];
    for (int i = 0; i < MODELS; i++)
        train(isa, true, 1, batch, shard, i, 1, &alone[i]);
    assert_true(memcmp(alone[0].params, alone[1].params, sizeof alone[0].params) != 0);
    assert_true(isfinite(alone[2].train[2].loss_sum) &&
                alone[2].train[2].loss_sum < alone[2].train[0].loss_sum);
    assert_int_equal(alone[0].train[0].n, ROWS);
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
        for (int n = 1; n <= MODELS; n += 2)
            for (int first = 0; first + n <= MODELS; first += 2) {
                train(isa, true, threads[t], batch, shard, first, n, got);
                snprintf(what, sizeof what, "%s batch %d shard %d: %d models on %d threads",
                         isa->name, batch, shard, n, threads[t]);
                for (int i = 0; i < n; i++)
                    check_same(&got[i], &alone[first + i], what);
            }
    train(isa, false, 2, batch, shard, 0, MODELS, got);
    for (int i = 0; i < MODELS; i++)
        check_same(&got[i], &alone[i], "without fused regions");
}

static void test_company(void **state)
{
    (void)state;
    for (int s = 0; cpu_isas[s]; s++)
        if (cpu_isas[s]->usable()) {
            check_company(cpu_isas[s], 48, 7);
            check_company(cpu_isas[s], 64, 64);
        }
    check_company(&cpu_isa_reference, 32, 8);
}

/* Sets of kernels agree to rounding over a few updates. */
static void test_sets_agree(void **state)
{
    (void)state;
    static struct outcome reference, got;
    train(&cpu_isa_reference, false, 1, 32, 8, 0, 1, &reference);
    for (int s = 0; cpu_isas[s]; s++) {
        if (!cpu_isas[s]->usable())
            continue;
        train(cpu_isas[s], true, 2, 32, 8, 0, 1, &got);
        /* The bias before a batch norm has no gradient but rounding, which Adam makes steps of. */
        const int bias = PLAN_INPUTS * 24, bias_end = bias + 24;
        for (int i = 0; i < 2048; i++)
            if (i < bias || i >= bias_end)
                assert_true(fabsf(got.params[i] - reference.params[i]) < 2e-4f);
        assert_true(fabs(got.eval[0].loss_sum - reference.eval[0].loss_sum) <
                    1e-4 * reference.eval[0].loss_sum);
        assert_int_equal(got.eval[0].n_correct, reference.eval[0].n_correct);
    }
}

/* One training pass of `rows` rows on a new device, from and to `state`. */
static void one_pass(const struct plan *plan, struct backend_bucket *b, struct backend_device *dev,
                     int64_t rows, int64_t first_update, struct outcome *state)
{
    struct error err = ERROR_INIT;
    struct model m;
    model_init(&m, 0, rows);
    m.pass.first_update = first_update;
    struct model_run run = {b, 0, &m, next_pass, pass_done, remaining}, *list[] = {&run};
    backend_cpu.model_write(b, 0, state->params, state->slots, state->buffers);
    assert_true(backend_cpu.run(dev, list, 1, NULL, &err));
    backend_cpu.model_read(b, 0, state->params, state->slots, state->buffers);
    memcpy(state->train, m.train, sizeof state->train);
    assert_int_equal(m.train[0].n, rows);
    assert_int_equal(plan->rows_per_shard, 8);
}

/* Shards that have no rows in a partial batch add nothing, whatever an earlier batch left there:
 * the same as with a plan that has only the shards in use. */
static void test_partial_batch(void **state)
{
    (void)state;
    static struct hand_plan wide, narrow;
    static struct outcome a, b;
    struct error err = ERROR_INIT;
    hand_plan_init(&wide, 64, 8);
    hand_plan_init(&narrow, 24, 8);
    for (size_t p = 0; p < wide.plan.param_floats; p++)
        a.params[p] = 0.3f * draw(20, (uint32_t)p);
    for (int p = 32; p < 64; p++)
        a.buffers[p] = 1.0f;
    struct backend_device *dev = backend_cpu.open(&(struct backend_options){.threads = 2}, &err);
    struct backend_bucket *first = backend_cpu.bucket_new(dev, &wide.plan, 1, &err);
    struct backend_bucket *second = backend_cpu.bucket_new(dev, &narrow.plan, 1, &err);
    one_pass(&wide.plan, first, dev, 64, 1, &a);
    b = a;
    one_pass(&wide.plan, first, dev, 20, 2, &a);
    one_pass(&narrow.plan, second, dev, 20, 2, &b);
    check_same(&a, &b, "a partial batch");
    backend_cpu.bucket_free(first);
    backend_cpu.bucket_free(second);
    backend_cpu.close(dev);
}

/* Padding between parameters stays zero under training. */
static void test_padding(void **state)
{
    (void)state;
    static struct outcome got;
    static struct hand_plan h;
    hand_plan_init(&h, 48, 7);
    train(cpu_isa_find(NULL), true, 2, 48, 7, 1, 1, &got);
    const struct plan_step *last = NULL;
    for (int i = 0; i < h.plan.train.n_steps; i++)
        if (h.plan.train.steps[i].kind == STEP_FORWARD && h.plan.train.steps[i].n_params)
            last = &h.plan.train.steps[i];
    assert_non_null(last);
    const size_t end = last->param[1] + last->param_count[1];
    assert_int_equal(end % 16, PLAN_CLASSES);
    for (int slot = 0; slot < 2; slot++)
        for (size_t i = end; i < h.plan.param_floats; i++)
            assert_true(got.slots[(size_t)slot * h.plan.param_floats + i] == 0.0f);
}

struct stopper {
    atomic_int polls;
    atomic_int ticks;
    int64_t last_rows;
};

static bool stop_soon(void *ctx)
{
    struct stopper *s = ctx;
    return atomic_fetch_add(&s->polls, 1) >= 9;
}

static void test_stop(void **state)
{
    (void)state;
    static struct hand_plan h;
    struct error err = ERROR_INIT;
    hand_plan_init(&h, 16, 8);
    for (int threads = 1; threads <= 3; threads++) {
        struct backend_device *dev =
            backend_cpu.open(&(struct backend_options){.threads = threads}, &err);
        struct backend_bucket *b = backend_cpu.bucket_new(dev, &h.plan, 2, &err);
        struct model models[2];
        struct model_run runs[2], *list[2] = {&runs[0], &runs[1]};
        for (int i = 0; i < 2; i++) {
            model_init(&models[i], 2, ROWS);
            runs[i] = (struct model_run){b, i, &models[i], next_pass, pass_done, remaining};
        }
        struct stopper stopper = {0};
        const struct run_hooks hooks = {.ctx = &stopper, .should_stop = stop_soon};
        assert_true(backend_cpu.run(dev, list, 2, &hooks, &err));
        assert_true(models[0].stopped || models[1].stopped);
        assert_true(models[0].n_done + models[1].n_done <= 2);
        /* The device is as good as new. */
        model_init(&models[0], 0, 40);
        assert_true(backend_cpu.run(dev, list, 1, NULL, &err));
        assert_int_equal(models[0].n_done, 2);
        assert_int_equal(models[0].train[0].n, 40);
        backend_cpu.bucket_free(b);
        backend_cpu.close(dev);
    }
}

static void on_tick(void *ctx, const struct model_run *run, const struct pass *pass,
                    int64_t rows_done, double loss_sum)
{
    struct stopper *s = ctx;
    assert_non_null(run);
    assert_true(rows_done > s->last_rows && rows_done <= pass->n_rows);
    assert_true(loss_sum > 0);
    s->last_rows = rows_done;
    atomic_fetch_add(&s->ticks, 1);
}

static bool slow(void *ctx)
{
    (void)ctx;
    clock_sleep_s(0.02);
    return false;
}

static void test_tick(void **state)
{
    (void)state;
    static struct hand_plan h;
    struct error err = ERROR_INIT;
    hand_plan_init(&h, 16, 8);
    struct backend_device *dev = backend_cpu.open(&(struct backend_options){.threads = 2}, &err);
    struct backend_bucket *b = backend_cpu.bucket_new(dev, &h.plan, 1, &err);
    struct model m;
    model_init(&m, 0, ROWS);
    m.passes = 1; /* one evaluation */
    struct model_run run = {b, 0, &m, next_pass, pass_done, remaining}, *list[] = {&run};
    struct stopper s = {0};
    const struct run_hooks hooks = {.ctx = &s, .should_stop = slow, .tick = on_tick};
    assert_true(backend_cpu.run(dev, list, 1, &hooks, &err));
    assert_true(s.ticks >= 2 && s.ticks <= 13);
    backend_cpu.bucket_free(b);
    backend_cpu.close(dev);
}

static void test_device(void **state)
{
    (void)state;
    static struct hand_plan h;
    struct error err = ERROR_INIT;
    hand_plan_init(&h, 16, 8);
    struct backend_device *dev = backend_cpu.open(&(struct backend_options){.threads = 3}, &err);
    assert_int_equal(backend_cpu.threads(dev), 3);
    assert_string_equal(backend_cpu.variant(dev), cpu_isa_find(NULL)->name);
    const size_t one = backend_cpu.bucket_bytes(dev, &h.plan, 3);
    const size_t two = backend_cpu.bucket_bytes(dev, &h.plan, 4);
    const size_t slice = (h.plan.slice_floats + 63) / 64 * 256; /* no more lanes than threads */
    assert_true(two - one >= slice && two - one < slice + 256);
    assert_true(one > 3 * (slice + h.plan.lane_floats * sizeof(float)));
    struct backend_bucket *b = backend_cpu.bucket_new(dev, &h.plan, 2, &err);
    float params[2048], back[2048], buffers[64], zero[2048] = {0};
    for (int i = 0; i < 2048; i++)
        params[i] = draw(3, (uint32_t)i);
    backend_cpu.model_write(b, 1, params, NULL, NULL);
    backend_cpu.model_read(b, 1, back, NULL, buffers);
    assert_memory_equal(back, params, h.plan.param_floats * sizeof(float));
    assert_memory_equal(buffers, zero, sizeof buffers);
    backend_cpu.model_read(b, 0, back, NULL, NULL);
    assert_memory_equal(back, zero, h.plan.param_floats * sizeof(float));
    assert_null(backend_cpu.bucket_new(dev, &h.plan, 0, &err));
    assert_null(backend_cpu.open(&(struct backend_options){.threads = 5000}, &err));
    assert_null(cpu_isa_find("mmx"));
    backend_cpu.bucket_free(b);
    backend_cpu.bucket_free(NULL);
    backend_cpu.close(dev);
    backend_cpu.close(NULL);
}

int main(void)
{
    fill_source();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_company), cmocka_unit_test(test_sets_agree),
        cmocka_unit_test(test_padding), cmocka_unit_test(test_partial_batch),
        cmocka_unit_test(test_stop),    cmocka_unit_test(test_tick),
        cmocka_unit_test(test_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
