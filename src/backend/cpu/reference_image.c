/* Plain kernels: average and adaptive pooling, concatenation, channel mean and maximum. */
#include "backend/cpu/reference.h"

#include <math.h>
#include <string.h>

/* ---- average and adaptive pooling ---- */

/* Pixels [h0, h1) x [w0, w1) of the image that an output pixel looks at; `count` divides their sum.
 */
struct window {
    int32_t h0, h1, w0, w1;
    REAL count;
};

static int32_t clip(int32_t x, int32_t limit)
{
    return x < 0 ? 0 : x > limit ? limit : x;
}

static struct window sliding_window(const struct CALL *c, int32_t oh, int32_t ow)
{
    const struct op_attr *a = &c->step->attr;
    const struct shape in = c->step->in[0];
    const int32_t h = oh * a->stride_h - a->pad_h, w = ow * a->stride_w - a->pad_w;
    struct window win = {clip(h, in.d[0]), clip(h + a->kernel_h, in.d[0]), clip(w, in.d[1]),
                         clip(w + a->kernel_w, in.d[1]), (REAL)(a->kernel_h * a->kernel_w)};
    if (!a->count_include_pad)
        win.count = (REAL)((win.h1 - win.h0) * (win.w1 - win.w0));
    return win;
}

static struct window adaptive_window(const struct CALL *c, int32_t oh, int32_t ow)
{
    const int64_t h = c->step->in[0].d[0], w = c->step->in[0].d[1];
    const int64_t out_h = c->step->out.d[0], out_w = c->step->out.d[1];
    struct window win = {(int32_t)(oh * h / out_h), (int32_t)(((oh + 1) * h + out_h - 1) / out_h),
                         (int32_t)(ow * w / out_w), (int32_t)(((ow + 1) * w + out_w - 1) / out_w),
                         0};
    win.count = (REAL)((win.h1 - win.h0) * (win.w1 - win.w0));
    return win;
}

typedef struct window (*window_fn)(const struct CALL *c, int32_t oh, int32_t ow);
/* x, dx: the row's image; at: channel `ch` of the window; o: the output element of the shard. */
typedef void (*pool_fn)(const struct CALL *c, int32_t row, struct window win, int32_t ch, size_t o);

static void pool_each(const struct CALL *c, window_fn window, pool_fn fn)
{
    const struct shape out = c->step->out;
    size_t o = 0;
    for (int32_t r = 0; r < c->rows; r++)
        for (int32_t oh = 0; oh < out.d[0]; oh++)
            for (int32_t ow = 0; ow < out.d[1]; ow++)
                for (int32_t ch = 0; ch < out.d[2]; ch++, o++)
                    fn(c, r, window(c, oh, ow), ch, o);
}

static size_t pixel(const struct CALL *c, int32_t h, int32_t w, int32_t ch)
{
    const struct shape in = c->step->in[0];
    return ((size_t)h * (size_t)in.d[1] + (size_t)w) * (size_t)in.d[2] + (size_t)ch;
}

static void take_mean(const struct CALL *c, int32_t row, struct window win, int32_t ch, size_t o)
{
    const REAL *x = c->x + (size_t)row * shape_count(c->step->in[0]);
    REAL sum = 0;
    for (int32_t h = win.h0; h < win.h1; h++)
        for (int32_t w = win.w0; w < win.w1; w++)
            sum += x[pixel(c, h, w, ch)];
    c->y[o] = sum / win.count;
}

static void give_mean(const struct CALL *c, int32_t row, struct window win, int32_t ch, size_t o)
{
    REAL *dx = c->dx + (size_t)row * shape_count(c->step->in[0]);
    for (int32_t h = win.h0; h < win.h1; h++)
        for (int32_t w = win.w0; w < win.w1; w++)
            dx[pixel(c, h, w, ch)] += c->dy[o] / win.count;
}

static void take_maximum(const struct CALL *c, int32_t row, struct window win, int32_t ch, size_t o)
{
    const REAL *x = c->x + (size_t)row * shape_count(c->step->in[0]);
    size_t best = pixel(c, win.h0, win.w0, ch);
    for (int32_t h = win.h0; h < win.h1; h++)
        for (int32_t w = win.w0; w < win.w1; w++) {
            const size_t at = pixel(c, h, w, ch);
            if (x[at] > x[best] || isnan(x[at]))
                best = at;
        }
    c->y[o] = x[best];
    if (c->saved)
        c->saved[o] = (int32_t)best;
}

static void start_gradient(const struct CALL *c)
{
    if (!c->add_dx)
        memset(c->dx, 0, (size_t)c->rows * shape_count(c->step->in[0]) * sizeof(REAL));
}

static void avg_pool_forward(const struct CALL *c)
{
    pool_each(c, sliding_window, take_mean);
}

static void avg_pool_backward(const struct CALL *c)
{
    start_gradient(c);
    pool_each(c, sliding_window, give_mean);
}

