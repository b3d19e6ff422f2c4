/* Convolutions as products over taps x channels, the taps of an image read where they lie (implicit
 * GEMM); weights [kh][kw][in a group][out].  A group is a slice of the grid. */
#include "backend/cuda/ops/columns.cuh"
#include "backend/cuda/ops/tile.cuh"

struct image {
    int h, w, c, oh, ow, oc; /* input, output */
    int kh, kw, sh, sw, ph, pw, dh, dw;
    int groups, gi, go; /* channels of a group, in and out */
};

static struct image image_of(const struct plan_step *s)
{
    const struct op_attr *a = &s->attr;
    const struct shape in = s->in[0], out = s->out;
    return {in.d[0],     in.d[1],     in.d[2],  out.d[0],    out.d[1],
            out.d[2],    a->kernel_h, a->kernel_w, a->stride_h, a->stride_w,
            a->pad_h,    a->pad_w,    a->dilation_h, a->dilation_w, a->groups,
            in.d[2] / a->groups, out.d[2] / a->groups};
}

/* Element of the input under output pixel `pixel` (counted over the batch) at tap * gi + i. */
static __device__ __forceinline__ float tap_of(const struct image &g, const float *x, int pixel,
                                               int tap_i)
{
    const int area = g.oh * g.ow, row = pixel / area, at = pixel % area;
    const int tap = tap_i / g.gi, i = tap_i % g.gi;
    const int h = at / g.ow * g.sh - g.ph + tap / g.kw * g.dh;
    const int w = at % g.ow * g.sw - g.pw + tap % g.kw * g.dw;
    if (h < 0 || h >= g.h || w < 0 || w >= g.w)
        return 0;
    return x[((size_t)row * g.h + h) * g.w * g.c + (size_t)w * g.c + i];
}

/* m: output pixels, n: outputs of the group, r: taps x inputs. */
struct forward_product {
    struct image g;
    int m, n, r0, r1;
    const float *x, *weight, *bias;
    float *y;
    __device__ void begin(const struct lanes &l, int k, int group)
    {
        m = l.model[k].n_valid * g.oh * g.ow;
        n = g.go;
        r0 = 0;
        r1 = g.kh * g.kw * g.gi;
        x = part(x, l.lane, k) + group * g.gi;
        weight = part(weight, l.slice, k) + group * g.go;
        bias = part(bias, l.slice, k);
        bias = bias ? bias + group * g.go : bias;
        y = part(y, l.lane, k) + group * g.go;
    }
    __device__ float a(int pixel, int tap_i) const
    {
        return tap_of(g, x, pixel, tap_i);
    }
    __device__ float b(int tap_i, int o) const
    {
        return weight[(size_t)tap_i * g.oc + o];
    }
    __device__ void c(int pixel, int o, float sum) const
    {
        y[(size_t)pixel * g.oc + o] = bias ? sum + bias[o] : sum;
    }
};

/* m: input pixels, n: inputs of the group, r: taps x outputs. */
struct data_product {
    struct image g;
    int m, n, r0, r1;
    const float *dy, *weight;
    float *dx;
    bool add;
    __device__ void begin(const struct lanes &l, int k, int group)
    {
        m = l.model[k].n_valid * g.h * g.w;
        n = g.gi;
        r0 = 0;
        r1 = g.kh * g.kw * g.go;
        dy = part(dy, l.lane, k) + group * g.go;
        weight = part(weight, l.slice, k) + group * g.go;
        dx = part(dx, l.lane, k) + group * g.gi;
    }
    __device__ float a(int pixel, int tap_o) const
    {
        const int area = g.h * g.w, row = pixel / area, at = pixel % area;
        const int tap = tap_o / g.go, o = tap_o % g.go;
        const int h = at / g.w + g.ph - tap / g.kw * g.dh;
        const int w = at % g.w + g.pw - tap % g.kw * g.dw;
        if (h < 0 || w < 0 || h % g.sh || w % g.sw || h / g.sh >= g.oh || w / g.sw >= g.ow)
            return 0;
        return dy[(((size_t)row * g.oh + h / g.sh) * g.ow + w / g.sw) * g.oc + o];
    }
    __device__ float b(int tap_o, int i) const
    {
        const int tap = tap_o / g.go, o = tap_o % g.go;
        return weight[((size_t)tap * g.gi + i) * g.oc + o];
    }
    __device__ void c(int pixel, int i, float sum) const
    {
        put(&dx[(size_t)pixel * g.c + i], add, sum);
    }
};

