/* Batch norm over channels that lie side by side.  Sums run over blocks of values, and blocks are
 * added, so that rounding errors stay small; shards are combined in double by Chan's formula. */
#include "backend/cpu/isa/kernels.h"

#include "backend/cpu/batch_norm.h"
#include "base/log.h"

#include <math.h>

#define BLOCK 256

static int32_t channels_of(const struct op_call *c)
{
    return c->step->in[0].d[c->step->in[0].rank - 1];
}

/* Values a channel has in `rows` rows. */
static size_t values_in(const struct op_call *c, int32_t rows)
{
    return (size_t)rows * (shape_count(c->step->in[0]) / (size_t)channels_of(c));
}

/* VW channels from `ch` on: full vectors, or masked ones at the end. */
struct columns {
    bool whole;
    vm mask;
};

static struct columns columns_at(int32_t ch, int32_t channels)
{
    const int32_t left = channels - ch;
    return (struct columns){left >= VW, v_first(left >= VW ? VW - 1 : left)};
}

ALWAYS_INLINE vf load(const float *p, struct columns k)
{
    return k.whole ? v_load(p) : v_load_m(p, k.mask);
}

ALWAYS_INLINE void store(float *p, vf x, struct columns k)
{
    if (k.whole)
        v_store(p, x);
    else
        v_store_m(p, x, k.mask);
}

static vf sum_values(const float *x, size_t n, size_t ld, struct columns k)
{
    vf total = v_zero();
    for (size_t from = 0; from < n; from += BLOCK) {
        const size_t to = n - from < BLOCK ? n : from + BLOCK;
        vf sum = v_zero();
        for (size_t i = from; i < to; i++)
            sum = v_add(sum, load(x + i * ld, k));
        total = v_add(total, sum);
    }
    return total;
}

static vf sum_squares(const float *x, vf mean, size_t n, size_t ld, struct columns k)
{
    vf total = v_zero();
    for (size_t from = 0; from < n; from += BLOCK) {
        const size_t to = n - from < BLOCK ? n : from + BLOCK;
        vf sum = v_zero();
        for (size_t i = from; i < to; i++) {
            const vf d = v_sub(load(x + i * ld, k), mean);
            sum = v_fma(d, d, sum);
        }
        total = v_add(total, sum);
    }
    return total;
}

static void stats(const struct op_call *c)
{
    const int32_t channels = channels_of(c);
    const size_t n = values_in(c, c->rows);
    float *mean = c->partial + (size_t)c->shard * c->partial_stride, *m2 = mean + channels;
    const vf inv_n = v_set(1.0f / (float)n);
    for (int32_t ch = 0; ch < channels; ch += VW) {
        const struct columns k = columns_at(ch, channels);
        const vf m = v_mul(sum_values(c->x + ch, n, (size_t)channels, k), inv_n);
        store(mean + ch, m, k);
        store(m2 + ch, sum_squares(c->x + ch, m, n, (size_t)channels, k), k);
    }
}

/* Mean and sum of squared deviations of all shards, in shard order. */
static void combine(const struct op_call *c, int32_t ch, double *mean, double *m2)
{
    const int32_t channels = channels_of(c);
    double n = 0;
    *mean = *m2 = 0;
    for (int32_t s = 0; s * c->rows_per_shard < c->n_valid; s++) {
        const int32_t left = c->n_valid - s * c->rows_per_shard;
        const double add =
            (double)values_in(c, left < c->rows_per_shard ? left : c->rows_per_shard);
        const float *part = c->partial + (size_t)s * c->partial_stride;
        const double delta = (double)part[ch] - *mean;
        *mean += delta * add / (n + add);
        *m2 += (double)part[channels + ch] + delta * delta * n * add / (n + add);
        n += add;
    }
}

static void keep_running(const struct op_call *c, int32_t ch, double mean, double m2, size_t total)
{
    const double take = (double)c->step->attr.momentum, keep = 1.0 - take;
    float *running_mean = &c->buffer[0][ch], *running_var = &c->buffer[1][ch];
    *running_mean = (float)(keep * (double)*running_mean + take * mean);
    *running_var = (float)(keep * (double)*running_var + take * m2 / (double)(total - 1));
}

/* The mean and inv_std this batch is normalised with, into mean and inv_std. */
static void choose_stats(const struct op_call *c, float *mean, float *inv_std)
{
    const size_t total = values_in(c, c->n_valid);
    const bool batch = c->training && total > 1, first = c->training && c->shard == 0;
    if (first && !batch)
        log_once(LOG_WARNING, BATCH_NORM_WARNING);
    for (int32_t ch = 0; ch < channels_of(c); ch++) {
        double m, var, m2 = 0;
        if (batch) {
            combine(c, ch, &m, &m2);
            var = m2 / (double)total;
            if (first)
                keep_running(c, ch, m, m2, total);
        } else {
            m = (double)c->buffer[0][ch];
            var = (double)c->buffer[1][ch];
        }
        mean[ch] = (float)m;
        inv_std[ch] = (float)(1.0 / sqrt(var + (double)c->step->attr.eps));
    }
}