static void adaptive_avg_forward(const struct CALL *c)
{
    pool_each(c, adaptive_window, take_mean);
}

static void adaptive_avg_backward(const struct CALL *c)
{
    start_gradient(c);
    pool_each(c, adaptive_window, give_mean);
}

static void adaptive_max_forward(const struct CALL *c)
{
    pool_each(c, adaptive_window, take_maximum);
}

static void adaptive_max_backward(const struct CALL *c)
{
    const size_t n_in = shape_count(c->step->in[0]), n_out = shape_count(c->step->out);
    start_gradient(c);
    for (size_t o = 0; o < (size_t)c->rows * n_out; o++)
        c->dx[o / n_out * n_in + (size_t)c->saved[o]] += c->dy[o];
}

/* ---- concatenation along the last dimension ---- */

static void concatenate_forward(const struct CALL *c)
{
    const size_t out = (size_t)last_of(c->step->out);
    const size_t n = (size_t)c->rows * shape_count(c->step->out) / out;
    size_t first = 0;
    for (int i = 0; i < inputs_of(c); i++) {
        const size_t d = (size_t)last_of(c->step->in[i]);
        for (size_t v = 0; v < n; v++)
            memcpy(c->y + v * out + first, input_of(c, i) + v * d, d * sizeof(REAL));
        first += d;
    }
}

static void concatenate_backward(const struct CALL *c)
{
    const size_t out = (size_t)last_of(c->step->out);
    const size_t n = (size_t)c->rows * shape_count(c->step->out) / out;
    size_t first = 0;
    for (int i = 0; i < inputs_of(c); i++) {
        const size_t d = (size_t)last_of(c->step->in[i]);
        REAL *dx = gradient_of(c, i);
        for (size_t e = 0; dx && e < n * d; e++)
            put(&dx[e], adds_to(c, i), c->dy[e / d * out + first + e % d]);
        first += d;
    }
}

/* ---- channel mean and maximum; saved: the channel of the maximum ---- */

static void mean_max_forward(const struct CALL *c)
{
    const int32_t channels = c->step->in[0].d[2];
    const size_t n = (size_t)c->rows * shape_count(c->step->out) / 2;
    for (size_t p = 0; p < n; p++) {
        const REAL *x = c->x + p * (size_t)channels;
        REAL sum = 0;
        int32_t best = 0;
        for (int32_t ch = 0; ch < channels; ch++) {
            sum += x[ch];
            if (x[ch] > x[best] || isnan(x[ch]))
                best = ch;
        }
        c->y[2 * p] = sum / (REAL)channels;
        c->y[2 * p + 1] = x[best];
        if (c->saved)
            c->saved[p] = best;
    }
}

static void mean_max_backward(const struct CALL *c)
{
    const int32_t channels = c->step->in[0].d[2];
    const size_t n = (size_t)c->rows * shape_count(c->step->out) / 2;
    for (size_t p = 0; p < n; p++)
        for (int32_t ch = 0; ch < channels; ch++) {
            const REAL mean = c->dy[2 * p] / (REAL)channels;
            put(&c->dx[p * (size_t)channels + (size_t)ch], c->add_dx,
                ch == c->saved[p] ? mean + c->dy[2 * p + 1] : mean);
        }
}

const struct KERNEL REFERENCE(image)[] = {
    {STEP_FORWARD, OP_AVG_POOL2D, "reference avg_pool2d", avg_pool_forward, NULL, false},
    {STEP_BACKWARD, OP_AVG_POOL2D, "reference avg_pool2d", avg_pool_backward, NULL, false},
    {STEP_FORWARD, OP_ADAPTIVE_AVG_POOL2D, "reference adaptive_avg_pool2d", adaptive_avg_forward,
     NULL, false},
    {STEP_BACKWARD, OP_ADAPTIVE_AVG_POOL2D, "reference adaptive_avg_pool2d", adaptive_avg_backward,
     NULL, false},
    {STEP_FORWARD, OP_ADAPTIVE_MAX_POOL2D, "reference adaptive_max_pool2d", adaptive_max_forward,
     NULL, false},
    {STEP_BACKWARD, OP_ADAPTIVE_MAX_POOL2D, "reference adaptive_max_pool2d", adaptive_max_backward,
     NULL, false},
    {STEP_FORWARD, OP_CONCATENATE, "reference concatenate", concatenate_forward, NULL, false},
    {STEP_BACKWARD, OP_CONCATENATE, "reference concatenate", concatenate_backward, NULL, false},
    {STEP_FORWARD, OP_CHANNEL_MEAN_MAX, "reference channel_mean_max", mean_max_forward, NULL,
     false},
    {STEP_BACKWARD, OP_CHANNEL_MEAN_MAX, "reference channel_mean_max", mean_max_backward, NULL,
     false},
    {0},
};
