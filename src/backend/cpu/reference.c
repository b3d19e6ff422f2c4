/* Plain kernels: convolutions, linear layers, batch norm, max pooling, losses, the batch. */
#include "backend/cpu/reference.h"

#include "backend/cpu/batch_norm.h"
#include "backend/cpu/gather.h"
#include "base/log.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

/* ---- linear ---- */

static void linear_forward(const struct CALL *c)
{
    const size_t n_in = (size_t)last_of(c->step->in[0]), n_out = (size_t)last_of(c->step->out);
    const size_t vectors = vectors_of(c, c->step->in[0]);
    for (size_t v = 0; v < vectors; v++)
        for (size_t o = 0; o < n_out; o++) {
            REAL sum = c->param[1] ? c->param[1][o] : 0;
            for (size_t i = 0; i < n_in; i++)
                sum += c->x[v * n_in + i] * c->param[0][i * n_out + o];
            c->y[v * n_out + o] = sum;
        }
}

static void linear_weight_gradient(const struct CALL *c)
{
    const size_t n_in = (size_t)last_of(c->step->in[0]), n_out = (size_t)last_of(c->step->out);
    const size_t vectors = vectors_of(c, c->step->in[0]);
    int32_t from, to;
    part_of(c, (int32_t)n_in, &from, &to);
    for (size_t i = (size_t)from; i < (size_t)to; i++)
        for (size_t o = 0; o < n_out; o++) {
            REAL sum = 0;
            for (size_t v = 0; v < vectors; v++)
                sum += c->x[v * n_in + i] * c->dy[v * n_out + o];
            put(&c->grad[0][i * n_out + o], c->add_grad & 1, sum);
        }
}

static void linear_backward(const struct CALL *c)
{
    const size_t n_in = (size_t)last_of(c->step->in[0]), n_out = (size_t)last_of(c->step->out);
    const size_t vectors = vectors_of(c, c->step->in[0]);
    if (c->grad[0])
        linear_weight_gradient(c);
    for (size_t o = 0; c->grad[1] && o < n_out; o++) {
        REAL sum = 0;
        for (size_t v = 0; v < vectors; v++)
            sum += c->dy[v * n_out + o];
        put(&c->grad[1][o], c->add_grad >> 1 & 1, sum);
    }
    for (size_t v = 0; c->dx && v < vectors; v++)
        for (size_t i = 0; i < n_in; i++) {
            REAL sum = 0;
            for (size_t o = 0; o < n_out; o++)
                sum += c->dy[v * n_out + o] * c->param[0][i * n_out + o];
            put(&c->dx[v * n_in + i], c->add_dx, sum);
        }
}

/* ---- conv2d: weights [kh][kw][in per group][out] ---- */

/* One multiply-add of the convolution, as offsets; calls fn for each that is inside the image. */
struct tap {
    size_t x, y, w; /* elements from the row's x, the row's y, the weights */
};
typedef void (*tap_fn)(const struct CALL *c, int32_t row, struct tap tap);

static void conv_output(const struct CALL *c, int32_t row, int32_t oh, int32_t ow, int32_t o,
                        tap_fn fn)
{
    const struct op_attr *a = &c->step->attr;
    const struct shape in = c->step->in[0], out = c->step->out;
    const int32_t group_in = in.d[2] / a->groups, group_out = out.d[2] / a->groups;
    const int32_t first_in = o / group_out * group_in;
    for (int32_t kh = 0; kh < a->kernel_h; kh++)
        for (int32_t kw = 0; kw < a->kernel_w; kw++) {
            const int32_t h = oh * a->stride_h - a->pad_h + kh * a->dilation_h;
            const int32_t w = ow * a->stride_w - a->pad_w + kw * a->dilation_w;
            if (h < 0 || h >= in.d[0] || w < 0 || w >= in.d[1])
                continue;
            for (int32_t i = 0; i < group_in; i++) {
                const struct tap tap = {
                    .x = ((size_t)h * in.d[1] + w) * in.d[2] + first_in + i,
                    .y = ((size_t)oh * out.d[1] + ow) * out.d[2] + o,
                    .w = (((size_t)kh * a->kernel_w + kw) * group_in + i) * out.d[2] + o,
                };
                fn(c, row, tap);
            }
        }
}

