#include "helper_case.h"

#include "base/rng.h"

static const struct cpu_isa *current_isa;

static const struct cpu_kernel *find_f32(enum step_kind kind, enum op_kind op)
{
    return cpu_kernel_find(current_isa, kind, op);
}

static const struct cpu_kernel_f64 *find_f64(enum step_kind kind, enum op_kind op)
{
    for (int i = 0; cpu_reference_lists_f64[i]; i++)
        for (const struct cpu_kernel_f64 *k = cpu_reference_lists_f64[i]; k->name; k++)
            if (k->kind == kind && k->op == op)
                return k;
    return NULL;
}

static int inputs(const struct op_case *c, struct shape in[OP_MAX_INPUTS])
{
    int n = 1;
    in[0] = c->in;
    for (; n < OP_MAX_INPUTS && c->more[n - 1].rank > 0; n++)
        in[n] = c->more[n - 1];
    return n;
}

static bool is_tokens(const struct op_case *c, int input)
{
    struct shape in[OP_MAX_INPUTS];
    return op_reads_tokens(c->op, &c->attr, inputs(c, in), input);
}

#define REAL       float
#define CALL       op_call
#define KERNEL     cpu_kernel
#define STATE      state_f32
#define COPY       copy_f32
#define FILLED     filled_f32
#define FIND       find_f32
#define STEP       step_f32
#define SHARD_CALL shard_call_f32
#define PARTS      parts_f32
#define STEPS      steps_f32
#define SCRATCH    scratch_f32
#define TAKE       take_f32
#define RUN_CASE   run_f32
#include "helper_run.h"
#undef REAL
#undef CALL
#undef KERNEL
#undef STATE
#undef COPY
#undef FILLED
#undef FIND
#undef STEP
#undef SHARD_CALL
#undef PARTS
#undef STEPS
#undef SCRATCH
#undef TAKE
#undef RUN_CASE

#define REAL       double
#define CALL       op_call_f64
#define KERNEL     cpu_kernel_f64
#define STATE      state_f64
#define COPY       copy_f64
#define FILLED     filled_f64
#define FIND       find_f64
#define STEP       step_f64
#define SHARD_CALL shard_call_f64
#define PARTS      parts_f64
#define STEPS      steps_f64
#define SCRATCH    scratch_f64
#define TAKE       take_f64
#define RUN_CASE   run_f64
#include "helper_run.h"

struct plan_step case_step(const struct op_case *c)
{
    struct error err = ERROR_INIT;
    struct plan_step step = {.op = c->op, .ordinal = 4, .attr = c->attr};
    const int n = inputs(c, step.in);
    if (!op_infos[c->op].infer(&c->attr, step.in, n, &step.out, &err))
        fail_msg("%s: %s", op_infos[c->op].name, err.text);
    if (op_infos[c->op].params) {
        struct op_param param[OP_MAX_PARAMS], buffer[OP_MAX_BUFFERS];
        op_infos[c->op].params(&c->attr, step.in, param, &step.n_params, buffer, &step.n_buffers);
        for (int p = 0; p < step.n_params; p++) {
            step.param_count[p] = 1;
            for (int d = 0; d < param[p].rank; d++)
                step.param_count[p] *= (size_t)param[p].dims[d];
        }
    }
    return step;
}

static float draw(uint64_t seed, uint32_t ordinal, size_t i)
{
    return 2.0f * rng_unit(rng_u32_at(seed, RNG_TEST, ordinal, 0, 0, (uint32_t)i)) - 1.0f;
}

