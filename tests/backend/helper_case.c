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

#define REAL     float
#define CALL     op_call
#define KERNEL   cpu_kernel
#define STATE    state_f32
#define COPY     copy_f32
#define FILLED   filled_f32
#define FIND     find_f32
#define STEP     step_f32
#define STEPS    steps_f32
#define SCRATCH  scratch_f32
#define TAKE     take_f32
#define RUN_CASE run_f32
#include "helper_run.h"
#undef REAL
#undef CALL
#undef KERNEL
#undef STATE
#undef COPY
#undef FILLED
#undef FIND
#undef STEP
#undef STEPS
#undef SCRATCH
#undef TAKE
#undef RUN_CASE

#define REAL     double
#define CALL     op_call_f64
#define KERNEL   cpu_kernel_f64
#define STATE    state_f64
#define COPY     copy_f64
#define FILLED   filled_f64
#define FIND     find_f64
#define STEP     step_f64
#define STEPS    steps_f64
#define SCRATCH  scratch_f64
#define TAKE     take_f64
#define RUN_CASE run_f64
#include "helper_run.h"

static int32_t extent(int32_t in, int32_t kernel, int32_t stride, int32_t pad, int32_t dilation)
{
    return (in + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
}

static struct shape out_shape(const struct op_case *c)
{
    const struct op_attr *a = &c->attr;
    if (c->op == OP_LINEAR)
        return shape_vector(a->out_features);
    if (c->op == OP_FLATTEN)
        return shape_vector((int32_t)shape_count(c->in));
    if (c->op == OP_CROSS_ENTROPY || c->op == OP_MSE)
        return shape_vector(1);
    if (c->op != OP_CONV2D && c->op != OP_MAX_POOL2D)
        return c->in;
    const int32_t dilation_h = a->dilation_h > 0 ? a->dilation_h : 1;
    const int32_t dilation_w = a->dilation_w > 0 ? a->dilation_w : 1;
    return shape_image(extent(c->in.d[0], a->kernel_h, a->stride_h, a->pad_h, dilation_h),
                       extent(c->in.d[1], a->kernel_w, a->stride_w, a->pad_w, dilation_w),
                       c->op == OP_CONV2D ? a->out_features : c->in.d[2]);
}

struct plan_step case_step(const struct op_case *c)
{
    const struct op_attr *a = &c->attr;
    const size_t channels = (size_t)c->in.d[c->in.rank - 1];
    struct plan_step step = {
        .op = c->op, .ordinal = 4, .attr = c->attr, .in = {c->in}, .out = out_shape(c)};
    if (c->op == OP_BATCH_NORM) {
        step.n_params = step.n_buffers = 2;
        step.param_count[0] = step.param_count[1] = channels;
    } else if (c->op == OP_LINEAR || c->op == OP_CONV2D) {
        step.n_params = a->bias ? 2 : 1;
        step.param_count[0] = channels * (size_t)a->out_features;
        if (c->op == OP_CONV2D)
            step.param_count[0] =
                step.param_count[0] * (size_t)(a->kernel_h * a->kernel_w) / (size_t)a->groups;
        step.param_count[1] = (size_t)a->out_features;
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
    v->value = calloc((size_t)c->batch, sizeof *v->value);
    for (int32_t r = 0; r < c->batch; r++)
        v->value[r] = draw(c->seed, 7, (size_t)r);
    if (c->op == OP_CROSS_ENTROPY) {
        v->label = calloc((size_t)c->batch, sizeof *v->label);
        for (int32_t r = 0; r < c->batch; r++)
            v->label[r] = (int32_t)((v->value[r] + 1.0f) * 0.5f * (float)c->in.d[0]);
    }
}

void values_release(struct op_values *v)
{
    for (int p = 0; p < 2; p++) {
        free(v->param[p]);
        free(v->grad[p]);
        free(v->buffer[p]);
    }
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
    PART(grad[0], b->n_param[0]);
    PART(grad[1], b->n_param[1]);
    PART(buffer[0], b->n_buffer[0]);
    PART(buffer[1], b->n_buffer[1]);
#undef PART
    assert_int_equal(a->sums.n, b->sums.n);
    assert_int_equal(a->sums.n_correct, b->sums.n_correct);
    assert_close(&a->sums.loss_sum, &b->sums.loss_sum, 1, tolerance, what);
    assert_close(&a->sums.target_sum, &b->sums.target_sum, 1, 1e-12, what);
    assert_close(&a->sums.target_sq_sum, &b->sums.target_sq_sum, 1, 1e-12, what);
}

const char *case_name(const struct op_case *c)
{
    static char name[200];
    snprintf(name, sizeof name,
             "%s %dx%dx%d out %d kernel %dx%d groups %d batch %d (%d a shard, %d "
             "valid)",
             op_infos[c->op].name, c->in.d[0], c->in.d[1], c->in.d[2], c->attr.out_features,
             c->attr.kernel_h, c->attr.kernel_w, c->attr.groups, c->batch, c->rows_per_shard,
             c->n_valid);
    return name;
}
