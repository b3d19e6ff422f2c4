/* Linear layers over the last dimension, and the tied product (weight (n, d), an embedding's). */
#include "backend/cuda/ops/columns.cuh"
#include "backend/cuda/ops/tile.cuh"

/* A product whose matrices lie with any two strides; one of m and r may be the batch's vectors. */
struct matrices {
    int m, n, r0, r1;
    int per_row; /* vectors a row */
    bool m_is_batch, r_is_batch;
    const float *pa, *pb, *bias;
    float *pc;
    size_t am, ar, br, bn, cm, cn; /* strides */
    bool a_is_slice, b_is_slice, add;
    /* Splits of r: their results go to the workspace, m x n each. */
    int n_splits;
    float *splits;
    size_t splits_stride;
    __device__ void begin(const struct lanes &l, int k, int split)
    {
        const int vectors = l.model[k].n_valid * per_row;
        if (m_is_batch)
            m = vectors;
        if (r_is_batch)
            r1 = vectors;
        pa = part(pa, a_is_slice ? l.slice : l.lane, k);
        pb = part(pb, b_is_slice ? l.slice : l.lane, k);
        bias = part(bias, l.slice, k);
        pc = part(pc, l.lane, k);
        if (n_splits < 2)
            return;
        const int length = (r1 + n_splits - 1) / n_splits;
        r0 = split * length;
        r1 = min(r1, r0 + length);
        pc = splits + k * splits_stride + (size_t)split * m * n;
        cm = n;
        cn = 1;
        add = false;
    }
    __device__ float a(int i, int r) const
    {
        return pa[i * am + r * ar];
    }
    __device__ float b(int r, int j) const
    {
        return pb[r * br + j * bn];
    }
    __device__ void c(int i, int j, float sum) const
    {
        put(&pc[i * cm + j * cn], add, bias ? sum + bias[j] : sum);
    }
};

/* Sizes of a layer: d_in values to d_out; the weight's strides. */
struct dense {
    size_t d_in, d_out, w_in, w_out, vectors;
    int per_row;
};

static struct dense dense_of(const struct plan_step *s, int32_t batch)
{
    struct dense d = {(size_t)last_of(s->in[0]), (size_t)last_of(s->out), 1, 1, 0,
                      vectors_a_row(s->in[0])};
    *(s->op == OP_TIED_LINEAR ? &d.w_out : &d.w_in) =
        s->op == OP_TIED_LINEAR ? d.d_in : d.d_out;
    d.vectors = (size_t)batch * d.per_row;
    return d;
}

static void launch_forward(const struct cuda_call *c)
{
    const struct dense d = dense_of(c->step, c->batch);
    struct matrices p = {};
    p.n = (int)d.d_out;
    p.r1 = (int)d.d_in;
    p.per_row = d.per_row;
    p.m_is_batch = true;
    p.pa = c->x[0];
    p.am = d.d_in;
    p.ar = 1;
    p.pb = c->param[0];
    p.br = d.w_in;
    p.bn = d.w_out;
    p.b_is_slice = true;
    p.bias = c->param[1];
    p.pc = c->y;
    p.cm = d.d_out;
    p.cn = 1;
    if (d.w_in == 1)
        launch_product<true, true>(c, d.vectors, d.d_out, 1, p);
    else
        launch_product<true, false>(c, d.vectors, d.d_out, 1, p);
}

static void launch_data_gradient(const struct cuda_call *c)
{
    const struct dense d = dense_of(c->step, c->batch);
    struct matrices p = {};
    p.n = (int)d.d_in;
    p.r1 = (int)d.d_out;
    p.per_row = d.per_row;
    p.m_is_batch = true;
    p.pa = c->dy;
    p.am = d.d_out;
    p.ar = 1;
    p.pb = c->param[0];
    p.br = d.w_out;
    p.bn = d.w_in;
    p.b_is_slice = true;
    p.pc = c->dx[0];
    p.cm = d.d_in;
    p.cn = 1;
    p.add = adds_dx(c, 0);
    if (d.w_out == 1)
        launch_product<true, true>(c, d.vectors, d.d_in, 1, p);
    else
        launch_product<true, false>(c, d.vectors, d.d_in, 1, p);
}

/* Rows of the weight as it lies in memory are m: inputs, or outputs of the tied product. */
static void launch_weight_gradient(const struct cuda_call *c)
{
    const struct dense d = dense_of(c->step, c->batch);
    const bool tied = c->step->op == OP_TIED_LINEAR;
    const size_t m = tied ? d.d_out : d.d_in, n = tied ? d.d_in : d.d_out;
    struct matrices p = {};
    p.m = (int)m;
    p.n = (int)n;
    p.per_row = d.per_row;
    p.r_is_batch = true;
    p.pa = tied ? c->dy : c->x[0];
    p.am = 1;
    p.ar = m;
    p.pb = tied ? c->x[0] : c->dy;
    p.br = n;
    p.bn = 1;
    p.pc = c->grad[0];
    p.cm = n;
    p.cn = 1;
    p.add = adds_grad(c, 0);
    p.n_splits = product_splits(m, n, d.vectors);
    p.splits = c->workspace;
    p.splits_stride = c->workspace_floats;
    launch_product<false, false>(c, m, n, p.n_splits, p);
    if (p.n_splits > 1)
        add_splits<<<grid_over(c, m * n), BLOCK, 0, c->stream>>>(
            lanes_of(c), p.splits, p.splits_stride, p.n_splits, m * n, c->grad[0], p.add);
}

static void launch_backward(const struct cuda_call *c)
{
    const struct dense d = dense_of(c->step, c->batch);
    if (c->grad[0])
        launch_weight_gradient(c);
    if (c->grad[1])
        launch_bias_gradient(c, (uint32_t)d.per_row, (uint32_t)d.d_out);
    if (c->dx[0])
        launch_data_gradient(c);
}

static size_t workspace(const struct plan_step *s, int32_t batch)
{
    const struct dense d = dense_of(s, batch);
    const size_t splits =
        (size_t)product_splits(d.d_in, d.d_out, d.vectors) * d.d_in * d.d_out;
    const size_t bias = columns_workspace(d.vectors, (uint32_t)d.d_out);
    return ((splits > bias ? splits : bias) + 1) / 2 * 2;
}

const struct cuda_kernel cuda_linear_kernels[] = {
    {STEP_FORWARD, OP_LINEAR, "cuda linear", launch_forward, NULL},
    {STEP_BACKWARD, OP_LINEAR, "cuda linear", launch_backward, workspace},
    {STEP_BACKWARD_PARAMS, OP_LINEAR, "cuda linear", launch_weight_gradient, workspace},
    {STEP_FORWARD, OP_TIED_LINEAR, "cuda tied_linear", launch_forward, NULL},
    {STEP_BACKWARD, OP_TIED_LINEAR, "cuda tied_linear", launch_backward, workspace},
    {STEP_BACKWARD_PARAMS, OP_TIED_LINEAR, "cuda tied_linear", launch_weight_gradient, workspace},
    {}};
