#include "backend/cpu/isa/kernels.h"

#include "backend/cpu/isa/gemm.h"

static void forward(const struct op_call *c)
{
    const int32_t n_in = c->step->in[0].d[0], n_out = c->step->out.d[0];
    const struct gemm g = {.m = c->rows,
                           .n = n_out,
                           .a = c->x,
                           .a_row = n_in,
                           .a_k = 1,
                           .n_seg = 1,
                           .seg_len = n_in,
                           .b = c->param[0],
                           .ldb = n_out,
                           .c = c->y,
                           .ldc = n_out,
                           .bias = c->param[1],
                           .relu = c->relu};
    ISA_FN(gemm)(&g);
}

/* dW[in][out] = x' dy.  With one output the product is turned around, so that vectors run along the
 * inputs: the same elements in the same places. */
static void weight_gradient(const struct op_call *c, int32_t n_in, int32_t n_out)
{
    struct gemm g = {.m = n_in,
                     .n = n_out,
                     .a = c->x,
                     .a_row = 1,
                     .a_k = n_in,
                     .n_seg = 1,
                     .seg_len = c->rows,
                     .b = c->dy,
                     .ldb = n_out,
                     .c = c->grad[0],
                     .ldc = n_out};
    if (n_out == 1) {
        g.m = 1;
        g.n = n_in;
        g.a = c->dy;
        g.a_k = 1;
        g.b = c->x;
        g.ldb = n_in;
        g.ldc = n_in;
    }
    ISA_FN(gemm)(&g);
}

static void backward(const struct op_call *c)
{
    const int32_t n_in = c->step->in[0].d[0], n_out = c->step->out.d[0];
    weight_gradient(c, n_in, n_out);
    if (c->grad[1])
        ISA_FN(column_sums)(c->dy, (size_t)c->rows, n_out, c->grad[1]);
    if (!c->dx)
        return;
    const float *turned = c->param[0];
    if (n_out > 1) {
        ISA_FN(transpose)(c->param[0], n_out, n_in, n_out, c->scratch);
        turned = c->scratch;
    }
    const struct gemm g = {.m = c->rows,
                           .n = n_in,
                           .a = c->dy,
                           .a_row = n_out,
                           .a_k = 1,
                           .n_seg = 1,
                           .seg_len = n_out,
                           .b = turned,
                           .ldb = n_in,
                           .c = c->dx,
                           .ldc = n_in,
                           .add = c->add_dx};
    ISA_FN(gemm)(&g);
}

static size_t backward_scratch(const struct plan_step *step, int32_t rows_per_shard)
{
    (void)rows_per_shard;
    return step->dx[0] < 0 ? 0 : (size_t)step->in[0].d[0] * (size_t)step->out.d[0];
}

const struct cpu_kernel ISA_FN(linear_kernels)[] = {
    {STEP_FORWARD, OP_LINEAR, "linear", forward, NULL, true},
    {STEP_BACKWARD, OP_LINEAR, "linear", backward, backward_scratch, false},
    {0},
};