static void conv_each(const struct CALL *c, tap_fn fn)
{
    const struct shape out = c->step->out;
    for (int32_t r = 0; r < c->rows; r++)
        for (int32_t oh = 0; oh < out.d[0]; oh++)
            for (int32_t ow = 0; ow < out.d[1]; ow++)
                for (int32_t o = 0; o < out.d[2]; o++)
                    conv_output(c, r, oh, ow, o, fn);
}

static void tap_forward(const struct CALL *c, int32_t row, struct tap t)
{
    const size_t n_in = shape_count(c->step->in[0]), n_out = shape_count(c->step->out);
    c->y[row * n_out + t.y] += c->x[row * n_in + t.x] * c->param[0][t.w];
}

static void conv_forward(const struct CALL *c)
{
    const int32_t channels = c->step->out.d[2];
    const size_t n = (size_t)c->rows * shape_count(c->step->out);
    for (size_t i = 0; i < n; i++)
        c->y[i] = c->param[1] ? c->param[1][i % (size_t)channels] : 0;
    conv_each(c, tap_forward);
}

/* Rows of the weights in memory: taps x inputs. */
static int32_t weight_rows(const struct CALL *c)
{
    return (int32_t)(c->step->param_count[0] / (size_t)c->step->out.d[2]);
}

static void tap_weight(const struct CALL *c, int32_t row, struct tap t)
{
    const size_t n_in = shape_count(c->step->in[0]), n_out = shape_count(c->step->out);
    int32_t from, to;
    part_of(c, weight_rows(c), &from, &to);
    const int32_t w = (int32_t)(t.w / (size_t)c->step->out.d[2]);
    if (w < from || w >= to)
        return;
    c->grad[0][t.w] += c->x[row * n_in + t.x] * c->dy[row * n_out + t.y];
}

static void tap_data(const struct CALL *c, int32_t row, struct tap t)
{
    const size_t n_in = shape_count(c->step->in[0]), n_out = shape_count(c->step->out);
    c->dx[row * n_in + t.x] += c->param[0][t.w] * c->dy[row * n_out + t.y];
}

static void conv_weight_gradient(const struct CALL *c)
{
    const size_t channels = (size_t)c->step->out.d[2];
    int32_t from, to;
    part_of(c, weight_rows(c), &from, &to);
    if (!(c->add_grad & 1))
        memset(c->grad[0] + (size_t)from * channels, 0,
               (size_t)(to - from) * channels * sizeof(REAL));
    conv_each(c, tap_weight);
}

static void conv_backward(const struct CALL *c)
{
    const int32_t channels = c->step->out.d[2];
    const size_t n_out = (size_t)c->rows * shape_count(c->step->out);
    const size_t n_in = (size_t)c->rows * shape_count(c->step->in[0]);
    if (c->grad[0])
        conv_weight_gradient(c);
    if (c->grad[1]) {
        if (!(c->add_grad >> 1 & 1))
            memset(c->grad[1], 0, (size_t)channels * sizeof(REAL));
        for (size_t i = 0; i < n_out; i++)
            c->grad[1][i % (size_t)channels] += c->dy[i];
    }
    if (!c->dx)
        return;
    if (!c->add_dx)
        memset(c->dx, 0, n_in * sizeof(REAL));
    conv_each(c, tap_data);
}

/* ---- relu, flatten, dropout ---- */

static void relu_forward(const struct CALL *c)
{
    const size_t n = (size_t)c->rows * shape_count(c->step->out);
    for (size_t i = 0; i < n; i++)
        c->y[i] = c->x[i] < 0 ? 0 : c->x[i]; /* not a number stays one, so that it is noticed */
}

static void relu_backward(const struct CALL *c)
{
    const size_t n = (size_t)c->rows * shape_count(c->step->out);
    for (size_t i = 0; i < n; i++) {
        const REAL d = c->y[i] <= 0 ? 0 : c->dy[i];
        c->dx[i] = c->add_dx ? c->dx[i] + d : d;
    }
}

