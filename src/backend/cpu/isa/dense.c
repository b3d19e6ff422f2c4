/* Linear layers over sequences, large ones and those whose weights are shared, and the tied
 * product, by blocked products.  Small layers over vectors are linear.c's. */
#include "backend/cpu/isa/kernels.h"

#include "backend/cpu/isa/product.h"

#define SMALL_WEIGHTS 65536 /* floats: stay in the second cache as they are */

static int32_t last_of(struct shape s)
{
    return s.d[s.rank - 1];
}

/* Vectors in `rows` rows. */
static int32_t vectors_of(const struct plan_step *s, int32_t rows)
{
    return rows * (s->in[0].rank == 2 ? s->in[0].d[0] : 1);
}

static bool is_small(const struct plan_step *s)
{
    return s->in[0].rank == 1 && s->param_count[0] < SMALL_WEIGHTS;
}

/* linear.c gives all gradients and overwrites them. */
static bool is_plain_backward(const struct op_call *c)
{
    return is_small(c->step) && c->grad[0] && !c->add_grad;
}

static void linear_forward(const struct op_call *c)
{
    const struct plan_step *s = c->step;
    if (is_small(s)) {
        ISA_FN(linear_kernels)[0].run(c);
        return;
    }
    const int32_t n_in = last_of(s->in[0]), n_out = last_of(s->out);
    const struct product p = {.m = vectors_of(s, c->rows),
                              .n = n_out,
                              .k = n_in,
                              .a = c->x,
                              .a_row = n_in,
                              .a_k = 1,
                              .b = c->param[0],
                              .ldb = n_out,
                              .c = c->y,
                              .ldc = n_out,
                              .bias = c->param[1],
                              .relu = c->relu};
    ISA_FN(product)(&p, c->scratch);
}

/* Rows of the weight gradient, of the part this call gives: C[i][j] = sum over vectors of
 * a[v][i] b[v][j]. */
static void outer_gradient(const struct op_call *c, const float *a, int32_t n_a, const float *b,
                           int32_t n_b)
{
    const int32_t vectors = vectors_of(c->step, c->rows);
    const int32_t from = c->parts > 0 ? (int32_t)((int64_t)n_a * c->part / c->parts) : 0;
    const int32_t to = c->parts > 0 ? (int32_t)((int64_t)n_a * (c->part + 1) / c->parts) : n_a;
    const struct product p = {.m = to - from,
                              .n = n_b,
                              .k = vectors,
                              .a = a + from,
                              .a_row = 1,
                              .a_k = n_a,
                              .b = b,
                              .ldb = n_b,
                              .c = c->grad[0] + (ptrdiff_t)from * n_b,
                              .ldc = n_b,
                              .add = c->add_grad & 1};
    if (to > from)
        ISA_FN(product)(&p, c->scratch);
}

static void linear_params(const struct op_call *c)
{
    outer_gradient(c, c->x, last_of(c->step->in[0]), c->dy, last_of(c->step->out));
}

static void bias_gradient(const struct op_call *c, int32_t n)
{
    float *sums = c->add_grad & 2 ? c->scratch : c->grad[1];
    ISA_FN(column_sums)(c->dy, (size_t)vectors_of(c->step, c->rows), n, sums);
    for (int32_t i = 0; sums != c->grad[1] && i < n; i++)
        c->grad[1][i] += sums[i];
}

static void linear_backward(const struct op_call *c)
{
    const struct plan_step *s = c->step;
    if (is_plain_backward(c)) {
        ISA_FN(linear_kernels)[1].run(c);
        return;
    }
    const int32_t n_in = last_of(s->in[0]), n_out = last_of(s->out);
    if (c->grad[0])
        linear_params(c);
    if (c->grad[1])
        bias_gradient(c, n_out);
    const struct product p = {.m = vectors_of(s, c->rows),
                              .n = n_in,
                              .k = n_out,
                              .a = c->dy,
                              .a_row = n_out,
                              .a_k = 1,
                              .b = c->param[0],
                              .ldb = n_out,
                              .turned = true,
                              .c = c->dx,
                              .ldc = n_in,
                              .add = c->add_dx};
    if (c->dx)
        ISA_FN(product)(&p, c->scratch);
}

static size_t forward_scratch(const struct plan_step *s, int32_t rows_per_shard)
{
    (void)rows_per_shard;
    return product_scratch(last_of(s->in[0]));
}

static size_t params_scratch(const struct plan_step *s, int32_t rows_per_shard)
{
    return product_scratch(vectors_of(s, rows_per_shard));
}

static size_t backward_scratch(const struct plan_step *s, int32_t rows_per_shard)
{
    const struct cpu_kernel *small = &ISA_FN(linear_kernels)[1];
    const size_t need[4] = {is_small(s) ? small->scratch(s, rows_per_shard) : 0,
                            params_scratch(s, rows_per_shard), product_scratch(last_of(s->out)),
                            (size_t)last_of(s->out)};
    size_t most = 0;
    for (int i = 0; i < 4; i++)
        most = need[i] > most ? need[i] : most;
    return most;
}

/* ---- the tied product: weight (n, d), one row an output ---- */

static void tied_forward(const struct op_call *c)
{
    const int32_t d = last_of(c->step->in[0]), n = last_of(c->step->out);
    const struct product p = {.m = vectors_of(c->step, c->rows),
                              .n = n,
                              .k = d,
                              .a = c->x,
                              .a_row = d,
                              .a_k = 1,
                              .b = c->param[0],
                              .ldb = d,
                              .turned = true,
                              .c = c->y,
                              .ldc = n,
                              .relu = c->relu};
    ISA_FN(product)(&p, c->scratch);
}

static void tied_params(const struct op_call *c)
{
    outer_gradient(c, c->dy, last_of(c->step->out), c->x, last_of(c->step->in[0]));
}

static void tied_backward(const struct op_call *c)
{
    const int32_t d = last_of(c->step->in[0]), n = last_of(c->step->out);
    if (c->grad[0])
        tied_params(c);
    const struct product p = {.m = vectors_of(c->step, c->rows),
                              .n = d,
                              .k = n,
                              .a = c->dy,
                              .a_row = n,
                              .a_k = 1,
                              .b = c->param[0],
                              .ldb = d,
                              .c = c->dx,
                              .ldc = d,
                              .add = c->add_dx};
    if (c->dx)
        ISA_FN(product)(&p, c->scratch);
}

const struct cpu_kernel ISA_FN(dense_kernels)[] = {
    {STEP_FORWARD, OP_LINEAR, "linear", linear_forward, forward_scratch, true},
    {STEP_BACKWARD, OP_LINEAR, "linear", linear_backward, backward_scratch, false},
    {STEP_BACKWARD_PARAMS, OP_LINEAR, "linear", linear_params, params_scratch, false},
    {STEP_FORWARD, OP_TIED_LINEAR, "tied_linear", tied_forward, forward_scratch, true},
    {STEP_BACKWARD, OP_TIED_LINEAR, "tied_linear", tied_backward, backward_scratch, false},
    {STEP_BACKWARD_PARAMS, OP_TIED_LINEAR, "tied_linear", tied_params, params_scratch, false},
    {0},
};
