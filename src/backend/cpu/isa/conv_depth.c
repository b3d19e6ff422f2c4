/* Depthwise convolution: every channel by itself, so vectors run along channels.  Taps that fall
 * outside the image are skipped, nothing is padded. */
#include "backend/cpu/isa/conv.h"

#include "backend/cpu/isa/columns.h"

static bool fits(const struct plan_step *s, enum conv_pass pass)
{
    (void)pass;
    return s->attr.groups > 1 && s->attr.groups == s->in[0].d[2] && s->attr.groups == s->out.d[2];
}

/* Taps [from, to) of a kernel whose first one lies at `at` and which fall inside [0, limit). */
static void taps_inside(int32_t at, int32_t kernel, int32_t dilation, int32_t limit, int32_t *from,
                        int32_t *to)
{
    *from = at < 0 ? (-at + dilation - 1) / dilation : 0;
    *to = at >= limit ? 0 : (limit - 1 - at) / dilation + 1;
    if (*to > kernel)
        *to = kernel;
    if (*from > *to)
        *from = *to;
}

/* What all passes walk over: an output pixel of a row, and the taps it sees. */
struct place {
    int32_t h, w;           /* input pixel of the first tap, inside or not */
    int32_t h0, h1, w0, w1; /* taps */
};

static struct place place_at(const struct plan_step *s, int32_t oh, int32_t ow)
{
    const struct op_attr *a = &s->attr;
    struct place p = {.h = oh * a->stride_h - a->pad_h, .w = ow * a->stride_w - a->pad_w};
    taps_inside(p.h, a->kernel_h, a->dilation_h, s->in[0].d[0], &p.h0, &p.h1);
    taps_inside(p.w, a->kernel_w, a->dilation_w, s->in[0].d[1], &p.w0, &p.w1);
    return p;
}

/* Element of the input that tap (kh, kw) of a place sees, and of the weights. */
static ptrdiff_t input_at(const struct plan_step *s, const struct place *p, int32_t kh, int32_t kw)
{
    const int32_t h = p->h + kh * s->attr.dilation_h, w = p->w + kw * s->attr.dilation_w;
    return ((ptrdiff_t)h * s->in[0].d[1] + w) * s->in[0].d[2];
}

static ptrdiff_t weight_at(const struct plan_step *s, int32_t kh, int32_t kw)
{
    return ((ptrdiff_t)kh * s->attr.kernel_w + kw) * s->out.d[2];
}

ALWAYS_INLINE vf place_sum(const struct op_call *c, const struct place *p, const float *x,
                           int32_t ch, struct columns k)
{
    const struct plan_step *s = c->step;
    const int32_t step = s->attr.dilation_w * s->in[0].d[2], channels = s->out.d[2];
    vf sum = c->param[1] ? columns_load(c->param[1] + ch, k) : v_zero();
    for (int32_t kh = p->h0; kh < p->h1; kh++) {
        const float *from = x + input_at(s, p, kh, p->w0) + ch;
        const float *weight = c->param[0] + weight_at(s, kh, p->w0) + ch;
        for (int32_t kw = p->w0; kw < p->w1; kw++, from += step, weight += channels)
            sum = v_fma(columns_load(from, k), columns_load(weight, k), sum);
    }
    return c->relu ? v_relu(sum) : sum;
}

static void forward(const struct op_call *c)
{
    const struct plan_step *s = c->step;
    const int32_t channels = s->out.d[2], whole = channels / VW * VW;
    const struct columns full = columns_from(0, VW), rest = columns_from(whole, channels);
    float *y = c->y;
    for (int32_t r = 0; r < c->rows; r++) {
        const float *x = c->x + (size_t)r * shape_count(s->in[0]);
        for (int32_t oh = 0; oh < s->out.d[0]; oh++)
            for (int32_t ow = 0; ow < s->out.d[1]; ow++, y += channels) {
                const struct place p = place_at(s, oh, ow);
                for (int32_t ch = 0; ch < whole; ch += VW)
                    v_store(y + ch, place_sum(c, &p, x, ch, full));
                if (whole < channels)
                    columns_store(y + whole, place_sum(c, &p, x, whole, rest), rest);
            }
    }
}

/* dx of VW channels at one output pixel. */
ALWAYS_INLINE void give_place(const struct op_call *c, const struct place *p, const float *dy,
                              float *dx, int32_t ch, struct columns k)
{
    const struct plan_step *s = c->step;
    const int32_t step = s->attr.dilation_w * s->in[0].d[2], channels = s->out.d[2];
    const vf d = columns_load(dy + ch, k);
    for (int32_t kh = p->h0; kh < p->h1; kh++) {
        float *to = dx + input_at(s, p, kh, p->w0) + ch;
        const float *weight = c->param[0] + weight_at(s, kh, p->w0) + ch;
        for (int32_t kw = p->w0; kw < p->w1; kw++, to += step, weight += channels)
            columns_store(to, v_fma(d, columns_load(weight, k), columns_load(to, k)), k);
    }
}

