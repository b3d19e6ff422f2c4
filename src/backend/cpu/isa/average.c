/* Average and adaptive pooling, mean and maximum over channels: loops over channels that lie side
 * by side. */
#include "backend/cpu/isa/kernels.h"

/* Pixels [h0, h1) x [w0, w1) of the image that an output pixel looks at; their mean is the sum
 * times inv_count. */
struct window {
    int32_t h0, h1, w0, w1;
    float inv_count;
};

static int32_t clip(int32_t x, int32_t limit)
{
    return x < 0 ? 0 : x > limit ? limit : x;
}

static struct window window_at(const struct plan_step *s, int32_t oh, int32_t ow)
{
    const struct op_attr *a = &s->attr;
    const int32_t height = s->in[0].d[0], width = s->in[0].d[1];
    struct window win;
    if (s->op == OP_AVG_POOL2D) {
        const int32_t h = oh * a->stride_h - a->pad_h, w = ow * a->stride_w - a->pad_w;
        win = (struct window){clip(h, height), clip(h + a->kernel_h, height), clip(w, width),
                              clip(w + a->kernel_w, width), 0};
    } else {
        const int64_t out_h = s->out.d[0], out_w = s->out.d[1];
        win = (struct window){(int32_t)((int64_t)oh * height / out_h),
                              (int32_t)(((oh + 1) * (int64_t)height + out_h - 1) / out_h),
                              (int32_t)((int64_t)ow * width / out_w),
                              (int32_t)(((ow + 1) * (int64_t)width + out_w - 1) / out_w), 0};
    }
    const bool padded = s->op == OP_AVG_POOL2D && a->count_include_pad;
    win.inv_count =
        1.0f / (float)(padded ? a->kernel_h * a->kernel_w : (win.h1 - win.h0) * (win.w1 - win.w0));
    return win;
}

static void take_mean(const struct plan_step *s, const float *x, struct window win, float *y)
{
    const int32_t channels = s->in[0].d[2];
    memset(y, 0, (size_t)channels * sizeof *y);
    for (int32_t h = win.h0; h < win.h1; h++)
        for (int32_t w = win.w0; w < win.w1; w++) {
            const float *from = x + ((ptrdiff_t)h * s->in[0].d[1] + w) * channels;
            for (int32_t ch = 0; ch < channels; ch++)
                y[ch] += from[ch];
        }
    for (int32_t ch = 0; ch < channels; ch++)
        y[ch] *= win.inv_count;
}

static void mean_forward(const struct op_call *c)
{
    const struct plan_step *s = c->step;
    float *y = c->y;
    for (int32_t r = 0; r < c->rows; r++)
        for (int32_t oh = 0; oh < s->out.d[0]; oh++)
            for (int32_t ow = 0; ow < s->out.d[1]; ow++, y += s->out.d[2])
                take_mean(s, c->x + (size_t)r * shape_count(s->in[0]), window_at(s, oh, ow), y);
}

static void give_mean(const struct plan_step *s, const float *dy, struct window win, float *dx)
{
    const int32_t channels = s->in[0].d[2];
    for (int32_t h = win.h0; h < win.h1; h++)
        for (int32_t w = win.w0; w < win.w1; w++) {
            float *to = dx + ((ptrdiff_t)h * s->in[0].d[1] + w) * channels;
            for (int32_t ch = 0; ch < channels; ch++)
                to[ch] += dy[ch] * win.inv_count;
        }
}

static void start_gradient(const struct op_call *c)
{
    if (!c->add_dx)
        memset(c->dx, 0, (size_t)c->rows * shape_count(c->step->in[0]) * sizeof *c->dx);
}

static void mean_backward(const struct op_call *c)
{
    const struct plan_step *s = c->step;
    const float *dy = c->dy;
    start_gradient(c);
    for (int32_t r = 0; r < c->rows; r++)
        for (int32_t oh = 0; oh < s->out.d[0]; oh++)
            for (int32_t ow = 0; ow < s->out.d[1]; ow++, dy += s->out.d[2])
                give_mean(s, dy, window_at(s, oh, ow), c->dx + (size_t)r * shape_count(s->in[0]));
}

/* ---- adaptive maximum; saved: index within the row's input ---- */

static void take_maximum(const struct plan_step *s, const float *x, struct window win, float *y,
                         int32_t *saved)
{
    const int32_t channels = s->in[0].d[2], width = s->in[0].d[1];
    int32_t at = (win.h0 * width + win.w0) * channels;
    for (int32_t ch = 0; ch < channels; ch++) {
        y[ch] = x[at + ch];
        saved[ch] = at + ch;
    }
    for (int32_t h = win.h0; h < win.h1; h++)
        for (int32_t w = win.w0; w < win.w1; w++) {
            at = (h * width + w) * channels;
            for (int32_t ch = 0; ch < channels; ch++) {
                const float v = x[at + ch], best = y[ch];
                const int take = (v > best) | (v != v);
                y[ch] = take ? v : best;
                saved[ch] = take ? at + ch : saved[ch];
            }
        }
}

