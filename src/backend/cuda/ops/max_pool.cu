/* Max pooling, sliding and adaptive windows.  saved: the maximum's index within the row's input.
 * Back, an input element looks at the outputs whose windows hold it: no two threads add to one. */
#include "backend/cuda/ops/windows.cuh"

static __global__ void forward(struct lanes l, struct windows w, const float *x, float *y,
                               int32_t *saved)
{
    const int k = blockIdx.y;
    const uint32_t n_in = w.in.d[0] * w.in.d[1] * w.in.d[2];
    const uint32_t n_out = w.out.d[0] * w.out.d[1] * w.out.d[2];
    const size_t n = (size_t)l.model[k].n_valid * n_out;
    x = part(x, l.lane, k);
    y = part(y, l.lane, k);
    saved = part(saved, l.lane, k);
    FOR_ELEMENTS(e, n)
    {
        const uint32_t row = (uint32_t)(e / n_out), o = (uint32_t)(e % n_out);
        const int ch = o % w.out.d[2], ow = o / w.out.d[2] % w.out.d[1];
        const int oh = o / (w.out.d[2] * w.out.d[1]);
        const float *from = x + (size_t)row * n_in;
        int h0, h1, w0, w1;
        side(oh, w.in.d[0], w.out.d[0], w.adaptive, w.kernel_h, w.stride_h, w.pad_h, &h0, &h1);
        side(ow, w.in.d[1], w.out.d[1], w.adaptive, w.kernel_w, w.stride_w, w.pad_w, &w0, &w1);
        int best = (h0 * w.in.d[1] + w0) * w.in.d[2] + ch;
        for (int h = h0; h < h1; h++)
            for (int c = w0; c < w1; c++) {
                const int at = (h * w.in.d[1] + c) * w.in.d[2] + ch;
                if (from[at] > from[best] || isnan(from[at]))
                    best = at;
            }
        y[e] = from[best];
        if (saved)
            saved[e] = best;
    }
}

static __global__ void backward(struct lanes l, struct windows w, const float *dy,
                                const int32_t *saved, float *dx, bool add)
{
    const int k = blockIdx.y;
    const uint32_t n_in = w.in.d[0] * w.in.d[1] * w.in.d[2];
    const uint32_t n_out = w.out.d[0] * w.out.d[1] * w.out.d[2];
    const size_t n = (size_t)l.model[k].n_valid * n_in;
    dy = part(dy, l.lane, k);
    saved = part(saved, l.lane, k);
    dx = part(dx, l.lane, k);
    FOR_ELEMENTS(e, n)
    {
        const uint32_t row = (uint32_t)(e / n_in), i = (uint32_t)(e % n_in);
        const int ch = i % w.in.d[2], x = i / w.in.d[2] % w.in.d[1];
        const int h = i / (w.in.d[2] * w.in.d[1]);
        int h0, h1, w0, w1;
        holders(h, w.in.d[0], w.out.d[0], w.adaptive, w.kernel_h, w.stride_h, w.pad_h, &h0, &h1);
        holders(x, w.in.d[1], w.out.d[1], w.adaptive, w.kernel_w, w.stride_w, w.pad_w, &w0, &w1);
        float sum = 0;
        for (int oh = h0; oh < h1; oh++)
            for (int ow = w0; ow < w1; ow++) {
                const size_t o =
                    (size_t)row * n_out + ((size_t)oh * w.out.d[1] + ow) * w.out.d[2] + ch;
                if (saved[o] == (int32_t)i)
                    sum += dy[o];
            }
        put(&dx[e], add, sum);
    }
}

static void launch_forward(const struct cuda_call *c)
{
    forward<<<grid_over(c, count_of(c->step->out) * c->batch), BLOCK, 0, c->stream>>>(
        lanes_of(c), windows_of(c), c->x[0], c->y, c->saved);
}

static void launch_backward(const struct cuda_call *c)
{
    if (c->dx[0])
        backward<<<grid_over(c, count_of(c->step->in[0]) * c->batch), BLOCK, 0, c->stream>>>(
            lanes_of(c), windows_of(c), c->dy, c->saved, c->dx[0], adds_dx(c, 0));
}

const struct cuda_kernel cuda_max_pool_kernels[] = {
    {STEP_FORWARD, OP_MAX_POOL2D, "cuda max_pool2d", launch_forward, NULL},
    {STEP_BACKWARD, OP_MAX_POOL2D, "cuda max_pool2d", launch_backward, NULL},
    {STEP_FORWARD, OP_ADAPTIVE_MAX_POOL2D, "cuda adaptive_max_pool2d", launch_forward, NULL},
    {STEP_BACKWARD, OP_ADAPTIVE_MAX_POOL2D, "cuda adaptive_max_pool2d", launch_backward, NULL},
    {}};