static void apply(const struct op_call *c)
{
    const int32_t channels = channels_of(c);
    const size_t n = values_in(c, c->rows), ld = (size_t)channels;
    float *mean = c->scratch, *inv_std = mean + channels;
    choose_stats(c, mean, inv_std);
    if (c->training) {
        memcpy(c->whole[0], mean, ld * sizeof(float));
        memcpy(c->whole[1], inv_std, ld * sizeof(float));
    }
    for (int32_t ch = 0; ch < channels; ch += VW) {
        const struct columns k = columns_at(ch, channels);
        const vf m = load(mean + ch, k);
        const vf scale = v_mul(load(inv_std + ch, k), load(c->param[0] + ch, k));
        const vf shift = load(c->param[1] + ch, k);
        for (size_t i = 0; i < n; i++) {
            const size_t at = i * ld + (size_t)ch;
            vf y = v_fma(v_sub(load(c->x + at, k), m), scale, shift);
            if (c->relu)
                y = v_relu(y);
            store(c->y + at, y, k);
        }
    }
}

static size_t apply_scratch(const struct plan_step *step, int32_t rows_per_shard)
{
    (void)rows_per_shard;
    return 2 * (size_t)step->in[0].d[step->in[0].rank - 1];
}

static void back_reduce(const struct op_call *c)
{
    const int32_t channels = channels_of(c);
    const size_t n = values_in(c, c->rows), ld = (size_t)channels;
    float *sum_dy = c->partial + (size_t)c->shard * c->partial_stride, *sum_dyx = sum_dy + channels;
    for (int32_t ch = 0; ch < channels; ch += VW) {
        const struct columns k = columns_at(ch, channels);
        const vf mean = load(c->whole[0] + ch, k);
        vf total_dy = v_zero(), total_dyx = v_zero();
        for (size_t from = 0; from < n; from += BLOCK) {
            const size_t to = n - from < BLOCK ? n : from + BLOCK;
            vf dy = v_zero(), dyx = v_zero();
            for (size_t i = from; i < to; i++) {
                const size_t at = i * ld + (size_t)ch;
                const vf d = load(c->dy + at, k);
                dy = v_add(dy, d);
                dyx = v_fma(d, v_sub(load(c->x + at, k), mean), dyx);
            }
            total_dy = v_add(total_dy, dy);
            total_dyx = v_add(total_dyx, dyx);
        }
        total_dyx = v_mul(total_dyx, load(c->whole[1] + ch, k));
        store(sum_dy + ch, total_dy, k);
        store(sum_dyx + ch, total_dyx, k);
        store(c->grad[1] + ch, total_dy, k);
        store(c->grad[0] + ch, total_dyx, k);
    }
}

/* Means over the batch of dy and dy * x_hat; zero where running statistics, constants, were used.
 */
static void back_means(const struct op_call *c, int32_t ch, struct columns k, vf *dy, vf *dyx)
{
    const size_t total = values_in(c, c->n_valid);
    const int32_t channels = channels_of(c);
    *dy = *dyx = v_zero();
    if (total <= 1)
        return;
    for (int32_t s = 0; s * c->rows_per_shard < c->n_valid; s++) {
        const float *part = c->partial + (size_t)s * c->partial_stride + ch;
        *dy = v_add(*dy, load(part, k));
        *dyx = v_add(*dyx, load(part + channels, k));
    }
    const vf inv_n = v_set(1.0f / (float)total);
    *dy = v_mul(*dy, inv_n);
    *dyx = v_mul(*dyx, inv_n);
}

static void back_apply(const struct op_call *c)
{
    const int32_t channels = channels_of(c);
    const size_t n = values_in(c, c->rows), ld = (size_t)channels;
    for (int32_t ch = 0; ch < channels; ch += VW) {
        const struct columns k = columns_at(ch, channels);
        const vf mean = load(c->whole[0] + ch, k), inv_std = load(c->whole[1] + ch, k);
        const vf scale = v_mul(load(c->param[0] + ch, k), inv_std);
        vf mean_dy, mean_dyx;
        back_means(c, ch, k, &mean_dy, &mean_dyx);
        const vf slope = v_mul(mean_dyx, inv_std);
        for (size_t i = 0; i < n; i++) {
            const size_t at = i * ld + (size_t)ch;
            const vf away = v_sub(mean, load(c->x + at, k));
            vf d = v_fma(away, slope, v_sub(load(c->dy + at, k), mean_dy));
            d = v_mul(d, scale);
            if (c->add_dx)
                d = v_add(load(c->dx + at, k), d);
            store(c->dx + at, d, k);
        }
    }
}

const struct cpu_kernel ISA_FN(norm_kernels)[] = {
    {STEP_BN_STATS, OP_BATCH_NORM, "batch_norm stats", stats, NULL, false},
    {STEP_BN_APPLY, OP_BATCH_NORM, "batch_norm", apply, apply_scratch, true},
    {STEP_BN_BACK_REDUCE, OP_BATCH_NORM, "batch_norm reduce", back_reduce, NULL, false},
    {STEP_BN_BACK_APPLY, OP_BATCH_NORM, "batch_norm back", back_apply, NULL, false},
    {0},
};
