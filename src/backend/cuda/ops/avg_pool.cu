/* Average pooling, sliding and adaptive windows; back as max_pool.cu. */
#include "backend/cuda/ops/windows.cuh"

/* What the sum of output (oh, ow) is divided by. */
static __device__ __forceinline__ float divisor(const struct windows &w, bool with_pad, int h0,
                                                int h1, int w0, int w1)
{
    return with_pad && !w.adaptive ? (float)(w.kernel_h * w.kernel_w)
                                   : (float)((h1 - h0) * (w1 - w0));
}

static __global__ void forward(struct lanes l, struct windows w, bool with_pad, const float *x,
                               float *y)
{
    const int k = blockIdx.y;
    const uint32_t n_in = w.in.d[0] * w.in.d[1] * w.in.d[2];
    const uint32_t n_out = w.out.d[0] * w.out.d[1] * w.out.d[2];
    const size_t n = (size_t)l.model[k].n_valid * n_out;
    x = part(x, l.lane, k);
    y = part(y, l.lane, k);
    FOR_ELEMENTS(e, n)
    {
        const uint32_t row = (uint32_t)(e / n_out), o = (uint32_t)(e % n_out);
        const int ch = o % w.out.d[2], ow = o / w.out.d[2] % w.out.d[1];
        const int oh = o / (w.out.d[2] * w.out.d[1]);
        const float *from = x + (size_t)row * n_in + ch;
        int h0, h1, w0, w1;
        side(oh, w.in.d[0], w.out.d[0], w.adaptive, w.kernel_h, w.stride_h, w.pad_h, &h0, &h1);
        side(ow, w.in.d[1], w.out.d[1], w.adaptive, w.kernel_w, w.stride_w, w.pad_w, &w0, &w1);
        float sum = 0;
        for (int h = h0; h < h1; h++)
            for (int c = w0; c < w1; c++)
                sum += from[(size_t)(h * w.in.d[1] + c) * w.in.d[2]];
        y[e] = sum / divisor(w, with_pad, h0, h1, w0, w1);
    }
}

static __global__ void backward(struct lanes l, struct windows w, bool with_pad, const float *dy,
                                float *dx, bool add)
{
    const int k = blockIdx.y;
    const uint32_t n_in = w.in.d[0] * w.in.d[1] * w.in.d[2];
    const uint32_t n_out = w.out.d[0] * w.out.d[1] * w.out.d[2];
    const size_t n = (size_t)l.model[k].n_valid * n_in;
    dy = part(dy, l.lane, k);
    dx = part(dx, l.lane, k);
    FOR_ELEMENTS(e, n)
    {
        const uint32_t row = (uint32_t)(e / n_in), i = (uint32_t)(e % n_in);
        const int ch = i % w.in.d[2], x = i / w.in.d[2] % w.in.d[1];
        const int h = i / (w.in.d[2] * w.in.d[1]);
        int oh0, oh1, ow0, ow1;
        holders(h, w.in.d[0], w.out.d[0], w.adaptive, w.kernel_h, w.stride_h, w.pad_h, &oh0, &oh1);
        holders(x, w.in.d[1], w.out.d[1], w.adaptive, w.kernel_w, w.stride_w, w.pad_w, &ow0, &ow1);
        float sum = 0;
        for (int oh = oh0; oh < oh1; oh++)
            for (int ow = ow0; ow < ow1; ow++) {
                int h0, h1, w0, w1;
                side(oh, w.in.d[0], w.out.d[0], w.adaptive, w.kernel_h, w.stride_h, w.pad_h, &h0,
                     &h1);
                side(ow, w.in.d[1], w.out.d[1], w.adaptive, w.kernel_w, w.stride_w, w.pad_w, &w0,
                     &w1);
                if (h < h0 || h >= h1 || x < w0 || x >= w1)
                    continue;
                sum += dy[(size_t)row * n_out + ((size_t)oh * w.out.d[1] + ow) * w.out.d[2] + ch] /
                       divisor(w, with_pad, h0, h1, w0, w1);
            }
        put(&dx[e], add, sum);
    }
}

static void launch_forward(const struct cuda_call *c)
{
    forward<<<grid_over(c, count_of(c->step->out) * c->batch), BLOCK, 0, c->stream>>>(
        lanes_of(c), windows_of(c), c->step->attr.count_include_pad, c->x[0], c->y);
}

static void launch_backward(const struct cuda_call *c)
{
    if (c->dx[0])
        backward<<<grid_over(c, count_of(c->step->in[0]) * c->batch), BLOCK, 0, c->stream>>>(
            lanes_of(c), windows_of(c), c->step->attr.count_include_pad, c->dy, c->dx[0],
            adds_dx(c, 0));
}

const struct cuda_kernel cuda_avg_pool_kernels[] = {
    {STEP_FORWARD, OP_AVG_POOL2D, "cuda avg_pool2d", launch_forward, NULL},
    {STEP_BACKWARD, OP_AVG_POOL2D, "cuda avg_pool2d", launch_backward, NULL},
    {STEP_FORWARD, OP_ADAPTIVE_AVG_POOL2D, "cuda adaptive_avg_pool2d", launch_forward, NULL},
    {STEP_BACKWARD, OP_ADAPTIVE_AVG_POOL2D, "cuda adaptive_avg_pool2d", launch_backward, NULL},
    {}};