static void maximum_forward(const struct op_call *c)
{
    const struct plan_step *s = c->step;
    const int32_t channels = s->out.d[2];
    float *y = c->y;
    /* Evaluation keeps no indices: they go to one pixel's worth of scratch. */
    int32_t *saved = c->saved ? c->saved : (int32_t *)(void *)c->scratch;
    for (int32_t r = 0; r < c->rows; r++)
        for (int32_t oh = 0; oh < s->out.d[0]; oh++)
            for (int32_t ow = 0; ow < s->out.d[1]; ow++, y += channels) {
                take_maximum(s, c->x + (size_t)r * shape_count(s->in[0]), window_at(s, oh, ow), y,
                             saved);
                saved += c->saved ? channels : 0;
            }
}

static size_t maximum_scratch(const struct plan_step *step, int32_t rows_per_shard)
{
    (void)rows_per_shard;
    return (size_t)step->in[0].d[2];
}

static void maximum_backward(const struct op_call *c)
{
    const size_t n_in = shape_count(c->step->in[0]), n_out = shape_count(c->step->out);
    start_gradient(c);
    for (int32_t r = 0; r < c->rows; r++)
        for (size_t o = (size_t)r * n_out; o < (size_t)(r + 1) * n_out; o++)
            c->dx[(size_t)r * n_in + (size_t)c->saved[o]] += c->dy[o];
}

/* ---- mean and maximum over channels; saved: the channel of the maximum ---- */

#define LANES 16

/* The first maximum; the last that is not a number wins over all. */
static int32_t find_maximum(const float *x, int32_t n, float top, bool odd)
{
    int32_t best = 0;
    if (!odd)
        while (x[best] != top)
            best++;
    for (int32_t i = 0; odd && i < n; i++)
        if (x[i] > x[best] || x[i] != x[i])
            best = i;
    return best;
}

static void take_pixel(const float *x, int32_t n, float *y, int32_t *saved)
{
    float sums[LANES] = {0}, tops[LANES], sum = 0, top = x[0];
    int32_t i = 0;
    for (int k = 0; k < LANES; k++)
        tops[k] = top;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            sums[k] += x[i + k];
            tops[k] = x[i + k] > tops[k] ? x[i + k] : tops[k];
        }
    for (int k = 0; k < LANES; k++) {
        sum += sums[k];
        top = tops[k] > top ? tops[k] : top;
    }
    for (; i < n; i++) {
        sum += x[i];
        top = x[i] > top ? x[i] : top;
    }
    *saved = find_maximum(x, n, top, sum != sum);
    y[0] = sum / (float)n;
    y[1] = x[*saved];
}

static void mean_max_forward(const struct op_call *c)
{
    const int32_t channels = c->step->in[0].d[2];
    const size_t n = (size_t)c->rows * shape_count(c->step->out) / 2;
    int32_t unused;
    for (size_t p = 0; p < n; p++)
        take_pixel(c->x + p * (size_t)channels, channels, c->y + 2 * p,
                   c->saved ? c->saved + p : &unused);
}

static void mean_max_backward(const struct op_call *c)
{
    const int32_t channels = c->step->in[0].d[2];
    const size_t n = (size_t)c->rows * shape_count(c->step->out) / 2;
    for (size_t p = 0; p < n; p++) {
        float *dx = c->dx + p * (size_t)channels;
        const float mean = c->dy[2 * p] / (float)channels;
        for (int32_t ch = 0; ch < channels; ch++)
            dx[ch] = (c->add_dx ? dx[ch] : 0) + mean;
        dx[c->saved[p]] += c->dy[2 * p + 1];
    }
}

const struct cpu_kernel ISA_FN(average_kernels)[] = {
    {STEP_FORWARD, OP_AVG_POOL2D, "avg_pool2d", mean_forward, NULL, false},
    {STEP_BACKWARD, OP_AVG_POOL2D, "avg_pool2d", mean_backward, NULL, false},
    {STEP_FORWARD, OP_ADAPTIVE_AVG_POOL2D, "adaptive_avg_pool2d", mean_forward, NULL, false},
    {STEP_BACKWARD, OP_ADAPTIVE_AVG_POOL2D, "adaptive_avg_pool2d", mean_backward, NULL, false},
    {STEP_FORWARD, OP_ADAPTIVE_MAX_POOL2D, "adaptive_max_pool2d", maximum_forward, maximum_scratch,
     false},
    {STEP_BACKWARD, OP_ADAPTIVE_MAX_POOL2D, "adaptive_max_pool2d", maximum_backward, NULL, false},
    {STEP_FORWARD, OP_CHANNEL_MEAN_MAX, "channel_mean_max", mean_max_forward, NULL, false},
    {STEP_BACKWARD, OP_CHANNEL_MEAN_MAX, "channel_mean_max", mean_max_backward, NULL, false},
    {0},
};
