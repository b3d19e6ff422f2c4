/* Max pooling, channels side by side.  Ties and order as the reference: the first maximum wins, the
 * last that is not a number wins over all. */
#include "backend/cpu/isa/kernels.h"

static void window_clip(int32_t start, int32_t kernel, int32_t limit, int32_t *from, int32_t *to)
{
    *from = start < 0 ? 0 : start;
    *to = start + kernel > limit ? limit : start + kernel;
}

/* Pixels [h0, h1) x [w0, w1) of the image that a window sees. */
struct window {
    int32_t h0, h1, w0, w1;
};

static struct window window_at(const struct plan_step *s, int32_t oh, int32_t ow)
{
    const struct op_attr *a = &s->attr;
    struct window w;
    window_clip(oh * a->stride_h - a->pad_h, a->kernel_h, s->in[0].d[0], &w.h0, &w.h1);
    window_clip(ow * a->stride_w - a->pad_w, a->kernel_w, s->in[0].d[1], &w.w0, &w.w1);
    return w;
}

/* The maximum of a window for VW channels from ch on, or the first of them, with its index within
 * the row's input. */
ALWAYS_INLINE void take_channels(const struct plan_step *s, const float *x, const struct window *w,
                                 int32_t ch, const bool whole, vm mask, float *y, float *saved)
{
    const int32_t width = s->in[0].d[1], channels = s->in[0].d[2];
    const int32_t first = (w->h0 * width + w->w0) * channels + ch;
    vf best = whole ? v_load(x + first) : v_load_m(x + first, mask);
    vf index = v_index(first);
    for (int32_t h = w->h0; h < w->h1; h++)
        for (int32_t col = w->w0; col < w->w1; col++) {
            const int32_t at = (h * width + col) * channels + ch;
            v_take_larger(whole ? v_load(x + at) : v_load_m(x + at, mask), v_index(at), &best,
                          &index);
        }
    if (whole) {
        v_store(y + ch, best);
        v_store(saved + ch, index);
    } else {
        v_store_m(y + ch, best, mask);
        v_store_m(saved + ch, index, mask);
    }
}

static void take_window(const struct plan_step *s, const float *x, int32_t oh, int32_t ow, float *y,
                        float *saved)
{
    const int32_t channels = s->in[0].d[2], whole = channels / VW * VW;
    const struct window w = window_at(s, oh, ow);
    for (int32_t ch = 0; ch < whole; ch += VW)
        take_channels(s, x, &w, ch, true, v_first(VW - 1), y, saved);
    if (whole < channels)
        take_channels(s, x, &w, whole, false, v_first(channels - whole), y, saved);
}

static void forward(const struct op_call *c)
{
    const struct shape in = c->step->in[0], out = c->step->out;
    const size_t n_in = shape_count(in), n_out = shape_count(out), channels = (size_t)in.d[2];
    for (int32_t r = 0; r < c->rows; r++) {
        float *y = c->y + (size_t)r * n_out;
        /* Evaluation keeps no indices: they go to one pixel's worth of scratch. */
        float *saved = c->saved ? (float *)c->saved + (size_t)r * n_out : c->scratch;
        for (int32_t oh = 0; oh < out.d[0]; oh++)
            for (int32_t ow = 0; ow < out.d[1]; ow++, y += channels) {
                take_window(c->step, c->x + (size_t)r * n_in, oh, ow, y, saved);
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

static void give_window(const struct plan_step *s, int32_t oh, int32_t ow, const float *dy,
                        const float *saved, float *dx)
{
    const struct op_attr *a = &s->attr;
    const int32_t width = s->in[0].d[1], channels = s->in[0].d[2];
    const int32_t whole = channels / VW * VW;
    const vm rest = v_first(whole < channels ? channels - whole : VW - 1);
    for (int32_t kh = 0; kh < a->kernel_h; kh++)
        for (int32_t kw = 0; kw < a->kernel_w; kw++) {
            const int32_t at = ((oh * a->kernel_h + kh) * width + ow * a->kernel_w + kw) * channels;
            for (int32_t ch = 0; ch < whole; ch += VW)
                v_store(dx + at + ch,
                        v_where_same(v_load(saved + ch), v_index(at + ch), v_load(dy + ch)));
            if (whole < channels)
                v_store_m(dx + at + whole,
                          v_where_same(v_load_m(saved + whole, rest), v_index(at + whole),
                                       v_load_m(dy + whole, rest)),
                          rest);
        }
}

static void backward(const struct op_call *c)
{
    const struct shape out = c->step->out;
    const size_t n_in = shape_count(c->step->in[0]), n_out = shape_count(out);
    const size_t channels = (size_t)out.d[2];
    const float *dy = c->dy;
    if (!c->add_dx && is_tiling(c->step)) {
        const float *saved = (const float *)c->saved;
        for (int32_t r = 0; r < c->rows; r++)
            for (int32_t oh = 0; oh < out.d[0]; oh++)
                for (int32_t ow = 0; ow < out.d[1]; ow++, dy += channels, saved += channels)
                    give_window(c->step, oh, ow, dy, saved, c->dx + (size_t)r * n_in);
        return;
    }
    if (!c->add_dx)
        memset(c->dx, 0, (size_t)c->rows * n_in * sizeof(float));
    for (int32_t r = 0; r < c->rows; r++) {
        float *dx = c->dx + (size_t)r * n_in;
        for (size_t i = 0; i < n_out; i++)
            dx[c->saved[(size_t)r * n_out + i]] += dy[(size_t)r * n_out + i];
    }
}

const struct cpu_kernel ISA_FN(pool_kernels)[] = {
    {STEP_FORWARD, OP_MAX_POOL2D, "max_pool2d", forward, forward_scratch, false},
    {STEP_BACKWARD, OP_MAX_POOL2D, "max_pool2d", backward, NULL, false},
    {0},
};