/* Position in memory (NHWC) of an element counted in N,C,H,W order. */
static size_t memory_index(struct shape s, size_t logical)
{
    if (s.rank != 3)
        return logical;
    const size_t area = (size_t)s.d[0] * (size_t)s.d[1];
    return logical % area * (size_t)s.d[2] + logical / area;
}

static void flatten_forward(const struct CALL *c)
{
    const size_t n = shape_count(c->step->out);
    for (int32_t r = 0; r < c->rows; r++)
        for (size_t i = 0; i < n; i++)
            c->y[r * n + i] = c->x[r * n + memory_index(c->step->in[0], i)];
}

static void flatten_backward(const struct CALL *c)
{
    const size_t n = shape_count(c->step->out);
    for (int32_t r = 0; r < c->rows; r++)
        for (size_t i = 0; i < n; i++) {
            REAL *dx = &c->dx[r * n + memory_index(c->step->in[0], i)];
            *dx = c->add_dx ? *dx + c->dy[r * n + i] : c->dy[r * n + i];
        }
}

/* Factor of the element counted `logical` in N,C,H,W order of the whole batch: 0 or 1/(1-p). */
static float dropout_factor(const struct CALL *c, size_t logical)
{
    const float p = c->step->attr.p;
    const uint32_t word = rng_u32_at(c->seed, RNG_DROPOUT, (uint32_t)c->step->ordinal, c->epoch,
                                     c->batch, (uint32_t)logical);
    return rng_unit(word) >= p ? 1.0f / (1.0f - p) : 0.0f;
}

static void dropout_rows(const struct CALL *c, const REAL *from, REAL *to, bool add)
{
    const size_t n = shape_count(c->step->out);
    for (int32_t r = 0; r < c->rows; r++)
        for (size_t i = 0; i < n; i++) {
            const size_t at = r * n + memory_index(c->step->out, i);
            const REAL factor =
                c->training ? dropout_factor(c, ((size_t)c->first_row + (size_t)r) * n + i) : 1;
            to[at] = add ? to[at] + from[at] * factor : from[at] * factor;
        }
}

static void dropout_forward(const struct CALL *c)
{
    dropout_rows(c, c->x, c->y, false);
}

static void dropout_backward(const struct CALL *c)
{
    dropout_rows(c, c->dy, c->dx, c->add_dx);
}

/* ---- max pooling; saved: index of the maximum within the row's input ---- */

static size_t window_maximum(const struct CALL *c, const REAL *x, int32_t oh, int32_t ow,
                             int32_t ch)
{
    const struct op_attr *a = &c->step->attr;
    const struct shape in = c->step->in[0];
    size_t best = 0;
    bool any = false;
    for (int32_t kh = 0; kh < a->kernel_h; kh++)
        for (int32_t kw = 0; kw < a->kernel_w; kw++) {
            const int32_t h = oh * a->stride_h - a->pad_h + kh;
            const int32_t w = ow * a->stride_w - a->pad_w + kw;
            if (h < 0 || h >= in.d[0] || w < 0 || w >= in.d[1])
                continue;
            const size_t at = ((size_t)h * in.d[1] + w) * in.d[2] + ch;
            if (!any || x[at] > x[best] || isnan(x[at]))
                best = at;
            any = true;
        }
    return best;
}

static void pool_forward(const struct CALL *c)
{
    const struct shape in = c->step->in[0], out = c->step->out;
    for (int32_t r = 0; r < c->rows; r++) {
        const REAL *x = c->x + r * shape_count(in);
        size_t o = r * shape_count(out);
        for (int32_t oh = 0; oh < out.d[0]; oh++)
            for (int32_t ow = 0; ow < out.d[1]; ow++)
                for (int32_t ch = 0; ch < out.d[2]; ch++, o++) {
                    const size_t best = window_maximum(c, x, oh, ow, ch);
                    c->y[o] = x[best];
                    if (c->saved)
                        c->saved[o] = (int32_t)best;
                }
    }
}

