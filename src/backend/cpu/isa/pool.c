/* Max pooling, channels side by side.  Ties and order as the reference: the first maximum wins, the
 * last that is not a number wins over all. */
#include "backend/cpu/isa/kernels.h"

static void window_clip(int32_t start, int32_t kernel, int32_t limit, int32_t *from, int32_t *to)
{
    *from = start < 0 ? 0 : start;
    *to = start + kernel > limit ? limit : start + kernel;
}

/* The maximum of one window for all channels, with its index within the row's input. */
static void take_window(const struct op_call *c, const float *x, int32_t oh, int32_t ow, float *y,
                        int32_t *saved)
{
    const struct op_attr *a = &c->step->attr;
    const struct shape in = c->step->in[0];
    const int32_t channels = in.d[2];
    int32_t h0, h1, w0, w1;
    window_clip(oh * a->stride_h - a->pad_h, a->kernel_h, in.d[0], &h0, &h1);
    window_clip(ow * a->stride_w - a->pad_w, a->kernel_w, in.d[1], &w0, &w1);
    int32_t at = (h0 * in.d[1] + w0) * channels;
    for (int32_t ch = 0; ch < channels; ch++) {
        y[ch] = x[at + ch];
        saved[ch] = at + ch;
    }
    for (int32_t h = h0; h < h1; h++)
        for (int32_t w = w0; w < w1; w++) {
            at = (h * in.d[1] + w) * channels;
            for (int32_t ch = 0; ch < channels; ch++) {
                const float v = x[at + ch], best = y[ch];
                const int take = (v > best) | (v != v);
                y[ch] = take ? v : best;
                saved[ch] = take ? at + ch : saved[ch];
            }
        }
}

static void forward(const struct op_call *c)
{
    const struct shape in = c->step->in[0], out = c->step->out;
    const size_t n_in = shape_count(in), n_out = shape_count(out), channels = (size_t)in.d[2];
    for (int32_t r = 0; r < c->rows; r++) {
        float *y = c->y + (size_t)r * n_out;
        /* Evaluation keeps no indices: they go to one pixel's worth of scratch. */
        int32_t *saved = c->saved ? c->saved + (size_t)r * n_out : (int32_t *)c->scratch;
        for (int32_t oh = 0; oh < out.d[0]; oh++)
            for (int32_t ow = 0; ow < out.d[1]; ow++, y += channels) {
                take_window(c, c->x + (size_t)r * n_in, oh, ow, y, saved);
                saved += c->saved ? channels : 0;
            }
    }
}

static size_t forward_scratch(const struct plan_step *step, int32_t rows_per_shard)
{
    (void)rows_per_shard;
    return (size_t)step->in[0].d[2];
}

/* Windows that touch no pixel twice and leave none out: each gradient is written where it goes,
 * zero beside it. */
static bool is_tiling(const struct plan_step *s)
{
    const struct op_attr *a = &s->attr;
    return a->kernel_h == a->stride_h && a->kernel_w == a->stride_w && a->pad_h == 0 &&
           a->pad_w == 0 && s->out.d[0] * a->kernel_h == s->in[0].d[0] &&
           s->out.d[1] * a->kernel_w == s->in[0].d[1];
}

static void give_window(const struct op_call *c, int32_t oh, int32_t ow, const float *dy,
                        const int32_t *saved, float *dx)
{
    const struct op_attr *a = &c->step->attr;
    const int32_t width = c->step->in[0].d[1], channels = c->step->in[0].d[2];
    for (int32_t kh = 0; kh < a->kernel_h; kh++)
        for (int32_t kw = 0; kw < a->kernel_w; kw++) {
            const int32_t at = ((oh * a->kernel_h + kh) * width + ow * a->kernel_w + kw) * channels;
            for (int32_t ch = 0; ch < channels; ch++)
                dx[at + ch] = saved[ch] == at + ch ? dy[ch] : 0;
        }
}

static void backward(const struct op_call *c)
{
    const struct shape out = c->step->out;
    const size_t n_in = shape_count(c->step->in[0]), n_out = shape_count(out);
    const size_t channels = (size_t)out.d[2];
    const float *dy = c->dy;
    const int32_t *saved = c->saved;
    if (!c->add_dx && is_tiling(c->step)) {
        for (int32_t r = 0; r < c->rows; r++)
            for (int32_t oh = 0; oh < out.d[0]; oh++)
                for (int32_t ow = 0; ow < out.d[1]; ow++, dy += channels, saved += channels)
                    give_window(c, oh, ow, dy, saved, c->dx + (size_t)r * n_in);
        return;
    }
    if (!c->add_dx)
        memset(c->dx, 0, (size_t)c->rows * n_in * sizeof(float));
    for (int32_t r = 0; r < c->rows; r++) {
        float *dx = c->dx + (size_t)r * n_in;
        for (size_t i = 0; i < n_out; i++)
            dx[saved[(size_t)r * n_out + i]] += dy[(size_t)r * n_out + i];
    }
}

const struct cpu_kernel ISA_FN(pool_kernels)[] = {
    {STEP_FORWARD, OP_MAX_POOL2D, "max_pool2d", forward, forward_scratch, false},
    {STEP_BACKWARD, OP_MAX_POOL2D, "max_pool2d", backward, NULL, false},
    {0},
};