static double *drawn(uint64_t seed, uint32_t ordinal, size_t n)
{
    double *v = malloc((n + 1) * sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = (double)draw(seed, ordinal, i);
    return v;
}

/* Ids of the table; every third row of a batch ends in padding, every fifth is all padding. */
static void draw_tokens(struct op_values *v, const struct op_case *c, size_t n)
{
    const size_t length = n / (size_t)c->batch;
    const int32_t rows = c->attr.rows > 0 ? c->attr.rows : 50, pad = c->attr.pad_id;
    v->tokens = calloc(n, sizeof *v->tokens);
    for (size_t i = 0; i < n; i++) {
        const size_t row = i / length, place = i % length;
        v->tokens[i] = (int32_t)((draw(c->seed, 20, i) + 1.0f) * 0.5f * (float)rows);
        if (pad >= 0 && ((row % 3 == 2 && place >= length / 2) || row % 5 == 4))
            v->tokens[i] = pad;
    }
}

/* A class or a value for each prediction. */
static void draw_targets(struct op_values *v, const struct op_case *c)
{
    const bool sequence = c->in.rank == 2;
    const size_t n = (size_t)c->batch * (sequence ? (size_t)c->in.d[0] : 1);
    v->value = calloc(n, sizeof *v->value);
    for (size_t i = 0; i < n; i++)
        v->value[i] = draw(c->seed, 7, i);
    if (c->op != OP_CROSS_ENTROPY)
        return;
    v->label = calloc(n, sizeof *v->label);
    for (size_t i = 0; i < n; i++)
        v->label[i] = (int32_t)((v->value[i] + 1.0f) * 0.5f * (float)c->in.d[sequence ? 1 : 0]);
}

void values_init(struct op_values *v, const struct op_case *c)
{
    const struct plan_step step = case_step(c);
    *v = (struct op_values){.n_x = (size_t)c->batch * shape_count(c->in),
                            .n_y = (size_t)c->batch * shape_count(step.out)};
    v->x = drawn(c->seed, 1, v->n_x);
    v->dy = drawn(c->seed, 2, v->n_y);
    v->y = calloc(v->n_y + 1, sizeof *v->y);
    v->dx = calloc(v->n_x + 1, sizeof *v->dx);
    for (int p = 0; p < 2; p++) {
        v->n_param[p] = p < step.n_params ? step.param_count[p] : 0;
        v->n_buffer[p] = p < step.n_buffers ? (size_t)c->in.d[c->in.rank - 1] : 0;
        v->param[p] = drawn(c->seed, 3 + (uint32_t)p, v->n_param[p]);
        v->grad[p] = calloc(v->n_param[p] + 1, sizeof(double));
        v->buffer[p] = drawn(c->seed, 5 + (uint32_t)p, v->n_buffer[p]);
    }
    for (size_t i = 0; i < v->n_buffer[1]; i++)
        v->buffer[1][i] = 1.0 + 0.5 * v->buffer[1][i]; /* a variance */
    for (int i = 1; i < OP_MAX_INPUTS; i++) {
        v->n_more[i - 1] =
            c->more[i - 1].rank > 0 ? (size_t)c->batch * shape_count(c->more[i - 1]) : 0;
        v->more_x[i - 1] = drawn(c->seed, 10 + (uint32_t)i, v->n_more[i - 1]);
        v->more_dx[i - 1] = calloc(v->n_more[i - 1] + 1, sizeof(double));
    }
    for (int i = 0; i < OP_MAX_INPUTS; i++)
        if (is_tokens(c, i))
            draw_tokens(v, c, i == 0 ? v->n_x : v->n_more[i - 1]);
    draw_targets(v, c);
}

void values_release(struct op_values *v)
{
    for (int p = 0; p < 2; p++) {
        free(v->param[p]);
        free(v->grad[p]);
        free(v->buffer[p]);
    }
    for (int i = 0; i < OP_MAX_INPUTS - 1; i++) {
        free(v->more_x[i]);
        free(v->more_dx[i]);
    }
    free(v->tokens);
    free(v->x);
    free(v->y);
    free(v->dy);
    free(v->dx);
    free(v->label);
    free(v->value);
}

void case_run(const struct op_case *c, const struct cpu_isa *isa, struct op_values *v)
{
    current_isa = isa;
    if (isa)
        run_f32(c, v);
    else
        run_f64(c, v);
}

void assert_close(const double *a, const double *b, size_t n, double tolerance, const char *what)
{
    double largest = 1e-30;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(b[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= tolerance * largest))
            fail_msg("%s[%zu]: %.9g, expected %.9g (largest %.3g)", what, i, a[i], b[i], largest);
}

void assert_values_close(const struct op_values *a, const struct op_values *b, double tolerance,
                         const char *what)
{
    char name[400];
#define PART(field, n)                                                                             \
    snprintf(name, sizeof name, "%s: " #field, what);                                              \
    assert_close(a->field, b->field, n, tolerance, name)
    PART(y, b->n_y);
    PART(dx, b->n_x);
    PART(more_dx[0], b->n_more[0]);
    PART(more_dx[1], b->n_more[1]);
    PART(more_dx[2], b->n_more[2]);
    PART(grad[0], b->n_param[0]);
    PART(grad[1], b->n_param[1]);
    PART(buffer[0], b->n_buffer[0]);
    PART(buffer[1], b->n_buffer[1]);
#undef PART
    assert_int_equal(a->sums.n, b->sums.n);
    assert_int_equal(a->sums.n_correct, b->sums.n_correct);
    assert_int_equal(a->sums.n_tokens, b->sums.n_tokens);
    assert_close(&a->sums.loss_sum, &b->sums.loss_sum, 1, tolerance, what);
    assert_close(&a->sums.target_sum, &b->sums.target_sum, 1, 1e-12, what);
    assert_close(&a->sums.target_sq_sum, &b->sums.target_sq_sum, 1, 1e-12, what);
}

const char *case_name(const struct op_case *c)
{
    static char name[200];
    snprintf(name, sizeof name,
             "%s %dx%dx%d out %d kernel %dx%d groups %d batch %d (%d a shard, %d "
             "valid) seed %d",
             op_infos[c->op].name, c->in.d[0], c->in.d[1], c->in.d[2], c->attr.out_features,
             c->attr.kernel_h, c->attr.kernel_w, c->attr.groups, c->batch, c->rows_per_shard,
             c->n_valid, (int)c->seed);
    return name;
}