static void pool_backward(const struct CALL *c)
{
    const size_t n_in = shape_count(c->step->in[0]), n_out = shape_count(c->step->out);
    if (!c->add_dx)
        memset(c->dx, 0, (size_t)c->rows * n_in * sizeof(REAL));
    for (int32_t r = 0; r < c->rows; r++)
        for (size_t o = 0; o < n_out; o++)
            c->dx[r * n_in + (size_t)c->saved[r * n_out + o]] += c->dy[r * n_out + o];
}

/* ---- batch norm ---- */

static int32_t channels_of(const struct CALL *c)
{
    return c->step->in[0].d[c->step->in[0].rank - 1];
}

/* Values a channel has in `rows` rows. */
static size_t values_in(const struct CALL *c, int32_t rows)
{
    return (size_t)rows * (shape_count(c->step->in[0]) / (size_t)channels_of(c));
}

static void norm_stats(const struct CALL *c)
{
    const int32_t channels = channels_of(c);
    const size_t n = values_in(c, c->rows);
    REAL *mean = c->partial + (size_t)c->shard * c->partial_stride, *m2 = mean + channels;
    for (int32_t ch = 0; ch < channels; ch++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < n; i++)
            sum += (double)c->x[i * (size_t)channels + (size_t)ch];
        mean[ch] = (REAL)(sum / (double)n);
        for (size_t i = 0; i < n; i++) {
            const double d = (double)(c->x[i * (size_t)channels + (size_t)ch] - mean[ch]);
            squares += d * d;
        }
        m2[ch] = (REAL)squares;
    }
}

/* Mean and sum of squared deviations of all shards by Chan's formula, in shard order. */
static void combine(const struct CALL *c, int32_t ch, double *mean, double *m2)
{
    const int32_t channels = channels_of(c);
    double n = 0;
    *mean = *m2 = 0;
    for (int32_t s = 0; s * c->rows_per_shard < c->n_valid; s++) {
        const int32_t left = c->n_valid - s * c->rows_per_shard;
        const double add =
            (double)values_in(c, left < c->rows_per_shard ? left : c->rows_per_shard);
        const REAL *part = c->partial + (size_t)s * c->partial_stride;
        const double delta = (double)part[ch] - *mean;
        *mean += delta * add / (n + add);
        *m2 += (double)part[channels + ch] + delta * delta * n * add / (n + add);
        n += add;
    }
}

static void norm_apply(const struct CALL *c)
{
    const int32_t channels = channels_of(c);
    const size_t n = values_in(c, c->rows), total = values_in(c, c->n_valid);
    const bool batch = c->training && total > 1;
    const bool first = c->training && c->shard == 0;
    if (first && !batch)
        log_once(LOG_WARNING, BATCH_NORM_WARNING);
    for (int32_t ch = 0; ch < channels; ch++) {
        double mean, var, m2 = 0;
        if (batch) {
            combine(c, ch, &mean, &m2);
            var = m2 / (double)total;
        } else {
            mean = (double)c->buffer[0][ch];
            var = (double)c->buffer[1][ch];
        }
        const REAL inv_std = (REAL)(1.0 / sqrt(var + (double)c->step->attr.eps));
        if (c->training) {
            c->whole[0][ch] = (REAL)mean;
            c->whole[1][ch] = inv_std;
        }
        if (first && batch) {
            const double keep = 1.0 - (double)c->step->attr.momentum;
            const double take = (double)c->step->attr.momentum;
            c->buffer[0][ch] = (REAL)(keep * (double)c->buffer[0][ch] + take * mean);
            c->buffer[1][ch] =
                (REAL)(keep * (double)c->buffer[1][ch] + take * m2 / (double)(total - 1));
        }
        for (size_t i = (size_t)ch; i < n * (size_t)channels; i += (size_t)channels)
            c->y[i] = (c->x[i] - (REAL)mean) * inv_std * c->param[0][ch] + c->param[1][ch];
    }
}