static void data_gradient(const struct op_call *c)
{
    const struct plan_step *s = c->step;
    const int32_t channels = s->out.d[2], whole = channels / VW * VW;
    const struct columns full = columns_from(0, VW), rest = columns_from(whole, channels);
    const size_t n_in = shape_count(s->in[0]);
    const float *dy = c->dy;
    for (int32_t r = 0; r < c->rows; r++) {
        float *dx = c->dx + (size_t)r * n_in;
        if (!c->add_dx)
            memset(dx, 0, n_in * sizeof *dx);
        for (int32_t oh = 0; oh < s->out.d[0]; oh++)
            for (int32_t ow = 0; ow < s->out.d[1]; ow++, dy += channels) {
                const struct place p = place_at(s, oh, ow);
                for (int32_t ch = 0; ch < whole; ch += VW)
                    give_place(c, &p, dy, dx, ch, full);
                if (whole < channels)
                    give_place(c, &p, dy, dx, whole, rest);
            }
    }
}

/* ---- the weight gradient: a sum a row of the batch, rows added ---- */

#define SIDE 8 /* taps of a line whose sums stay in registers */

/* Taps [first, first + n) of line kh, of one row. */
ALWAYS_INLINE void line_gradient(const struct op_call *c, int32_t r, int32_t kh, int32_t first,
                                 int32_t n, int32_t ch, struct columns k, vf sum[SIDE])
{
    const struct plan_step *s = c->step;
    const struct op_attr *a = &s->attr;
    const int32_t channels = s->out.d[2], width = s->in[0].d[1];
    const float *x = c->x + (size_t)r * shape_count(s->in[0]) + ch;
    const float *dy = c->dy + (size_t)r * shape_count(s->out) + ch;
    for (int i = 0; i < n; i++)
        sum[i] = v_zero();
    for (int32_t oh = 0; oh < s->out.d[0]; oh++) {
        const int32_t h = oh * a->stride_h - a->pad_h + kh * a->dilation_h;
        if (h < 0 || h >= s->in[0].d[0])
            continue;
        for (int32_t ow = 0; ow < s->out.d[1]; ow++) {
            const vf d = columns_load(dy + ((ptrdiff_t)oh * s->out.d[1] + ow) * channels, k);
            const int32_t w = ow * a->stride_w - a->pad_w + first * a->dilation_w;
            const float *from = x + ((ptrdiff_t)h * width + w) * channels;
            for (int i = 0; i < n; i++) {
                const int32_t at = w + i * a->dilation_w;
                if (at >= 0 && at < width)
                    sum[i] = v_fma(
                        d, columns_load(from + (ptrdiff_t)i * a->dilation_w * channels, k), sum[i]);
            }
        }
    }
}

static void weight_columns(const struct op_call *c, int32_t kh, int32_t first, int32_t n,
                           int32_t ch, struct columns k)
{
    const struct plan_step *s = c->step;
    float *grad = c->grad[0] + weight_at(s, kh, first) + ch;
    vf sum[SIDE], total[SIDE];
    for (int i = 0; i < n; i++)
        total[i] = c->add_grad & 1 ? columns_load(grad + (ptrdiff_t)i * s->out.d[2], k) : v_zero();
    for (int32_t r = 0; r < c->rows; r++) {
        if (n == 3)
            line_gradient(c, r, kh, first, 3, ch, k, sum);
        else if (n == 5)
            line_gradient(c, r, kh, first, 5, ch, k, sum);
        else
            line_gradient(c, r, kh, first, n, ch, k, sum);
        for (int i = 0; i < n; i++)
            total[i] = v_add(total[i], sum[i]);
    }
    for (int i = 0; i < n; i++)
        columns_store(grad + (ptrdiff_t)i * s->out.d[2], total[i], k);
}

/* Rows of the weights are taps. */
static void weight_gradient(const struct op_call *c)
{
    const int32_t width = c->step->attr.kernel_w, channels = c->step->out.d[2];
    int32_t from, to;
    conv_part(c, &from, &to);
    for (int32_t t = from, n; t < to; t += n) {
        n = width - t % width < to - t ? width - t % width : to - t;
        n = n < SIDE ? n : SIDE;
        for (int32_t ch = 0; ch < channels; ch += VW) {
            const struct columns k = columns_from(ch, channels);
            weight_columns(c, t / width, t % width, n, ch, k);
        }
    }
}

const struct conv_way ISA_FN(conv_depthwise) = {
    fits,
    {forward, data_gradient, weight_gradient},
    {NULL, NULL, NULL},
};