/* m: taps x inputs, n: outputs of the group, r: a split of the output pixels. */
struct weight_product {
    struct image g;
    int m, n, r0, r1;
    const float *x, *dy;
    float *grad;
    bool add;
    int n_splits;
    float *splits;
    size_t splits_stride;
    __device__ void begin(const struct lanes &l, int k, int slice)
    {
        const int group = slice / n_splits, split = slice % n_splits;
        const int pixels = l.model[k].n_valid * g.oh * g.ow;
        const int length = (pixels + n_splits - 1) / n_splits;
        m = g.kh * g.kw * g.gi;
        n = g.go;
        r0 = split * length;
        r1 = min(pixels, r0 + length);
        x = part(x, l.lane, k) + group * g.gi;
        dy = part(dy, l.lane, k) + group * g.go;
        grad = n_splits < 2 ? part(grad, l.lane, k)
                            : splits + k * splits_stride + (size_t)split * m * g.oc;
        add = add && n_splits < 2;
        grad += group * g.go;
    }
    __device__ float a(int tap_i, int pixel) const
    {
        return tap_of(g, x, pixel, tap_i);
    }
    __device__ float b(int pixel, int o) const
    {
        return dy[(size_t)pixel * g.oc + o];
    }
    __device__ void c(int tap_i, int o, float sum) const
    {
        put(&grad[(size_t)tap_i * g.oc + o], add, sum);
    }
};

static void launch_forward(const struct cuda_call *c)
{
    const struct image g = image_of(c->step);
    const struct forward_product p = {g, 0, 0, 0, 0, c->x[0], c->param[0], c->param[1], c->y};
    launch_product<true, false>(c, (size_t)c->batch * g.oh * g.ow, g.go, g.groups, p);
}

static void launch_data_gradient(const struct cuda_call *c)
{
    const struct image g = image_of(c->step);
    const struct data_product p = {g, 0, 0, 0, 0, c->dy, c->param[0], c->dx[0], adds_dx(c, 0)};
    launch_product<true, true>(c, (size_t)c->batch * g.h * g.w, g.gi, g.groups, p);
}

static int splits_of(const struct image &g, int32_t batch)
{
    return product_splits((size_t)g.kh * g.kw * g.gi, (size_t)g.go * g.groups,
                          (size_t)batch * g.oh * g.ow);
}

static void launch_weight_gradient(const struct cuda_call *c)
{
    const struct image g = image_of(c->step);
    const size_t m = (size_t)g.kh * g.kw * g.gi;
    struct weight_product p = {g, 0, 0, 0, 0, c->x[0], c->dy, c->grad[0], adds_grad(c, 0)};
    p.n_splits = splits_of(g, c->batch);
    p.splits = c->workspace;
    p.splits_stride = c->workspace_floats;
    launch_product<false, false>(c, m, g.go, g.groups * p.n_splits, p);
    if (p.n_splits > 1)
        add_splits<<<grid_over(c, m * g.oc), BLOCK, 0, c->stream>>>(
            lanes_of(c), p.splits, p.splits_stride, p.n_splits, m * g.oc, c->grad[0], p.add);
}

static void launch_backward(const struct cuda_call *c)
{
    const struct image g = image_of(c->step);
    if (c->grad[0])
        launch_weight_gradient(c);
    if (c->grad[1])
        launch_bias_gradient(c, (uint32_t)(g.oh * g.ow), (uint32_t)g.oc);
    if (c->dx[0])
        launch_data_gradient(c);
}

static size_t workspace(const struct plan_step *s, int32_t batch)
{
    const struct image g = image_of(s);
    const size_t splits = (size_t)splits_of(g, batch) * g.kh * g.kw * g.gi * g.oc;
    const size_t bias = columns_workspace((size_t)batch * g.oh * g.ow, (uint32_t)g.oc);
    return ((splits > bias ? splits : bias) + 1) / 2 * 2;
}

const struct cuda_kernel cuda_conv_kernels[] = {
    {STEP_FORWARD, OP_CONV2D, "cuda conv2d", launch_forward, NULL},
    {STEP_BACKWARD, OP_CONV2D, "cuda conv2d", launch_backward, workspace},
    {STEP_BACKWARD_PARAMS, OP_CONV2D, "cuda conv2d", launch_weight_gradient, workspace},
    {}};