static void norm_back_reduce(const struct CALL *c)
{
    const int32_t channels = channels_of(c);
    const size_t n = values_in(c, c->rows);
    REAL *sum_dy = c->partial + (size_t)c->shard * c->partial_stride, *sum_dyx = sum_dy + channels;
    for (int32_t ch = 0; ch < channels; ch++) {
        double dy = 0, dyx = 0;
        for (size_t i = (size_t)ch; i < n * (size_t)channels; i += (size_t)channels) {
            dy += (double)c->dy[i];
            dyx += (double)c->dy[i] * (double)((c->x[i] - c->whole[0][ch]) * c->whole[1][ch]);
        }
        sum_dy[ch] = c->grad[1][ch] = (REAL)dy;
        sum_dyx[ch] = c->grad[0][ch] = (REAL)dyx;
    }
}

static void norm_back_apply(const struct CALL *c)
{
    const int32_t channels = channels_of(c);
    const size_t n = values_in(c, c->rows), total = values_in(c, c->n_valid);
    for (int32_t ch = 0; ch < channels; ch++) {
        REAL dy = 0, dyx = 0; /* stay 0 where running statistics, constants, were used */
        for (int32_t s = 0; total > 1 && s * c->rows_per_shard < c->n_valid; s++) {
            dy += c->partial[(size_t)s * c->partial_stride + (size_t)ch];
            dyx += c->partial[(size_t)s * c->partial_stride + (size_t)(channels + ch)];
        }
        dy /= (REAL)total;
        dyx /= (REAL)total;
        for (size_t i = (size_t)ch; i < n * (size_t)channels; i += (size_t)channels) {
            const REAL x_hat = (c->x[i] - c->whole[0][ch]) * c->whole[1][ch];
            const REAL d = c->param[0][ch] * c->whole[1][ch] * (c->dy[i] - dy - x_hat * dyx);
            c->dx[i] = c->add_dx ? c->dx[i] + d : d;
        }
    }
}

/* ---- losses ---- */

/* One prediction: a row's, or a token's of a row; `count` of them in the batch. */
static void predict(const struct CALL *c, size_t v, double count, struct pass_sums *sums)
{
    const int32_t n = last_of(c->step->in[0]);
    const double smooth = (double)c->step->attr.label_smoothing;
    const REAL *x = c->x + v * (size_t)n;
    const int32_t label = ((const int32_t *)c->target)[v];
    const bool known = label >= 0 && label < n;
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    double sum = 0, all = 0;
    for (int32_t i = 0; i < n; i++) {
        sum += exp((double)(x[i] - x[best]));
        all += (double)(x[i] - x[best]);
    }
    const double own = known ? (double)(x[label] - x[best]) : (double)NAN;
    sums->loss_sum += log(sum) - (1 - smooth) * own - smooth * all / n;
    sums->n_correct += best == label;
    for (int32_t i = 0; c->dx && i < n; i++) {
        const double p = exp((double)(x[i] - x[best])) / sum;
        const double target = (1 - smooth) * (i == label) + smooth / n;
        c->dx[v * (size_t)n + (size_t)i] = (REAL)((p - target) / count);
    }
}

static void cross_entropy(const struct CALL *c)
{
    const struct shape in = c->step->in[0];
    const size_t n = vectors_of(c, in);
    const double count = (double)c->n_valid * (in.rank == 2 ? in.d[0] : 1);
    struct pass_sums sums = {.n = c->rows, .n_tokens = in.rank == 2 ? (int64_t)n : 0};
    for (size_t v = 0; v < n; v++)
        predict(c, v, count, &sums);
    memcpy(c->partial + (size_t)c->shard * c->partial_stride, &sums, sizeof sums);
}

static void mse(const struct CALL *c)
{
    struct pass_sums sums = {.n = c->rows};
    for (int32_t r = 0; r < c->rows; r++) {
        const float target = ((const float *)c->target)[r];
        const REAL d = c->x[r] - (REAL)target;
        sums.loss_sum += (double)d * (double)d;
        sums.target_sum += (double)target;
        sums.target_sq_sum += (double)target * (double)target;
        if (c->dx)
            c->dx[r] = 2 * d / (REAL)c->n_valid;
    }
    memcpy(c->partial + (size_t)c->shard * c->partial_stride, &sums, sizeof sums);
}

