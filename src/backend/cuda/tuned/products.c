/* Convolutions and linear layers on the K-stacked implicit GEMM (gemm/gemm.h).  Choices are made as
 * for one model, so that bits do not depend on K. */
#include "backend/cuda/gemm/gemm.h"
#include "backend/cuda/kernel.h"

/* Sizes of a step as gemm.h wants them, and what its passes mean: a tied layer's weight lies the
 * other way round, so forward and data gradient change places. */
struct product {
    struct gemm_shape shape;
    bool tied;
};

static struct product product_of(const struct plan_step *s, int32_t n_models, int32_t batch)
{
    const struct op_attr *a = &s->attr;
    const struct shape in = s->in[0], out = s->out;
    struct product p = {.tied = s->op == OP_TIED_LINEAR};
    if (s->op == OP_CONV2D) {
        p.shape = (struct gemm_shape){
            n_models, batch,    in.d[0],       in.d[1],       in.d[2],     out.d[0],
            out.d[1], out.d[2], a->kernel_h,   a->kernel_w,   a->stride_h, a->stride_w,
            a->pad_h, a->pad_w, a->dilation_h, a->dilation_w, a->groups};
        return p;
    }
    const int32_t rows = in.rank == 2 ? in.d[0] : 1;
    const int32_t d_in = in.d[in.rank - 1], d_out = out.d[out.rank - 1];
    p.shape = p.tied ? gemm_linear(n_models, batch, rows, d_out, d_in)
                     : gemm_linear(n_models, batch, rows, d_in, d_out);
    return p;
}

static int multiprocessors(void)
{
    int device = 0, n = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
        return 1;
    return n;
}

static struct gemm_choice choose(enum gemm_pass pass, enum gemm_math math,
                                 const struct gemm_shape *shape)
{
    struct gemm_shape one = *shape;
    struct gemm_choice choice = {0, 1};
    one.n_models = 1;
    gemm_choices(pass, math, &one, multiprocessors(), &choice, 1);
    return choice;
}

static size_t pass_workspace(enum gemm_pass pass, const struct gemm_shape *shape)
{
    const size_t strict = gemm_workspace_bytes(pass, shape, choose(pass, GEMM_F32, shape));
    const size_t tf32 = gemm_workspace_bytes(pass, shape, choose(pass, GEMM_TF32, shape));
    return strict > tf32 ? strict : tf32;
}

/* For one model; a launch for K takes K times as much. */
static size_t workspace(const struct plan_step *s, int32_t batch)
{
    const struct product p = product_of(s, 1, batch);
    size_t most = gemm_bias_grad_workspace_bytes(&p.shape);
    for (int pass = GEMM_FORWARD; pass <= GEMM_WEIGHT_GRAD; pass++) {
        const size_t n = pass_workspace((enum gemm_pass)pass, &p.shape);
        most = n > most ? n : most;
    }
    return (most + 2 * sizeof(float) - 1) / (2 * sizeof(float)) * 2;
}

static void launch(const struct cuda_call *c, enum gemm_pass pass, const struct gemm_args *args)
{
    const struct product p = product_of(c->step, c->n_models, c->batch);
    const enum gemm_math math = c->tf32 ? GEMM_TF32 : GEMM_F32;
    struct gemm_args a = *args;
    a.n_valid = c->n_valid;
    a.workspace = c->workspace;
    gemm_launch(pass, math, &p.shape, choose(pass, math, &p.shape), &a, c->stream);
}

static bool is_tied(const struct cuda_call *c)
{
    return c->step->op == OP_TIED_LINEAR;
}

static void launch_forward(const struct cuda_call *c)
{
    const struct gemm_args a = {.a = c->x[0],
                                .b = c->param[0],
                                .out = c->y,
                                .a_stride = c->lane,
                                .b_stride = c->slice,
                                .out_stride = c->lane,
                                .bias = c->param[1],
                                .bias_stride = c->slice};
    launch(c, is_tied(c) ? GEMM_DATA_GRAD : GEMM_FORWARD, &a);
}

static void launch_data_gradient(const struct cuda_call *c)
{
    const struct gemm_args a = {.a = c->dy,
                                .b = c->param[0],
                                .out = c->dx[0],
                                .a_stride = c->lane,
                                .b_stride = c->slice,
                                .out_stride = c->lane,
                                .accumulate = c->step->accumulate_dx & 1};
    launch(c, is_tied(c) ? GEMM_FORWARD : GEMM_DATA_GRAD, &a);
}

static void launch_weight_gradient(const struct cuda_call *c)
{
    const struct gemm_args a = {.a = is_tied(c) ? c->dy : c->x[0],
                                .b = is_tied(c) ? c->x[0] : c->dy,
                                .out = c->grad[0],
                                .a_stride = c->lane,
                                .b_stride = c->lane,
                                .out_stride = c->lane,
                                .accumulate = c->step->accumulate_grad & 1};
    launch(c, GEMM_WEIGHT_GRAD, &a);
}

static void launch_backward(const struct cuda_call *c)
{
    const struct product p = product_of(c->step, c->n_models, c->batch);
    if (c->grad[0])
        launch_weight_gradient(c);
    if (c->grad[1])
        gemm_bias_grad(&p.shape, c->dy, c->lane, c->grad[1], c->lane, c->n_valid,
                       c->step->accumulate_grad >> 1 & 1, c->workspace, c->stream);
    if (c->dx[0])
        launch_data_gradient(c);
}

const struct cuda_kernel cuda_product_kernels[] = {
    {STEP_FORWARD, OP_CONV2D, "gemm conv2d", launch_forward, workspace},
    {STEP_BACKWARD, OP_CONV2D, "gemm conv2d", launch_backward, workspace},
    {STEP_BACKWARD_PARAMS, OP_CONV2D, "gemm conv2d", launch_weight_gradient, workspace},
    {STEP_FORWARD, OP_LINEAR, "gemm linear", launch_forward, workspace},
    {STEP_BACKWARD, OP_LINEAR, "gemm linear", launch_backward, workspace},
    {STEP_BACKWARD_PARAMS, OP_LINEAR, "gemm linear", launch_weight_gradient, workspace},
    {STEP_FORWARD, OP_TIED_LINEAR, "gemm tied_linear", launch_forward, workspace},
    {STEP_BACKWARD, OP_TIED_LINEAR, "gemm tied_linear", launch_backward, workspace},
    {STEP_BACKWARD_PARAMS, OP_TIED_LINEAR, "gemm tied_linear", launch_weight_gradient, workspace},
    {0},
};