/* ---- the batch ---- */

static void gather(const struct CALL *c)
{
    const struct source *s = c->source;
    if (c->step->attr.is_tokens)
        gather_tokens(s, c->ids, c->rows, c->y);
    for (int32_t r = 0; r < c->rows && !c->step->attr.is_tokens; r++) {
        const struct gather_window w =
            gather_window_of(s, c->training, c->seed, c->epoch, c->ids[r]);
        const struct shape shape = s->shape;
        REAL *y = c->y + (size_t)r * s->sample_count;
        for (size_t i = 0; i < s->sample_count; i++) {
            size_t from = i;
            if (w.moved && !gather_moved_index(shape, w, i, &from)) {
                y[i] = 0;
                continue;
            }
            from += (size_t)c->ids[r] * s->sample_count;
            const float v = s->type == SOURCE_U8    ? (float)((const uint8_t *)s->x)[from]
                            : s->type == SOURCE_F32 ? ((const float *)s->x)[from]
                                                    : (float)((const int32_t *)s->x)[from];
            y[i] = (REAL)(v / s->divisor);
        }
    }
    gather_targets(s, c->ids, c->rows, c->target);
}

const struct KERNEL REFERENCE(kernels)[] = {
    {STEP_GATHER, OP_INPUT, "reference gather", gather, NULL, false},
    {STEP_FORWARD, OP_LINEAR, "reference linear", linear_forward, NULL, false},
    {STEP_BACKWARD, OP_LINEAR, "reference linear", linear_backward, NULL, false},
    {STEP_BACKWARD_PARAMS, OP_LINEAR, "reference linear", linear_weight_gradient, NULL, false},
    {STEP_FORWARD, OP_CONV2D, "reference conv2d", conv_forward, NULL, false},
    {STEP_BACKWARD, OP_CONV2D, "reference conv2d", conv_backward, NULL, false},
    {STEP_BACKWARD_PARAMS, OP_CONV2D, "reference conv2d", conv_weight_gradient, NULL, false},
    {STEP_FORWARD, OP_RELU, "reference relu", relu_forward, NULL, false},
    {STEP_BACKWARD, OP_RELU, "reference relu", relu_backward, NULL, false},
    {STEP_FORWARD, OP_FLATTEN, "reference flatten", flatten_forward, NULL, false},
    {STEP_BACKWARD, OP_FLATTEN, "reference flatten", flatten_backward, NULL, false},
    {STEP_FORWARD, OP_DROPOUT, "reference dropout", dropout_forward, NULL, false},
    {STEP_BACKWARD, OP_DROPOUT, "reference dropout", dropout_backward, NULL, false},
    {STEP_FORWARD, OP_MAX_POOL2D, "reference max_pool2d", pool_forward, NULL, false},
    {STEP_BACKWARD, OP_MAX_POOL2D, "reference max_pool2d", pool_backward, NULL, false},
    {STEP_BN_STATS, OP_BATCH_NORM, "reference batch_norm stats", norm_stats, NULL, false},
    {STEP_BN_APPLY, OP_BATCH_NORM, "reference batch_norm", norm_apply, NULL, false},
    {STEP_BN_BACK_REDUCE, OP_BATCH_NORM, "reference batch_norm reduce", norm_back_reduce, NULL,
     false},
    {STEP_BN_BACK_APPLY, OP_BATCH_NORM, "reference batch_norm back", norm_back_apply, NULL, false},
    {STEP_LOSS, OP_CROSS_ENTROPY, "reference cross_entropy", cross_entropy, NULL, false},
    {STEP_LOSS, OP_MSE, "reference mse", mse, NULL, false},
    {0},
};

const struct KERNEL *const REFERENCE(lists)[] = {
    REFERENCE(kernels),  REFERENCE(math),      REFERENCE(image),
    REFERENCE(sequence), REFERENCE(attention), NULL,
};
